"""The recorded outcome decides: bodies that don't end the same way twice, and what replay must not repeat."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from aws_durable_execution_sdk_python import ExecutionError, InvocationError
from aws_durable_execution_sdk_python.config import ChildConfig, MapConfig, NestingType
from aws_durable_execution_sdk_python.exceptions import OrphanedChildException
from durable_runtime import ScopeCancelled, TerminalScopeConfig, TerminalScopeError, terminal_scope

from tests.runtime.scope.stage import (
    IN_PLACE,
    ISOLATED,
    LOST,
    ONCE,
    SECOND,
    SUSPENDED,
    TWICE,
    Around,
    Inside,
    Oops,
    Played,
    both_forms,
    play,
    scope_in,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_durable_execution_sdk_python import DurableContext

NON_DETERMINISTIC = "aws_durable_execution_sdk_python.exceptions.NonDeterministicExecutionError"


def once(s: Inside) -> bool:
    return s.life.number == 1


def retried_cleanup(s: Inside) -> None:
    """Suspends the terminal phase once, so that the body is replayed after its outcome was recorded."""

    def clean(step_context: Any) -> None:
        s.note(f"clean {step_context.attempt}")
        if step_context.attempt == 1:
            raise Oops

    s.terminal.cleanup(clean, name="clean", config=TWICE)


def error_type(played: Played) -> str:
    assert played.run.error is not None
    return str(played.run.error.type)


def message(played: Played) -> str:
    assert played.run.error is not None
    return str(played.run.error.message)


def failing_first(kind: type[BaseException]) -> Callable[[Inside], Any]:
    def body(s: Inside) -> None:
        retried_cleanup(s)
        s.context.step(s.noting("work"), name="work")
        if once(s):
            raise kind("first run only")
        s.context.step(s.noting("never"), name="never")

    return body


class TestAFrozenBody:
    """The isolated form: replay stops at what the history doesn't know, and a recorded failure wins."""

    @pytest.mark.parametrize(("kind", "outcome"), [(Oops, "FAILED"), (ScopeCancelled, "CANCELLED")])
    def test_a_failure_that_replay_does_not_repeat_wins(self, kind: type[Exception], outcome: str) -> None:
        played = play(ISOLATED, failing_first(kind))
        assert played.effects == ["work", "clean 1", SUSPENDED, "clean 2"]
        assert played.payload("s.outcome")["outcome"] == outcome
        (error,) = played.errors
        assert isinstance(error, TerminalScopeError)
        assert error.error_type.endswith(kind.__name__)
        assert error.message == "first run only"

    @pytest.mark.parametrize(
        "unknown",
        [
            lambda c: c.wait(SECOND),
            lambda c: c.run_in_child_context(lambda child: child.step(lambda _: None)),
            lambda c: c.run_in_child_context(
                lambda child: child.step(lambda _: None), config=ChildConfig(is_virtual=True)
            ),
            lambda c: c.map([1], lambda *_: None),
            lambda c: c.parallel([lambda _: None]),
            lambda c: c.create_callback(),
            lambda c: c.wait_for_callback(lambda *_: None),
            lambda c: c.invoke("other", {}),
            lambda c: terminal_scope(c, lambda inner, _: inner.step(lambda _: None)),
        ],
        ids=[
            "wait", "child", "virtual child", "map", "parallel", "callback", "wait_for_callback", "invoke",
            "scope",
        ],
    )  # fmt: skip
    def test_no_unknown_operation_starts(self, unknown: Callable[[DurableContext], object]) -> None:
        def body(s: Inside) -> None:
            retried_cleanup(s)
            if once(s):
                raise Oops
            unknown(s.context)
            s.note("went on")

        played = play(ISOLATED, body)
        assert played.effects == ["clean 1", SUSPENDED, "clean 2"]
        assert played.names == ["s", "s.outcome", "s.cleanup.clean"]

    def test_it_stops_a_body_that_swallows_everything(self) -> None:
        def body(s: Inside) -> str:
            retried_cleanup(s)
            if once(s):
                raise Oops
            for _ in range(3):
                with contextlib.suppress(BaseException):
                    s.context.step(s.noting("never"))
            return "not true"

        played = play(ISOLATED, body)
        assert played.effects == ["clean 1", SUSPENDED, "clean 2"]
        assert error_type(played) == "durable_runtime.errors.TerminalScopeError"

    def test_an_operation_with_another_name_is_unknown_too(self) -> None:
        def body(s: Inside) -> None:
            retried_cleanup(s)
            s.context.step(s.noting("work"), name="one" if once(s) else "other")
            raise Oops

        played = play(ISOLATED, body)
        assert played.effects == ["work", "clean 1", SUSPENDED, "clean 2"]
        assert error_type(played) == "durable_runtime.errors.TerminalScopeError"

    def test_it_may_register_more_after_the_end_it_had(self) -> None:
        def body(s: Inside) -> None:
            retried_cleanup(s)
            if once(s):
                raise Oops
            s.terminal.cleanup(s.noting("never"), name="more")

        assert play(ISOLATED, body).effects == ["clean 1", SUSPENDED, "clean 2"]

    def test_a_virtual_child_context_has_no_checkpoint_and_is_no_divergence(self) -> None:
        def body(s: Inside) -> str:
            retried_cleanup(s)
            return s.context.run_in_child_context(
                lambda child: child.step(lambda _: "value", name="inside"),
                name="virtual",
                config=ChildConfig(is_virtual=True),
            )

        played = play(ISOLATED, body)
        assert played.effects == ["clean 1", SUSPENDED, "clean 2"]
        assert played.run.result == "value"

    def test_a_callback_that_nobody_awaited_is_no_divergence(self) -> None:
        def body(s: Inside) -> str:
            retried_cleanup(s)
            s.context.create_callback(name="notify")
            return "value"

        assert play(ISOLATED, body).run.result == "value"

    def test_awaiting_an_unanswered_callback_is_a_divergence(self) -> None:
        def body(s: Inside) -> None:
            retried_cleanup(s)
            callback = s.context.create_callback(name="notify")
            if once(s):
                raise Oops
            callback.result()

        assert play(ISOLATED, body).effects == ["clean 1", SUSPENDED, "clean 2"]

    def test_a_divergence_in_a_nested_scope_does_not_suspend_the_outer_one(self) -> None:
        def body(s: Inside) -> str:
            def inner(context: DurableContext, terminal: Any) -> None:
                nested = Inside(s.life, context, terminal)
                retried_cleanup(nested)
                callback = context.create_callback(name="notify")
                if once(s):
                    raise Oops
                callback.result()

            s.terminal.cleanup(s.noting("outer"), name="outer")
            with pytest.raises(TerminalScopeError):
                terminal_scope(s.context, inner, name="inner")
            return "caught"

        for form in (IN_PLACE, ISOLATED):
            played = play(form, body)
            assert played.effects == ["clean 1", SUSPENDED, "clean 2", "outer"]
            assert played.run.result == "caught"

    def test_a_recorded_execution_error_brings_the_failures_of_inner_scopes(self) -> None:
        def body(s: Inside) -> None:
            retried_cleanup(s)
            with terminal_scope(s.context, name="inner") as inner:
                inner.cleanup(s.failing("inner", Oops("stuck")), name="stuck", config=ONCE)
                if once(s):
                    raise ExecutionError("broken")

        played = play(ISOLATED, body)
        assert played.effects == ["inner", "clean 1", SUSPENDED, "clean 2"]
        (error,) = played.errors
        assert (type(error), str(error)) == (ExecutionError, "broken")
        assert [failure.name for failure in vars(error)["terminal_failures"]] == ["stuck"]

    def test_what_succeeded_and_does_not_return_again_cleans_up_and_invents_no_result(self) -> None:
        def body(s: Inside) -> str:
            retried_cleanup(s)
            if not once(s):
                raise Oops("on replay")
            return "value"

        played = play(ISOLATED, body)
        assert played.effects == ["clean 1", SUSPENDED, "clean 2"]
        assert error_type(played) == NON_DETERMINISTIC
        assert "SUCCEEDED" in message(played)
        assert "stage.Oops" in message(played)

    def test_what_succeeded_and_goes_on_to_an_unknown_operation_invents_no_result(self) -> None:
        def body(s: Inside) -> str:
            retried_cleanup(s)
            if not once(s):
                s.context.step(s.noting("never"), name="never")
            return "value"

        played = play(ISOLATED, body)
        assert played.effects == ["clean 1", SUSPENDED, "clean 2"]
        assert error_type(played) == NON_DETERMINISTIC

    def test_its_log_lines_are_not_repeated(self, caplog: pytest.LogCaptureFixture) -> None:
        def child(context: DurableContext) -> None:
            context.step(lambda _: None)
            context.logger.warning("in the child")

        def body(s: Inside) -> None:
            retried_cleanup(s)
            s.context.logger.warning("before")
            s.context.step(lambda _: None, name="work")
            s.context.logger.warning("between")
            s.context.run_in_child_context(child, config=ChildConfig(is_virtual=True))
            s.context.logger.warning("after")

        with caplog.at_level("WARNING"):
            play(ISOLATED, body)
        lines = [record.message for record in caplog.records if record.name == "root"]
        assert lines == ["before", "between", "in the child", "after"]


