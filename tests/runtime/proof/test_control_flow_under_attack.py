"""Bodies that get in the way of control flow: they swallow suspensions, raise over them, leave scopes out
of order.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from aws_durable_execution_sdk_python.config import Duration, JitterStrategy
from aws_durable_execution_sdk_python.retries import (
    RetryStrategyConfig,
    WithRetryConfig,
    create_retry_strategy,
    with_retry,
)
from durable_runtime import RegistrationError, ScopeCancelled, on_scope_event, terminal_scope

from tests.runtime.support.crash import execute, killed_everywhere
from tests.runtime.support.scopes import FORMS, run_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aws_durable_execution_sdk_python import DurableContext, types
    from durable_runtime import DurableTerminalActions

    from tests.runtime.support.crash import Handler, Life, Run

SECOND = Duration.from_seconds(1)


def _swallow(context: DurableContext) -> None:
    try:
        context.wait(SECOND, name="wait")
    except BaseException:  # noqa: BLE001 RUF100
        return


def _suppress(context: DurableContext) -> None:
    with contextlib.suppress(BaseException):
        context.wait(SECOND, name="wait")


def _return_in_finally(context: DurableContext) -> None:
    def run() -> None:
        try:
            context.wait(SECOND, name="wait")
        finally:
            return  # noqa: B012

    run()


def _raise_over(context: DurableContext) -> None:
    waited = False
    try:
        context.wait(SECOND, name="wait")
        waited = True
    finally:
        if not waited:
            raise ValueError("raised over the suspension")


def _cancel_over(context: DurableContext) -> None:
    try:
        context.wait(SECOND, name="wait")
    except BaseException as error:
        raise ScopeCancelled("taken for a cancellation") from error


def _step_in_finally(context: DurableContext) -> None:
    try:
        context.wait(SECOND, name="wait")
    finally:
        context.step(lambda _: None, name="in-finally")


def _swallow_in_child(context: DurableContext) -> None:
    context.run_in_child_context(_swallow, name="child")


def _swallow_around_child(context: DurableContext) -> None:
    with contextlib.suppress(BaseException):
        context.run_in_child_context(lambda child: child.wait(SECOND, name="wait"), name="child")


def _swallow_a_callback(context: DurableContext) -> None:
    callback: Any = context.create_callback(name="callback")
    with contextlib.suppress(BaseException):
        callback.result()


def _swallow_a_retry(context: DurableContext) -> None:
    def fail_once(step_context: Any) -> None:
        if (step_context.attempt or 1) == 1:
            raise ValueError("once")

    with contextlib.suppress(BaseException):
        context.step(fail_once, name="step")


def _swallow_a_map(context: DurableContext) -> None:
    with contextlib.suppress(BaseException):
        context.map([1, 2], lambda branch, *_: branch.wait(SECOND), name="map")


def _swallow_and_go_on(context: DurableContext) -> None:
    for number in range(3):
        with contextlib.suppress(BaseException):
            context.wait(SECOND, name=f"wait-{number}")


def _raise_another_base_exception_over(context: DurableContext) -> None:
    class Stop(BaseException):
        pass

    try:
        context.wait(SECOND, name="wait")
    except BaseException as error:
        raise Stop from error


def _wait_in_a_task_group(context: DurableContext) -> None:
    """`asyncio` turns the suspension of a task into a BaseExceptionGroup."""

    async def wait() -> None:
        context.wait(SECOND, name="wait")

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(wait())

    asyncio.run(main())


SWALLOWING = [
    _raise_another_base_exception_over,
    _wait_in_a_task_group,
    _swallow,
    _suppress,
    _return_in_finally,
    _raise_over,
    _cancel_over,
    _step_in_finally,
    _swallow_in_child,
    _swallow_around_child,
    _swallow_a_callback,
    _swallow_a_retry,
    _swallow_a_map,
    _swallow_and_go_on,
]


def _in_scope(
    form: str, body: Callable[[DurableContext], object], nested: str = ""
) -> Callable[[Life], Handler]:
    """A scope that registers one action of each kind around `body`, in an outer scope if `nested` names its
    form.
    """

    def build(life: Life) -> Handler:
        def run(context: DurableContext, terminal: DurableTerminalActions) -> str:
            terminal.cleanup(lambda _: life.note("cleanup"), name="cleanup")
            terminal.compensate(lambda _: life.note("compensate"), name="compensate")
            body(context)
            return "value"

        def outer(context: DurableContext, terminal: DurableTerminalActions) -> str:
            terminal.cleanup(lambda _: life.note("outer"), name="outer")
            return run_scope(context, form, run)

        def handler(_event: Any, context: DurableContext) -> str:
            if nested:
                return run_scope(context, nested, outer, name="outer-scope")
            return run_scope(context, form, run)

        return handler

    return build


def _first_invocation(run: Run) -> list[str]:
    """What happened before the first suspension, and how the invocation ended."""
    return [entry.text for entry in run.journal if entry.invocation == 1 and entry.kind in ("note", "ended")]


@pytest.mark.parametrize("nested", ["", *FORMS], ids=["alone", "in a scope in place", "in an isolated scope"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("body", SWALLOWING)
def test_a_suspension_that_the_body_hides_still_suspends(
    body: Callable[[DurableContext], object], form: str, nested: str
) -> None:
    run = execute(_in_scope(form, body, nested), answers=lambda _: b"1")
    assert (run.status, run.result) == ("SUCCEEDED", "value"), run.story()
    assert _first_invocation(run) == ["PENDING"]
    assert run.notes() == ["cleanup", *(["outer"] if nested else [])], run.story()


@pytest.mark.parametrize("inner", FORMS)
@pytest.mark.parametrize("form", FORMS)
def test_no_scope_begins_after_a_hidden_suspension(form: str, inner: str) -> None:
    begun: list[str] = []

    def body(context: DurableContext) -> None:
        _swallow(context)
        run_scope(context, inner, lambda *_: begun.append("begun"), name="inner")

    events: list[str] = []
    remove = on_scope_event(lambda event: events.append(f"{event.scope} {event.kind}"))
    try:
        run = execute(_in_scope(form, body))
    finally:
        remove()
    assert (run.status, run.result) == ("SUCCEEDED", "value"), run.story()
    assert begun == ["begun"]
    assert events.count("inner SCOPE_STARTED") == 1, events


def test_a_durable_call_in_finally_is_refused_during_a_suspension() -> None:
    run = execute(_in_scope("in place", _step_in_finally))
    started = [entry for entry in run.journal if entry.text == "in-finally" and entry.kind == "accepted"]
    assert [entry.invocation for entry in started] == [2, 2], run.story()


@pytest.mark.parametrize("form", FORMS)
def test_a_body_that_swallows_a_dead_invocation_does_not_end_its_scope(form: str) -> None:
    """Each durable call stands in a `suppress(BaseException)`, which also swallows the SDK's
    BackgroundThreadError.
    """

    def body(context: DurableContext) -> None:
        for name in ("one", "two"):
            with contextlib.suppress(BaseException):
                context.step(lambda _: 1, name=name)
        with contextlib.suppress(BaseException):
            context.wait(SECOND, name="wait")

    for _, run in killed_everywhere(_in_scope(form, body), one_update_per_request=True):
        assert (run.status, run.result) == ("SUCCEEDED", "value"), run.story()
        assert {"one", "two", "wait"} <= set(run.names()), run.story()
        assert run.accepted("SUCCEED").count("scope.cleanup.cleanup") == 1, run.story()
        assert "compensate" not in run.notes(), run.story()


@pytest.mark.parametrize("form", FORMS)
def test_a_scope_in_with_retry_ends_once_for_each_attempt(form: str) -> None:
    retries = create_retry_strategy(
        RetryStrategyConfig(max_attempts=3, initial_delay=SECOND, jitter_strategy=JitterStrategy.NONE)
    )

    def build(life: Life) -> Handler:
        def attempt(context: types.DurableContext, number: int) -> int:
            def body(scope_context: DurableContext, terminal: DurableTerminalActions) -> int:
                terminal.cleanup(lambda _: life.note(f"cleanup {number}"), name="cleanup")
                terminal.compensate(lambda _: life.note(f"undo {number}"), name="undo")
                scope_context.wait(SECOND, name="wait")
                if number < 3:
                    raise ValueError(f"attempt {number}")
                return number

            return run_scope(context, form, body)  # type: ignore[arg-type]

        def handler(_event: Any, context: DurableContext) -> int:
            config: WithRetryConfig[int] = WithRetryConfig(retry_strategy=retries)
            return with_retry(context, attempt, config, name="again")

        return handler

    expected = ["undo 1", "cleanup 1", "undo 2", "cleanup 2", "cleanup 3"]
    assert execute(build).notes() == expected
    for _, run in killed_everywhere(build):
        assert (run.status, run.result) == ("SUCCEEDED", 3), run.story()
        assert list(dict.fromkeys(run.notes())) == expected, run.story()


def test_scopes_in_place_may_be_left_out_of_order_and_leave_the_context_as_it_was() -> None:
    def build(life: Life) -> Handler:
        def handler(_event: Any, context: DurableContext) -> bool:
            before = set(vars(context))
            first, second = (terminal_scope(context, name=name) for name in ("first", "second"))
            first.__enter__().cleanup(lambda _: life.note("first"), name="cleanup")
            second.__enter__().cleanup(lambda _: life.note("second"), name="cleanup")
            context.wait(SECOND, name="wait")
            first.__exit__(None, None, None)
            context.step(lambda _: 1, name="between")
            second.__exit__(None, None, None)
            return set(vars(context)) == before

        return handler

    for _, run in killed_everywhere(build):
        assert (run.status, run.result) == ("SUCCEEDED", True), run.story()
        assert list(dict.fromkeys(run.notes())) == ["first", "second"]


def test_a_scope_in_an_exit_stack_and_in_a_generator_is_a_scope() -> None:
    def build(life: Life) -> Handler:
        @contextlib.contextmanager
        def leased(context: DurableContext) -> Iterator[str]:
            with terminal_scope(context, name="lease") as terminal:
                yield terminal.acquire(
                    lambda _: "vm", release=lambda value, _: life.note(f"release {value}"), name="vm"
                )

        def handler(_event: Any, context: DurableContext) -> str:
            with contextlib.ExitStack() as stack:
                terminal = stack.enter_context(terminal_scope(context, name="outer"))
                terminal.cleanup(lambda _: life.note("outer"), name="cleanup")
                vm = stack.enter_context(leased(context))
                context.wait(SECOND, name="wait")
                raise ScopeCancelled(vm)

        return handler

    for _, run in killed_everywhere(build):
        assert run.status == "FAILED", run.story()
        assert run.error is not None
        assert (run.error.type or "").endswith("ScopeCancelled")
        assert list(dict.fromkeys(run.notes())) == ["release vm", "outer"], run.story()


def test_return_break_and_continue_leave_a_scope_in_place_as_a_success() -> None:
    def build(life: Life) -> Handler:
        def handler(_event: Any, context: DurableContext) -> str:
            for number in range(3):
                with terminal_scope(context, name=f"round-{number}") as terminal:
                    terminal.cleanup(lambda _, number=number: life.note(f"clean {number}"), name="cleanup")  # type: ignore[misc]
                    terminal.compensate(lambda _: life.note("compensate"), name="compensate")
                    context.wait(SECOND, name="wait")
                    if number == 0:
                        continue
                    if number == 1:
                        break
            with terminal_scope(context, name="last") as terminal:
                terminal.cleanup(lambda _: life.note("clean last"), name="cleanup")
                return "returned"

        return handler

    for _, run in killed_everywhere(build):
        assert (run.status, run.result) == ("SUCCEEDED", "returned"), run.story()
        assert list(dict.fromkeys(run.notes())) == ["clean 0", "clean 1", "clean last"], run.story()


@pytest.mark.parametrize("form", FORMS)
def test_a_name_the_service_would_refuse_is_refused_when_it_is_given(form: str) -> None:
    def build(life: Life) -> Handler:
        def body(_context: DurableContext, terminal: DurableTerminalActions) -> list[str]:
            def aufräumen(_: object) -> None:
                life.note("never")

            refused = []
            terminal.cleanup(lambda _: life.note("cleanup"), name="c" * (256 - len("scope.cleanup.")))
            for name in ("ü", "", "a\nb", "c" * (257 - len("scope.cleanup.")), "x\x7f", "\ud800", "日本"):
                try:
                    terminal.cleanup(aufräumen, name=name)
                except RegistrationError:
                    refused.append(name.encode("utf-16", "surrogatepass").hex())
            try:
                terminal.cleanup(aufräumen)
            except RegistrationError as error:
                assert "aufräumen" in str(error)
                refused.append("default")
            return refused

        def handler(_event: Any, context: DurableContext) -> int:
            refused = run_scope(context, form, body)
            for name in ("bereich-ü", "s" * 260, "\n"):
                try:
                    run_scope(context, form, lambda *_: life.note("entered"), name=name)
                except RegistrationError:
                    refused.append(name)
            return len(refused)

        return handler

    run = execute(build)
    assert (run.status, run.result) == ("SUCCEEDED", 8 + 3), run.story()
    assert run.notes() == ["cleanup"]
    assert all((name.isascii() and name.isprintable()) for name in run.names())
