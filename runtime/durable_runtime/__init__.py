"""Cleanup and compensation at a true terminal outcome, for AWS Lambda durable functions.

Names are imported on first use, because `durable_runtime.plugin` works on SDK versions that scopes don't.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from durable_runtime.actions import DurableTerminalActions
    from durable_runtime.errors import RegistrationError, ScopeCancelled, TerminalFailure, TerminalScopeError
    from durable_runtime.events import ScopeEvent, ScopeEventKind, on_scope_event
    from durable_runtime.outcome import ScopeOutcome, ScopeStatus, TerminalScopeConfig
    from durable_runtime.scope import InPlaceScope, abandoned, terminal_scope

__all__ = [
    "DurableTerminalActions",
    "InPlaceScope",
    "RegistrationError",
    "ScopeCancelled",
    "ScopeEvent",
    "ScopeEventKind",
    "ScopeOutcome",
    "ScopeStatus",
    "TerminalFailure",
    "TerminalScopeConfig",
    "TerminalScopeError",
    "abandoned",
    "on_scope_event",
    "terminal_scope",
]

_MODULES = {
    "DurableTerminalActions": "actions",
    "InPlaceScope": "scope",
    "RegistrationError": "errors",
    "ScopeCancelled": "errors",
    "ScopeEvent": "events",
    "ScopeEventKind": "events",
    "ScopeOutcome": "outcome",
    "ScopeStatus": "outcome",
    "TerminalFailure": "errors",
    "TerminalScopeConfig": "outcome",
    "TerminalScopeError": "errors",
    "abandoned": "scope",
    "on_scope_event": "events",
    "terminal_scope": "scope",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_module(
        "durable_runtime.sdk"
    )  # raises ImportError, in one sentence, on an SDK that scopes can't use
    value: object = getattr(import_module(f"durable_runtime.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
