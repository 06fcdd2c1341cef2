"""A scope in place in a generator: what runs depends on whether the generator is run to its end."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from durable_runtime import DurableTerminalActions, terminal_scope

from tests.runtime.scope.stage import IN_PLACE, SECOND, SUSPENDED, Around, Oops, play

if TYPE_CHECKING:
    from collections.abc import Iterator


def machines(around: Around) -> Iterator[int]:
    with terminal_scope(around.context, name="s") as terminal:
        around.context.step(lambda _: around.life.note("launch"), name="launch")
        terminal.cleanup(lambda _: around.life.note("terminate"), name="terminate")
        terminal.compensate(lambda _: around.life.note("cancel"), name="cancel")
        yield from (1, 2)


def test_a_generator_that_runs_to_its_end_ends_its_scope() -> None:
    def frame(around: Around) -> None:
        for _ in machines(around):
            around.context.wait(SECOND)
        around.life.note("after")

    played = play(IN_PLACE, lambda _: None, frame=frame)
    assert played.effects == ["launch", SUSPENDED, SUSPENDED, "terminate", "after"]


def test_a_generator_that_is_left_early_runs_no_action() -> None:
    """Python closes it with GeneratorExit, which is no outcome; what comes after it is not disturbed."""

    def frame(around: Around) -> None:
        for _ in machines(around):
            around.context.wait(SECOND, name="pause")
            break
        around.context.step(lambda _: around.life.note("after"), name="after")

    played = play(IN_PLACE, lambda _: None, frame=frame)
    assert played.run.status == "SUCCEEDED"
    assert played.effects == ["launch", SUSPENDED, "after"]
    assert played.names == ["launch", "pause", "after"]


def test_a_generator_whose_consumer_fails_runs_no_action_either() -> None:
    def frame(around: Around) -> None:
        with around.caught(Oops):
            for _ in machines(around):
                raise Oops
        around.context.wait(SECOND)

    assert play(IN_PLACE, lambda _: None, frame=frame).effects == [
        "launch",
        "caught Oops",
        SUSPENDED,
        "caught Oops",
    ]


@pytest.mark.parametrize("fails", [True, False])
def test_a_generator_that_contextmanager_turns_into_one_is_always_resumed(fails: bool) -> None:
    @contextlib.contextmanager
    def machine(around: Around) -> Iterator[DurableTerminalActions]:
        with terminal_scope(around.context, name="s") as terminal:
            terminal.cleanup(lambda _: around.life.note("terminate"), name="terminate")
            terminal.compensate(lambda _: around.life.note("cancel"), name="cancel")
            yield terminal

    def frame(around: Around) -> None:
        with around.caught(Oops), machine(around):
            around.context.wait(SECOND)
            if fails:
                raise Oops

    expected = ["cancel", "terminate", "caught Oops"] if fails else ["terminate"]
    assert play(IN_PLACE, lambda _: None, frame=frame).effects == [SUSPENDED, *expected]
