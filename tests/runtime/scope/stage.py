"""Plays a body in a scope of either form, on the SDK's own test runner, and tells what came of it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from aws_durable_execution_sdk_python.config import Duration, StepConfig
from aws_durable_execution_sdk_python.retries import RetryDecision
from durable_runtime import DurableTerminalActions, TerminalScopeConfig, terminal_scope

from tests.runtime.support import versions
from tests.runtime.support.crash import Life, Run, execute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aws_durable_execution_sdk_python import DurableContext

IN_PLACE = "in place"
ISOLATED = "isolated"
FORMS = (IN_PLACE, ISOLATED)
SUSPENDED = "|"
LOST = "!"

both_forms = pytest.mark.parametrize("form", FORMS)
isolated_only = pytest.mark.parametrize("form", [ISOLATED])

SECOND = Duration.from_seconds(1)


class Oops(Exception):
    """An exception of the user's own."""


def retrying(times: int) -> StepConfig:
    """Up to `times` attempts, a second apart."""
    return StepConfig(retry_strategy=lambda _error, attempt: RetryDecision(attempt < times, SECOND))


ONCE = retrying(1)
TWICE = retrying(2)


def scope_in(
    form: str,
    context: DurableContext,
    body: Callable[[DurableContext, DurableTerminalActions], Any],
    *,
    name: str = "s",
    config: TerminalScopeConfig | None = None,
) -> Any:
    """The body in a scope of the form."""
    if form == ISOLATED:
        return terminal_scope(context, body, name=name, config=config)
    with terminal_scope(context, name=name, config=config) as terminal:
        return body(context, terminal)


@dataclass(frozen=True)
class Inside:
    """What a body works with."""

    life: Life
    context: DurableContext
    terminal: DurableTerminalActions

    def note(self, text: str) -> None:
        self.life.note(text)

    def noting(self, text: str) -> Callable[[object], None]:
        """An action or step whose only effect is a note."""
        return lambda _context: self.life.note(text)

    def failing(self, text: str, error: BaseException) -> Callable[[object], None]:
        """An action or step that notes, then raises."""

        def fail(_context: object) -> None:
            self.life.note(text)
            raise error

        return fail


@dataclass(frozen=True)
class Around:
    """What a handler around the scope works with."""

    life: Life
    context: DurableContext
    scope: Callable[[DurableContext], Any]

    @contextlib.contextmanager
    def caught(self, kind: type[BaseException] = Exception) -> Iterator[None]:
        """A handler that goes on after a failure."""
        try:
            yield
        except kind as error:
            self.life.note(f"caught {type(error).__name__}")


# The results of bodies and handlers are any JSON, so Any here and in the tests.
Body = Callable[[Inside], Any]
Frame = Callable[[Around], Any]


@dataclass
class Played:
    """A run, and every exception that left the scope, one for each invocation that came so far."""

    run: Run
    errors: list[BaseException] = field(default_factory=list)

    @property
    def effects(self) -> list[str]:
        """What user code noted, with SUSPENDED and LOST where an invocation ended so."""
        return effects(self.run)

    @property
    def names(self) -> list[str]:
        """The names of the recorded operations in the order of their start."""
        started = [entry for entry in self.run.journal if entry.kind == "accepted"]
        return list(dict.fromkeys(entry.text for entry in started))

    @property
    def terminal_phase(self) -> list[str]:
        """The names of the operations of the scope named "s" itself."""
        return [name for name in self.names if name.startswith("s.")]

    def payload(self, name: str) -> Any:
        """What the history keeps as the result of the one step with this name."""
        (operation,) = [operation for operation in self.run.operations if operation.name == name]
        assert operation.step_details is not None
        return json.loads(operation.step_details.result or "null")


def effects(run: Run) -> list[str]:
    story: list[str] = []
    for entry in run.journal:
        if entry.kind == "note":
            story.append(entry.text)
        elif entry.kind == "ended" and entry.text == "PENDING":
            story.append(SUSPENDED)
        elif entry.kind == "ended" and entry.text not in ("SUCCEEDED", "FAILED"):
            if not versions.HAS_TIMERS_DURING_INVOCATION and "checkpoint token" in entry.text:
                continue  # the runner of that testing SDK starts one invocation for each of several timers
            story.append(LOST)
    return story


def play(
    form: str,
    body: Body,
    *,
    config: TerminalScopeConfig | None = None,
    frame: Frame | None = None,
    **options: Any,
) -> Played:
    """Run `body` in a scope named "s" until the execution is complete.

    `frame` is the handler around it; by default it is the scope alone. The options are those of the harness:
    kills, answers, functions and so on.
    """
    errors: list[BaseException] = []

    def build(life: Life) -> Callable[[Any, DurableContext], Any]:
        def scope(context: DurableContext) -> Any:
            try:
                return scope_in(form, context, lambda c, t: body(Inside(life, c, t)), config=config)
            except Exception as error:
                errors.append(error)
                raise

        def handler(_event: Any, context: DurableContext) -> Any:
            return frame(Around(life, context, scope)) if frame else scope(context)

        return handler

    return Played(execute(build, **options), errors)