class TestInPlace:
    def test_another_end_names_both(self) -> None:
        def body(s: Inside) -> None:
            retried_cleanup(s)
            if once(s):
                raise Oops

        played = play(IN_PLACE, body)
        assert played.effects == ["clean 1", SUSPENDED]
        assert error_type(played) == NON_DETERMINISTIC
        assert "FAILED (tests.runtime.scope.stage.Oops)" in message(played)
        assert "SUCCEEDED" in message(played)

    def test_another_error_type_names_both(self) -> None:
        def body(s: Inside) -> None:
            retried_cleanup(s)
            raise Oops if once(s) else ValueError

        played = play(IN_PLACE, body)
        assert error_type(played) == NON_DETERMINISTIC
        assert "Oops" in message(played)
        assert "ValueError" in message(played)


@both_forms
def test_other_registrations_than_recorded_name_both_lists(form: str) -> None:
    def body(s: Inside) -> None:
        s.terminal.cleanup(s.noting("first"), name="first" if once(s) else "renamed")
        retried_cleanup(s)

    played = play(form, body)
    assert played.effects == ["clean 1", SUSPENDED]
    assert error_type(played) == NON_DETERMINISTIC
    assert "cleanup 'first', cleanup 'clean'" in message(played)
    assert "cleanup 'renamed', cleanup 'clean'" in message(played)


