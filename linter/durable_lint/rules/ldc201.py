"""LDC201 catches-base-exception: `except BaseException` that does not raise a suspension again on every
path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.rules import RULES
from durable_lint.rules.handlers import caught

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.rules.finding import Finding
    from durable_lint.rules.view import ModuleView


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield one finding for each such handler, at its `except` keyword."""
    yield from discarding(view, "LDC201", bare=False)


def discarding(view: ModuleView, code: str, *, bare: bool) -> Iterator[Finding]:
    """Yield the handlers, bare or not, by which a suspension is lost."""
    for found in caught(view):
        if found.named or not found.lost or (found.handler.type is None) is not bare:
            continue
        what = "a bare `except`" if bare else "`except BaseException`"
        yield view.finding(
            RULES[code],
            keyword(found.handler),
            f"{what} discards the suspension at {view.at_suspension(found.suspension)}",
            help="catch `Exception`, which lets a suspension through",
            suspension=found.suspension,
            frame=found.frame,
            rows=rows(found.handler),
            subject=(found.statement, found.handler),
        )


def keyword(handler: m.Handler) -> m.At:
    """Return the place of the `except` keyword."""
    at = handler.at
    return m.At(at.row, at.column, at.row, at.column + len("except"))


def rows(handler: m.Handler) -> set[int]:
    """Return the rows of a handler's header on which a suppression counts."""
    end = handler.at.row if handler.type is None else handler.type.at.end_row
    return {handler.at.row, end}
