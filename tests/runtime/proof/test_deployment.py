"""A scope that is deployed while executions are under way: the old code began them, the new code goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.runtime.support import versions
from tests.runtime.support.crash import execute
from tests.runtime.support.scopes import FORMS, run_scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_durable_execution_sdk_python import DurableContext
    from durable_runtime import DurableTerminalActions

    from tests.runtime.support.crash import Handler, Life, Run

CALLBACKS = ("before", "inside", "after")


def _steps(life: Life, context: DurableContext) -> str:
    context.step(lambda _: life.note("launch"), name="launch")
    context.create_callback(name="inside").result()
    context.step(lambda _: life.note("work"), name="work")
    return "value"


def _around(middle: Callable[[DurableContext], str]) -> Callable[[Any, DurableContext], str]:
    def handler(_event: Any, context: DurableContext) -> str:
        context.create_callback(name="before").result()
        value = middle(context)
        context.create_callback(name="after").result()
        return value

    return handler


def old_code(*, durable_cleanup: bool) -> Callable[[Life], Handler]:
    """`try` and `finally`, with a cleanup that is a plain call or a step."""

    def build(life: Life) -> Handler:
        def middle(context: DurableContext) -> str:
            try:
                return _steps(life, context)
            finally:
                if durable_cleanup:
                    context.step(lambda _: life.note("terminate"), name="terminate")
                else:
                    life.note("terminate")

        return _around(middle)

    return build


def new_code(form: str) -> Callable[[Life], Handler]:
    def build(life: Life) -> Handler:
        def body(context: DurableContext, terminal: DurableTerminalActions) -> str:
            terminal.cleanup(lambda _: life.note("terminate"), name="terminate")
            return _steps(life, context)

        return _around(lambda context: run_scope(context, form, body))

    return build


def _deployed_at(place: str, old: Callable[[Life], Handler], new: Callable[[Life], Handler]) -> Run:
    past = CALLBACKS[: CALLBACKS.index(place)]
    left = execute(old, answers=lambda name: b"1" if name in past else None, leave_at=place)
    return execute(new, stored=left.stored, answers=lambda _: b"1")


# Testing 1.2.1 has no way to go on with a stored execution.
if versions.TESTING >= (1, 3, 0):

    @pytest.mark.parametrize("durable_cleanup", [False, True])
    @pytest.mark.parametrize("form", FORMS)
    def test_an_execution_that_has_not_reached_the_scope_goes_on(form: str, durable_cleanup: bool) -> None:
        run = _deployed_at("before", old_code(durable_cleanup=durable_cleanup), new_code(form))
        assert (run.status, run.result) == ("SUCCEEDED", "value"), run.story()
        assert run.notes() == ["launch", "work", "terminate"]

    def test_an_execution_inside_goes_on_in_place_if_its_old_cleanup_left_no_operation() -> None:
        run = _deployed_at("inside", old_code(durable_cleanup=False), new_code("in place"))
        assert (run.status, run.result) == ("SUCCEEDED", "value"), run.story()
        assert run.notes() == ["work", "terminate"]

    @pytest.mark.parametrize(
        ("place", "form", "durable_cleanup"),
        [
            ("inside", "in place", True),
            ("inside", "isolated", False),
            ("inside", "isolated", True),
            ("after", "in place", False),
            ("after", "isolated", False),
            ("after", "in place", True),
            ("after", "isolated", True),
        ],
    )
    def test_an_execution_that_cannot_go_on_fails_with_a_clear_error(
        place: str, form: str, durable_cleanup: bool
    ) -> None:
        run = _deployed_at(place, old_code(durable_cleanup=durable_cleanup), new_code(form))
        assert run.status == "FAILED", run.story()
        assert run.error is not None
        assert (run.error.type or "").endswith("NonDeterministicExecutionError"), run.story()
        assert run.notes("terminate") == []
