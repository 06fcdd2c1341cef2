"""What running executions bear when their code changes: the tables of the guide and the RFC, cell by cell.

An execution starts on the old code, suspends at a moment, and goes on under the new code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration
from durable_runtime import DurableTerminalActions, terminal_scope
from stage import SUSPENDED, Played, play

Work = Callable[[DurableContext, str, list[str]], None]
SECOND = Duration.from_seconds(1)
NOT_REACHED, IN_BODY, IN_TERMINAL_PHASE, PAST = "before", "body", "drain", "after"
GOES_ON, CANNOT = "goes on", "NonDeterministicExecutionError"


@dataclass(frozen=True)
class Scope:
    """A way to write the same work: the names of its cleanups in order, and how the scope is written."""

    form: str
    cleanups: tuple[str, ...] = ("a", "b")
    name: str = "scope"
    effect: str = ""

    def __call__(self, context: DurableContext, moment: str, log: list[str]) -> None:
        if self.form == "in place":
            with terminal_scope(context, name=self.name) as terminal:
                self.body(context, terminal, moment, log)
        else:
            terminal_scope(
                context, lambda inner, terminal: self.body(inner, terminal, moment, log), name=self.name
            )

    def body(
        self, context: DurableContext, terminal: DurableTerminalActions, moment: str, log: list[str]
    ) -> None:
        context.step(lambda _: log.append("acquire"), name="acquire")
        for name in self.cleanups:

            def action(action_context: DurableContext, name: str = name) -> None:
                if name == "b" and moment == IN_TERMINAL_PHASE:
                    action_context.wait(SECOND, name=moment)
                log.append(f"{self.effect}{name}")

            terminal.cleanup_in_context(action, name=name)
        if moment == IN_BODY:
            context.wait(SECOND, name=moment)


def plain_finally(context: DurableContext, moment: str, log: list[str]) -> None:
    try:
        context.step(lambda _: log.append("acquire"), name="acquire")
        if moment == IN_BODY:
            context.wait(SECOND, name=moment)
    finally:
        log.append("b")


def durable_finally(context: DurableContext, moment: str, log: list[str]) -> None:
    try:
        context.step(lambda _: log.append("acquire"), name="acquire")
        if moment == IN_BODY:
            context.wait(SECOND, name=moment)
    finally:
        context.step(lambda _: log.append("b"), name="b")


def deployed(old: Work, new: Work, moment: str) -> Played:
    """Start an execution on `old`, and go on under `new` once it has suspended at `moment`."""
    log: list[str] = []

    @durable_execution
    def handler(_event: object, context: DurableContext) -> str:
        work = new if SUSPENDED in log else old
        if moment == NOT_REACHED:
            context.wait(SECOND, name=moment)
        work(context, moment, log)
        if moment == PAST:
            context.wait(SECOND, name=moment)
        return "done"

    return play(handler, {}, log=log)


def outcome(played: Played) -> str:
    return GOES_ON if played.status == "SUCCEEDED" else str(played.error)


IN_PLACE, ISOLATED = Scope("in place"), Scope("isolated")
EITHER = [IN_PLACE, ISOLATED]
ADDED, RENAMED, REMOVED, MOVED = ("a", "b", "c"), ("x", "b"), ("b",), ("b", "a")


@pytest.mark.parametrize(
    ("old", "new", "moment", "expected"),
    [
        pytest.param(old, new, moment, expected, id=f"{old.__name__}, {new.form}, {moment}")
        for old, new, moment, expected in [
            (plain_finally, IN_PLACE, NOT_REACHED, GOES_ON),
            (plain_finally, IN_PLACE, IN_BODY, GOES_ON),
            (plain_finally, IN_PLACE, PAST, CANNOT),
            (durable_finally, IN_PLACE, NOT_REACHED, GOES_ON),
            (durable_finally, IN_PLACE, IN_BODY, CANNOT),
            (durable_finally, IN_PLACE, PAST, CANNOT),
            (durable_finally, ISOLATED, NOT_REACHED, GOES_ON),
            (plain_finally, ISOLATED, IN_BODY, CANNOT),
            (durable_finally, ISOLATED, IN_BODY, CANNOT),
            (durable_finally, ISOLATED, PAST, CANNOT),
        ]
    ],
)
def test_putting_a_scope_around_existing_code(old: Work, new: Scope, moment: str, expected: str) -> None:
    assert outcome(deployed(old, new, moment)) == expected


@pytest.mark.parametrize(
    "changed", [ADDED, RENAMED, REMOVED, MOVED], ids=["added", "renamed", "removed", "moved"]
)
@pytest.mark.parametrize("scope", EITHER, ids=["in place", "isolated"])
@pytest.mark.parametrize("moment", [NOT_REACHED, IN_BODY, IN_TERMINAL_PHASE, PAST])
def test_changing_registrations(scope: Scope, changed: tuple[str, ...], moment: str) -> None:
    played = deployed(scope, Scope(scope.form, changed), moment)
    refused = moment == IN_TERMINAL_PHASE or (moment == PAST and scope.form == "in place")
    assert outcome(played) == (CANNOT if refused else GOES_ON)
    if moment in (NOT_REACHED, IN_BODY):
        assert played.log[played.log.index(SUSPENDED) + 1 :][-len(changed) :] == list(reversed(changed))


@pytest.mark.parametrize("scope", EITHER, ids=["in place", "isolated"])
@pytest.mark.parametrize("moment", [NOT_REACHED, IN_BODY, IN_TERMINAL_PHASE, PAST])
def test_changing_what_an_action_does(scope: Scope, moment: str) -> None:
    played = deployed(scope, Scope(scope.form, effect="new "), moment)
    assert outcome(played) == GOES_ON
    effects = [entry for entry in played.log if entry != SUSPENDED]
    assert effects[-2:] == (["b", "a"] if moment == PAST else ["new b", "new a"])


@pytest.mark.parametrize("scope", EITHER, ids=["in place", "isolated"])
@pytest.mark.parametrize("moment", [NOT_REACHED, IN_BODY, IN_TERMINAL_PHASE, PAST])
def test_renaming_a_scope(scope: Scope, moment: str) -> None:
    played = deployed(scope, Scope(scope.form, name="renamed"), moment)
    bears_it = moment == NOT_REACHED or (moment == IN_BODY and scope.form == "in place")
    assert outcome(played) == (GOES_ON if bears_it else CANNOT)
