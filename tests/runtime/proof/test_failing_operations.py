"""A body that fails through any operation of the SDK fails in the same way on replay, and no action is lost.

The actions suspend, so that the scope is replayed in the middle of its terminal phase.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from aws_durable_execution_sdk_python.config import (
    CallbackConfig,
    CompletionConfig,
    Duration,
    MapConfig,
    NestingType,
    ParallelConfig,
    StepConfig,
    StepSemantics,
)
from aws_durable_execution_sdk_python.lambda_service import ErrorObject
from aws_durable_execution_sdk_python.retries import RetryDecision, WithRetryConfig, with_retry
from aws_durable_execution_sdk_python.waits import WaitForConditionConfig, WaitForConditionDecision

from tests.runtime.support.crash import Death, Kill, Loss, execute, killed_everywhere
from tests.runtime.support.scopes import FORMS, run_scope
from tests.runtime.support.versions import CAN_INVOKE_FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_durable_execution_sdk_python import DurableContext
    from durable_runtime import DurableTerminalActions

    from tests.runtime.support.crash import Handler, Life

SECOND = Duration.from_seconds(1)
ONCE = StepConfig(retry_strategy=lambda _error, _attempt: RetryDecision.no_retry())
AT_MOST_ONCE = StepConfig(
    retry_strategy=lambda _error, _attempt: RetryDecision.no_retry(),
    step_semantics=StepSemantics.AT_MOST_ONCE_PER_RETRY,
)


class Broken(Exception):
    """The user's own exception."""


def _fail(*_: object) -> Any:
    raise Broken("broken")


def _step(context: DurableContext) -> None:
    context.step(_fail, name="step", config=ONCE)


def _step_with_a_value_that_no_serdes_takes(context: DurableContext) -> None:
    context.step(lambda _: object(), name="step", config=ONCE)


def _child_with_a_value_that_no_serdes_takes(context: DurableContext) -> None:
    context.run_in_child_context(lambda _: object(), name="child")


def _child(context: DurableContext) -> None:
    context.run_in_child_context(_fail, name="child")


def _child_of_child(context: DurableContext) -> None:
    context.run_in_child_context(lambda child: child.run_in_child_context(_step, name="inner"), name="child")


def _callback(context: DurableContext) -> None:
    context.create_callback(name="refused").result()


def _callback_timeout(context: DurableContext) -> None:
    context.create_callback(name="open", config=CallbackConfig(timeout=SECOND)).result()


def _wait_for_callback(context: DurableContext) -> None:
    context.wait_for_callback(lambda *_: None, name="refused")


def _submitter(context: DurableContext) -> None:
    context.wait_for_callback(_fail, name="open")


def _condition(context: DurableContext) -> None:
    context.wait_for_condition(
        _fail,
        WaitForConditionConfig(
            initial_state=0, wait_strategy=lambda *_: WaitForConditionDecision.stop_polling()
        ),
        name="condition",
    )


def _map(context: DurableContext) -> None:
    context.map([1, 2], _fail, name="map").throw_if_error()


def _flat_map(context: DurableContext) -> None:
    config: MapConfig[None] = MapConfig(nesting_type=NestingType.FLAT)
    context.map([1, 2], lambda branch, *_: _step(branch), name="map", config=config).throw_if_error()


def _parallel(context: DurableContext) -> None:
    config = ParallelConfig(completion_config=CompletionConfig.all_completed())  # type: ignore[no-untyped-call]
    branches: list[Callable[[DurableContext], None]] = [_fail, _step]
    context.parallel(branches, name="parallel", config=config).throw_if_error()


def _retried(context: DurableContext) -> None:
    config: WithRetryConfig[None] = WithRetryConfig(retry_strategy=lambda *_: RetryDecision.no_retry())
    with_retry(context, _fail, config, name="again")


def _inner_scope(form: str, fails: bool) -> Callable[[DurableContext], None]:
    def inner(context: DurableContext, terminal: DurableTerminalActions) -> None:
        terminal.cleanup(_fail, name="inner", config=ONCE)
        if fails:
            _step(context)

    return lambda context: run_scope(context, form, inner, name="inner")


def _invoke(context: DurableContext) -> None:
    context.invoke("function", {}, name="invoke")


