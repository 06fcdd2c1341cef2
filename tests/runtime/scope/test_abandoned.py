"""Branches that their map or parallel left behind: no outcome, nothing runs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from aws_durable_execution_sdk_python.config import CompletionConfig, MapConfig, NestingType, ParallelConfig
from durable_runtime import abandoned

from tests.runtime.scope.stage import SUSPENDED, Around, Inside, Oops, both_forms, play, scope_in

if TYPE_CHECKING:
    from aws_durable_execution_sdk_python import BatchResult, DurableContext

FIRST = CompletionConfig(min_successful=1)


@both_forms
@pytest.mark.parametrize("nesting", list(NestingType))
def test_a_suspended_branch_that_was_abandoned_runs_nothing(form: str, nesting: NestingType) -> None:
    listed: list[list[int]] = []

    def frame(around: Around) -> None:
        def outer(context: DurableContext, terminal: Any) -> None:
            held = [f"vm-{index}" for index in range(2)]

            def branch(branch_context: DurableContext, index: int, *_: Any) -> None:
                def body(c: DurableContext, inner: Any) -> None:
                    s = Inside(around.life, c, inner)
                    inner.cleanup(s.noting(f"release {index}"), name="release")
                    inner.compensate(s.noting(f"undo {index}"), name="undo")
                    if index:
                        c.create_callback(name="never").result()

                scope_in(form, branch_context, body, name="item")

            batch: BatchResult[None] = context.map(
                [0, 1],
                branch,
                name="map",
                config=MapConfig[Any](completion_config=FIRST, nesting_type=nesting),
            )
            listed.append([item.index for item in abandoned(batch)])
            for item in abandoned(batch):
                vm = held[item.index]
                terminal.cleanup(lambda _, vm=vm: around.life.note(f"reclaim {vm}"), name="reclaim")

        scope_in(form, around.context, outer, name="outer")

    played = play(form, lambda _: None, frame=frame)
    assert [effect for effect in played.effects if effect != SUSPENDED] == ["release 0", "reclaim vm-1"]
    assert listed[-1] == [1]


@both_forms
@pytest.mark.parametrize("nesting", list(NestingType))
@pytest.mark.parametrize("fails", [False, True])
def test_a_branch_that_still_runs_when_its_parallel_completes_runs_nothing(
    form: str, nesting: NestingType, fails: bool
) -> None:
    """The scope looks before its terminal phase; the SDK itself would accept its operations."""
    opened = threading.Event()
    completed = threading.Event()

    def frame(around: Around) -> str:
        def slow(branch_context: DurableContext) -> None:
            def body(c: DurableContext, terminal: Any) -> None:
                s = Inside(around.life, c, terminal)
                terminal.cleanup(s.noting("clean"), name="clean")
                terminal.compensate(s.noting("undo"), name="undo")
                opened.set()
                completed.wait(20)
                if fails:
                    raise Oops

            scope_in(form, branch_context, body, name="slow")

        def quick(_context: DurableContext) -> str:
            opened.wait(20)
            return "quick"

        batch: BatchResult[Any] = around.context.parallel(
            [quick, slow],
            name="race",
            config=ParallelConfig(completion_config=FIRST, nesting_type=nesting),
        )
        completed.set()
        return f"{len(abandoned(batch))} abandoned"

    played = play(form, lambda _: None, frame=frame)
    assert played.run.result == "1 abandoned"
    assert played.effects == []
    assert not [name for name in played.names if name.startswith("slow.")]


@both_forms
def test_a_scope_in_a_completed_context_that_is_replayed_is_not_abandoned(form: str) -> None:
    """A large result makes the SDK run a completed child again; its scopes are in the history."""

    def frame(around: Around) -> int:
        def child(context: DurableContext) -> str:
            def body(c: DurableContext, terminal: Any) -> str:
                terminal.cleanup(lambda _: around.life.note("clean"), name="clean")
                return str(c.step(lambda _: "x" * 200_000, name="work"))

            return 2 * str(scope_in(form, context, body))

        text = around.context.run_in_child_context(child, name="child")
        around.context.create_callback(name="review").result()
        return len(text)

    played = play(form, lambda _: None, frame=frame, answers=lambda _: b"")
    assert played.effects == ["clean", SUSPENDED]
    assert played.run.result == 400_000
