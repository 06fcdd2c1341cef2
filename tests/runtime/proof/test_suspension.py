"""Suspension from every suspending operation runs no action: in both forms, at top level, nested, and in
branches.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from aws_durable_execution_sdk_python.config import (
    Duration,
    JitterStrategy,
    MapConfig,
    NestingType,
    ParallelConfig,
    StepConfig,
)
from aws_durable_execution_sdk_python.retries import (
    RetryStrategyConfig,
    WithRetryConfig,
    create_retry_strategy,
    with_retry,
)
from aws_durable_execution_sdk_python.waits import WaitForConditionConfig, WaitForConditionDecision
from durable_runtime import terminal_scope

from tests.runtime.support.crash import Death, Loss, execute, killed_everywhere
from tests.runtime.support.versions import CAN_INVOKE_FUNCTIONS, CAN_REVOKE_TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_durable_execution_sdk_python import DurableContext, StepContext, types
    from durable_runtime import DurableTerminalActions

    from tests.runtime.support.crash import Handler, Life, Run

_SECOND = Duration.from_seconds(1)
_ONE_RETRY = create_retry_strategy(
    RetryStrategyConfig(max_attempts=2, initial_delay=_SECOND, jitter_strategy=JitterStrategy.NONE)
)


def _step_retry(context: DurableContext) -> None:
    def fail_once(step_context: StepContext) -> None:
        if (step_context.attempt or 1) == 1:
            raise ValueError("once")

    context.step(fail_once, name="unsteady", config=StepConfig(retry_strategy=_ONE_RETRY))


def _callback(context: DurableContext) -> None:
    context.create_callback(name="answer").result()


def _wait_for_condition() -> Callable[[DurableContext], None]:
    # Counted here, because testing 1.2.1 loses the state between two polls.
    polls = itertools.count(1)

    def wait(context: DurableContext) -> None:
        context.wait_for_condition(
            lambda _state, _check: next(polls),
            WaitForConditionConfig(
                initial_state=0,
                wait_strategy=lambda state, _attempt: (
                    WaitForConditionDecision.stop_polling()
                    if state > 1
                    else WaitForConditionDecision.continue_waiting(_SECOND)
                ),
            ),
            name="poll",
        )

    return wait


def _fan(nesting: NestingType, mapped: bool) -> Callable[[DurableContext], None]:
    def fan(context: DurableContext) -> None:
        if mapped:
            context.map(
                [1, 2],
                lambda branch, _item, _index, _items: branch.wait(_SECOND),
                name="fan",
                config=MapConfig(nesting_type=nesting),
            )
        else:
            context.parallel(
                [lambda branch: branch.wait(_SECOND), lambda branch: branch.step(lambda _: 1)],
                name="fan",
                config=ParallelConfig(nesting_type=nesting),
            )

    return fan


def _with_retry(wrap: bool) -> Callable[[DurableContext], None]:
    def attempt(context: types.DurableContext, number: int) -> None:
        context.step(lambda _: number, name=f"attempt-{number}")
        if number == 1:
            raise ValueError("once")

    config: WithRetryConfig[None] = WithRetryConfig(
        retry_strategy=_ONE_RETRY, wrap_with_run_in_child_context=wrap
    )
    return lambda context: with_retry(context, attempt, config, name="again")


SUSPENDING: dict[str, Callable[[], Callable[[DurableContext], object]]] = {
    "wait": lambda: lambda context: context.wait(_SECOND),
    "step retry": lambda: _step_retry,
    "callback": lambda: _callback,
    "wait_for_callback": lambda: lambda context: context.wait_for_callback(lambda *_: None, name="answer"),
    "wait_for_condition": _wait_for_condition,
    "parallel": lambda: _fan(NestingType.NESTED, False),
    "flat parallel": lambda: _fan(NestingType.FLAT, False),
    "map": lambda: _fan(NestingType.NESTED, True),
    "flat map": lambda: _fan(NestingType.FLAT, True),
    "child context": lambda: (
        lambda context: context.run_in_child_context(lambda child: child.wait(_SECOND), name="child")
    ),
    "with_retry": lambda: _with_retry(True),
    "with_retry, not wrapped": lambda: _with_retry(False),
}
if CAN_INVOKE_FUNCTIONS:
    SUSPENDING["invoke"] = lambda: lambda context: context.invoke("function", {"a": 1}, name="invoke")


def _scope(
    life: Life, context: DurableContext, isolated: bool, body: Callable[[DurableContext], object]
) -> None:
    """A scope that registers one action of each kind around `body`."""

    def run(scope_context: DurableContext, terminal: DurableTerminalActions) -> None:
        terminal.cleanup(lambda _: life.note("cleanup"), name="cleanup")
        terminal.compensate(lambda _: life.note("compensate"), name="compensate")
        life.note("registered")
        body(scope_context)
        life.note("ended")

    if isolated:
        terminal_scope(context, run, name="scope")
    else:
        with terminal_scope(context, name="scope") as terminal:
            run(context, terminal)


def _top(scope: Callable[[DurableContext], None], context: DurableContext) -> None:
    scope(context)


def _nested_in(isolated: bool) -> Callable[[Callable[[DurableContext], None], DurableContext], None]:
    def place(scope: Callable[[DurableContext], None], context: DurableContext) -> None:
        def outer(scope_context: DurableContext, terminal: DurableTerminalActions) -> None:
            terminal.cleanup(lambda _: None, name="outer-cleanup")
            scope(scope_context)

        if isolated:
            terminal_scope(context, outer, name="outer")
        else:
            with terminal_scope(context, name="outer") as terminal:
                outer(context, terminal)

    return place


def _in_branch(nesting: NestingType) -> Callable[[Callable[[DurableContext], None], DurableContext], None]:
    def place(scope: Callable[[DurableContext], None], context: DurableContext) -> None:
        context.parallel(
            [scope, lambda branch: branch.step(lambda _: 1, name="sibling")],
            name="branches",
            config=ParallelConfig(nesting_type=nesting),
        ).throw_if_error()

    return place


PLACES = {
    "at top level": _top,
    "in a child context": lambda scope, context: context.run_in_child_context(scope, name="around"),
    "in a scope in place": _nested_in(False),
    "in an isolated scope": _nested_in(True),
    "in a nested branch": _in_branch(NestingType.NESTED),
    "in a flat branch": _in_branch(NestingType.FLAT),
}


def _builder(operation: str, place: str, isolated: bool, fails: bool = False) -> Callable[[Life], Handler]:
    suspend = SUSPENDING[operation]()

    def build(life: Life) -> Handler:
        def body(context: DurableContext) -> None:
            suspend(context)
            if fails:
                life.note("ended")
                raise ValueError("the body failed")

        def handler(_event: Any, context: DurableContext) -> str:
            PLACES[place](lambda inner: _scope(life, inner, isolated, body), context)
            return "done"

        return handler

    return build


def _assert_no_action_before_the_end(run: Run) -> None:
    """In each invocation, an action comes after the body's end."""
    ended = False
    for entry in run.journal:
        if entry.kind == "started" or entry.text == "registered":
            ended = False
        elif entry.text == "ended":
            ended = True
        elif entry.text in ("cleanup", "compensate") and entry.kind == "note":
            assert ended, run.story()


