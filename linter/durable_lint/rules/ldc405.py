"""LDC405 scope-can-be-abandoned: a terminal scope in a branch that an early completion can abandon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.project.unwinding import source_text
from durable_lint.rules import RULES
from durable_lint.rules.scopes import all_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.rules.finding import Finding
    from durable_lint.rules.view import ModuleView

_RULE = RULES["LDC405"]


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield one finding for each such scope, at the `terminal_scope` call."""
    done: set[m.Call] = set()
    for frame, step in all_steps(view):
        call, early = step.fact, step.record.abandonable
        if early is None or not isinstance(call, m.Call) or call in done:
            continue
        done.add(call)
        where = next((f.module for f in view.solver.frames.values() if early in f.records), view.module)
        shown = source_text(where, early.function.at, 40)
        elsewhere = "" if where is view.module else f" of {where.path.name}"
        yield view.finding(
            _RULE,
            call.at,
            f"`{shown}` on line {early.at.row}{elsewhere} can complete while this branch is still open; its terminal"
            " actions would never run",
            help="register in a scope around it, or let it complete all: `CompletionConfig.all_completed()`",
            frame=frame,
            subject=call,
        )
