"""Scenarios, killed at every checkpoint: the documented actions, in the documented order, once, none lost.

Each update is sent in a request of its own, so that a kill comes between any two of them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import pytest

from tests.runtime.proof.judge import judge
from tests.runtime.proof.model import foretell
from tests.runtime.proof.play import answers, builder
from tests.runtime.proof.programs import (
    ATTEMPTS,
    Acquire,
    Block,
    Branches,
    Callback,
    Cancel,
    Child,
    Fail,
    Guard,
    Register,
    Scope,
    Step,
    Wait,
    named,
)
from tests.runtime.support.crash import Death, Loss, execute, killed_everywhere
from tests.runtime.support.versions import CAN_REVOKE_TOKENS

WAYS = {
    "update-lost": (Loss.UPDATE, Death.ERROR),
    "response-lost": (Loss.RESPONSE, Death.ERROR),
    "frozen": (Loss.RESPONSE, Death.FROZEN),
}
if CAN_REVOKE_TOKENS:
    WAYS["token-revoked"] = (Loss.TOKEN, Death.ERROR)


@dataclass(frozen=True)
class Scenario:
    """A program, and the operations of the terminal phase of each of its scopes, in order."""

    program: Block
    phases: tuple[str, ...]


def cleanup(failures: int = 0, body: Block | None = None) -> Register:
    return Register(failures=failures, body=body)


def compensate(failures: int = 0, body: Block | None = None) -> Register:
    return Register(compensation=True, failures=failures, body=body)


def in_branches(flat: bool, mapped: bool) -> Scenario:
    def branch(*ending: Step | Fail | Callback, isolated: bool = False) -> Block:
        return (Scope(body=(Acquire(), compensate(), Wait(), *ending), isolated=isolated),)

    return Scenario(
        (
            Branches(
                blocks=(branch(Callback()), branch(Fail(), isolated=True)),
                flat=flat,
                mapped=mapped,
                tolerant=True,
            ),
        ),
        (
            "scope2: outcome cleanup.release-res3",
            "scope7: outcome compensate.act9 cleanup.release-res8",
        ),
    )


SCENARIOS = {
    "success runs the cleanups backwards": Scenario(
        (Scope(body=(cleanup(), Wait(), compensate(), cleanup(), Step())), Step()),
        ("scope1: outcome cleanup.act5 cleanup.act2",),
    ),
    "a failing body compensates, then cleans up": Scenario(
        (Scope(body=(cleanup(), compensate(), Wait(), compensate(), cleanup(), Fail())),),
        ("scope1: outcome compensate.act5 compensate.act3 cleanup.act6 cleanup.act2",),
    ),
    "a failing step is a failing body": Scenario(
        (Guard(body=(Scope(body=(Acquire(), compensate(), Step(failures=ATTEMPTS))),)), Step()),
        ("scope2: outcome compensate.act4 cleanup.release-res3",),
    ),
    "a cancelled scope compensates and cleans up": Scenario(
        (Scope(body=(cleanup(), compensate(), Wait(), Cancel())),),
        ("scope1: outcome compensate.act3 cleanup.act2",),
    ),
    "a cancelled scope that must not compensate cleans up": Scenario(
        (Scope(body=(cleanup(), compensate(), Cancel()), compensate_on_cancellation=False),),
        ("scope1: outcome cleanup.act2",),
    ),
    "failing actions are retried, and don't keep others from running": Scenario(
        (Scope(body=(cleanup(1), compensate(ATTEMPTS), cleanup(ATTEMPTS), compensate(1), Fail())),),
        ("scope1: outcome compensate.act5 compensate.act3 cleanup.act4 cleanup.act2",),
    ),
    "a failing compensation stops the others where that is wanted, and no cleanup": Scenario(
        (
            Scope(
                body=(compensate(), compensate(ATTEMPTS), cleanup(), Fail()),
                stop_on_compensation_failure=True,
            ),
        ),
        ("scope1: outcome compensate.act3 cleanup.act4",),
    ),
    "a failing cleanup fails a scope that succeeded": Scenario(
        (Scope(body=(cleanup(ATTEMPTS), cleanup())),),
        ("scope1: outcome cleanup.act3 cleanup.act2",),
    ),
    "actions wait and wait for callbacks": Scenario(
        (
            Scope(
                body=(cleanup(body=(Step(), Wait(), Step())), compensate(body=(Callback(), Wait())), Fail())
            ),
        ),
        ("scope1: outcome compensate.act6 cleanup.act2",),
    ),
    "nested scopes end from the inside to the outside": Scenario(
        (
            Scope(
                body=(
                    Acquire(),
                    compensate(),
                    Scope(body=(Acquire(), compensate(1), Wait(), Fail())),
                )
            ),
        ),
        (
            "scope4: outcome compensate.act6 cleanup.release-res5",
            "scope1: outcome compensate.act3 cleanup.release-res2",
        ),
    ),
    "a caught failure of an inner scope leaves the outer one its success": Scenario(
        (
            Scope(
                body=(
                    Acquire(),
                    Guard(body=(Scope(body=(cleanup(), compensate(), Callback(fails=True))),)),
                    Wait(),
                )
            ),
        ),
        (
            "scope4: outcome compensate.act6 cleanup.act5",
            "scope1: outcome cleanup.release-res2",
        ),
    ),
    "a scope in a child context": Scenario(
        (Child(body=(Scope(body=(Acquire(), Callback(), Child(body=(Wait(), Step())))),)), Wait()),
        ("scope2: outcome cleanup.release-res3",),
    ),
    "a scope in an action": Scenario(
        (Scope(body=(cleanup(body=(Scope(body=(Acquire(), Wait())),)),)),),
        ("scope1: outcome cleanup.act2", "scope3: outcome cleanup.release-res4"),
    ),
    "scopes in nested branches of a parallel": in_branches(flat=False, mapped=False),
    "scopes in flat branches of a parallel": in_branches(flat=True, mapped=False),
    "scopes in nested items of a map": in_branches(flat=False, mapped=True),
    "scopes in flat items of a map": in_branches(flat=True, mapped=True),
    "a scope around a map": Scenario(
        (
            Scope(
                body=(
                    Acquire(),
                    compensate(),
                    Branches(blocks=((Wait(), Step()), (Step(), Fail())), mapped=True),
                )
            ),
        ),
        ("scope1: outcome compensate.act3 cleanup.release-res2",),
    ),
    "a scope that registers nothing leaves no trace": Scenario(
        (Scope(body=(Step(), Wait(), Step())),),
        ("scope1: ",),
    ),
}


def turned(block: Block) -> Block:
    """The same program with the other form of each scope."""

    def turn(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(map(turn, value))
        changes = {}
        for member in fields(value):  # type: ignore[arg-type]
            if member.name in ("body", "blocks") and getattr(value, member.name) is not None:
                changes[member.name] = turn(getattr(value, member.name))
        if isinstance(value, Scope):
            changes["isolated"] = not value.isolated
        return replace(value, **changes)  # type: ignore[type-var]

    result = turn(block)
    assert isinstance(result, tuple)
    return result


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", ["in-place", "isolated"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_action_is_lost_or_repeated_when_an_invocation_dies(scenario: str, form: str, way: str) -> None:
    program = named(SCENARIOS[scenario].program)
    if form == "isolated":
        program = turned(program)
    phases = SCENARIOS[scenario].phases
    fate = foretell(program)

    undisturbed = execute(builder(program), answers=answers(program), one_update_per_request=True)
    judge(program, undisturbed, fate)
    killed = killed_everywhere(
        builder(program), ways=[WAYS[way]], answers=answers(program), one_update_per_request=True
    )
    kills = 0
    for _, run in killed:
        judge(program, run, fate)
        assert _phases(run.accepted("START"), phases) == list(phases), run.story()
        kills += 1
    assert kills >= len({(entry.data["id"], entry.data["action"]) for entry in undisturbed.updates()})


def _phases(started: list[str], phases: tuple[str, ...]) -> list[str]:
    """The operations of each terminal phase in the order of their first start."""
    found = []
    for phase in phases:
        scope = phase.partition(":")[0]
        first = dict.fromkeys(
            name.removeprefix(f"{scope}.") for name in started if name.startswith(f"{scope}.")
        )
        found.append(f"{scope}: {' '.join(first)}")
    return found
