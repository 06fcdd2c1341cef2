"""The acceptance criteria of the request, one by one."""

from __future__ import annotations

import logging

import pytest
from aws_durable_execution_sdk_python.exceptions import (
    BackgroundThreadError,
    OrphanedChildException,
    SuspendExecution,
    TimedSuspendExecution,
)
from durable_runtime.plugin import CompletionPlugin, UserFunctionCompleteInfo, UserFunctionCompleteReason

from tests.runtime.plugin.choke_point import attempt_to, invocation, leaves_by, this_thread, worker
from tests.runtime.plugin.plugins import CURRENT, NOTHING, Recording, WithBind

LEFT_WITHOUT_AN_END = [
    (SuspendExecution("waits for a callback"), "SUSPENDED"),
    (TimedSuspendExecution("waits", 1_767_312_000.5), "SUSPENDED_UNTIL"),
    (OrphanedChildException("parent has completed", operation_id="branch"), "ORPHANED"),
    (BackgroundThreadError("checkpoint failed", ValueError("throttled")), "CHECKPOINT_FAILED"),
    (SystemExit(3), "INTERRUPTED"),
    (KeyboardInterrupt(), "INTERRUPTED"),
    (GeneratorExit(), "INTERRUPTED"),
]

left_without_an_end = pytest.mark.parametrize(
    ("error", "reason"), LEFT_WITHOUT_AN_END, ids=[type(error).__name__ for error, _ in LEFT_WITHOUT_AN_END]
)


@left_without_an_end
@pytest.mark.parametrize("attempt", [None, 2], ids=["context", "step"])
def test_a_plugin_is_notified_on_the_thread_that_ran_the_user_function_whenever_it_does_not_report_an_end(
    error: BaseException, reason: str, attempt: int | None
) -> None:
    plugin = Recording()
    ran_on: list[int] = []

    def function() -> None:
        ran_on.append(this_thread())
        raise error

    with invocation(plugin) as invoked, worker() as on_worker:
        raised = on_worker(lambda: attempt_to(lambda: invoked.run(function, attempt=attempt)))

    assert raised is error, "what leaves the function goes on unchanged"
    assert plugin.told == [("start", "operation"), (reason, "operation")]
    assert plugin.threads == ran_on * 2
    assert ran_on != [this_thread()]


@left_without_an_end
def test_the_notification_never_double_fires_alongside_an_end(error: BaseException, reason: str) -> None:
    plugin = Recording()
    with invocation(plugin) as invoked:
        invoked.run(lambda: None, "returns")
        attempt_to(lambda: invoked.run(leaves_by(error), "leaves"))
        attempt_to(lambda: invoked.run(leaves_by(ValueError("no stock")), "fails"))
        invoked.run(lambda: None, "leaves")

    assert plugin.told == [
        ("start", "returns"),
        ("SUCCEEDED", "returns"),
        ("start", "leaves"),
        (reason, "leaves"),
        ("start", "fails"),
        ("FAILED", "fails"),
        ("start", "leaves"),
        ("SUCCEEDED", "leaves"),
    ]


def test_the_documented_contract_is_to_release_on_the_user_thread_and_to_end_nothing() -> None:
    contract = " ".join((CompletionPlugin.on_user_function_complete.__doc__ or "").split())
    assert "on the thread that ran it" in contract
    assert "Release scoped state here" in contract
    assert "End nothing" in contract
    assert "the operation may still resume" in contract


def test_nested_suspends_unwind_in_reverse_order() -> None:
    released: list[str] = []

    class Nested(WithBind):
        def on_user_function_complete(self, info: UserFunctionCompleteInfo) -> None:
            released.append(f"{info.operation_id} while {CURRENT.get()} is current")

    def inner() -> None:
        invoked.run(leaves_by(SuspendExecution("waits")), "innermost", parent="inner", attempt=1)

    with invocation(Nested()) as invoked:
        attempt_to(lambda: invoked.run(lambda: invoked.run(inner, "inner", parent="outer"), "outer"))
        assert CURRENT.get() == NOTHING

    assert released == [
        "innermost while innermost#1 is current",
        "inner while inner#1 is current",
        "outer while outer#1 is current",
    ]


def test_a_suspended_scope_is_released_on_its_originating_thread() -> None:
    with invocation(WithBind()) as invoked, worker() as on_first, worker() as on_second:
        on_first(lambda: attempt_to(lambda: invoked.run(leaves_by(SuspendExecution("waits")), "branch")))
        assert on_first(CURRENT.get) == NOTHING
        on_second(lambda: invoked.run(lambda: None, "branch"))
        assert on_second(CURRENT.get) == NOTHING


def test_exceptions_of_plugins_remain_swallowed_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(WithBind):
        def on_user_function_complete(self, info: UserFunctionCompleteInfo) -> None:  # noqa: ARG002
            raise LookupError("plugin is broken")

    broken, after = Broken(), Recording()
    suspension = SuspendExecution("waits")
    with invocation(broken, after) as invoked, caplog.at_level(logging.ERROR):
        assert attempt_to(lambda: invoked.run(leaves_by(suspension))) is suspension
        assert CURRENT.get() == NOTHING, "what the broken plugin had bound is released all the same"

    assert after.told == [("start", "operation"), ("SUSPENDED", "operation")]
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "Broken" in record.getMessage()
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], LookupError)


def test_the_reasons_tell_suspended_from_orphaned_from_failed_infrastructure() -> None:
    assert {reason.name for reason in UserFunctionCompleteReason} == {
        reason for _, reason in LEFT_WITHOUT_AN_END
    }
