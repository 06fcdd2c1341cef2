"""Plugins after a fix: they let go where they did not, and the rest of the file stays as it was."""

from __future__ import annotations

import difflib
from contextvars import copy_context
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
from aws_durable_execution_sdk_python.exceptions import OrphanedChildException, SuspendExecution
from durable_lint.config.settings import Settings
from durable_lint.linter import Linter
from durable_lint.rewrite import Rewriter

from tests.linter.rules.plugin_sources import ATTACHES, source
from tests.runtime.plugin.choke_point import attempt_to, invocation, leaves_by, worker

if TYPE_CHECKING:
    from durable_lint.rewrite import Rewritten

RELEASE = "OPERATION.reset(self._tokens.pop(info.operation_id))"


def rewrite(text: str, sdk_version: str = "3.0.0", *, unsafe: bool = True) -> tuple[str, Rewritten]:
    """The text after `--fix`, and what became of the findings."""
    with TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        path = root / "plugin.py"
        path.write_text(text, encoding="utf-8")
        (root / "pyproject.toml").touch()
        linter = Linter(Settings(root=root, sdk_version=sdk_version), with_fixes=True)
        rewritten = Rewriter(linter, unsafe_fixes=unsafe).rewrite(path)
        return rewritten.contents.get(path, text.encode()).decode(), rewritten


def changed(before: str, after: str) -> str:
    """The lines that a fix took out and put in."""
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return "\n".join(line.rstrip() for line in lines if line[:1] in "-+")


def check_transformed(body: str, expected: str, *, sdk_version: str = "3.0.0", **kinds: str) -> str:
    """Fix a plugin class, compare the lines that changed, and fix it again, which changes nothing."""
    before = source(body, **kinds)
    after, rewritten = rewrite(before, sdk_version)
    assert changed(before, after) == dedent(expected).strip("\n")
    assert [finding.code for finding in rewritten.result.findings] == []
    again, _ = rewrite(after, sdk_version)
    assert again == after
    return after


def refusal(body: str, *, sdk_version: str = "3.0.0", **kinds: str) -> str:
    """Why a plugin class is not rewritten; it stays as it is."""
    before = source(body, **kinds)
    after, rewritten = rewrite(before, sdk_version)
    assert after == before
    return " / ".join(finding.no_fix for finding in rewritten.result.findings)


# ---------------------------------------------------------------- LDC301


@pytest.mark.parametrize(
    ("attaching", "bound"),
    [
        (
            "otel_context.attach(trace.set_span_in_context(span))",
            "self.bind(info, trace.set_span_in_context(span))",
        ),
        ("OPERATION.set(info.name or '-')", "self.bind(info, OPERATION, info.name or '-')"),
        ("trace.use_span(span).__enter__()", "self.bind(info, trace.use_span(span))"),
        ("current = trace.use_span(span).__enter__()", "current = self.bind(info, trace.use_span(span))"),
        ("self._lock.acquire()", "self.bind(info, self._lock)"),
        ("self._stack.enter_context(trace.use_span(span))", "self.bind(info, trace.use_span(span))"),
        (
            "structlog.contextvars.bind_contextvars(operation=info.name)",
            "self.bind(info, structlog.contextvars.bound_contextvars(operation=info.name))",
        ),
        ("token = OPERATION.set(info.name)", "self.bind(info, OPERATION, info.name)"),
        ("self._tokens[info.name] = OPERATION.set(info.name)", "self.bind(info, OPERATION, info.name)"),
    ],
)
def test_what_is_attached_and_never_released_is_attached_by_bind(attaching: str, bound: str) -> None:
    check_transformed(
        f"""
        def __init__(self):
            self._lock = threading.RLock()
            self._stack = ExitStack()

        def on_user_function_start(self, info):
            span = tracer.start_span(info.name)
            {attaching}  # while it runs
        """,
        f"""
        - class Plugin(DurableInstrumentationPlugin):
        + class Plugin(CompletionPlugin, DurableInstrumentationPlugin):
        -         {attaching}  # while it runs
        +         {bound}  # while it runs
        """,
    )


def test_the_import_is_added_where_it_belongs() -> None:
    before = dedent(
        '''\
        """Tenants."""

        from contextvars import ContextVar

        from aws_durable_execution_sdk_python.plugin import DurableInstrumentationPlugin

        TENANT = ContextVar("tenant")


        class Plugin(DurableInstrumentationPlugin):
            def on_user_function_start(self, info):
                TENANT.set("acme")
        '''
    )
    after, _ = rewrite(before)
    assert changed(before, after).splitlines()[0] == "+ from durable_runtime.plugin import CompletionPlugin"
    lines = after.splitlines()
    index = lines.index("from durable_runtime.plugin import CompletionPlugin")
    assert (
        lines[index - 1] == "from aws_durable_execution_sdk_python.plugin import DurableInstrumentationPlugin"
    )


