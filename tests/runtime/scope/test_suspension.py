"""A suspension runs no terminal action, whatever suspends and wherever the scope stands."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from aws_durable_execution_sdk_python import WithRetryConfig, durable_execution, with_retry
from aws_durable_execution_sdk_python.config import MapConfig, NestingType
from aws_durable_execution_sdk_python.retries import RetryDecision
from aws_durable_execution_sdk_python.waits import WaitForConditionConfig, WaitForConditionDecision

from tests.runtime.scope.stage import (
    FORMS,
    SECOND,
    SUSPENDED,
    TWICE,
    Oops,
    both_forms,
    effects,
    scope_in,
)
from tests.runtime.support import versions
from tests.runtime.support.crash import Kill, Life, Loss, execute, open_runner

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_durable_execution_sdk_python import DurableContext
    from durable_runtime import DurableTerminalActions

ONE_MORE = RetryDecision(True, SECOND)


def wait(_life: Life, context: DurableContext) -> None:
    context.wait(SECOND, name="suspends")


def step_retry(_life: Life, context: DurableContext) -> None:
    def flaky(step_context: Any) -> None:
        if step_context.attempt == 1:
            raise Oops

    context.step(flaky, name="suspends", config=TWICE)


def callback(_life: Life, context: DurableContext) -> None:
    context.create_callback(name="suspends").result()


def wait_for_callback(_life: Life, context: DurableContext) -> None:
    context.wait_for_callback(lambda _id, _context: None, name="suspends")


def wait_for_condition(life: Life, context: DurableContext) -> None:
    def decide(_state: int, _attempt: int) -> WaitForConditionDecision:
        if life.number == 1:
            return WaitForConditionDecision.continue_waiting(SECOND)
        return WaitForConditionDecision.stop_polling()

    config = WaitForConditionConfig(wait_strategy=decide, initial_state=0)
    context.wait_for_condition(lambda state, _context: state + 1, config, name="suspends")


def invoke(_life: Life, context: DurableContext) -> None:
    context.invoke("other", {}, name="suspends")


def child_context(_life: Life, context: DurableContext) -> None:
    context.run_in_child_context(lambda child: child.wait(SECOND), name="suspends")


def map_branch(_life: Life, context: DurableContext) -> None:
    context.map([1, 2], lambda branch, *_: branch.wait(SECOND), name="suspends")


def parallel_branch(_life: Life, context: DurableContext) -> None:
    context.parallel([lambda branch: branch.wait(SECOND)] * 2, name="suspends")


def retried_block(_life: Life, context: DurableContext) -> None:
    def flaky(_context: object, attempt: int) -> None:
        if attempt == 1:
            raise Oops

    config = WithRetryConfig[None](retry_strategy=lambda _error, _attempt: ONE_MORE)
    with_retry(context, flaky, config, name="suspends")


OPERATIONS = [
    wait,
    step_retry,
    callback,
    wait_for_callback,
    wait_for_condition,
    child_context,
    map_branch,
    parallel_branch,
    retried_block,
    *([invoke] if versions.CAN_INVOKE_FUNCTIONS else []),
]


def top_level(_life: Life, context: DurableContext, scope: Callable[[DurableContext], object]) -> None:
    scope(context)


def in_a_child(_life: Life, context: DurableContext, scope: Callable[[DurableContext], object]) -> None:
    context.run_in_child_context(lambda child: scope(child) and None, name="child")


def in_a_nested_branch(
    _life: Life, context: DurableContext, scope: Callable[[DurableContext], object]
) -> None:
    context.map([1], lambda branch, *_: scope(branch) and None, name="map")


def in_a_flat_branch(_life: Life, context: DurableContext, scope: Callable[[DurableContext], object]) -> None:
    config = MapConfig[Any](nesting_type=NestingType.FLAT)
    context.map([1], lambda branch, *_: scope(branch) and None, name="map", config=config)


def in_another_scope(life: Life, context: DurableContext, scope: Callable[[DurableContext], object]) -> None:
    def outer(outer_context: DurableContext, terminal: DurableTerminalActions) -> None:
        terminal.compensate(noting(life, "outer undone"), name="undo")
        scope(outer_context)

    scope_in(FORMS[0], context, outer, name="outer")


PLACES = [top_level, in_a_child, in_a_nested_branch, in_a_flat_branch, in_another_scope]


def noting(life: Life, text: str) -> Callable[[object], None]:
    return lambda _context: life.note(text)


def handler(life: Life, form: str, suspend: Any, place: Any) -> Callable[[Any, DurableContext], None]:
    def body(context: DurableContext, terminal: DurableTerminalActions) -> None:
        terminal.cleanup(noting(life, "clean"), name="clean")
        terminal.compensate(noting(life, "undo"), name="undo")
        suspend(life, context)
        life.note("resumed")

    return lambda _event, context: place(life, context, lambda c: scope_in(form, c, body, name="s"))


@both_forms
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
@pytest.mark.parametrize("suspend", OPERATIONS, ids=lambda suspend: suspend.__name__)
def test_a_suspension_runs_no_action_and_the_scope_goes_on(form: str, suspend: Any, place: Any) -> None:
    run = execute(
        lambda life: handler(life, form, suspend, place),
        answers=lambda _name: b"answered",
        functions={"other": lambda _event, _context: "done"} if versions.CAN_INVOKE_FUNCTIONS else {},
    )
    assert run.status == "SUCCEEDED"
    seen = effects(run)
    assert SUSPENDED in seen or "branch" in place.__name__, "nothing was suspended"
    assert [effect for effect in seen if effect != SUSPENDED] == ["resumed", "clean"]


@both_forms
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_an_invoked_function_that_has_not_answered_runs_no_action(form: str, place: Any) -> None:
    """The oldest testing SDK refuses the operation; then the invocation is lost, and nothing runs either."""
    notes: list[str] = []
    outputs: list[Any] = []

    class FirstLife:
        number = 1
        note = staticmethod(notes.append)

    def invocation(event: Any, lambda_context: Any) -> Any:
        life: Any = FirstLife()
        try:
            output = durable_execution(handler(life, form, invoke, place))(event, lambda_context)
        except Exception:
            outputs.append(("refused", list(notes)))
            raise
        outputs.append((output["Status"], list(notes)))
        return output

    runner = open_runner(invocation)
    if versions.CAN_INVOKE_FUNCTIONS:
        runner.register_function("other", lambda _event, _context: "done")
    try:
        runner.run_async("{}", 60)
        deadline = time.monotonic() + 20
        while not outputs and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        runner.close()
    assert outputs[0] == ("PENDING" if versions.CAN_INVOKE_FUNCTIONS else "refused", [])


@both_forms
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_a_revoked_checkpoint_token_runs_no_action_before_its_time(form: str, place: Any) -> None:
    """The token is taken away in the middle of any durable call, of the body and of the terminal phase."""

    def work(life: Life, context: DurableContext) -> None:
        context.step(noting(life, "work"), name="work")
        context.step(noting(life, "more"), name="more")

    def play(kills: list[Kill]) -> Any:
        return execute(
            lambda life: handler(life, form, work, place), kills=kills, one_update_per_request=True
        )

    requests = play([]).requests if versions.CAN_REVOKE_TOKENS else 0
    for request in range(1, requests + 1):
        run = play([Kill(request, Loss.TOKEN)])
        assert run.status == "SUCCEEDED"
        seen = [effect for effect in effects(run) if effect != SUSPENDED]
        assert list(dict.fromkeys(seen)) == ["work", "more", "resumed", "clean"]
