"""What each exception means for a scope, and the recorded outcome that actions can read."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from aws_durable_execution_sdk_python import (
    CallbackError,
    ExecutionError,
    InvocationError,
    InvokeError,
    RetryableSerDesError,
    SerDesError,
    StepError,
    ValidationError,
    WaitForConditionError,
)
from aws_durable_execution_sdk_python.exceptions import (
    BackgroundThreadError,
    BotoClientError,
    CheckpointError,
    DurableApiErrorCategory,
    NonDeterministicExecutionError,
    OrphanedChildException,
    StepInterruptedError,
    SuspendExecution,
    TimedSuspendExecution,
)
from durable_runtime import ScopeCancelled, ScopeStatus, TerminalScopeConfig, TerminalScopeError
from durable_runtime.outcome import Diverged, classify

from tests.runtime.scope.stage import (
    IN_PLACE,
    ISOLATED,
    LOST,
    ONCE,
    Around,
    Inside,
    Oops,
    both_forms,
    play,
)

if TYPE_CHECKING:
    from collections.abc import Callable


class NotRetryable(InvocationError):
    def is_retryable(self) -> bool:
        return False


class Stop(BaseException):
    """A cancellation signal of some library."""


FAILED: list[BaseException] = [
    ValueError(),
    Oops(),
    StepError(),
    CallbackError(),
    InvokeError(),
    WaitForConditionError(),
    SerDesError(),
    ValidationError(),
    TerminalScopeError(),
    ExecutionError("fatal"),
    NotRetryable("no"),
    ExceptionGroup("several", [ValueError()]),
]

NONE: list[BaseException] = [
    SuspendExecution("wait"),
    TimedSuspendExecution("wait", 0),
    OrphanedChildException("orphan", operation_id=""),
    BackgroundThreadError("lost", ValueError()),
    KeyboardInterrupt(),
    SystemExit(),
    GeneratorExit(),
    Stop(),
    asyncio.CancelledError(),
    InvocationError("again"),
    RetryableSerDesError("again"),
    StepInterruptedError("again"),
    BotoClientError("refused", DurableApiErrorCategory.EXECUTION),
    CheckpointError("throttled"),
    NonDeterministicExecutionError("other"),
    Diverged("other"),
    BaseExceptionGroup("several", [SuspendExecution("wait")]),
]


def name(error: BaseException) -> str:
    return type(error).__name__


def test_a_value_is_success() -> None:
    assert classify(None, ()) is ScopeStatus.SUCCEEDED


@pytest.mark.parametrize("error", FAILED, ids=name)
def test_application_and_operation_errors_are_failures(error: BaseException) -> None:
    assert classify(error, ()) is ScopeStatus.FAILED


@pytest.mark.parametrize("error", NONE, ids=name)
def test_control_flow_and_what_is_retried_is_no_outcome(error: BaseException) -> None:
    assert classify(error, ()) is None


@pytest.mark.parametrize(
    "error", [ScopeCancelled(), Stop(), asyncio.CancelledError(), TimeoutError()], ids=name
)
def test_a_cancellation_is_what_was_said_to_be_one(error: BaseException) -> None:
    assert classify(error, (Stop, asyncio.CancelledError, TimeoutError)) is ScopeStatus.CANCELLED


@pytest.mark.parametrize("error", [error for error in NONE if not isinstance(error, Stop)], ids=name)
def test_no_policy_turns_control_flow_into_a_cancellation(error: BaseException) -> None:
    allowed = not isinstance(error, (asyncio.CancelledError, BaseExceptionGroup))
    assert (classify(error, (BaseException,)) is None) is allowed


@pytest.mark.parametrize(
    "kind",
    [
        SuspendExecution,
        TimedSuspendExecution,
        OrphanedChildException,
        BackgroundThreadError,
        KeyboardInterrupt,
        SystemExit,
        GeneratorExit,
    ],
)
def test_control_flow_cannot_be_listed_as_a_cancellation(kind: type[BaseException]) -> None:
    with pytest.raises(TypeError, match=kind.__name__):
        TerminalScopeConfig(cancelled_by=(kind,))


@pytest.mark.parametrize("wrong", [int, "Stop", Stop()])
def test_only_exception_classes_can_be_listed_as_cancellations(wrong: Any) -> None:
    with pytest.raises(TypeError, match="exception classes"):
        TerminalScopeConfig(cancelled_by=(wrong,))


@both_forms
@pytest.mark.parametrize(
    ("leave", "expected"),
    [
        (lambda: None, ("SUCCEEDED", None, None)),
        (lambda: raise_(ValueError("broken")), ("FAILED", "ValueError", "broken")),
        (
            lambda: raise_(ScopeCancelled("stop")),
            ("CANCELLED", "durable_runtime.errors.ScopeCancelled", "stop"),
        ),
    ],
)
def test_actions_read_the_recorded_outcome_and_the_body_reads_none(
    form: str, leave: Callable[[], None], expected: tuple[str, str | None, str | None]
) -> None:
    seen: list[Any] = []

    def body(s: Inside) -> None:
        def look(_context: object) -> None:
            outcome = s.terminal.outcome
            assert outcome is not None
            seen.append((outcome.status, outcome.error_type, outcome.message))

        s.terminal.cleanup(look, name="look")
        s.terminal.cleanup_in_context(look, name="look-in-context")
        assert s.terminal.outcome is None
        leave()

    play(form, body)
    assert seen == [expected] * 2


def raise_(error: BaseException) -> None:
    raise error


@both_forms
def test_a_base_exception_that_means_cancellation_leaves_each_form_in_its_way(form: str) -> None:
    def body(s: Inside) -> None:
        s.terminal.cleanup(s.noting("clean"), name="clean")
        s.terminal.cleanup(s.failing("fails", Oops("stuck")), name="fails", config=ONCE)
        raise Stop("now")

    left: list[Any] = []

    def frame(around: Around) -> None:
        try:
            around.scope(around.context)
        except (Stop, TerminalScopeError) as error:
            left.append(error)

    played = play(form, body, frame=frame, config=TerminalScopeConfig(cancelled_by=(Stop,)))
    assert played.effects == ["fails", "clean"]
    assert [failure.name for failure in left[0].terminal_failures] == ["fails"]
    assert type(left[0]) is (Stop if form == IN_PLACE else TerminalScopeError)


def test_the_config_cannot_be_changed() -> None:
    config: Any = TerminalScopeConfig()
    with pytest.raises(AttributeError):
        config.fail_on_cleanup_failure = False


@both_forms
def test_a_failed_nested_scope_is_a_failure_of_the_outer_one_whatever_it_was(form: str) -> None:
    """A cancellation that crosses a checkpoint is an SDK error; in place it stays a cancellation."""

    def body(s: Inside) -> None:
        from durable_runtime import terminal_scope

        def inner(_context: object, _terminal: object) -> None:
            raise ScopeCancelled("stop")

        s.terminal.compensate(s.noting("undo"), name="undo")
        if form == ISOLATED:
            terminal_scope(s.context, inner, name="inner")
        else:
            with terminal_scope(s.context, name="inner"):
                raise ScopeCancelled("stop")

    recorded = play(form, body).payload("s.outcome")["outcome"]
    assert recorded == ("FAILED" if form == ISOLATED else "CANCELLED")


@both_forms
def test_an_invocation_error_in_a_nested_child_does_not_become_a_permanent_failure(form: str) -> None:
    def body(s: Inside) -> None:
        def child(_context: object) -> None:
            if s.life.number == 1:
                raise InvocationError("again")

        s.terminal.cleanup(s.noting("clean"), name="clean")
        s.terminal.compensate(s.noting("undo"), name="undo")
        s.context.run_in_child_context(child, name="child")

    assert play(form, body).effects == [LOST, "clean"]
