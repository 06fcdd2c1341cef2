"""Plugins that are told when a user function does not complete, so that they let go of thread-bound state.

The contract is docs/rfc/plugin-completion.md. This module works with every release of the SDK that has
plugins (1.6 and later), also with those that are too old for scopes, and must know nothing of scopes.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from contextlib import AbstractContextManager, ExitStack, suppress
from contextvars import ContextVar
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

try:
    from aws_durable_execution_sdk_python import plugin as _sdk_plugin
except ImportError as error:
    raise ImportError(
        "durable_runtime.plugin needs aws-durable-execution-sdk-python 1.6 or later (plugins are new in it)"
    ) from error

from aws_durable_execution_sdk_python.exceptions import (
    BackgroundThreadError,
    OrphanedChildException,
    SuspendExecution,
    TimedSuspendExecution,
)
from aws_durable_execution_sdk_python.plugin import (
    DurableInstrumentationPlugin,
    OperationInfo,
    UserFunctionEndInfo,
    UserFunctionOutcome,
    UserFunctionStartInfo,
)

from durable_runtime import plugin_runs
from durable_runtime.plugin_runs import Run, Watch, logger

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "CompletionPlugin",
    "UserFunctionCompleteInfo",
    "UserFunctionCompleteReason",
    "as_plugins",
    "install",
]

P = ParamSpec("P")
T = TypeVar("T")

_SDK_REPORTS_INCOMPLETE = hasattr(UserFunctionOutcome, "INCOMPLETE")  # since SDK 2.0
_SDK_TAKES_FACTORIES = hasattr(_sdk_plugin, "DurableInstrumentationPluginFactory")  # since SDK 3.0


class UserFunctionCompleteReason(Enum):
    """Why a user function was left without an end. Whatever the reason, the operation may still resume."""

    SUSPENDED = "SUSPENDED"
    """The execution waits for something outside: a callback, an invoked function, a branch."""
    SUSPENDED_UNTIL = "SUSPENDED_UNTIL"
    """The execution waits for a point in time, `resume_at`: a wait, or the delay before a retry."""
    ORPHANED = "ORPHANED"
    """The map or parallel that the function belongs to has completed without it."""
    CHECKPOINT_FAILED = "CHECKPOINT_FAILED"
    """The SDK could not write a checkpoint. The service runs the invocation again."""
    INTERRUPTED = "INTERRUPTED"
    """Another exception that is no `Exception`: `SystemExit`, `KeyboardInterrupt`, `GeneratorExit`, ..."""


@dataclass(frozen=True, kw_only=True)
class UserFunctionCompleteInfo(OperationInfo):
    """What the SDK told the plugin when the user function started, and why it was left without an end.

    Besides the fields below it has those of the SDK's `OperationInfo`, with the values of the start info
    (`is_replayed`, `status`, `end_time`, `result` and `error` from SDK 1.7 on; the last three are None).
    """

    attempt: int | None = None
    """The attempt of a step, counted from 1. None for a context."""
    is_replay_children: bool = False
    """True when the function runs only to rebuild the result of a context that has already succeeded."""
    reason: UserFunctionCompleteReason
    resume_at: datetime | None = None
    """When the operation goes on, in UTC (the earliest time when branches wait). For SUSPENDED_UNTIL only."""


class CompletionPlugin(DurableInstrumentationPlugin):
    """A plugin that also hears of user functions that do not complete.

    For each `on_user_function_start` there is either one `on_user_function_end`, with outcome SUCCEEDED or
    FAILED, or one `on_user_function_complete`, never both, on the thread that ran the function, and for an
    inner function before an outer one. SDK 1.6 and 1.7 need `install()` for it.

    A cooperative mixin: it stands before other plugin classes, as in
    `class Traced(CompletionPlugin, InvocationOtelPlugin)`, and overrides of the start and end hook call
    `super()`. Classes that derive from it see the two-valued end. A plugin class behind it is called as the
    SDK would call it, with the outcome INCOMPLETE too.

    Raises:
        TypeError: When a class is defined with CompletionPlugin behind another class that has these hooks.
    """

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        _refuse_hooks_before_the_mixin(cls)
        if "on_user_function_start" in cls.__dict__:
            cls.on_user_function_start = _start_hook(cls.__dict__["on_user_function_start"])  # type: ignore[method-assign,assignment]
        if "on_user_function_end" in cls.__dict__:
            cls.on_user_function_end = _end_hook(cls, cls.__dict__["on_user_function_end"])  # type: ignore[method-assign,assignment]

    def on_user_function_start(self, info: UserFunctionStartInfo) -> None:
        """Called on the thread that is about to run a user function. The place to `bind`."""
        run, watch = _enter(self, info)
        super().on_user_function_start(info)
        if _has_hooks_behind_the_mixin(type(self)):
            watch.bound_before_bases = len(run.releases)

    def on_user_function_end(self, info: UserFunctionEndInfo) -> None:
        """Called on its thread when a user function has returned (SUCCEEDED) or raised an `Exception`."""
        _dispatch_end(self, info, self._end)

    def on_user_function_complete(self, info: UserFunctionCompleteInfo) -> None:
        """Called when a user function was left without reporting an end, on the thread that ran it.

        Release scoped state here: what was attached to the thread in `on_user_function_start`. End nothing,
        export nothing and count nothing: the operation may still resume, in this invocation (on this thread
        or another) or in a later one, and is then reported as started again. What was bound with `bind` is
        released by itself after this hook.

        An `Exception` raised here is logged and ignored; `KeyboardInterrupt`, `SystemExit` and
        `GeneratorExit` propagate. Does nothing by default.
        """

    @overload
    def bind(self, info: UserFunctionStartInfo, target: ContextVar[T], value: T, /) -> None: ...
    @overload
    def bind(self, info: UserFunctionStartInfo, target: AbstractContextManager[T, bool | None], /) -> T: ...
    @overload
    def bind(self, info: UserFunctionStartInfo, target: Mapping[str, object], /) -> None: ...
    def bind(self, info: UserFunctionStartInfo, target: Any, /, *value: Any) -> Any:
        """Attach something to this thread for as long as the user function runs; it is released by itself.

        `bind(info, var, value)` sets a `ContextVar`, `bind(info, context)` attaches an OpenTelemetry context,
        and `bind(info, manager)` enters a context manager and returns what its `__enter__` returned. What is
        bound is released on the same thread, in reverse order, after the plugin's own hook, when the function
        ends and when it does not complete. It is also released when the operation is entered again on the
        thread without either having been reported.

        A manager is always left without an exception. So bind none that takes this for success or ends
        something: `trace.use_span(span)`, but not `tracer.start_as_current_span(...)`, which ends the span.

        What is bound before `super().on_user_function_start(info)` is released after the base classes were
        told that the function is over, what is bound after it is released before they are.

        Raises:
            RuntimeError: No user function of this operation runs on this thread. Call it in
                `on_user_function_start`, with the info given there.
            TypeError: `target` is none of the three.
        """
        found = plugin_runs.find(self, info)
        if found is None:
            raise RuntimeError(
                f"bind: no user function of operation {info.operation_id} runs on this thread;"
                " call it in on_user_function_start, with the info given there"
            )
        run, _ = found
        if isinstance(target, ContextVar) and len(value) == 1:
            run.releases.append(functools.partial(target.reset, target.set(*value)))
            return None
        if isinstance(target, AbstractContextManager) and not value:
            stack = ExitStack()
            entered = stack.enter_context(target)
            run.releases.append(stack.close)
            return entered
        # Who has an OpenTelemetry context has imported OpenTelemetry; nobody else needs it.
        otel_context = sys.modules.get("opentelemetry.context")
        if otel_context is not None and isinstance(target, otel_context.Context) and not value:
            run.releases.append(functools.partial(otel_context.detach, otel_context.attach(target)))
            return None
        raise TypeError(
            "bind takes a ContextVar and its value, an OpenTelemetry context, or a context manager, not"
            f" {' and '.join(type(argument).__name__ for argument in (target, *value))}"
        )

    def _end(self, info: UserFunctionEndInfo) -> None:
        """The innermost part of an end: the completion hook, then the plugin classes behind the mixin."""
        found = plugin_runs.find(self, info)
        try:
            if _is_incomplete(info):
                self.on_user_function_complete(_complete_info(info, sys.exception()))
        finally:
            try:
                if found is not None:
                    run, watch = found
                    if watch.bound_before_bases is not None:
                        run.release_all_but(watch.bound_before_bases)
            finally:
                super().on_user_function_end(info)


def as_plugins(
    plugin: Callable[P, DurableInstrumentationPlugin], /, *args: P.args, **kwargs: P.kwargs
) -> list[Any]:
    """What `durable_execution(plugins=...)` of the SDK in use takes for the plugin `plugin(*args, **kwargs)`.

    From SDK 3.0 on, that is a factory, which makes one plugin an invocation. Before, it is the plugin itself,
    one for all invocations, and `install()` is done with it. Several plugins are
    `plugins=[*as_plugins(A), *as_plugins(B, option)]`. What the list holds differs by SDK, hence `Any`.

    Raises:
        TypeError: `plugin` does not take these arguments (when its signature can be read).
    """
    with suppress(ValueError):  # some callables written in C have no signature
        inspect.signature(plugin).bind(*args, **kwargs)
    if _SDK_TAKES_FACTORIES:
        return [_Factory(functools.partial(plugin, *args, **kwargs))]
    install()
    return [plugin(*args, **kwargs)]


def install() -> None:
    """Let SDK 1.6 and 1.7 tell a `CompletionPlugin` of user functions that do not complete.

    Every user function of a step, a context, a condition check or a branch goes through their
    `ExecutionState.wrap_user_function`, which is wrapped once, however often this is called. Plugins of other
    classes notice nothing. Call it before the first invocation. From SDK 2.0 on, it does nothing: the SDK
    reports these functions itself.
    """
    global _installed
    if _SDK_REPORTS_INCOMPLETE:
        return
    from aws_durable_execution_sdk_python.state import ExecutionState

    with _install_lock:
        if not _installed:
            ExecutionState.wrap_user_function = _completing(ExecutionState.wrap_user_function)  # type: ignore[method-assign]
            _installed = True


_installed = False
_install_lock = threading.Lock()


@dataclass(frozen=True)
class _Factory:
    """Makes one plugin an invocation, as SDK 3.0 asks."""

    make: Callable[[], DurableInstrumentationPlugin]

    def create_plugin(self, info: object, /) -> DurableInstrumentationPlugin:  # noqa: ARG002 - the SDK passes it
        return self.make()


_HOOKS = frozenset({"on_user_function_start", "on_user_function_end"})


def _refuse_hooks_before_the_mixin(cls: type[CompletionPlugin]) -> None:
    for base in cls.__mro__[: cls.__mro__.index(CompletionPlugin)]:
        if not issubclass(base, CompletionPlugin) and _HOOKS & base.__dict__.keys():
            raise TypeError(
                f"{cls.__name__}: put CompletionPlugin before {base.__name__} in the list of base classes;"
                f" {base.__name__} has user function hooks and would be called first"
            )


def _has_hooks_behind_the_mixin(cls: type[CompletionPlugin]) -> bool:
    behind = cls.__mro__[cls.__mro__.index(CompletionPlugin) + 1 :]
    return any(_HOOKS & base.__dict__.keys() for base in behind if base is not DurableInstrumentationPlugin)


def _start_hook(hook: Any) -> Callable[[CompletionPlugin, UserFunctionStartInfo], None]:
    """An override of the start hook, with the run entered before it. `hook` is any descriptor or callable."""
    written = getattr(
        hook, "_written", hook
    )  # a class that is made again (dataclass with slots) has it wrapped

    @functools.wraps(written)
    def on_user_function_start(self: CompletionPlugin, info: UserFunctionStartInfo) -> None:
        _enter(self, info)
        written.__get__(self, type(self))(info)

    on_user_function_start._written = written  # type: ignore[attr-defined]
    return on_user_function_start


def _end_hook(
    cls: type[CompletionPlugin], hook: Any
) -> Callable[[CompletionPlugin, UserFunctionEndInfo], None]:
    """An override of the end hook in `cls`, passed over when the function has not ended."""
    written = getattr(hook, "_written", hook)

    @functools.wraps(written)
    def on_user_function_end(self: CompletionPlugin, info: UserFunctionEndInfo) -> None:
        if _is_incomplete(info):
            _dispatch_end(self, info, super(cls, self).on_user_function_end)
        else:
            _dispatch_end(self, info, written.__get__(self, type(self)))

    on_user_function_end._written = written  # type: ignore[attr-defined]
    return on_user_function_end


def _enter(plugin: CompletionPlugin, info: UserFunctionStartInfo) -> tuple[Run, Watch]:
    if not (_SDK_REPORTS_INCOMPLETE or _installed):
        _warn_that_install_is_missing()
    return plugin_runs.enter(plugin, info)


@functools.cache
def _warn_that_install_is_missing() -> None:
    logger.warning(
        "This release of aws-durable-execution-sdk-python does not report every user function that does not"
        " complete: call durable_runtime.plugin.install() before the first invocation"
    )


def _dispatch_end(
    plugin: CompletionPlugin, info: UserFunctionEndInfo, hook: Callable[[UserFunctionEndInfo], None]
) -> None:
    """Call `hook`. When it is the plugin's outermost one for this end, the plugin then leaves the run."""
    found = plugin_runs.find(plugin, info)
    if found is None or found[1].leaving:
        hook(info)
        return
    run, watch = found
    watch.leaving = True
    try:
        hook(info)
    finally:
        plugin_runs.leave(run, watch)


