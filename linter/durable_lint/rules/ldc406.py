"""LDC406 registration-inside-operation: a terminal action of an outer scope is registered inside an
operation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.project.unwinding import source_text
from durable_lint.project.values import Terminal
from durable_lint.rules import RULES
from durable_lint.rules.scopes import all_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.project.frames import Frame
    from durable_lint.project.suspension import Step
    from durable_lint.rules.finding import Finding
    from durable_lint.rules.view import ModuleView

_RULE = RULES["LDC406"]


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield one finding for each such registration, at the registration."""
    done: set[m.Call] = set()
    for frame, step in all_steps(view, attempts=True):
        call = step.fact
        if not isinstance(call, m.Call) or call in done or not _is_lost(frame, step):
            continue
        done.add(call)
        yield view.finding(
            _RULE,
            call.at,
            f"`{source_text(view.module, call.function.at, 40)}` registers inside another operation: when that has"
            " completed, replay does not run it again and the registration is lost",
            help="register outside the operation, or open a scope inside it",
            frame=frame,
            subject=call,
        )


def _is_lost(frame: Frame, step: Step) -> bool:
    if not step.record.registration:
        return False
    for terminal in step.record.registers:
        if not isinstance(terminal, Terminal):
            continue
        unknown = isinstance(terminal.opened, m.Function) and terminal.operation is None
        if not unknown and terminal.operation is not frame.mode.operation:
            return True
    return False
