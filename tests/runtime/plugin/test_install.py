"""`install` mends SDK 1.6 and 1.7, once, and leaves later ones and other plugins alone."""

from __future__ import annotations

import inspect
import logging
import subprocess
import sys

import pytest
from aws_durable_execution_sdk_python.exceptions import OrphanedChildException, SuspendExecution
from aws_durable_execution_sdk_python.plugin import DurableInstrumentationPlugin, UserFunctionEndInfo
from aws_durable_execution_sdk_python.state import ExecutionState
from durable_runtime import plugin as plugin_module
from durable_runtime.plugin import CompletionPlugin, UserFunctionCompleteInfo, install

from tests.runtime.plugin.choke_point import attempt_to, identifier, invocation, leaves_by, worker
from tests.runtime.plugin.plugins import Recording
from tests.runtime.support.versions import SDK

NEEDS_INSTALL = SDK < (2,)


def run_python(code: str) -> str:
    """What a fresh interpreter prints. Nothing of this process's installation is in it."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_it_wraps_the_choke_point_once_where_the_sdk_needs_it_and_never_where_it_does_not() -> None:
    code = """
from aws_durable_execution_sdk_python.state import ExecutionState
from durable_runtime.plugin import install
before = ExecutionState.wrap_user_function
assert not hasattr(before, "__wrapped__")
for _ in range(3):
    install()
after = ExecutionState.wrap_user_function
print(after is not before, getattr(after, "__wrapped__", before) is before)
"""
    assert run_python(code) == f"{NEEDS_INSTALL} True"


def test_importing_the_module_changes_nothing() -> None:
    code = """
from aws_durable_execution_sdk_python.state import ExecutionState
before = ExecutionState.wrap_user_function
import durable_runtime.plugin
print(ExecutionState.wrap_user_function is before)
"""
    assert run_python(code) == "True"


def test_other_plugins_notice_nothing() -> None:
    class Other(DurableInstrumentationPlugin):
        def __init__(self) -> None:
            self.ends: list[str] = []

        def on_user_function_end(self, info: UserFunctionEndInfo) -> None:
            self.ends.append(info.outcome.name)

    other = Other()
    with invocation(other) as invoked:
        invoked.run(lambda: None)
        attempt_to(lambda: invoked.run(leaves_by(SuspendExecution("waits"))))
        attempt_to(lambda: invoked.run(leaves_by(OrphanedChildException("gone", operation_id="x"))))
    if SDK >= (2,):
        assert other.ends == ["SUCCEEDED", "INCOMPLETE", "INCOMPLETE"]
    else:
        assert other.ends == ["SUCCEEDED", *(["PENDING"] if SDK < (1, 7) else [])]


def test_a_user_function_keeps_its_name_and_result() -> None:
    def reserve() -> str:
        """Reserves."""
        return "seat"

    with invocation(Recording()) as invoked:
        assert invoked.run(reserve) == "seat"
        assert invoked.state.wrap_user_function(reserve, identifier("operation")).__name__ == "reserve"


def test_without_it_what_is_missing_depends_on_the_sdk(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(
        ExecutionState, "wrap_user_function", inspect.unwrap(ExecutionState.wrap_user_function)
    )
    monkeypatch.setattr(plugin_module, "_installed", False)
    plugin_module._warn_that_install_is_missing.cache_clear()
    plugin = Recording()
    with (
        invocation(plugin) as invoked,
        worker() as on_worker,
        caplog.at_level(logging.WARNING, logger="durable_runtime.plugin"),
    ):
        orphaned = OrphanedChildException("gone", operation_id="x")
        on_worker(lambda: attempt_to(lambda: invoked.run(leaves_by(SuspendExecution("waits")), "waits")))
        on_worker(lambda: attempt_to(lambda: invoked.run(leaves_by(orphaned), "orphan")))

    told = [event for event in plugin.told if event[0] != "start"]
    if SDK >= (2,):
        assert told == [("SUSPENDED", "waits"), ("ORPHANED", "orphan")]
    else:
        assert told == ([("SUSPENDED", "waits")] if SDK < (1, 7) else [])
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == (1 if NEEDS_INSTALL else 0)
    assert all(
        "call durable_runtime.plugin.install() before the first invocation" in text for text in warnings
    )


def test_a_function_that_was_never_reported_before_does_not_hide_the_next_report() -> None:
    """As when the plugins ran on the thread before `install()` was called."""
    plugin = Recording()
    with invocation(plugin) as invoked, worker() as on_worker:
        on_worker(lambda: invoked.start("waits"))
        on_worker(lambda: attempt_to(lambda: invoked.run(leaves_by(SuspendExecution("waits")), "waits")))
    assert plugin.told == [("start", "waits"), ("start", "waits"), ("SUSPENDED", "waits")]


class TestInterruptsOfPlugins:
    """A plugin that is told to stop stops the thread, as the SDK has it."""

    def run(self, stop: BaseException) -> tuple[BaseException | None, Recording, Recording]:
        class Stopped(Recording):
            def on_user_function_complete(self, info: UserFunctionCompleteInfo) -> None:
                super().on_user_function_complete(info)
                raise stop

        first, second = Stopped(), Recording()
        with invocation(first, second) as invoked:
            error = attempt_to(
                lambda: invoked.run(leaves_by(OrphanedChildException("gone", operation_id="x")))
            )
        return error, first, second

    @pytest.mark.parametrize(
        "stop", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()], ids=lambda e: type(e).__name__
    )
    def test_an_interrupt_propagates(self, stop: BaseException) -> None:
        error, first, _ = self.run(stop)
        assert error is stop
        assert first.told == [("start", "operation"), ("ORPHANED", "operation")]

    def test_the_next_plugin_is_told_where_this_package_tells_it(self) -> None:
        """From 2.0 on the SDK does the telling, and stops at the interrupt."""
        _, _, second = self.run(SystemExit(3))
        assert second.told == [
            ("start", "operation"),
            *([("ORPHANED", "operation")] if NEEDS_INSTALL else []),
        ]


def test_an_sdk_without_plugins_is_refused_with_one_sentence_that_says_which_is_needed() -> None:
    code = """
import sys
sys.modules["aws_durable_execution_sdk_python.plugin"] = None  # as if the release had none
try:
    import durable_runtime.plugin
except ImportError as error:
    print(error)
"""
    assert run_python(code).startswith(
        "durable_runtime.plugin needs aws-durable-execution-sdk-python 1.6 or later"
    )


def test_the_hook_needs_nothing_that_only_scopes_need() -> None:
    code = """
import sys
import durable_runtime.plugin
print(sorted(name for name in sys.modules if name.startswith("durable_runtime")))
"""
    assert run_python(code) == "['durable_runtime', 'durable_runtime.plugin', 'durable_runtime.plugin_runs']"


def test_a_completion_plugin_is_a_plugin_of_the_sdk() -> None:
    assert issubclass(CompletionPlugin, DurableInstrumentationPlugin)
    install()