def _is_incomplete(info: UserFunctionEndInfo) -> bool:
    """True for an end hook that is called although the function has not ended.

    SDK 2.0 and later say INCOMPLETE. SDK 1.6 says PENDING for a suspension, and FAILED for a timed one.
    """
    if info.outcome is UserFunctionOutcome.FAILED:
        return isinstance(sys.exception(), SuspendExecution)
    return info.outcome is not UserFunctionOutcome.SUCCEEDED


# An end info has these too, and besides them how and when the function ended, which it did not.
_STARTED = tuple({field.name for field in fields(UserFunctionStartInfo)} - {"end_time", "result", "error"})


def _complete_info(
    info: UserFunctionStartInfo | UserFunctionEndInfo, error: BaseException | None
) -> UserFunctionCompleteInfo:
    return UserFunctionCompleteInfo(
        **{name: getattr(info, name) for name in _STARTED},
        reason=_reason(error),
        resume_at=(
            datetime.fromtimestamp(error.scheduled_timestamp, UTC)
            if isinstance(error, TimedSuspendExecution)
            else None
        ),
    )


def _reason(error: BaseException | None) -> UserFunctionCompleteReason:
    match error:
        case TimedSuspendExecution():
            return UserFunctionCompleteReason.SUSPENDED_UNTIL
        case SuspendExecution():
            return UserFunctionCompleteReason.SUSPENDED
        case OrphanedChildException():
            return UserFunctionCompleteReason.ORPHANED
        case BackgroundThreadError():
            return UserFunctionCompleteReason.CHECKPOINT_FAILED
        case _:
            return UserFunctionCompleteReason.INTERRUPTED


