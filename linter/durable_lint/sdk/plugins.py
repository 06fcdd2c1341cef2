"""What instrumentation plugins attach and how it is let go of, and which hooks and outcomes each SDK release
has. Tables only.

Read off the released wheels of `aws-durable-execution-sdk-python` 1.6.0 to 3.0.0, of its OpenTelemetry plugin
0.2.0 to 2.0.0, and of the libraries that are named here.
"""

from __future__ import annotations

from dataclasses import dataclass

PLUGIN = "sdk.DurableInstrumentationPlugin"
COMPLETION_PLUGIN = "durable_runtime.plugin.CompletionPlugin"
OTEL_PACKAGE = "aws_durable_execution_sdk_python_otel"
"""Classes of this package whose name ends in `Plugin` are plugins."""

START = "on_user_function_start"
END = "on_user_function_end"
COMPLETE = "on_user_function_complete"
"""A hook of `durable_runtime.plugin.CompletionPlugin` only."""
ELSEWHERE = (
    "on_operation_end",
    "on_operation_change",
    "on_invocation_end",
    "on_operation_start",
    "on_invocation_start",
)
"""Hooks that can run on another thread than the user function."""

RELEASES = (START, END, COMPLETE, *ELSEWHERE)
"""Every hook in which a plugin may let go."""

OUTCOMES = frozenset({"SUCCEEDED", "FAILED", "INCOMPLETE", "PENDING"})


def incomplete_outcome(sdk: tuple[int, int]) -> str | None:
    """Return the outcome with which a release calls the end hook for a suspended function, None where it does
    not.

    1.6 calls it with PENDING (and with a false FAILED for a timed suspension), 1.7 never, 2.0 and later with
    INCOMPLETE.
    """
    if sdk >= (2, 0):
        return "INCOMPLETE"
    return None if sdk == (1, 7) else "PENDING"


@dataclass(frozen=True, slots=True)
class Pair:
    """What attaches and what lets go again.

    `acquires` and `releases` are qualified names, or the last name alone after a dot (`.acquire`) where it
    says enough, whatever it is called on. `keyed`: what is attached to is the object the method is called on.
    `restores`: doing it again, in a hook for the end, is the release. `thread_bound`: it must be let go of on
    its own thread.
    """

    what: str
    acquires: frozenset[str]
    releases: frozenset[str]
    thread_bound: bool
    keyed: bool = False
    restores: bool = False


def _pair(
    what: str,
    acquires: str,
    releases: str,
    *,
    bound: bool = True,
    keyed: bool = False,
    restores: bool = False,
) -> Pair:
    return Pair(what, frozenset(acquires.split()), frozenset(releases.split()), bound, keyed, restores)


CONTEXT_VARIABLE = _pair(
    "the context variable", "contextvars.ContextVar.set", ".reset", keyed=True, restores=True
)
MANAGER = _pair("the manager", ".__enter__", ".__exit__", bound=False)
STACK = _pair("the exit stack", ".enter_context", ".close .pop_all .__exit__", bound=False)
LOCK = _pair("the lock", ".acquire", ".release", bound=False, keyed=True)
THREAD_LOCAL = _pair("the thread-local attribute", "", "", keyed=True, restores=True)
"""Assigned and deleted; see the rules."""

PAIRS: tuple[Pair, ...] = (
    _pair("the OpenTelemetry context", "opentelemetry.context.attach", ".detach"),
    CONTEXT_VARIABLE,
    MANAGER,
    STACK,
    LOCK,
    _pair(
        "structlog's context variables",
        "structlog.contextvars.bind_contextvars .bind_contextvars",
        ".unbind_contextvars .reset_contextvars .clear_contextvars",
    ),
    _pair("structlog's thread-local context", ".bind_threadlocal", ".unbind_threadlocal .clear_threadlocal"),
    _pair("the X-Ray subsegment", ".begin_subsegment", ".end_subsegment"),
    _pair("the X-Ray segment", ".begin_segment", ".end_segment"),
    _pair("the active ddtrace span", ".context_provider.activate", "", restores=True),
    _pair("the active ddtrace span", "ddtrace.tracer.trace ddtrace.trace.tracer.trace", ".finish"),
    _pair("the decimal context", "decimal.setcontext", "", restores=True),
    _pair("the trace function", "sys.settrace", "", restores=True),
    _pair("the profile function", "sys.setprofile", "", restores=True),
    _pair("the log record factory", "logging.setLogRecordFactory", "", bound=False, restores=True),
    _pair(
        "the logger's keys",
        "aws_lambda_powertools.Logger.append_keys aws_lambda_powertools.logging.Logger.append_keys"
        " aws_lambda_powertools.Logger.thread_safe_append_keys"
        " aws_lambda_powertools.logging.Logger.thread_safe_append_keys",
        ".remove_keys .thread_safe_remove_keys .clear_state .thread_safe_clear_keys",
        bound=False,
    ),
)

THREAD_BOUND_MANAGERS = (
    ".use_span",
    ".start_as_current_span",
    "structlog.contextvars.bound_contextvars",
    "structlog.threadlocal.bound_threadlocal",
    "structlog.threadlocal.tmp_bind",
    "decimal.localcontext",
    "sentry_sdk.push_scope",
    "sentry_sdk.new_scope",
    "sentry_sdk.isolation_scope",
    "sentry_sdk.use_scope",
    "sentry_sdk.use_isolation_scope",
    "sentry_sdk.start_span",
    "sentry_sdk.start_transaction",
    "loguru.logger.contextualize",
    "ddtrace.tracer.trace",
    "ddtrace.trace.tracer.trace",
    "threading.RLock",
)
"""Managers whose exit must run on the thread of their entry."""

ENDING_MANAGERS = (
    ".start_as_current_span",
    "sentry_sdk.start_span",
    "sentry_sdk.start_transaction",
    "ddtrace.tracer.trace",
    "ddtrace.trace.tracer.trace",
    ".in_subsegment",
    ".in_segment",
)
"""Managers whose exit ends a span. OpenTelemetry's take `end_on_exit`; `use_span` ends it only with
`end_on_exit=True`.
"""

USE_SPAN = ".use_span"

ENDS = frozenset({"end", "finish"})
"""Methods that end a span, segment or transaction (by the name of what they are called on)."""
ENDS_BY_NAME = frozenset({"end_subsegment", "end_segment"})
SPANS = ("span", "segment", "transaction")


SUCCESS = frozenset({"success", "successes", "succeeded", "succeed", "successful", "completed", "ok"})
"""Words that say success, in the name of what is called or in a text that is handed to it."""
LOOKS = frozenset(
    "debug info warning error exception log critical print get format"
    " add_event set_attribute set_attributes".split()
)
"""Calls that only say or look something up, whatever their arguments are."""


def matches(name: str, patterns: frozenset[str] | tuple[str, ...]) -> bool:
    """Whether a qualified name is among `patterns`; a pattern that begins with a dot is compared with the
    name's end.
    """
    dotted = "." + name
    return any(dotted.endswith(p) if p.startswith(".") else name == p for p in patterns)
