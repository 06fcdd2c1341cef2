"""LDC105 manager-discards-suspension: a manager that swallows every `BaseException`, around a durable call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.project.unwinding import source_text
from durable_lint.rules import RULES
from durable_lint.rules.ldc102 import protected
from durable_lint.rules.view import suspension_kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.facts import model as m
    from durable_lint.project.frames import Frame
    from durable_lint.rules.finding import Finding
    from durable_lint.rules.view import ModuleView

_RULE = RULES["LDC105"]


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield one finding for each such item, at the item."""
    for statement in view.withs:
        for index, item in enumerate(statement.items):
            for frame in view.frames(statement):
                found = _judge(view, statement, index, item, frame)
                if found is not None:
                    yield found
                    break


def _judge(view: ModuleView, statement: m.With, index: int, item: m.Item, frame: Frame) -> Finding | None:
    suspension = view.suspensions.first(frame, protected(frame, statement, index))
    if suspension is None:
        return None
    for kind in suspension_kinds():
        exits = view.unwinding.item_exit(frame, item, kind).exits
        if exits - {"reraise"}:
            lost = "swallows" if "falls" in exits else "turns into an error"
            return view.finding(
                _RULE,
                item.at,
                f"`{source_text(view.module, item.manager.at, 40)}` {lost} the suspension"
                f" at {view.at_suspension(suspension)}",
                help="let `BaseException` through: catch `Exception`",
                suspension=suspension,
                frame=frame,
                rows=view.header_rows(statement),
                subject=(statement, item),
            )
    return None
