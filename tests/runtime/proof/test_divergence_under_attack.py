"""Bodies that do not end the same way on replay, while the terminal phase is still under way."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from aws_durable_execution_sdk_python.config import Duration
from aws_durable_execution_sdk_python.exceptions import ExecutionError, NonDeterministicExecutionError
from durable_runtime import ScopeCancelled, TerminalScopeError

from tests.runtime.support.crash import execute
from tests.runtime.support.scopes import FORMS, run_scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_durable_execution_sdk_python import DurableContext
    from durable_runtime import DurableTerminalActions

    from tests.runtime.support.crash import Handler, Life, Run

SECOND = Duration.from_seconds(1)
Body: TypeAlias = "Callable[[DurableContext, DurableTerminalActions], object]"


def _fail(message: str) -> Any:
    raise ValueError(message)


def _other_body_later(form: str, first: Body, later: Body) -> Callable[[Life], Handler]:
    """A scope whose body is `first` in the first invocation, and `later` in those that replay it.

    Its actions suspend: one compensation and one cleanup, and plain ones that come after them.
    """

    def build(life: Life) -> Handler:
        def body(context: DurableContext, terminal: DurableTerminalActions) -> object:
            terminal.cleanup(lambda _: life.note("last cleanup"), name="last")
            terminal.cleanup_in_context(lambda inner: inner.wait(SECOND, name="pause"), name="waits")
            terminal.compensate(lambda _: life.note("last compensation"), name="undo")
            terminal.compensate_in_context(lambda inner: inner.wait(SECOND, name="pause"), name="undo-waits")
            return (first if life.number == 1 else later)(context, terminal)

        def handler(_event: Any, context: DurableContext) -> object:
            try:
                return run_scope(context, form, body)
            except TerminalScopeError as error:
                return ["TerminalScopeError", error.error_type, error.message]

        return handler

    return build


def _new_step(context: DurableContext, _terminal: DurableTerminalActions) -> str:
    context.step(lambda _: _fail("this step must never run"), name="new-step")
    return "value"


def _new_wait(context: DurableContext, _terminal: DurableTerminalActions) -> str:
    context.wait(SECOND, name="new-wait")
    return "value"


def _new_callback(context: DurableContext, _terminal: DurableTerminalActions) -> object:
    return context.create_callback(name="new-callback").result()


def _new_child(context: DurableContext, _terminal: DurableTerminalActions) -> object:
    return context.run_in_child_context(lambda child: child.step(lambda _: 1, name="inner"), name="new-child")


def _new_map(context: DurableContext, _terminal: DurableTerminalActions) -> object:
    context.map([1], lambda branch, *_: branch.step(lambda _: 1, name="inner"), name="new-map")
    return "value"


def _hidden_step(context: DurableContext, _terminal: DurableTerminalActions) -> str:
    with contextlib.suppress(BaseException):
        context.step(lambda _: _fail("this step must never run"), name="new-step")
    return "value"


def _returns(_context: DurableContext, _terminal: DurableTerminalActions) -> str:
    return "value"


def _fails(_context: DurableContext, _terminal: DurableTerminalActions) -> None:
    raise ValueError("the first failure")


def _fails_otherwise(_context: DurableContext, _terminal: DurableTerminalActions) -> None:
    raise KeyError("another failure")


def _cancels(_context: DurableContext, _terminal: DurableTerminalActions) -> None:
    raise ScopeCancelled("cancelled")


def _registers_more(_context: DurableContext, terminal: DurableTerminalActions) -> None:
    terminal.cleanup(lambda _: _fail("never registered before"), name="more")
    raise KeyError("after one registration more")


LATER = [
    _returns,
    _fails_otherwise,
    _cancels,
    _registers_more,
    _new_step,
    _new_wait,
    _new_callback,
    _new_child,
    _new_map,
    _hidden_step,
]


def _assert_nothing_new(run: Run) -> None:
    assert not [name for name in run.names() if name.startswith("new-") or name == "inner"], run.story()


@pytest.mark.parametrize("later", LATER)
def test_a_recorded_failure_of_an_isolated_scope_wins_whatever_its_body_does_later(later: Body) -> None:
    run = execute(_other_body_later("isolated", _fails, later), answers=lambda _: b"1")
    assert (run.status, run.result) == (
        "SUCCEEDED",
        ["TerminalScopeError", "ValueError", "the first failure"],
    ), run.story()
    assert run.notes() == ["last compensation", "last cleanup"]
    _assert_nothing_new(run)


@pytest.mark.parametrize("later", [each for each in LATER if each is not _cancels])
def test_a_recorded_cancellation_of_an_isolated_scope_wins_too(later: Body) -> None:
    run = execute(_other_body_later("isolated", _cancels, later), answers=lambda _: b"1")
    assert run.status == "SUCCEEDED", run.story()
    assert "ScopeCancelled" in run.result[1], run.story()
    assert run.notes() == ["last compensation", "last cleanup"]
    _assert_nothing_new(run)


@pytest.mark.parametrize("later", [each for each in LATER if each not in (_returns, _hidden_step)])
def test_a_recorded_success_runs_its_cleanups_and_invents_no_result(later: Body) -> None:
    run = execute(_other_body_later("isolated", _returns, later), answers=lambda _: b"1")
    assert run.status == "FAILED", run.story()
    assert run.error is not None
    assert (run.error.type or "").endswith(NonDeterministicExecutionError.__name__), run.story()
    assert run.notes() == ["last cleanup"]
    _assert_nothing_new(run)


@pytest.mark.parametrize(
    ("first", "later"),
    [(_fails, _returns), (_fails, _fails_otherwise), (_returns, _fails), (_cancels, _fails)],
)
def test_a_scope_in_place_that_ends_otherwise_is_detected_and_both_ends_are_named(
    first: Body, later: Body
) -> None:
    run = execute(_other_body_later("in place", first, later))
    assert run.status == "FAILED", run.story()
    assert run.error is not None
    assert (run.error.type or "").endswith(NonDeterministicExecutionError.__name__), run.story()
    ends: dict[Body, str] = {
        _fails: "ValueError",
        _fails_otherwise: "KeyError",
        _returns: "SUCCEEDED",
        _cancels: "CANCELLED",
    }
    for end in (first, later):
        assert ends[end] in (run.error.message or ""), run.error


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", ["fewer", "more", "renamed", "other order", "other kind"])
def test_another_list_of_registrations_is_detected_and_both_lists_are_named(form: str, change: str) -> None:
    lists = {
        "fewer": [("cleanup", "a")],
        "more": [("cleanup", "a"), ("cleanup", "b"), ("cleanup", "c")],
        "renamed": [("cleanup", "a"), ("cleanup", "z")],
        "other order": [("cleanup", "b"), ("cleanup", "a")],
        "other kind": [("cleanup", "a"), ("compensate", "b")],
    }

    def build(life: Life) -> Handler:
        def body(_context: DurableContext, terminal: DurableTerminalActions) -> None:
            registered = [("cleanup", "a"), ("cleanup", "b")] if life.number == 1 else lists[change]
            for kind, name in registered:
                register = (
                    terminal.cleanup_in_context if kind == "cleanup" else terminal.compensate_in_context
                )
                register(lambda inner: inner.wait(SECOND, name="pause"), name=name)

        def handler(_event: Any, context: DurableContext) -> str:
            run_scope(context, form, body)
            return "value"

        return handler

    run = execute(build)
    assert run.status == "FAILED", run.story()
    assert run.error is not None
    assert (run.error.type or "").endswith(NonDeterministicExecutionError.__name__), run.story()
    message = run.error.message or ""
    assert "[cleanup 'a', cleanup 'b']" in message, message
    assert "[" + ", ".join(f"{kind} {name!r}" for kind, name in lists[change]) + "]" in message, message


def _fail_for_good(_: object) -> None:
    raise ExecutionError("for good")


def _catch_a_step(context: DurableContext) -> None:
    context.step(_fail_for_good, name="fatal")


def _catch_a_child(context: DurableContext) -> None:
    context.run_in_child_context(_catch_a_step, name="child")


def _catch_a_map(context: DurableContext) -> None:
    context.map([1, 2], lambda branch, *_: _catch_a_step(branch), name="map")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("operation", [_catch_a_step, _catch_a_child, _catch_a_map])
def test_a_body_that_catches_an_execution_error_ends_the_same_way_on_replay(
    operation: Callable[[DurableContext], None], form: str
) -> None:
    """The SDK checkpoints no end of such an operation: on replay the history holds its start alone."""

    def build(life: Life) -> Handler:
        def body(context: DurableContext, terminal: DurableTerminalActions) -> str:
            terminal.cleanup(lambda _: life.note("cleanup"), name="cleanup")
            terminal.cleanup_in_context(lambda inner: inner.wait(SECOND, name="pause"), name="waits")
            try:
                operation(context)
            except ExecutionError:
                context.step(lambda _: life.note("fallback"), name="fallback")
            return "value"

        def handler(_event: Any, context: DurableContext) -> str:
            return run_scope(context, form, body)

        return handler

    run = execute(build)
    assert (run.status, run.result) == ("SUCCEEDED", "value"), run.story()
    assert run.notes() == ["fallback", "cleanup"]


@pytest.mark.parametrize("operation", [_catch_a_step, _catch_a_child])
def test_an_isolated_scope_repeats_the_execution_error_of_its_body_and_not_the_step(
    operation: Callable[[DurableContext], None],
) -> None:
    def build(_life: Life) -> Handler:
        def body(context: DurableContext, terminal: DurableTerminalActions) -> None:
            terminal.cleanup_in_context(lambda inner: inner.wait(SECOND, name="pause"), name="waits")
            operation(context)

        def handler(_event: Any, context: DurableContext) -> None:
            run_scope(context, "isolated", body)

        return handler

    run = execute(build)
    assert run.status == "FAILED"
    assert run.error is not None
    assert ((run.error.type or "").rpartition(".")[2], run.error.message) == ("ExecutionError", "for good")