OPTIONS: dict[str, Any] = {
    "answers": lambda _name: b'"yes"',
    "functions": {"function": lambda _event, _context: {"answer": 1}} if CAN_INVOKE_FUNCTIONS else None,
}


@pytest.mark.parametrize("form", ["in place", "isolated"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("operation", SUSPENDING)
def test_suspension_runs_no_action(operation: str, place: str, form: str) -> None:
    run = execute(_builder(operation, place, form == "isolated"), **OPTIONS)
    assert run.status == "SUCCEEDED", run.story()
    _assert_no_action_before_the_end(run)
    first = [entry.text for entry in run.journal if entry.invocation == 1 and entry.kind in ("note", "ended")]
    assert first == ["registered", "PENDING"], "the operation should have suspended the first invocation"
    assert run.notes("c") == ["cleanup"]


@pytest.mark.parametrize("form", ["in place", "isolated"])
@pytest.mark.parametrize("operation", SUSPENDING)
def test_a_failure_after_a_suspension_compensates_and_cleans_up_once(operation: str, form: str) -> None:
    run = execute(_builder(operation, "at top level", form == "isolated", fails=True), **OPTIONS)
    assert run.status == "FAILED", run.story()
    _assert_no_action_before_the_end(run)
    assert run.notes("c") == ["compensate", "cleanup"]


if CAN_REVOKE_TOKENS:

    @pytest.mark.parametrize("form", ["in place", "isolated"])
    @pytest.mark.parametrize("place", PLACES)
    def test_a_revoked_token_runs_no_action(place: str, form: str) -> None:
        """From SDK 2.1 on, any durable call can suspend: here each of them does, one after the other."""

        def build(life: Life) -> Handler:
            def body(context: DurableContext) -> None:
                context.step(lambda _: 1, name="one")
                context.run_in_child_context(lambda child: child.step(lambda _: 2, name="two"), name="child")

            def handler(_event: Any, context: DurableContext) -> str:
                PLACES[place](lambda inner: _scope(life, inner, form == "isolated", body), context)
                return "done"

            return handler

        kills = 0
        for _, run in killed_everywhere(build, ways=[(Loss.TOKEN, Death.ERROR)], one_update_per_request=True):
            assert run.status == "SUCCEEDED", run.story()
            _assert_no_action_before_the_end(run)
            assert run.accepted("SUCCEED").count("scope.cleanup.cleanup") == 1, run.story()
            assert run.notes("compensate") == []
            kills += 1
        assert kills >= 8


if not CAN_INVOKE_FUNCTIONS:

    def test_the_old_testing_sdk_has_no_invoke_even_without_a_scope() -> None:
        """Why `invoke` is missing above: testing 1.2.1 does not take its checkpoint."""

        def build(_life: Life) -> Handler:
            return lambda _event, context: context.invoke("function", {}, name="invoke")

        run = execute(build)
        assert run.status == "FAILED"
        assert "CHAINED_INVOKE is not implemented" in str(run.error)