def _completing(
    wrap_user_function: Callable[..., Callable[..., object]],
) -> Callable[..., Callable[..., object]]:
    """`ExecutionState.wrap_user_function`, with completion for the plugins that were told of no end."""

    @functools.wraps(wrap_user_function)
    def wrap(*args: object, **kwargs: object) -> Callable[..., object]:
        user_function = wrap_user_function(*args, **kwargs)

        @functools.wraps(user_function)
        def run(*args: object, **kwargs: object) -> object:
            before = plugin_runs.open_runs()
            try:
                return user_function(*args, **kwargs)
            except BaseException as error:
                _complete_since(before, error)
                raise

        return run

    return wrap


def _complete_since(before: tuple[Run, ...], error: BaseException) -> None:
    """Complete the runs opened since, which `error` left. What plugins raise is treated as the SDK does."""
    stop: BaseException | None = None
    for run, watch in plugin_runs.opened_since(before):
        watch.leaving = True
        try:
            try:
                watch.plugin.on_user_function_complete(_complete_info(run.info, error))
            finally:
                plugin_runs.leave(run, watch)
        except Exception:
            logger.exception("Plugin %s exception ignored", type(watch.plugin).__name__)
        except BaseException as interrupt:
            stop = stop or interrupt
    if stop is not None:
        raise stop
