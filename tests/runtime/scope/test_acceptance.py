"""The acceptance criteria of the request for terminal scopes, section 10, one after the other.

Four of the list are about documentation, in tests/docs/test_acceptance.py; the one about types is in
test_typing.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from aws_durable_execution_sdk_python import StepError
from aws_durable_execution_sdk_python.config import CompletionConfig, MapConfig, NestingType
from aws_durable_execution_sdk_python.exceptions import TimedSuspendExecution
from durable_runtime import DurableTerminalActions, ScopeCancelled, TerminalScopeConfig, TerminalScopeError

from tests.runtime.scope.stage import (
    IN_PLACE,
    ISOLATED,
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
from tests.runtime.support.crash import Kill, Loss

if TYPE_CHECKING:
    from aws_durable_execution_sdk_python import BatchResult, DurableContext

Terminal = DurableTerminalActions


def microvm(s: Inside) -> Any:
    """The lifecycle of the request: launch, register, suspend, return."""

    def launch(_: object) -> dict[str, str]:
        s.note("launch")
        return {"id": "vm-1"}

    vm = s.context.step(launch, name="launch")
    s.terminal.cleanup(lambda _: s.note(f"terminate {vm['id']}"), name="terminate")
    s.terminal.compensate(lambda _: s.note(f"cancel {vm['id']}"), name="cancel")
    s.context.wait(SECOND, name="pause")
    return vm


@both_forms
def test_suspension_runs_no_registered_terminal_action(form: str) -> None:
    """From each operation type: test_suspension.py."""
    played = play(form, microvm)
    assert played.effects == ["launch", SUSPENDED, "terminate vm-1"]
    assert played.run.result == {"id": "vm-1"}


@both_forms
def test_timed_suspend_execution_is_suspension_and_not_failure(form: str) -> None:
    seen: list[type[BaseException]] = []

    def body(s: Inside) -> None:
        s.terminal.compensate(s.noting("compensate"), name="compensate")
        s.terminal.cleanup(s.noting("clean"), name="clean")
        try:
            s.context.wait(SECOND)
        except BaseException as error:
            seen.append(type(error))
            raise

    played = play(form, body)
    assert seen == [TimedSuspendExecution]
    assert played.effects == [SUSPENDED, "clean"]


@both_forms
@pytest.mark.parametrize("signal", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_fatal_signals_keep_their_behaviour_and_run_nothing(form: str, signal: type[BaseException]) -> None:
    left: list[type[BaseException]] = []

    def body(s: Inside) -> None:
        s.terminal.compensate(s.noting("compensate"), name="compensate")
        s.terminal.cleanup(s.noting("clean"), name="clean")
        if s.life.number == 1:
            raise signal

    def frame(around: Around) -> None:
        try:
            around.scope(around.context)
        except BaseException as error:
            left.append(type(error))
            raise

    played = play(form, body, frame=frame)
    assert left == [signal]
    assert played.effects == ["!", "clean"]


@both_forms
def test_replay_reconstructs_registrations_deterministically(form: str) -> None:
    def body(s: Inside) -> None:
        for number in range(3):
            value = s.context.step(lambda _, n=number: n, name=f"step-{number}")  # type: ignore[misc]
            s.terminal.cleanup(s.noting(f"clean {value}"), name="clean")
            s.context.wait(SECOND, name=f"wait-{number}")

    played = play(form, body)
    assert played.effects == [SUSPENDED] * 3 + ["clean 2", "clean 1", "clean 0"]
    assert played.payload("s.outcome")["registered"] == [
        ["cleanup", "clean"],
        ["cleanup", "clean-2"],
        ["cleanup", "clean-3"],
    ]


@both_forms
def test_success_runs_cleanup_through_checkpointed_operations(form: str) -> None:
    played = play(form, microvm)
    assert played.terminal_phase == ["s.outcome", "s.cleanup.terminate"]
    assert played.run.status_of("s.cleanup.terminate") == "SUCCEEDED"
    assert played.payload("s.outcome")["outcome"] == "SUCCEEDED"


@both_forms
def test_failure_runs_compensation_and_cleanup_in_the_documented_order(form: str) -> None:
    def body(s: Inside) -> None:
        s.terminal.cleanup(s.noting("cleanup 1"), name="cleanup-1")
        s.terminal.compensate(s.noting("compensation 1"), name="compensation-1")
        s.terminal.cleanup(s.noting("cleanup 2"), name="cleanup-2")
        s.terminal.compensate(s.noting("compensation 2"), name="compensation-2")
        raise Oops("broken")

    played = play(form, body)
    assert played.effects == ["compensation 2", "compensation 1", "cleanup 2", "cleanup 1"]
    assert played.run.status == "FAILED"


@both_forms
@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({}, ["compensate", "clean"]),
        ({"compensate_on_cancellation": False}, ["clean"]),
        ({"cleanup_on_cancellation": False}, ["compensate"]),
        ({"compensate_on_cancellation": False, "cleanup_on_cancellation": False}, []),
    ],
)
@pytest.mark.parametrize("cause", [ScopeCancelled, Oops])
def test_cancellation_follows_the_policy(
    form: str, policy: dict[str, bool], expected: list[str], cause: type[Exception]
) -> None:
    def body(s: Inside) -> None:
        s.terminal.cleanup(s.noting("clean"), name="clean")
        s.terminal.compensate(s.noting("compensate"), name="compensate")
        raise cause("stop")

    played = play(form, body, config=TerminalScopeConfig(cancelled_by=(Oops,), **policy))  # type: ignore[arg-type]
    assert played.effects == expected
    assert played.payload("s.outcome")["outcome"] == "CANCELLED"
    assert type(played.errors[-1]) is (cause if form == IN_PLACE else TerminalScopeError)


@both_forms
def test_a_terminal_action_can_itself_suspend_and_resume(form: str) -> None:
    def body(s: Inside) -> None:
        def drain(action_context: DurableContext) -> None:
            action_context.step(s.noting("close"), name="close")
            action_context.wait(SECOND, name="settle")
            action_context.step(s.noting("delete"), name="delete")

        s.terminal.cleanup(s.noting("last"), name="last")
        s.terminal.cleanup_in_context(drain, name="drain")
        s.terminal.compensate_in_context(drain, name="undo")

    assert play(form, body).effects == ["close", SUSPENDED, "delete", "last"]


@both_forms
def test_completed_terminal_actions_are_skipped_on_replay(form: str) -> None:
    def body(s: Inside) -> None:
        s.terminal.cleanup(s.noting("third"), name="third")
        s.terminal.cleanup_in_context(lambda c: c.wait(SECOND), name="second")
        s.terminal.cleanup(s.noting("first"), name="first")

    played = play(form, body)
    assert played.effects == ["first", SUSPENDED, "third"]
    assert played.run.accepted("SUCCEED").count("s.cleanup.first") == 1


@both_forms
def test_retries_of_an_action_do_not_repeat_completed_actions(form: str) -> None:
    def body(s: Inside) -> None:
        def flaky(step_context: Any) -> None:
            s.note(f"flaky {step_context.attempt}")
            if step_context.attempt == 1:
                raise Oops

        s.terminal.cleanup(s.noting("after"), name="after")
        s.terminal.cleanup(flaky, name="flaky", config=TWICE)
        s.terminal.cleanup(s.noting("before"), name="before")

    assert play(form, body).effects == ["before", "flaky 1", SUSPENDED, "flaky 2", "after"]


@both_forms
@pytest.mark.parametrize("inner_form", [IN_PLACE, ISOLATED])
def test_nested_scopes_behave_deterministically(form: str, inner_form: str) -> None:
    def body(s: Inside) -> None:
        def inner(inner_context: DurableContext, inner_terminal: Terminal) -> None:
            inner_terminal.cleanup(s.noting("inner clean"), name="clean")
            inner_terminal.compensate(s.noting("inner compensate"), name="compensate")
            inner_context.wait(SECOND, name="inner wait")
            raise Oops("inner")

        s.terminal.compensate(s.noting("outer compensate"), name="compensate")
        s.terminal.cleanup(s.noting("outer clean"), name="clean")
        s.context.wait(SECOND, name="outer wait")
        scope_in(inner_form, s.context, inner, name="inner")

    played = play(form, body)
    assert played.effects == [
        SUSPENDED,
        SUSPENDED,
        "inner compensate",
        "inner clean",
        "outer compensate",
        "outer clean",
    ]
    assert played.names.index("inner.cleanup.clean") < played.names.index("s.outcome")


@both_forms
@pytest.mark.parametrize("nesting", list(NestingType))
def test_map_branches_use_isolated_scope_contexts_and_do_not_interfere(
    form: str, nesting: NestingType
) -> None:
    def frame(around: Around) -> Any:
        def branch(branch_context: DurableContext, item: str, _index: int, _items: Any) -> str:
            def body(c: DurableContext, terminal: Terminal) -> str:
                s = Inside(around.life, c, terminal)
                terminal.cleanup(s.noting(f"release {item}"), name="release")
                terminal.compensate(s.noting(f"undo {item}"), name="undo")
                c.wait(SECOND, name="pause")
                if item == "b":
                    raise Oops(item)
                return item.upper()

            return str(scope_in(form, branch_context, body, name="item"))

        config = MapConfig[Any](
            nesting_type=nesting, completion_config=CompletionConfig(tolerated_failure_count=3)
        )
        batch: BatchResult[str] = around.context.map(["a", "b", "c"], branch, name="map", config=config)
        return [item.result for item in batch.all]

    played = play(form, lambda _: None, frame=frame)
    effects = [effect for effect in played.effects if effect != SUSPENDED]
    assert sorted(effects) == ["release a", "release b", "release c", "undo b"]
    assert effects.index("undo b") < effects.index("release b")
    assert played.run.result == ["A", None, "C"]


@both_forms
def test_several_failures_preserve_documented_errors_and_tracebacks(form: str) -> None:
    def break_step(_: object) -> None:
        raise ValueError("primary")

    def break_compensation(_: object) -> None:
        raise Oops("compensation")

    def break_cleanup(_: object) -> None:
        raise KeyError("cleanup")

    def body(s: Inside) -> None:
        s.terminal.cleanup(break_cleanup, name="clean", config=ONCE)
        s.terminal.cleanup(s.noting("still cleaned"), name="other")
        s.terminal.compensate(break_compensation, name="undo", config=ONCE)
        s.context.step(break_step, name="work", config=ONCE)

    played = play(form, body)
    (error,) = played.errors
    assert isinstance(error, StepError)
    assert (error.message, error.error_type) == ("primary", "ValueError")
    undo, clean = error.terminal_failures  # type: ignore[attr-defined]
    assert (undo.kind, undo.name, undo.message) == ("compensate", "undo", "compensation")
    assert undo.type.endswith("stage.Oops")
    assert (clean.kind, clean.name, clean.type) == ("cleanup", "clean", "KeyError")
    assert any("break_compensation" in line for line in undo.stack_trace)
    assert any("break_cleanup" in line for line in clean.stack_trace)
    assert error.__notes__ == [str(undo), str(clean)]
    assert played.effects == ["still cleaned"]


@both_forms
def test_an_action_whose_completion_was_lost_runs_again(form: str) -> None:
    """At least once: what the documentation warns of."""

    def body(s: Inside) -> None:
        s.terminal.cleanup(s.noting("clean"), name="clean")

    undisturbed = play(form, body, one_update_per_request=True)
    order = [f"{e.text} {e.data['action']}" for e in undisturbed.run.journal if e.kind == "accepted"]
    kill = Kill(order.index("s.cleanup.clean SUCCEED") + 1, Loss.UPDATE)
    assert play(form, body, one_update_per_request=True, kills=[kill]).effects == ["clean", "!", "clean"]


def test_a_failing_action_is_told_from_a_failing_body() -> None:
    def body(s: Inside) -> str:
        s.terminal.cleanup(s.failing("clean", Oops("stuck")), name="clean", config=ONCE)
        return "value"

    played = play(ISOLATED, body)
    (error,) = played.errors
    assert isinstance(error, TerminalScopeError)
    assert [failure.name for failure in error.terminal_failures] == ["clean"]
    assert "body of scope 's' succeeded" in (error.message or "")