@both_forms
def test_fewer_registrations_than_recorded_name_both_lists(form: str) -> None:
    def body(s: Inside) -> None:
        retried_cleanup(s)
        if once(s):
            s.terminal.compensate(s.noting("undo"), name="undo")
        raise Oops

    assert error_type(play(form, body)) == NON_DETERMINISTIC


@both_forms
def test_no_registration_any_more_names_both_lists(form: str) -> None:
    def body(s: Inside) -> None:
        if once(s):
            retried_cleanup(s)
            raise Oops
        s.context.wait(SECOND)

    assert error_type(play(form, body)) == NON_DETERMINISTIC


@both_forms
def test_a_scope_without_registrations_records_nothing(form: str) -> None:
    played = play(form, lambda s: s.context.step(lambda _: "value", name="work"))
    assert played.names == (["work"] if form == IN_PLACE else ["s", "work"])
    assert played.run.result == "value"


@both_forms
def test_an_execution_error_stays_what_it_is(form: str) -> None:
    """It is not checkpointed by the step that raises it, and must not run that step again either."""

    def body(s: Inside) -> None:
        s.terminal.compensate(s.noting("undo"), name="undo")
        retried_cleanup(s) if form == ISOLATED else s.terminal.cleanup(s.noting("clean 1"), name="clean")
        s.context.step(s.failing("work", ExecutionError("broken")), name="work")

    def frame(around: Around) -> None:
        with around.caught(ExecutionError):
            around.scope(around.context)

    played = play(form, body, frame=frame)
    expected = ["work", "undo", "clean 1"]
    expected += [SUSPENDED, "clean 2"] if form == ISOLATED else []
    assert played.effects == [*expected, "caught ExecutionError"]
    assert played.payload("s.outcome")["outcome"] == "FAILED"


@both_forms
def test_an_execution_error_fails_the_execution_and_lists_failed_actions(form: str) -> None:
    def body(s: Inside) -> None:
        s.terminal.cleanup(s.failing("clean", Oops("stuck")), name="clean", config=ONCE)
        raise ExecutionError("broken")

    played = play(form, body)
    (error,) = played.errors
    assert type(error) is ExecutionError
    assert [failure.name for failure in error.terminal_failures] == ["clean"]  # type: ignore[attr-defined]
    assert error_type(played).endswith("ExecutionError")


class NotAnOutcome(BaseException):
    pass


