"""Errors that are hard to record, huge, unprintable, or the SDK's own: no action and no failure gets lost."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from aws_durable_execution_sdk_python.config import Duration, StepConfig
from aws_durable_execution_sdk_python.exceptions import (
    ExecutionError,
    InvocationError,
    RetryableSerDesError,
    SerDesError,
    StepError,
)
from aws_durable_execution_sdk_python.retries import RetryDecision
from aws_durable_execution_sdk_python.serdes import JsonSerDes, SerDesContext
from durable_runtime import ScopeCancelled, TerminalScopeConfig, TerminalScopeError, terminal_scope

from tests.runtime.support.crash import execute, killed_everywhere
from tests.runtime.support.scopes import FORMS, run_scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_durable_execution_sdk_python import BatchResult, DurableContext
    from durable_runtime import DurableTerminalActions

    from tests.runtime.support.crash import Handler, Life

ONCE = StepConfig(retry_strategy=lambda _error, _attempt: RetryDecision.no_retry())
HUGE = "ü" * 100_000


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def _raising(error: BaseException) -> Callable[[object], None]:
    def action(_context: object) -> None:
        raise error

    return action


def _caught(
    form: str,
    body: Callable[[DurableContext, DurableTerminalActions], object],
    seen: list[BaseException],
    *,
    in_child: bool = False,
    config: TerminalScopeConfig | None = None,
) -> Callable[[Life], Handler]:
    """A handler that catches what leaves the scope, at once and after a suspension, which replays it."""

    def build(_life: Life) -> Handler:
        def scope(context: DurableContext) -> None:
            run_scope(context, form, body, config=config)

        def handler(_event: Any, context: DurableContext) -> str:
            try:
                if in_child:
                    context.run_in_child_context(scope, name="child")
                else:
                    scope(context)
            except Exception as error:
                seen.append(error)
                context.wait(Duration.from_seconds(1), name="later")
                return type(error).__name__
            return "no error"

        return handler

    return build


@pytest.mark.parametrize("in_child", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("message", [HUGE, "x" * 32_000, '"\\' * 20_000, "\x00" * 10_000, "\ud800" * 9_000])
def test_huge_errors_of_many_actions_fit_the_limit_and_all_are_named(
    form: str, in_child: bool, message: str
) -> None:
    def body(_context: DurableContext, terminal: DurableTerminalActions) -> None:
        for number in range(20):
            terminal.cleanup(_raising(ValueError(message)), name=f"action-{number}", config=ONCE)

    seen: list[BaseException] = []
    run = execute(_caught(form, body, seen, in_child=in_child))
    assert run.status == "SUCCEEDED", run.error
    assert run.accepted("FAIL").count("scope.cleanup.action-0") == 1
    if not in_child:
        assert run.result == "TerminalScopeError"
        for error in seen:
            assert isinstance(error, TerminalScopeError)
            assert [failure.name for failure in error.terminal_failures] == [
                f"action-{number}" for number in reversed(range(20))
            ]


@pytest.mark.parametrize("message", [HUGE, "x" * 32_000])
def test_a_huge_body_error_of_an_isolated_scope_fits_the_limit(message: str) -> None:
    def body(_context: DurableContext, terminal: DurableTerminalActions) -> None:
        terminal.compensate(_raising(ValueError(message)), name="undo", config=ONCE)
        raise ValueError(message)

    seen: list[BaseException] = []
    run = execute(_caught("isolated", body, seen))
    assert (run.status, run.result) == ("SUCCEEDED", "TerminalScopeError"), run.error
    for error in seen:
        assert isinstance(error, TerminalScopeError)
        assert (error.message or "").startswith(message[:1000])
        assert [failure.name for failure in error.terminal_failures] == ["undo"]


@pytest.mark.parametrize("form", FORMS)
def test_a_step_error_that_just_fits_still_fits_with_failed_actions(form: str) -> None:
    def body(context: DurableContext, terminal: DurableTerminalActions) -> None:
        terminal.cleanup(_raising(ValueError("y" * 10_000)), name="fails", config=ONCE)
        context.step(_raising(ValueError("x" * 32_500)), name="step", config=ONCE)

    seen: list[BaseException] = []
    run = execute(_caught(form, body, seen, in_child=True))
    assert (run.status, run.result) == ("SUCCEEDED", "ChildContextError"), run.error
    assert run.status_of("scope.cleanup.fails") == "FAILED"


@pytest.mark.parametrize("form", FORMS)
def test_errors_without_a_text_fail_the_scope_like_others(form: str) -> None:
    def body(_context: DurableContext, terminal: DurableTerminalActions) -> None:
        terminal.cleanup(lambda _: None, name="works")
        terminal.cleanup(_raising(ValueError("plain")), name="fails", config=ONCE)
        raise Unprintable

    seen: list[BaseException] = []
    run = execute(_caught(form, body, seen))
    assert run.status == "SUCCEEDED", run.story()
    assert run.status_of("scope.cleanup.works") == "SUCCEEDED"
    assert run.status_of("scope.cleanup.fails") == "FAILED"


@pytest.mark.parametrize("form", FORMS)
def test_an_exception_group_is_a_failure_like_any_other(form: str) -> None:
    def body(context: DurableContext, terminal: DurableTerminalActions) -> None:
        terminal.compensate(lambda _: None, name="undo")
        context.wait(Duration.from_seconds(1), name="wait")
        raise ExceptionGroup("several", [ValueError("a"), KeyError("b")])

    seen: list[BaseException] = []
    run = execute(_caught(form, body, seen))
    assert run.result == ("TerminalScopeError" if form == "isolated" else "ExceptionGroup"), run.story()
    assert run.status_of("scope.compensate.undo") == "SUCCEEDED"


@pytest.mark.parametrize("form", FORMS)
def test_a_step_error_keeps_its_type_on_the_first_run_and_on_replay(form: str) -> None:
    def body(context: DurableContext, terminal: DurableTerminalActions) -> None:
        terminal.compensate(_raising(KeyError("gone")), name="undo", config=ONCE)
        context.step(_raising(ValueError("broken")), name="step", config=ONCE)

    seen: list[BaseException] = []
    run = execute(_caught(form, body, seen))
    assert run.result == "StepError"
    assert len(seen) == 2
    first, replayed = (
        (type(error), str(error), error.error_type, error.terminal_failures)  # type: ignore[attr-defined]
        for error in seen
    )
    assert first[0] is StepError
    assert first == replayed
    (failure,) = first[3]
    assert (failure.kind, failure.name, failure.skipped) == ("compensate", "undo", False)
    assert "gone" in failure.message
    assert "KeyError" in str(failure.type)


@pytest.mark.parametrize("form", FORMS)
def test_an_execution_error_stays_what_it_is_after_the_actions_ran(form: str) -> None:
    def build(life: Life) -> Handler:
        def body(_context: DurableContext, terminal: DurableTerminalActions) -> None:
            terminal.cleanup_in_context(lambda inner: inner.wait(Duration.from_seconds(1)), name="waits")
            terminal.compensate(lambda _: life.note("undo"), name="undo")
            raise ExecutionError("enough")

        def handler(_event: Any, context: DurableContext) -> str:
            run_scope(context, form, body)
            return "no error"

        return handler

    for _, run in killed_everywhere(build, one_update_per_request=True):
        assert run.status == "FAILED"
        assert run.error is not None
        assert (run.error.type or "").endswith("ExecutionError"), run.story()
        assert run.error.message == "enough"
        assert run.status_of("scope.compensate.undo") == "SUCCEEDED"
        assert run.status_of("scope.cleanup.waits") == "SUCCEEDED"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "error",
    [ExecutionError("enough"), ScopeCancelled("too late"), SerDesError("no"), Unprintable()],
    ids=lambda error: type(error).__name__,
)
def test_whatever_an_action_raises_it_has_failed_and_the_next_one_runs(form: str, error: Exception) -> None:
    def build(life: Life) -> Handler:
        def body(_context: DurableContext, terminal: DurableTerminalActions) -> str:
            terminal.cleanup(lambda _: life.note("last"), name="last")
            terminal.cleanup_in_context(_raising(error), name="in-context")
            terminal.cleanup(_raising(error), name="step", config=ONCE)
            return "value"

        def handler(_event: Any, context: DurableContext) -> list[str]:
            try:
                run_scope(context, form, body)
            except TerminalScopeError as failed:
                return [failure.name for failure in failed.terminal_failures]
            return []

        return handler

    run = execute(build)
    assert (run.status, run.result) == ("SUCCEEDED", ["step", "in-context"]), run.story()
    assert run.notes() == ["last"]
    assert run.status_of("scope.cleanup.step") == "FAILED"
    assert run.status_of("scope.cleanup.in-context") == "FAILED"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("where", ["body", "action", "action in context"])
def test_a_retryable_invocation_error_is_retried_and_is_no_outcome(form: str, where: str) -> None:
    def build(life: Life) -> Handler:
        def stumble(_context: object = None) -> None:
            life.note(where)
            if life.number == 1:
                raise InvocationError("try the invocation again")

        def body(_context: DurableContext, terminal: DurableTerminalActions) -> str:
            terminal.cleanup(lambda _: life.note("cleanup"), name="cleanup")
            terminal.compensate(lambda _: life.note("compensate"), name="compensate")
            if where == "action":
                terminal.cleanup(stumble, name="stumbles")
            elif where == "action in context":
                terminal.cleanup_in_context(stumble, name="stumbles")
            else:
                stumble()
            return "value"

        def handler(_event: Any, context: DurableContext) -> str:
            return run_scope(context, form, body)

        return handler

    run = execute(build)
    assert (run.status, run.result) == ("SUCCEEDED", "value"), run.story()
    assert run.notes() == [where, where, "cleanup"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("signal", [KeyboardInterrupt, SystemExit, GeneratorExit, BaseException])
def test_a_fatal_signal_runs_nothing_and_the_next_invocation_goes_on(
    form: str, signal: type[BaseException]
) -> None:
    def build(life: Life) -> Handler:
        def body(_context: DurableContext, terminal: DurableTerminalActions) -> str:
            terminal.cleanup(lambda _: life.note("cleanup"), name="cleanup")
            terminal.compensate(lambda _: life.note("compensate"), name="compensate")
            if life.number == 1:
                raise signal
            return "value"

        def handler(_event: Any, context: DurableContext) -> str:
            return run_scope(context, form, body)

        return handler

    run = execute(build)
    assert (run.status, run.result) == ("SUCCEEDED", "value"), run.story()
    assert run.notes() == ["cleanup"]
    assert run.invocations == 2


@pytest.mark.parametrize("form", FORMS)
def test_a_cancellation_type_of_ones_own_cancels_the_scope(form: str) -> None:
    config = TerminalScopeConfig(cancelled_by=(asyncio.CancelledError,), compensate_on_cancellation=False)

    def build(life: Life) -> Handler:
        def body(_context: DurableContext, terminal: DurableTerminalActions) -> None:
            def action(_: object) -> None:
                assert terminal.outcome is not None
                life.note(terminal.outcome.status)

            terminal.cleanup(action, name="cleanup")
            terminal.compensate(lambda _: life.note("compensate"), name="compensate")
            raise asyncio.CancelledError

        def handler(_event: Any, context: DurableContext) -> str:
            try:
                run_scope(context, form, body, config=config)
            except (asyncio.CancelledError, TerminalScopeError) as error:
                return type(error).__name__
            return "no error"

        return handler

    run = execute(build)
    expected = "TerminalScopeError" if form == "isolated" else "CancelledError"
    assert (run.status, run.result) == ("SUCCEEDED", expected), run.story()
    assert run.notes() == ["CANCELLED"]


@pytest.mark.parametrize("value", [object(), {1, object()}, lambda: 1], ids=["object", "set", "function"])
def test_a_result_that_no_serdes_takes_is_a_failed_body(value: object) -> None:
    def build(life: Life) -> Handler:
        def body(_context: DurableContext, terminal: DurableTerminalActions) -> object:
            terminal.cleanup(lambda _: life.note("cleanup"), name="cleanup")
            terminal.compensate(lambda _: life.note("compensate"), name="compensate")
            return value

        def handler(_event: Any, context: DurableContext) -> str:
            try:
                run_scope(context, "isolated", body)
            except Exception as error:
                context.wait(Duration.from_seconds(1))
                return type(error).__name__
            return "no error"

        return handler

    run = execute(build)
    assert run.status == "SUCCEEDED", run.story()
    assert run.result != "no error"
    assert run.notes() == ["compensate", "cleanup"]


@pytest.mark.parametrize("size", [300_000, 1_500_000])
def test_a_large_result_comes_back_and_no_action_runs_again(size: int) -> None:
    def build(life: Life) -> Handler:
        def body(context: DurableContext, terminal: DurableTerminalActions) -> str:
            terminal.cleanup(lambda _: life.note("cleanup"), name="cleanup")
            context.wait(Duration.from_seconds(1), name="in")
            return "x" * size

        def handler(_event: Any, context: DurableContext) -> int:
            value = run_scope(context, "isolated", body)
            context.wait(Duration.from_seconds(1), name="after")
            return len(value)

        return handler

    run = execute(build)
    assert (run.status, run.result) == ("SUCCEEDED", size), run.story()
    assert run.notes() == ["cleanup"]
    for _, killed in killed_everywhere(build, one_update_per_request=True):
        assert (killed.status, killed.result) == ("SUCCEEDED", size), killed.story()
        done = [entry.data.get("action") == "SUCCEED" for entry in killed.journal if "cleanup" in entry.text]
        assert done == [False] * (len(done) - 1) + [True], killed.story()


@pytest.mark.parametrize("form", FORMS)
def test_scopes_in_items_of_a_map_with_a_large_result_are_replayed_without_running_again(form: str) -> None:
    """The SDK runs the items of such a map again on each replay: their scopes too."""

    def build(life: Life) -> Handler:
        def item(branch: DurableContext, _item: int, index: int, _items: object) -> str:
            def body(context: DurableContext, terminal: DurableTerminalActions) -> str:
                terminal.cleanup(lambda _: life.note(f"item {index}"), name=f"item-{index}")
                context.wait(Duration.from_seconds(1), name="wait")
                return "x" * 150_000

            return run_scope(branch, form, body, name=f"scope-{index}")

        def outer(context: DurableContext, terminal: DurableTerminalActions) -> int:
            terminal.cleanup(lambda _: life.note("outer"), name="outer")
            terminal.cleanup_in_context(lambda inner: inner.wait(Duration.from_seconds(1)), name="pause")
            batch: BatchResult[str] = context.map([0, 1, 2], item, name="map")
            return sum(len(result) for result in batch.get_results())

        def handler(_event: Any, context: DurableContext) -> int:
            return run_scope(context, form, outer, name="around")

        return handler

    assert sorted(execute(build).notes()) == ["item 0", "item 1", "item 2", "outer"]
    for _, run in killed_everywhere(build):
        assert (run.status, run.result) == ("SUCCEEDED", 450_000), run.story()
        for name in ("scope-0.cleanup.item-0", "scope-1.cleanup.item-1", "scope-2.cleanup.item-2"):
            ended = [
                entry.data.get("action")
                for entry in run.journal
                if entry.text in (name, name[16:].replace("-", " "))
            ]
            assert ended.count("SUCCEED") == 1, run.story()
            assert ended[-1] == "SUCCEED", run.story()


def test_a_serdes_that_fails_for_a_moment_is_no_outcome() -> None:
    def build(life: Life) -> Handler:
        class Flaky(JsonSerDes[Any]):
            def serialize(self, value: Any, serdes_context: SerDesContext) -> str:
                if life.number == 1:
                    raise RetryableSerDesError("the store does not answer")
                return super().serialize(value, serdes_context)

        def body(_context: DurableContext, terminal: DurableTerminalActions) -> dict[str, int]:
            terminal.cleanup(lambda _: life.note("cleanup"), name="cleanup")
            terminal.compensate(lambda _: life.note("compensate"), name="compensate")
            return {"a": 1}

        def handler(_event: Any, context: DurableContext) -> dict[str, int]:
            return run_scope(context, "isolated", body, config=TerminalScopeConfig(serdes=Flaky()))

        return handler

    run = execute(build)
    assert (run.status, run.result, run.invocations) == ("SUCCEEDED", {"a": 1}, 2), run.story()
    assert run.notes() == ["cleanup"]


REUSED = ValueError("one object, raised again and again")


@pytest.mark.parametrize("form", FORMS)
def test_an_exception_object_that_is_raised_again_lists_the_failures_of_its_own_scope_alone(
    form: str,
) -> None:
    """A module's constant, say: it outlives the invocation, and the execution, in a warm process."""

    def builder(failing: str) -> Callable[[Life], Handler]:
        def build(life: Life) -> Handler:
            def body(_context: DurableContext, terminal: DurableTerminalActions) -> None:
                terminal.cleanup(_raising(KeyError(failing)), name=failing, config=ONCE)
                raise REUSED

            def handler(_event: Any, context: DurableContext) -> list[str]:
                listed: list[str] = []
                try:
                    run_scope(context, form, body)
                except Exception as error:
                    listed = [failure.name for failure in error.terminal_failures]  # type: ignore[attr-defined]
                life.note(str(listed))
                context.wait(Duration.from_seconds(1), name="later")
                return listed

            return handler

        return build

    for failing in ("first", "second"):
        run = execute(builder(failing))
        assert (run.status, run.result) == ("SUCCEEDED", [failing]), run.story()
        assert run.notes() == [f"['{failing}']"] * 2


@dataclass(frozen=True)
class Frozen(Exception):
    """An exception that takes no attributes, and so no notes."""

    code: int


def test_an_exception_that_takes_no_attributes_leaves_a_scope_in_place_as_it_is() -> None:
    def build(life: Life) -> Handler:
        def handler(_event: Any, context: DurableContext) -> list[str]:
            try:
                with terminal_scope(context, name="scope") as terminal:
                    terminal.cleanup(lambda _: life.note("cleanup"), name="cleanup")
                    terminal.cleanup(_raising(ValueError("no")), name="fails", config=ONCE)
                    raise Frozen(7)
            except Exception as error:
                listed = getattr(error, "terminal_failures", ())
                return [type(error).__name__, *(failure.name for failure in listed)]

        return handler

    run = execute(build)
    assert (run.status, run.result) == ("SUCCEEDED", ["Frozen", "fails"]), run.story()
    assert run.notes() == ["cleanup"]
