"""Branches that are resumed in the same invocation, abandoned, or fail beside a scope; threads; odd
registrations.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from aws_durable_execution_sdk_python.config import (
    CompletionConfig,
    Duration,
    MapConfig,
    NestingType,
    ParallelConfig,
)
from aws_durable_execution_sdk_python.retries import WithRetryConfig, with_retry
from durable_runtime import RegistrationError, abandoned

from tests.runtime.support.crash import Life, execute, killed_everywhere
from tests.runtime.support.scopes import FORMS, run_scope
from tests.runtime.support.versions import HAS_TIMERS_DURING_INVOCATION

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_durable_execution_sdk_python import BatchResult, DurableContext
    from durable_runtime import DurableTerminalActions

    from tests.runtime.support.crash import Handler, Run

SECOND = Duration.from_seconds(1)
NESTINGS = (NestingType.NESTED, NestingType.FLAT)


def _waits(life: Life, context: DurableContext, form: str, body: Callable[[DurableContext], object]) -> None:
    """A scope with one action of each kind around `body`, which notes the start and the end of its body."""

    def run(scope_context: DurableContext, terminal: DurableTerminalActions) -> None:
        life.note("entered")
        terminal.cleanup(lambda _: life.note("cleanup"), name="cleanup")
        terminal.compensate(lambda _: life.note("compensate"), name="compensate")
        body(scope_context)
        life.note("ended")

    run_scope(context, form, run)


def _resumed_beside_work(form: str, nesting: NestingType) -> Callable[[Life], Handler]:
    """One branch waits a second, in real time, in a scope, while its sibling works until that scope's body
    ends.
    """
    ended = threading.Event()

    def build(life: Life) -> Handler:
        def wait(inner: DurableContext) -> None:
            inner.wait(SECOND, name="wait")
            ended.set()

        def work(branch: DurableContext) -> None:
            branch.step(lambda _: ended.wait(20 if HAS_TIMERS_DURING_INVOCATION else 2.5), name="work")

        def handler(_event: Any, context: DurableContext) -> str:
            context.parallel(
                [lambda branch: _waits(life, branch, form, wait), work],
                name="fan",
                config=ParallelConfig(nesting_type=nesting),
            ).throw_if_error()
            return "done"

        return handler

    return build


@pytest.mark.parametrize(("form", "nesting"), list(zip(FORMS, NESTINGS, strict=True)))
def test_a_branch_that_resumes_in_its_own_invocation_ends_its_scope_once(
    form: str, nesting: NestingType
) -> None:
    run = execute(_resumed_beside_work(form, nesting), skip_time=False)
    assert (run.status, run.result) == ("SUCCEEDED", "done"), run.story()
    assert run.notes()[-2:] == ["ended", "cleanup"], run.story()
    if HAS_TIMERS_DURING_INVOCATION:
        assert run.invocations == 1, run.story()
        assert run.notes() == ["entered", "entered", "ended", "cleanup"], run.story()
    else:
        assert set(run.notes()[:-2]) == {"entered"}, run.story()


if not HAS_TIMERS_DURING_INVOCATION:

    def test_the_old_testing_sdk_resumes_no_branch_in_its_invocation_even_without_a_scope() -> None:
        """Why the test above asks for less there: testing 1.2.1 ends no wait while an invocation runs."""

        def build(_life: Life) -> Handler:
            def handler(_event: Any, context: DurableContext) -> str:
                context.parallel(
                    [
                        lambda branch: branch.wait(SECOND),
                        lambda branch: branch.step(lambda _: time.sleep(2.5)),
                    ]
                )
                return "done"

            return handler

        assert execute(build, skip_time=False).invocations > 1


def _abandoning(form: str, nesting: NestingType, suspended: bool) -> Callable[[Life], Handler]:
    """A parallel that completes with its first branch, while a scope in the second is suspended or still at
    work.
    """
    completed = threading.Event()

    def build(life: Life) -> Handler:
        def abandoned_work(inner: DurableContext) -> None:
            if suspended:
                inner.create_callback(name="never").result()
            else:
                completed.wait(10)

        def first(branch: DurableContext) -> str:
            if suspended:
                time.sleep(0.2)
            return branch.step(lambda _: "first", name="first")

        def outer(context: DurableContext, terminal: DurableTerminalActions) -> list[int]:
            terminal.cleanup(lambda _: life.note("outer"), name="outer")
            batch = context.parallel(
                [first, lambda branch: _waits(life, branch, form, abandoned_work)],
                name="fan",
                config=ParallelConfig(
                    completion_config=CompletionConfig(min_successful=1), nesting_type=nesting
                ),
            )
            completed.set()
            return [item.index for item in abandoned(batch)]

        def handler(_event: Any, context: DurableContext) -> list[int]:
            return run_scope(context, "in place", outer, name="around")

        return handler

    return build


@pytest.mark.parametrize("suspended", [True, False], ids=["suspended", "at work"])
@pytest.mark.parametrize("nesting", NESTINGS, ids=lambda nesting: nesting.name)
@pytest.mark.parametrize("form", FORMS)
def test_an_abandoned_branch_runs_nothing_and_the_scope_around_knows_of_it(
    form: str, nesting: NestingType, suspended: bool
) -> None:
    run = execute(_abandoning(form, nesting, suspended))
    assert (run.status, run.result) == ("SUCCEEDED", [1]), run.story()
    assert run.notes("c") == [], run.story()
    assert run.notes("outer") == ["outer"]
    assert not [name for name in run.names() if name.startswith("scope.")], run.story()


@pytest.mark.parametrize("nesting", NESTINGS, ids=lambda nesting: nesting.name)
@pytest.mark.parametrize("form", FORMS)
def test_a_map_that_fails_fast_never_cleans_up_in_the_middle_of_a_body(
    form: str, nesting: NestingType
) -> None:
    def build(life: Life) -> Handler:
        def item(branch: DurableContext, _item: int, index: int, _items: object) -> None:
            def body(inner: DurableContext) -> None:
                inner.step(lambda _: index, name=f"step-{index}")
                if index == 1:
                    raise ValueError("one item fails")
                inner.wait(SECOND, name=f"wait-{index}")

            _waits(life, branch, form, body)

        def handler(_event: Any, context: DurableContext) -> str:
            batch: BatchResult[None] = context.map(
                [0, 1, 2], item, name="map", config=MapConfig(nesting_type=nesting)
            )
            return batch.completion_reason.value

        return handler

    for _, run in killed_everywhere(build):
        assert run.status == "SUCCEEDED", run.story()
        # The failing item compensates and cleans up. The others can only have cleaned up.
        assert set(run.notes("compensate")) == {"compensate"}, run.story()
        assert run.accepted("SUCCEED").count("scope.compensate.compensate") == 1, run.story()
        assert run.accepted("SUCCEED").count("scope.cleanup.cleanup") >= 1, run.story()


def _try_to_register(life: Life, terminal: DurableTerminalActions, where: str) -> None:
    try:
        terminal.cleanup(lambda _: life.note(f"lost {where}"), name="lost")
    except RegistrationError as error:
        life.note(f"refused {where}")
        assert "scope" in str(error)


@pytest.mark.parametrize("form", FORMS)
def test_registrations_that_replay_would_lose_are_refused_on_every_run(form: str) -> None:
    def build(life: Life) -> Handler:
        def body(context: DurableContext, terminal: DurableTerminalActions) -> DurableTerminalActions | None:
            def attempt(where: str) -> None:
                _try_to_register(life, terminal, where)

            terminal.cleanup(lambda _: attempt("action"), name="in-action")
            terminal.cleanup_in_context(lambda _: attempt("context action"), name="in-context-action")
            context.step(lambda _: attempt("step"), name="step")
            context.run_in_child_context(lambda _: attempt("child"), name="child")
            context.map([1], lambda *_: attempt("map"), name="map")
            context.map(
                [1], lambda *_: attempt("flat"), name="flat", config=MapConfig(nesting_type=NestingType.FLAT)
            )
            context.parallel([lambda _: attempt("parallel")], name="parallel")
            context.wait_for_callback(lambda *_: attempt("submitter"), name="callback")
            with_retry(context, lambda *_: attempt("retry"), WithRetryConfig(), name="retry")
            terminal.acquire(lambda _: attempt("acquire"), release=lambda *_: None, name="acquire")
            run_scope(context, "isolated", lambda *_: attempt("inner scope"), name="inner")
            thread = threading.Thread(target=attempt, args=("thread",))
            thread.start()
            thread.join()
            kept.append(terminal)
            return None

        kept: list[DurableTerminalActions] = []

        def handler(_event: Any, context: DurableContext) -> str:
            run_scope(context, form, body)
            for terminal in kept:
                _try_to_register(life, terminal, "afterwards")
            return "done"

        return handler

    run = execute(build, answers=lambda _: b"1")
    assert (run.status, run.result) == ("SUCCEEDED", "done"), run.story()
    refused = {note.removeprefix("refused ") for note in run.notes("refused")}
    places = {
        "action",
        "context action",
        "step",
        "child",
        "map",
        "flat",
        "parallel",
        "submitter",
        "retry",
        "acquire",
        "inner scope",
        "thread",
        "afterwards",
    }
    assert refused == places, places ^ refused
    assert run.notes("lost") == []
    assert not [name for name in run.names() if name.endswith("lost")]


@pytest.mark.parametrize("form", FORMS)
def test_an_outer_scope_takes_registrations_from_the_body_of_an_inner_one_in_place(form: str) -> None:
    """The inner block is part of the outer body, on its thread, outside of every durable call."""

    def build(life: Life) -> Handler:
        def outer(context: DurableContext, terminal: DurableTerminalActions) -> None:
            def inner(scope_context: DurableContext, own: DurableTerminalActions) -> None:
                terminal.cleanup(lambda _: life.note("of the outer"), name="outer")
                own.cleanup(lambda _: life.note("of the inner"), name="inner")
                scope_context.wait(SECOND, name="wait")

            run_scope(context, "in place", inner, name="inner")

        def handler(_event: Any, context: DurableContext) -> str:
            run_scope(context, form, outer, name="outer")
            return "done"

        return handler

    for _, run in killed_everywhere(build):
        assert run.status == "SUCCEEDED", run.story()
        assert list(dict.fromkeys(run.notes())) == ["of the inner", "of the outer"], run.story()


def test_hundreds_of_registrations_are_recorded_and_run_backwards() -> None:
    def build(life: Life) -> Handler:
        def body(_context: DurableContext, terminal: DurableTerminalActions) -> None:
            for number in range(200):
                terminal.cleanup(lambda _, number=number: life.note(str(number)))  # type: ignore[misc]

        def handler(_event: Any, context: DurableContext) -> str:
            run_scope(context, "isolated", body)
            return "done"

        return handler

    run: Run = execute(build, seconds=120)
    assert run.status == "SUCCEEDED", run.story()
    assert run.notes() == [str(number) for number in reversed(range(200))]
    assert len(set(run.names())) == len(run.names())
