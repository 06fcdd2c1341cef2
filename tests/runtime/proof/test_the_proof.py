"""The proof itself: a right scope passes, and each mistake that scopes written by hand make is found."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.runtime.proof import play
from tests.runtime.proof.hand_written import Fault, HandWritten
from tests.runtime.proof.judge import judge
from tests.runtime.proof.programs import ATTEMPTS, Fail, Guard, Register, Scope, Wait, named
from tests.runtime.support.crash import Death, Kill, Loss, execute, killed_everywhere

if TYPE_CHECKING:
    from aws_durable_execution_sdk_python import DurableContext
    from durable_runtime import TerminalScopeConfig

    from tests.runtime.support.crash import Handler, Life

PROGRAM = named(
    (
        Scope(body=(Register(), Register(compensation=True), Wait(), Register())),
        Guard(
            body=(
                Scope(
                    body=(
                        Register(),
                        Register(compensation=True),
                        Register(compensation=True, failures=ATTEMPTS),
                        Fail(),
                    )
                ),
            )
        ),
    )
)


def _use(monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    def scope(context: DurableContext, *, name: str, config: TerminalScopeConfig) -> HandWritten:
        return HandWritten(context, name, config, fault)

    monkeypatch.setattr(play, "terminal_scope", scope)


def test_a_right_scope_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    _use(monkeypatch, Fault.NONE)
    for _, run in killed_everywhere(play.builder(PROGRAM), one_update_per_request=True):
        judge(PROGRAM, run)


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.NONE])
def test_a_wrong_scope_is_found(monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    _use(monkeypatch, fault)
    with pytest.raises(AssertionError, match=r"scope\d"):
        judge(PROGRAM, execute(play.builder(PROGRAM)))


def _steps(life: Life) -> Handler:
    def handler(_event: Any, context: DurableContext) -> str:
        for name in ("one", "two"):
            context.step(lambda _, name=name: life.note(name), name=name)  # type: ignore[misc]
        return "done"

    return handler


@pytest.mark.parametrize(
    ("loss", "death", "ran"),
    [
        (Loss.UPDATE, Death.ERROR, ["one", "one", "two"]),
        (Loss.UPDATE, Death.FROZEN, ["one", "one", "two"]),
        (Loss.RESPONSE, Death.ERROR, ["one", "two"]),
        (Loss.RESPONSE, Death.FROZEN, ["one", "two"]),
    ],
)
def test_a_kill_loses_what_it_says(loss: Loss, death: Death, ran: list[str]) -> None:
    run = execute(_steps, kills=[Kill(1, loss, death)])
    assert (run.status, run.result, run.invocations) == ("SUCCEEDED", "done", 2)
    assert run.notes() == ran


def test_an_answer_that_comes_while_the_invocation_ends_does_not_fail_an_execution_with_kills() -> None:
    """Without a scope: the SDK returns PENDING, and the service has nothing pending any more. It counts that as
    a failed attempt, and after two kills it would be the last that the testing SDK allows.
    """

    def build(life: Life) -> Handler:
        def wait(branch: DurableContext) -> Any:
            return branch.create_callback(name="answer").result()

        def work(branch: DurableContext) -> None:
            branch.step(lambda _: time.sleep(0.2), name="work")

        def handler(_event: Any, context: DurableContext) -> str:
            if life.number < 3:
                raise SystemExit
            context.parallel([wait, work], name="fan").throw_if_error()
            return "done"

        return handler

    run = execute(build, answers=lambda _: b"1", answer_early=True)
    assert (run.status, run.result) == ("SUCCEEDED", "done"), run.story()


def test_a_program_is_killed_at_each_request_in_each_way() -> None:
    ways = [(Loss.UPDATE, Death.ERROR), (Loss.RESPONSE, Death.FROZEN)]
    killed = [kill for kill, _ in killed_everywhere(_steps, ways=ways, one_update_per_request=True)]
    assert killed == [Kill(request, *way) for way in ways for request in (1, 2, 3, 4)]
