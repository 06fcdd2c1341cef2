"""LDC204 cleanup-on-base-exception: a handler for everything that has an effect before it raises a
suspension again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.rules import RULES
from durable_lint.rules.handlers import caught
from durable_lint.rules.ldc201 import keyword, rows
from durable_lint.rules.view import what_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.rules.finding import Finding
    from durable_lint.rules.view import ModuleView


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield one finding for each such handler, at its `except` keyword."""
    for found in caught(view):
        if found.named or found.lost or found.effect is None:
            continue
        handled = "a bare `except`" if found.handler.type is None else "`except BaseException`"
        yield view.finding(
            RULES["LDC204"],
            keyword(found.handler),
            f"{handled} would run {what_runs(found.effect)} while the execution is only suspended"
            f" at {view.at_suspension(found.suspension)}",
            help="register it as a compensation in a `terminal_scope`, or catch `Exception`",
            suspension=found.suspension,
            frame=found.frame,
            rows=rows(found.handler),
            subject=(found.statement, found.handler),
        )
