"""What observers and the logger are told, and that replay does not say it again."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

import pytest
from aws_durable_execution_sdk_python.config import ChildConfig, MapConfig, NestingType, ParallelConfig
from durable_runtime import ScopeEvent, on_scope_event, terminal_scope

from tests.runtime.scope.stage import (
    IN_PLACE,
    ONCE,
    SECOND,
    SUSPENDED,
    TWICE,
    Around,
    Inside,
    Oops,
    both_forms,
    play,
    scope_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aws_durable_execution_sdk_python import DurableContext


@contextlib.contextmanager
def observed() -> Iterator[list[ScopeEvent]]:
    events: list[ScopeEvent] = []
    remove = on_scope_event(events.append)
    try:
        yield events
    finally:
        remove()


def told(events: list[ScopeEvent]) -> list[str]:
    lines = []
    for event in events:
        words = [event.kind.value, event.action_kind, event.action, event.outcome, event.attempt]
        lines.append(" ".join(str(word) for word in words if word is not None))
    return lines


def lifecycle(s: Inside) -> None:
    def flaky(context: Any) -> None:
        if context.attempt == 1:
            raise Oops

    s.terminal.cleanup(s.failing("clean", Oops()), name="broken", config=ONCE)
    s.terminal.cleanup(flaky, name="flaky", config=TWICE)
    s.terminal.compensate_in_context(lambda c: c.wait(SECOND), name="undo")
    s.context.wait(SECOND, name="pause")
    raise ValueError


LIFECYCLE = [
    "SCOPE_STARTED",
    "SCOPE_SUSPENDED",
    "OUTCOME_SELECTED FAILED",
    "ACTION_STARTED compensate undo FAILED 1",
    "ACTION_COMPLETED compensate undo FAILED 1",
    "ACTION_STARTED cleanup flaky FAILED 1",
    "ACTION_RETRIED cleanup flaky FAILED 1",
    "ACTION_STARTED cleanup flaky FAILED 2",
    "ACTION_COMPLETED cleanup flaky FAILED 2",
    "ACTION_STARTED cleanup broken FAILED 1",
    "ACTION_FAILED cleanup broken FAILED 1",
    "SCOPE_COMPLETED FAILED",
]


@both_forms
def test_the_whole_lifecycle_is_told_once(form: str) -> None:
    def frame(around: Around) -> None:
        with around.caught():
            around.scope(around.context)
        around.context.wait(SECOND, name="later")
        around.context.step(lambda _: None, name="work")

    with observed() as events:
        played = play(form, lifecycle, frame=frame)
    assert told(events) == LIFECYCLE
    assert {event.scope for event in events} == {"s"}
    assert len({event.execution_arn for event in events}) == 1
    assert all(event.execution_arn for event in events)
    assert played.effects.count(SUSPENDED) == 4


@both_forms
def test_the_logger_says_the_same(form: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "durable_runtime.scope"):
        play(form, lifecycle)
    records = [record for record in caplog.records if record.name == "durable_runtime.scope"]
    assert [record.__dict__["scopeEvent"] for record in records] == [line.split()[0] for line in LIFECYCLE]
    assert records[3].message == "scope s: ACTION_STARTED compensate undo"
    assert {record.levelno for record in records} == {logging.INFO, logging.WARNING}
    assert records[6].levelno == records[10].levelno == logging.WARNING


@both_forms
def test_a_scope_without_registrations_is_told_too(form: str) -> None:
    def frame(around: Around) -> None:
        around.scope(around.context)
        around.context.wait(SECOND)

    with observed() as events:
        play(form, lambda s: s.context.wait(SECOND), frame=frame)
    assert told(events) == [
        "SCOPE_STARTED",
        "SCOPE_SUSPENDED",
        "OUTCOME_SELECTED SUCCEEDED",
        "SCOPE_COMPLETED SUCCEEDED",
    ]


@both_forms
@pytest.mark.parametrize("registers", [True, False])
def test_a_scope_that_begins_with_a_virtual_child_context_is_told_once(form: str, registers: bool) -> None:
    """Such a context leaves nothing in the history at its own place, where the scope looks whether it is new."""

    def pause(context: DurableContext) -> None:
        virtual = ChildConfig[None](is_virtual=True)
        context.run_in_child_context(lambda child: child.wait(SECOND), name="virtual", config=virtual)

    def body(s: Inside) -> None:
        if registers:
            s.terminal.cleanup(lambda _: None, name="clean")
        pause(s.context)
        s.context.wait(SECOND)

    def frame(around: Around) -> None:
        around.scope(around.context)
        pause(around.context)
        around.context.wait(SECOND)

    with observed() as events:
        play(form, body, frame=frame)
    kinds = [event.kind.value for event in events]
    assert [kinds.count(kind) for kind in ("SCOPE_STARTED", "OUTCOME_SELECTED", "SCOPE_COMPLETED")] == [
        1,
        1,
        1,
    ]
    assert kinds.count("SCOPE_SUSPENDED") == 2


def test_a_scope_in_place_that_only_awaits_an_earlier_callback_is_told_started_again() -> None:
    """The known exception: nothing of the scope is in the history until its outcome is."""

    def frame(around: Around) -> None:
        callback = around.context.create_callback(name="review")
        with terminal_scope(around.context, name="s") as terminal:
            terminal.cleanup(lambda _: None, name="clean")
            callback.result()

    with observed() as events:
        play(IN_PLACE, lambda _: None, frame=frame, answers=lambda _: b"")
    kinds = [event.kind.value for event in events]
    assert kinds[:4] == ["SCOPE_STARTED", "SCOPE_SUSPENDED", "SCOPE_STARTED", "OUTCOME_SELECTED"]
    assert kinds.count("SCOPE_COMPLETED") == 1


@both_forms
@pytest.mark.parametrize("nesting", list(NestingType))
def test_branches_are_told_once_while_siblings_are_still_suspended(form: str, nesting: NestingType) -> None:
    """A FLAT branch runs again on every replay of its map, whether it had completed or not."""

    def frame(around: Around) -> None:
        def branch(context: DurableContext, item: int, *_: Any) -> None:
            def body(c: DurableContext, terminal: Any) -> None:
                terminal.cleanup(lambda _: None, name="clean")
                c.step(lambda _: None, name="work")

            scope_in(form, context, body, name=f"item-{item}")
            if item:
                context.create_callback(name="review").result()

        around.context.map([0, 1], branch, name="map", config=MapConfig[Any](nesting_type=nesting))

    with observed() as events:
        play(form, lambda _: None, frame=frame, answers=lambda _: b"")
    for scope in ("item-0", "item-1"):
        assert told([event for event in events if event.scope == scope]) == [
            "SCOPE_STARTED",
            "OUTCOME_SELECTED SUCCEEDED",
            "ACTION_STARTED cleanup clean SUCCEEDED 1",
            "ACTION_COMPLETED cleanup clean SUCCEEDED 1",
            "SCOPE_COMPLETED SUCCEEDED",
        ]


@both_forms
@pytest.mark.parametrize("nesting", list(NestingType))
def test_a_scope_without_registrations_in_a_branch_is_told_once(form: str, nesting: NestingType) -> None:
    """Nothing of its own is in the history: what its body newly did in this run tells whether it is news."""

    def frame(around: Around) -> None:
        def branch(context: DurableContext, *_: Any) -> None:
            def body(c: DurableContext, _terminal: Any) -> None:
                c.wait(SECOND, name="pause")
                c.step(lambda _: None, name="work")

            scope_in(form, context, body, name="item")

        def waiting(context: DurableContext, *_: Any) -> None:
            context.wait(SECOND)
            context.wait(SECOND)
            context.wait(SECOND)

        config = ParallelConfig(nesting_type=nesting)
        around.context.parallel([branch, waiting], name="parallel", config=config)

    with observed() as events:
        play(form, lambda _: None, frame=frame)
    lines = told([event for event in events if event.scope == "item"])
    assert [line for line in lines if line != "SCOPE_SUSPENDED"] == [
        "SCOPE_STARTED",
        "OUTCOME_SELECTED SUCCEEDED",
        "SCOPE_COMPLETED SUCCEEDED",
    ]


@both_forms
def test_a_large_result_that_is_replayed_is_told_once(form: str) -> None:
    def body(s: Inside) -> str:
        s.terminal.cleanup(lambda _: None, name="clean")
        return "x" * 300_000

    def frame(around: Around) -> None:
        around.scope(around.context)
        around.context.wait(SECOND)

    with observed() as events:
        play(form, body, frame=frame)
    assert [event.kind.value for event in events].count("SCOPE_COMPLETED") == 1
    assert len(events) == 5


@both_forms
def test_an_observer_that_raises_is_logged_and_ignored(form: str, caplog: pytest.LogCaptureFixture) -> None:
    def broken(_event: ScopeEvent) -> None:
        raise Oops("observer")

    remove = on_scope_event(broken)
    try:
        with observed() as events:
            played = play(form, lambda s: s.terminal.cleanup(s.noting("clean"), name="clean"))
    finally:
        remove()
    assert played.effects == ["clean"]
    assert len(events) == 5
    assert "An observer of scope events failed on SCOPE_STARTED" in caplog.text


def test_a_removed_observer_hears_nothing_more() -> None:
    heard: list[ScopeEvent] = []
    remove_one, remove_other = on_scope_event(heard.append), on_scope_event(heard.append)
    remove_one()
    remove_one()
    play(IN_PLACE, lambda _: None)
    assert len(heard) == 3
    remove_other()
    play(IN_PLACE, lambda _: None)
    assert len(heard) == 3


def test_an_event_cannot_be_changed() -> None:
    with observed() as events:
        play(IN_PLACE, lambda _: None)
    event: Any = events[0]
    with pytest.raises(AttributeError):
        event.scope = "other"


@both_forms
def test_a_scope_that_is_abandoned_by_a_lost_invocation_is_not_told_suspended(form: str) -> None:
    def body(s: Inside) -> None:
        if s.life.number == 1:
            raise SystemExit

    with observed() as events:
        play(form, body)
    assert "SCOPE_SUSPENDED" not in told(events)


def test_scopes_are_told_apart_by_name() -> None:
    def frame(around: Around) -> None:
        with terminal_scope(around.context, name="outer"), terminal_scope(around.context, name="inner"):
            around.context.step(lambda _: None)

    with observed() as events:
        play(IN_PLACE, lambda _: None, frame=frame)
    assert [event.scope for event in events if event.kind.value == "SCOPE_COMPLETED"] == ["inner", "outer"]