FAILING: dict[str, Callable[[DurableContext], None]] = {
    "a raise": _fail,
    "a step": _step,
    "a step whose value no serdes takes": _step_with_a_value_that_no_serdes_takes,
    "a child whose value no serdes takes": _child_with_a_value_that_no_serdes_takes,
    "a child": _child,
    "a child of a child": _child_of_child,
    "a callback": _callback,
    "a callback that times out": _callback_timeout,
    "wait_for_callback": _wait_for_callback,
    "a submitter": _submitter,
    "wait_for_condition": _condition,
    "a map": _map,
    "a flat map": _flat_map,
    "a parallel": _parallel,
    "with_retry": _retried,
    "a scope in place": _inner_scope("in place", True),
    "an isolated scope": _inner_scope("isolated", True),
    "the cleanup of a scope in place": _inner_scope("in place", False),
    "the cleanup of an isolated scope": _inner_scope("isolated", False),
}
if CAN_INVOKE_FUNCTIONS:
    FAILING["invoke"] = _invoke


def _builder(form: str, fail: Callable[[DurableContext], None], seen: list[str]) -> Callable[[Life], Handler]:
    def build(life: Life) -> Handler:
        def body(context: DurableContext, terminal: DurableTerminalActions) -> None:
            terminal.cleanup(lambda _: life.note("last"), name="last")
            terminal.cleanup_in_context(lambda inner: inner.wait(SECOND, name="pause"), name="waits")
            terminal.compensate(lambda _: life.note("undo"), name="undo")
            fail(context)

        def handler(_event: Any, context: DurableContext) -> str:
            try:
                run_scope(context, form, body)
            except Exception as error:
                wrapped = getattr(error, "error_type", None)
                seen.append(f"{type(error).__name__} of {wrapped}: {error}")
                context.wait(SECOND, name="after")
                return type(error).__name__
            return "no error"

        return handler

    return build


OPTIONS: dict[str, Any] = {
    "answers": lambda name: ErrorObject.from_message("refused") if name.startswith("refused") else None,
    "functions": {"function": _fail} if CAN_INVOKE_FUNCTIONS else None,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("operation", FAILING)
def test_a_body_that_fails_through_an_operation_fails_in_the_same_way_on_replay(
    operation: str, form: str
) -> None:
    seen: list[str] = []
    run = execute(_builder(form, FAILING[operation], seen), **OPTIONS)
    assert run.status == "SUCCEEDED", run.story()
    assert run.result != "no error"
    assert run.notes() == ["undo", "last"], run.story()
    assert len(set(seen)) == 1, seen
    recorded = next(op for op in run.operations if op.name == "scope.outcome")
    assert recorded.step_details is not None
    assert json.loads(recorded.step_details.result or "")["outcome"] == "FAILED"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("where", ["body", "action"])
def test_a_step_that_may_run_only_once_and_was_interrupted_has_failed(form: str, where: str) -> None:
    """AT_MOST_ONCE: an interrupted step is not run again. In an action it must not stop the others."""

    def build(life: Life) -> Handler:
        def body(context: DurableContext, terminal: DurableTerminalActions) -> None:
            terminal.cleanup(lambda _: life.note("last"), name="last")
            terminal.cleanup_in_context(lambda inner: inner.wait(SECOND, name="pause"), name="waits")
            terminal.compensate(lambda _: life.note("undo"), name="undo")
            if where == "action":
                terminal.cleanup(lambda _: life.note("once"), name="once", config=AT_MOST_ONCE)
            else:
                context.step(lambda _: life.note("once"), name="once", config=AT_MOST_ONCE)

        def handler(_event: Any, context: DurableContext) -> str:
            try:
                run_scope(context, form, body)
            except Exception as error:
                return type(error).__name__
            return "no error"

        return handler

    interrupted = 0
    ways = [(Loss.UPDATE, Death.ERROR), (Loss.RESPONSE, Death.ERROR), (Loss.RESPONSE, Death.FROZEN)]
    for _, run in killed_everywhere(build, ways=ways, one_update_per_request=True):
        assert run.status == "SUCCEEDED", run.story()
        assert run.notes("once") in ([], ["once"]), run.story()
        assert run.status_of("scope.cleanup.last") == "SUCCEEDED", run.story()
        assert run.status_of("scope.cleanup.waits") == "SUCCEEDED", run.story()
        if run.result != "no error":
            interrupted += 1
            assert ("undo" in run.notes()) == (where == "body"), run.story()
    assert interrupted >= 2


def test_a_kill_in_the_moment_of_a_callback_timeout_changes_nothing() -> None:
    seen: list[str] = []
    for loss in (Loss.UPDATE, Loss.RESPONSE):
        for request in range(1, 6):
            run = execute(
                _builder("isolated", _callback_timeout, seen),
                kills=[Kill(request, loss)],
                answer_early=True,
                **OPTIONS,
            )
            assert (run.status, run.result) == ("SUCCEEDED", "CallbackTimeoutError"), run.story()
