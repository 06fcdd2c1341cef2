"""Lifecycle events of scopes, for observers and for the standard logger `durable_runtime.scope`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from durable_runtime.outcome import ScopeStatus

logger = logging.getLogger("durable_runtime.scope")

Observer = Callable[["ScopeEvent"], object]

_observers: tuple[Observer, ...] = ()


class ScopeEventKind(StrEnum):
    """What can happen to a scope."""

    SCOPE_STARTED = "SCOPE_STARTED"
    SCOPE_SUSPENDED = "SCOPE_SUSPENDED"
    """The body suspended, and no terminal action ran because of it."""
    OUTCOME_SELECTED = "OUTCOME_SELECTED"
    ACTION_STARTED = "ACTION_STARTED"
    """One for each attempt."""
    ACTION_RETRIED = "ACTION_RETRIED"
    """An attempt failed and another one is scheduled."""
    ACTION_COMPLETED = "ACTION_COMPLETED"
    ACTION_FAILED = "ACTION_FAILED"
    """The action failed for good: its retries are exhausted."""
    SCOPE_COMPLETED = "SCOPE_COMPLETED"


_WARNINGS = frozenset({ScopeEventKind.ACTION_RETRIED, ScopeEventKind.ACTION_FAILED})


@dataclass(frozen=True)
class ScopeEvent:
    """One step of a scope's lifecycle.

    Attributes:
        kind: What happened.
        execution_arn: The durable execution.
        scope: The scope's name.
        action: The terminal action's name, for the ACTION kinds.
        action_kind: "compensate" or "cleanup", for the ACTION kinds.
        outcome: The scope's outcome, from OUTCOME_SELECTED on.
        attempt: The attempt of an action, counted from 1.
    """

    kind: ScopeEventKind
    execution_arn: str
    scope: str
    action: str | None = None
    action_kind: Literal["compensate", "cleanup"] | None = None
    outcome: ScopeStatus | None = None
    attempt: int | None = None


def on_scope_event(observer: Observer) -> Callable[[], None]:
    """Call `observer` with each ScopeEvent of this process from now on.

    It runs on the scope's own thread. Replay does not repeat what was reported. An exception that leaves it
    is logged and ignored.

    Returns:
        A function that removes the observer again; calling it twice is harmless.
    """
    global _observers
    registered: Observer = lambda event: observer(event)  # noqa: E731 - the same observer may be added twice
    _observers = (*_observers, registered)

    def remove() -> None:
        global _observers
        _observers = tuple(other for other in _observers if other is not registered)

    return remove


def report(event: ScopeEvent) -> None:
    """Tell the logger and the observers."""
    level = logging.WARNING if event.kind in _WARNINGS else logging.INFO
    details = {
        "executionArn": event.execution_arn,
        "scopeEvent": event.kind.value,
        "scope": event.scope,
        "action": event.action,
        "actionKind": event.action_kind,
        "outcome": event.outcome,
        "attempt": event.attempt,
    }
    subject = f" {event.action_kind} {event.action}" if event.action else ""
    logger.log(level, "scope %s: %s%s", event.scope, event.kind.value, subject, extra=details)
    for observer in _observers:
        try:
            observer(event)
        except Exception:
            logger.exception("An observer of scope events failed on %s", event.kind.value)