NO_OUTCOME: list[Callable[[], BaseException]] = [
    lambda: InvocationError("retry me"),
    lambda: OrphanedChildException("orphan", operation_id=""),
    lambda: SystemExit(1),
    lambda: KeyboardInterrupt(),
    lambda: GeneratorExit(),
    lambda: NotAnOutcome(),
]


@both_forms
@pytest.mark.parametrize("make", NO_OUTCOME, ids=lambda make: type(make()).__name__)
def test_what_is_no_outcome_runs_nothing_and_the_next_invocation_goes_on(
    form: str, make: Callable[[], BaseException]
) -> None:
    def body(s: Inside) -> None:
        s.terminal.cleanup(s.noting("clean"), name="clean")
        s.terminal.compensate(s.noting("undo"), name="undo")
        s.context.step(s.noting("work"), name="work")
        if once(s):
            raise make()

    played = play(form, body)
    assert played.effects == ["work", LOST, "clean"]


@both_forms
def test_a_non_deterministic_body_runs_nothing(form: str) -> None:
    def body(s: Inside) -> None:
        s.terminal.cleanup(s.noting("clean"), name="clean")
        s.context.step(s.noting("work"), name="one" if once(s) else "other")
        s.context.wait(SECOND)

    played = play(form, body)
    assert played.effects == ["work", SUSPENDED]
    assert error_type(played) == NON_DETERMINISTIC


@both_forms
def test_an_action_that_raises_no_outcome_leaves_the_invocation_to_be_retried(form: str) -> None:
    def body(s: Inside) -> None:
        def die(_context: object) -> None:
            s.note("clean")
            if once(s):
                raise SystemExit

        s.terminal.cleanup(s.noting("last"), name="last")
        s.terminal.cleanup(die, name="die")
        s.terminal.cleanup_in_context(lambda _: die(None), name="die-in-context")

    assert play(form, body).effects == ["clean", LOST, "clean", "clean", "last"]


@both_forms
@pytest.mark.parametrize("nesting", list(NestingType))
def test_a_large_result_replays_its_children_and_no_effect(form: str, nesting: NestingType) -> None:
    """Over 256 KB the SDK runs the function again on every replay (ReplayChildren)."""
    large = "x" * 300_000

    def branch(around: Around) -> Callable[..., str]:
        def scope(context: DurableContext, *_: Any) -> str:
            def body(c: DurableContext, terminal: Any) -> str:
                s = Inside(around.life, c, terminal)
                terminal.cleanup(s.noting("clean"), name="clean")
                c.step(s.noting("work"), name="work")
                return large

            return str(scope_in(form, context, body))

        return scope

    def frame(around: Around) -> int:
        batch: Any = around.context.map([1], branch(around), config=MapConfig[Any](nesting_type=nesting))
        direct = around.context.run_in_child_context(branch(around), name="child")
        around.context.wait(SECOND)
        return len(direct) + len(batch.all[0].result)

    played = play(form, lambda _: None, frame=frame)
    assert played.effects == ["work", "clean"] * 2 + [SUSPENDED]
    assert played.run.result == 600_000


def test_a_large_result_whose_body_does_not_return_again_is_non_deterministic() -> None:
    def body(s: Inside) -> str:
        s.terminal.cleanup(s.noting("clean"), name="clean")
        if not once(s):
            raise Oops
        return "x" * 300_000

    def frame(around: Around) -> None:
        around.scope(around.context)
        around.context.wait(SECOND)

    played = play(ISOLATED, body, frame=frame)
    assert played.effects == ["clean", SUSPENDED]
    assert error_type(played) == NON_DETERMINISTIC


@both_forms
def test_a_cancellation_in_the_terminal_phase_changes_nothing(form: str) -> None:
    def body(s: Inside) -> str:
        s.terminal.cleanup(s.noting("last"), name="last")
        s.terminal.cleanup(s.failing("cancel", ScopeCancelled("now")), name="cancel", config=ONCE)
        s.terminal.cleanup(s.failing("stop", NotAnOutcome("now")), name="stop", config=TWICE)
        s.terminal.compensate(s.noting("undo"), name="undo")
        return "value"

    config = TerminalScopeConfig(cancelled_by=(NotAnOutcome,), fail_on_cleanup_failure=False)
    played = play(form, body, config=config)
    assert played.effects == ["stop", "cancel", "last"]
    assert played.run.result == "value"