def test_a_method_that_is_given_the_notification_binds_itself() -> None:
    check_transformed(
        """
        def on_user_function_start(self, started):
            self._attach(started)

        def _attach(self, what):
            OPERATION.set(what.name)
        """,
        """
        - class Plugin(DurableInstrumentationPlugin):
        + class Plugin(CompletionPlugin, DurableInstrumentationPlugin):
        -         OPERATION.set(what.name)
        +         self.bind(what, OPERATION, what.name)
        """,
    )


def test_sdk_17_needs_install_as_well() -> None:
    after = check_transformed(
        """
        def on_user_function_start(self, info):
            OPERATION.set(info.name)
        """,
        """
        - from durable_runtime.plugin import CompletionPlugin
        + from durable_runtime.plugin import CompletionPlugin, install
        + install()
        +
        +
        - class Plugin(DurableInstrumentationPlugin):
        + class Plugin(CompletionPlugin, DurableInstrumentationPlugin):
        -         OPERATION.set(info.name)
        +         self.bind(info, OPERATION, info.name)
        """,
        sdk_version="1.7.0",
    )
    assert after.index("install()\n") < after.index("class Plugin")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "def on_user_function_start(self, info): tracer.start_as_current_span(info.name).__enter__()",
            "ends the span",
        ),
        ("def on_user_function_start(self, info): xray_recorder.begin_subsegment(info.name)", "is not known"),
        (
            """
            def on_user_function_start(self, info):
                self._token = OPERATION.set(info.name)
                print(self._token)
            """,
            "its token is kept",
        ),
        (
            """
            def on_user_function_start(self, info):
                self._attach(info.name)

            def _attach(self, name):
                OPERATION.set(name)
            """,
            "not given the notification",
        ),
        (
            """
            def on_user_function_start(self, info):
                OPERATION.set(info.name)

            def on_user_function_end(self, info):
                if info.outcome is UserFunctionOutcome.INCOMPLETE:
                    self.paused += 1
            """,
            "deals with INCOMPLETE",
        ),
        (
            "def on_user_function_start(self, info):\n    self._lock.acquire(timeout=3)",
            "what its arguments mean",
        ),
    ],
    ids=["ends span", "no manager", "token kept", "no info", "incomplete", "arguments"],
)
def test_what_cannot_be_bound_soundly_is_left_with_a_reason(body: str, reason: str) -> None:
    assert reason in refusal(body)


# ---------------------------------------------------------------- LDC302


def test_the_completion_hook_is_added_with_the_release_alone() -> None:
    check_transformed(
        """
        def on_user_function_start(self, info):
            self._tokens[info.operation_id] = OPERATION.set(info.name)

        def on_user_function_end(self, info: UserFunctionEndInfo) -> None:
            token = self._tokens.pop(info.operation_id, None)
            if token is not None:
                OPERATION.reset(token)
            self.report(info)

        def report(self, info):
            print(info)
        """,
        """
        - from durable_runtime.plugin import CompletionPlugin
        + from durable_runtime.plugin import CompletionPlugin, UserFunctionCompleteInfo, install
        + install()
        +
        +
        - class Plugin(DurableInstrumentationPlugin):
        + class Plugin(CompletionPlugin, DurableInstrumentationPlugin):
        +     def on_user_function_complete(self, info: UserFunctionCompleteInfo) -> None:
        +         token = self._tokens.pop(info.operation_id, None)
        +         if token is not None:
        +             OPERATION.reset(token)
        +
        """,
        sdk_version="1.7.0",
        before="from aws_durable_execution_sdk_python.plugin import UserFunctionEndInfo",
    )


def test_a_completion_plugin_gets_the_hook_only() -> None:
    check_transformed(
        f"{ATTACHES}\ndef on_user_function_end(self, info):\n    self._release(info)\n    self.ended += 1\n"
        f"\ndef _release(self, info):\n    {RELEASE}\n",
        """
        +     def on_user_function_complete(self, info):
        +         self._release(info)
        +
        """,
        base="CompletionPlugin",
    )


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (f"with self._lock:\n        {RELEASE}", "part of a larger statement"),
        (f"if info.error:\n        {RELEASE}\n    else:\n        {RELEASE}", "can't be told apart"),
        (f"{RELEASE}; self.report(info)", "shares its line"),
    ],
)
def test_a_release_that_cannot_be_told_apart_is_left_with_a_reason(end: str, reason: str) -> None:
    body = f"{ATTACHES}\ndef on_user_function_end(self, info):\n    {end}\n"
    assert reason in refusal(body, sdk_version="1.7.0")


