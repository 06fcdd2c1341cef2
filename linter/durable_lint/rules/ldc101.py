"""LDC101 finally-around-suspension: a `finally` with an effect, around code that can suspend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.rules import RULES
from durable_lint.rules.view import suspension_kinds, what_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.facts import model as m
    from durable_lint.project.frames import Frame
    from durable_lint.rules.finding import Finding
    from durable_lint.rules.view import ModuleView

_RULE = RULES["LDC101"]


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield one finding for each such `finally`, at its keyword."""
    for statement in view.tries:
        if statement.finalbody:
            for frame in view.frames(statement):
                found = _judge(view, statement, frame)
                if found is not None:
                    yield found
                    break


def _judge(view: ModuleView, statement: m.Try, frame: Frame) -> Finding | None:
    handlers = (handler.body for handler in statement.handlers)
    suspension = view.suspension(frame, statement.body, *handlers, statement.orelse)
    if suspension is None or statement.finally_at is None:
        return None
    for kind in suspension_kinds():
        about = view.about_finally(frame, statement, kind)
        effect = view.unwinding.block(frame, statement.finalbody, about).effect
        if effect is not None:
            return view.finding(
                _RULE,
                statement.finally_at,
                f"`finally` would run {what_runs(effect)} while the execution is only suspended"
                f" at {view.at_suspension(suspension)}",
                help="register it in a `terminal_scope`",
                suspension=suspension,
                frame=frame,
                rows=view.header_rows(statement),
                subject=statement,
            )
    return None
