"""A body that hides a suspension does not get past its scope."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from aws_durable_execution_sdk_python import durable_with_child_context
from aws_durable_execution_sdk_python.config import ChildConfig
from aws_durable_execution_sdk_python.exceptions import SuspendExecution
from durable_runtime import RegistrationError, terminal_scope

from tests.runtime.scope.stage import (
    SECOND,
    SUSPENDED,
    Around,
    Inside,
    Oops,
    both_forms,
    play,
    scope_in,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_durable_execution_sdk_python import DurableContext


class Stop(BaseException):
    """A signal of some library."""


def swallow(s: Inside) -> None:
    with contextlib.suppress(BaseException):
        s.context.wait(SECOND, name="pause")


def swallow_in_a_child(s: Inside) -> None:
    def child(context: DurableContext) -> str:
        with contextlib.suppress(BaseException):
            context.wait(SECOND, name="pause")
        return "not true"

    assert s.context.run_in_child_context(child, name="child") == "not true"


def swallow_in_a_virtual_child(s: Inside) -> None:
    def child(context: DurableContext) -> None:
        with contextlib.suppress(BaseException):
            context.wait(SECOND, name="pause")

    s.context.run_in_child_context(child, name="child", config=ChildConfig(is_virtual=True))


def swallow_callback(s: Inside) -> None:
    with contextlib.suppress(BaseException):
        s.context.create_callback(name="pause").result()


def swallow_in_a_nested_scope(s: Inside) -> None:
    with terminal_scope(s.context, name="inner"):
        swallow(s)


def swallow_in_an_isolated_scope(s: Inside) -> None:
    terminal_scope(s.context, lambda c, t: swallow(Inside(s.life, c, t)), name="inner")


def raise_over_it(s: Inside) -> None:
    try:
        s.context.wait(SECOND, name="pause")
    finally:
        if s.life.number == 1:
            raise Oops("over the suspension")


def return_over_it(s: Inside) -> None:
    try:
        s.context.wait(SECOND, name="pause")
    finally:
        return  # noqa: B012 - what the scope must withstand


def raise_another_signal_over_it(s: Inside) -> None:
    try:
        s.context.wait(SECOND, name="pause")
    finally:
        if s.life.number == 1:
            raise Stop


def wrap_it_in_a_group(s: Inside) -> None:
    try:
        s.context.wait(SECOND, name="pause")
    except BaseException as error:
        raise BaseExceptionGroup("what a task group does", [error]) from error


WAYS = [
    swallow,
    swallow_in_a_child,
    swallow_in_a_virtual_child,
    swallow_callback,
    swallow_in_a_nested_scope,
    swallow_in_an_isolated_scope,
    raise_over_it,
    return_over_it,
    raise_another_signal_over_it,
    wrap_it_in_a_group,
]


@both_forms
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_hidden_suspension_is_raised_again_at_the_end(form: str, way: Callable[[Inside], Any]) -> None:
    def body(s: Inside) -> None:
        s.terminal.cleanup(s.noting("clean"), name="clean")
        s.terminal.compensate(s.noting("undo"), name="undo")
        way(s)
        s.note("end of body")

    played = play(form, body, answers=lambda _: b"answered")
    assert played.run.status == "SUCCEEDED"
    assert played.effects[-2:] == ["end of body", "clean"]
    assert SUSPENDED in played.effects
    before = played.effects[: played.effects.index(SUSPENDED)]
    assert set(before) <= {"end of body"}
    assert "undo" not in played.effects


@both_forms
@pytest.mark.parametrize("signal", [SystemExit, KeyboardInterrupt])
def test_a_signal_that_ends_the_process_goes_before_a_hidden_suspension(
    form: str, signal: type[BaseException]
) -> None:
    left: list[type[BaseException]] = []

    def body(s: Inside) -> None:
        swallow(s)
        if s.life.number == 1:
            raise signal

    def frame(around: Around) -> None:
        try:
            around.scope(around.context)
        except BaseException as error:
            left.append(type(error))
            raise

    play(form, body, frame=frame)
    assert left[0] is signal


@both_forms
def test_after_a_hidden_suspension_the_body_can_do_no_durable_work(form: str) -> None:
    """What disarms an unchanged `finally: context.step(...)` inside a scope."""

    def body(s: Inside) -> None:
        try:
            s.context.wait(SECOND, name="pause")
        finally:
            s.context.step(s.noting("terminate"), name="terminate")

    assert play(form, body).effects == [SUSPENDED, "terminate"]


@both_forms
def test_each_kind_of_durable_call_is_refused_after_a_hidden_suspension(form: str) -> None:
    def body(s: Inside) -> None:
        callback = s.context.create_callback(name="callback")
        swallow(s)
        if s.life.number > 1:
            return
        calls: list[Callable[[], object]] = [
            lambda: s.context.step(s.noting("step")),
            lambda: s.context.wait(SECOND),
            lambda: s.context.run_in_child_context(lambda _: s.note("child")),
            lambda: s.context.run_in_child_context(
                lambda _: s.note("child"), config=ChildConfig(is_virtual=True)
            ),
            lambda: s.context.map([1], lambda *_: s.note("branch")),
            lambda: s.context.parallel([lambda _: s.note("branch")]),
            lambda: s.context.create_callback(),
            lambda: s.context.wait_for_callback(lambda *_: s.note("submit")),
            callback.result,
        ]
        for call in calls:
            with pytest.raises(SuspendExecution):
                call()
            s.note("refused")

    assert play(form, body).effects == ["refused"] * 9 + [SUSPENDED]


@both_forms
def test_a_callback_of_an_earlier_scope_is_in_sight_of_a_later_one(form: str) -> None:
    def frame(around: Around) -> None:
        with terminal_scope(around.context, name="first"):
            callback = around.context.create_callback(name="review")

        def body(_context: DurableContext, terminal: Any) -> None:
            terminal.cleanup(lambda _: around.life.note("clean"), name="clean")
            with contextlib.suppress(BaseException):
                callback.result()
            around.life.note("end of body")

        scope_in("in place", around.context, body)

    played = play(form, lambda _: None, frame=frame, answers=lambda _: b"answered")
    assert played.effects == ["end of body", SUSPENDED, "end of body", "clean"]


@both_forms
def test_scopes_that_end_out_of_order_leave_nothing_on_the_context(form: str) -> None:
    def body(s: Inside) -> None:
        untouched = dict(vars(s.context))
        first = terminal_scope(s.context, name="first")
        second = terminal_scope(s.context, name="second")
        first.__enter__().cleanup(s.noting("first"), name="clean")
        second.__enter__().cleanup(s.noting("second"), name="clean")
        first.__exit__(None, None, None)
        s.context.step(s.noting("between"), name="between")
        second.__exit__(None, None, None)
        assert vars(s.context).keys() == untouched.keys()
        assert {name: vars(s.context)[name] for name in untouched if not name.startswith("_replay")} == {
            name: value for name, value in untouched.items() if not name.startswith("_replay")
        }

    assert play(form, body).effects == ["first", "between", "second"]


def test_a_context_is_as_it_was_when_its_last_scope_ends() -> None:
    def frame(around: Around) -> None:
        marker = lambda *_a, **_k: "patched"  # noqa: E731
        vars(around.context)["invoke"] = marker
        with terminal_scope(around.context, name="one"):
            assert around.context.invoke("other", {}) == "patched"
            assert "step" in vars(around.context)
        assert vars(around.context)["invoke"] is marker
        assert "step" not in vars(around.context)

    assert play("in place", lambda _: None, frame=frame).run.status == "SUCCEEDED"


@both_forms
def test_an_action_that_hides_its_own_suspension_is_not_done_before_its_time(form: str) -> None:
    def body(s: Inside) -> None:
        def drain(context: DurableContext) -> None:
            with contextlib.suppress(BaseException):
                context.wait(SECOND, name="drain")
            s.note("end of action")

        s.terminal.cleanup(s.noting("last"), name="last")
        s.terminal.cleanup_in_context(drain, name="drain")

    assert play(form, body).effects == ["end of action", SUSPENDED, "end of action", "last"]


def test_what_others_put_on_a_context_during_a_scope_stays() -> None:
    def frame(around: Around) -> None:
        with terminal_scope(around.context, name="one"):
            ours = vars(around.context)["step"]
            vars(around.context)["step"] = theirs = lambda *args, **kwargs: ours(*args, **kwargs)
            around.context.step(lambda _: around.life.note("inside"))
        assert vars(around.context)["step"] is theirs
        around.context.step(lambda _: around.life.note("after"))
        with terminal_scope(around.context, name="two") as terminal:
            terminal.cleanup(lambda _: around.life.note("clean"))
            around.context.step(lambda _: around.life.note("inside"))

    played = play("in place", lambda _: None, frame=frame)
    assert played.effects == ["inside", "after", "inside", "clean"]


@both_forms
def test_a_child_context_keeps_the_name_of_its_decorated_function(form: str) -> None:
    @durable_with_child_context
    def review(context: DurableContext) -> int:
        return context.step(lambda _: 1, name="work")

    played = play(form, lambda s: s.context.run_in_child_context(review()))
    assert "review" in played.names
    assert played.run.result == 1


@both_forms
def test_a_branch_that_swallows_its_own_suspension_is_not_the_scopes_affair(form: str) -> None:
    """The tripwire watches the scope's own thread."""

    def body(s: Inside) -> None:
        def branch(context: DurableContext, *_: Any) -> str:
            with contextlib.suppress(BaseException):
                context.wait(SECOND)
            return "swallowed"

        s.terminal.cleanup(s.noting("clean"), name="clean")
        s.context.map([1], branch, name="map")

    assert play(form, body).effects == ["clean"]


def test_one_scope_object_serves_one_block() -> None:
    def frame(around: Around) -> None:
        scope = terminal_scope(around.context, name="once")
        with scope:
            pass
        with pytest.raises(RuntimeError, match="entered before"):
            scope.__enter__()

    assert play("in place", lambda _: None, frame=frame).run.status == "SUCCEEDED"


def test_something_that_is_no_durable_context_is_refused() -> None:
    not_a_context: Any = object()
    with pytest.raises(TypeError, match="DurableContext"):
        terminal_scope(not_a_context)


def test_a_body_or_a_policy_that_is_none_is_refused_before_anything_runs() -> None:
    wrong: Any = {"fail_on_cleanup_failure": False}

    async def coroutine(_context: object, _terminal: object) -> None: ...

    def frame(around: Around) -> None:
        body: Any
        for config in (wrong, {}):
            with pytest.raises(TypeError, match="takes a TerminalScopeConfig"):
                terminal_scope(around.context, config=config)
        for body in ("review", coroutine):
            with pytest.raises(RegistrationError, match="A scope's body takes a"):
                terminal_scope(around.context, body)

    played = play("in place", lambda _: None, frame=frame)
    assert (played.run.status, played.names) == ("SUCCEEDED", [])