def test_the_plugin_that_is_run_on_sdk_17_is_what_the_fix_makes() -> None:
    """`tests/runtime/plugin/test_rewritten.py` runs both on every SDK."""
    folder = Path(__file__).parents[2] / "runtime" / "plugin" / "rewritten"
    after, rewritten = rewrite((folder / "before.py").read_text(encoding="utf-8"), "1.7.0")
    assert [finding.code for finding in rewritten.fixed] == ["LDC302"]
    assert after == (folder / "after.py").read_text(encoding="utf-8")


# ---------------------------------------------------------------- LDC303


def test_a_release_is_taken_out_of_a_condition() -> None:
    check_transformed(
        f"{ATTACHES}\ndef on_user_function_end(self, info):\n"
        f"    if info.outcome is UserFunctionOutcome.SUCCEEDED:\n        {RELEASE}  # detach\n",
        f"""
        -         if info.outcome is UserFunctionOutcome.SUCCEEDED:
        -             {RELEASE}  # detach
        ?         ----
        +         {RELEASE}  # detach
        """.replace("        ?         ----\n", ""),
    )


def test_what_else_stands_under_the_condition_stays_there() -> None:
    check_transformed(
        f"{ATTACHES}\ndef on_user_function_end(self, info):\n"
        f"    if info.outcome is UserFunctionOutcome.FAILED:\n        {RELEASE}\n        self.failed += 1\n",
        f"""
        +         {RELEASE}
        -             {RELEASE}
        """,
    )


def test_a_release_is_moved_above_an_early_return_with_what_it_needs() -> None:
    check_transformed(
        f'{ATTACHES}\ndef on_user_function_end(self, info):\n    """Ends."""\n'
        "    if info.error is None:\n        return\n"
        "    key = info.operation_id\n    token = self._tokens.pop(key)\n    self.failures += 1\n"
        "    OPERATION.reset(token)\n",
        """
        +         key = info.operation_id
        +         token = self._tokens.pop(key)
        +         OPERATION.reset(token)
        -         key = info.operation_id
        -         token = self._tokens.pop(key)
        -         OPERATION.reset(token)
        """,
    )


def test_an_exit_in_another_method_is_left_with_a_reason() -> None:
    assert "another method" in refusal(
        f"{ATTACHES}\ndef on_user_function_end(self, info):\n    self._finish(info)\n"
        f"def _finish(self, info):\n    if info.error is None:\n        return\n    {RELEASE}\n"
    )


# ---------------------------------------------------------------- LDC304


def test_a_hook_that_only_releases_becomes_the_end_hook() -> None:
    check_transformed(
        f"{ATTACHES}\ndef on_operation_end(self, info: OperationEndInfo) -> None:\n    {RELEASE}\n",
        """
        - from aws_durable_execution_sdk_python.plugin import OperationEndInfo
        + from aws_durable_execution_sdk_python.plugin import UserFunctionEndInfo
        -     def on_operation_end(self, info: OperationEndInfo) -> None:
        +     def on_user_function_end(self, info: UserFunctionEndInfo) -> None:
        """,
        before="from aws_durable_execution_sdk_python.plugin import OperationEndInfo",
    )


def test_a_release_among_other_things_is_moved_to_the_end_hook() -> None:
    check_transformed(
        f"{ATTACHES}\ndef on_operation_end(self, info):\n    self.ended += 1\n    {RELEASE}\n"
        "\ndef on_user_function_end(self, info):\n    self.seen += 1\n",
        f"""
        -         {RELEASE}
        +         {RELEASE}
        """,
    )


def test_the_end_hook_is_added_where_there_is_none() -> None:
    check_transformed(
        f"{ATTACHES}\ndef on_operation_end(self, info):\n    self.ended += 1\n    {RELEASE}\n",
        """
        +
        +     def on_user_function_end(self, info):
        """,
    )


def test_the_end_of_an_invocation_is_not_about_one_function() -> None:
    sweep = "for token in self._tokens.values():\n        OPERATION.reset(token)"
    body = f"{ATTACHES}\ndef on_invocation_end(self, info):\n    {sweep}\n"
    assert "is not about one function" in refusal(body)


# ---------------------------------------------------------------- what every fix keeps


def test_all_of_it_is_unsafe() -> None:
    before = source("def on_user_function_start(self, info):\n    OPERATION.set(info.name)\n")
    after, _ = rewrite(before, unsafe=False)
    assert after == before


