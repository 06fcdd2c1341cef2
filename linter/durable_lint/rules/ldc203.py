"""LDC203 catches-sdk-control-flow: an `except` that names the SDK's control flow and does anything but
raise it at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.rules import RULES
from durable_lint.rules.handlers import caught
from durable_lint.rules.ldc201 import keyword, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.rules.finding import Finding
    from durable_lint.rules.view import ModuleView


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield one finding for each such handler, at its `except` keyword."""
    for found in caught(view):
        if not found.named or _raises_at_once(found.handler):
            continue
        yield view.finding(
            RULES["LDC203"],
            keyword(found.handler),
            f"`except {found.named}` handles what the SDK raises to control the execution,"
            f" around {view.at_suspension(found.suspension)}",
            help="remove the handler: the SDK's control flow is not an error",
            suspension=found.suspension,
            frame=found.frame,
            rows=rows(found.handler),
            subject=(found.statement, found.handler),
        )


def _raises_at_once(handler: m.Handler) -> bool:
    first = handler.body[0]
    if not isinstance(first, m.Raise) or first.cause is not None:
        return False
    raised = first.exception
    return raised is None or (isinstance(raised, m.Name) and raised.id == handler.name)