def test_line_endings_tabs_and_comments_stay() -> None:
    before = (
        "from contextvars import ContextVar\r\n"
        "from aws_durable_execution_sdk_python.plugin import DurableInstrumentationPlugin\r\n"
        "from durable_runtime.plugin import CompletionPlugin\r\n\r\n"
        "V = ContextVar('v')\r\n\r\n\r\n"
        "class P(CompletionPlugin):\r\n"
        "\tdef on_user_function_start(self, info):\r\n\t\tself.token = V.set(1)\r\n\r\n"
        "\tdef on_user_function_end(self, info):\r\n\t\t# over\r\n\t\tV.reset(self.token)  # done\r\n"
    )
    after, _ = rewrite(before)
    assert after == before + (
        "\r\n\tdef on_user_function_complete(self, info):\r\n\t\tV.reset(self.token)  # done\r\n"
    )


# ---------------------------------------------------------------- a plugin that is run

RUN_PRELUDE = """\
from contextvars import ContextVar
from contextlib import contextmanager
from aws_durable_execution_sdk_python.plugin import DurableInstrumentationPlugin, UserFunctionOutcome
from durable_runtime.plugin import CompletionPlugin
from opentelemetry import baggage
from opentelemetry import context as otel_context

OPERATION = ContextVar("operation", default="-")


def current():
    return OPERATION.get(), dict(otel_context.get_current())


@contextmanager
def named(name):
    token = OPERATION.set(name)
    yield
    OPERATION.reset(token)


"""

RUN = {
    "LDC301 variable": """
        class Plugin(DurableInstrumentationPlugin):
            def on_user_function_start(self, info):
                OPERATION.set(info.name)
        """,
    "LDC301 context": """
        class Plugin(DurableInstrumentationPlugin):
            def on_user_function_start(self, info):
                otel_context.attach(baggage.set_baggage("operation", info.name))
        """,
    "LDC301 manager": """
        class Plugin(DurableInstrumentationPlugin):
            def on_user_function_start(self, info):
                self._kept = named(info.name)
                self._kept.__enter__()
        """,
    "LDC302": """
        class Plugin(CompletionPlugin):
            def __init__(self):
                self._tokens = {}

            def on_user_function_start(self, info):
                self._tokens[info.operation_id] = OPERATION.set(info.name)

            def on_user_function_end(self, info):
                OPERATION.reset(self._tokens.pop(info.operation_id))
        """,
    "LDC303 condition": """
        class Plugin(DurableInstrumentationPlugin):
            def on_user_function_start(self, info):
                self._token = otel_context.attach(baggage.set_baggage("operation", info.name))

            def on_user_function_end(self, info):
                if info.outcome in (UserFunctionOutcome.SUCCEEDED, UserFunctionOutcome.FAILED):
                    otel_context.detach(self._token)
        """,
    "LDC303 return": """
        class Plugin(DurableInstrumentationPlugin):
            def __init__(self):
                self._tokens = {}

            def on_user_function_start(self, info):
                self._tokens[info.operation_id] = OPERATION.set(info.name)

            def on_user_function_end(self, info):
                if info.error is None and info.outcome is not UserFunctionOutcome.SUCCEEDED:
                    return
                token = self._tokens.pop(info.operation_id)
                OPERATION.reset(token)
        """,
    "LDC304": """
        class Plugin(DurableInstrumentationPlugin):
            def __init__(self):
                self._tokens = {}

            def on_user_function_start(self, info):
                self._tokens[info.operation_id] = OPERATION.set(info.name)

            def on_operation_end(self, info):
                token = self._tokens.pop(info.operation_id, None)
                if token is not None:
                    OPERATION.reset(token)
        """,
}


@pytest.mark.parametrize("name", RUN)
def test_a_fixed_plugin_lets_go_where_the_original_did_not(name: str) -> None:
    original = RUN_PRELUDE + dedent(RUN[name])
    fixed, rewritten = rewrite(original)
    assert [finding.code for finding in rewritten.fixed] == [name[:6]]
    assert stays_clean(original) is False
    assert stays_clean(fixed) is True


def stays_clean(text: str) -> bool:
    """Whether a worker is as it was after functions on it were suspended, orphaned, failed and returned."""
    namespace: dict[str, Any] = {"__name__": "plugin_under_test"}
    exec(compile(text, "<plugin>", "exec"), namespace)
    current = namespace["current"]

    def run_all() -> bool:
        exits = [
            SuspendExecution("waits"),
            OrphanedChildException("gone", operation_id="x"),
            ValueError("no stock"),
        ]
        clean = True
        with invocation(namespace["Plugin"]()) as invoked, worker() as on_worker:
            before = on_worker(current)
            for function in map(leaves_by, exits):
                on_worker(partial(attempt_to, partial(invoked.run, function, "function")))
                clean = clean and on_worker(current) == before
            on_worker(lambda: invoked.run(lambda: None, "function"))
            return bool(clean and on_worker(current) == before)

    return copy_context().run(run_all)
