"""LDC407 scope-not-entered: a terminal scope without a body that is not entered by `with` at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.rules import RULES
from durable_lint.rules.scopes import all_steps
from durable_lint.sdk import aws

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.rules.finding import Finding
    from durable_lint.rules.view import ModuleView

_RULE = RULES["LDC407"]


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield one finding for each such call, at the call."""
    entered = {
        call for statement in view.withs for item in statement.items for call in _alternatives(item.manager)
    }
    entered |= {call for function in view.module.functions for call in _returned(function.body)}
    done: set[m.Call] = set()
    for frame, step in all_steps(view):
        call, record = step.fact, step.record
        is_open = f"runtime.{record.durable}" == aws.TERMINAL_SCOPE and not record.suspends
        if not isinstance(call, m.Call) or not is_open or call in entered or call in done:
            continue
        done.add(call)
        yield view.finding(
            _RULE,
            call.at,
            "this `terminal_scope` is not entered by `with`, so nothing tells it how its body ends",
            help="write `with terminal_scope(...) as terminal:`, or hand it the body as a function",
            frame=frame,
            subject=call,
        )


def _alternatives(expression: m.Expression) -> Iterator[m.Expression]:
    match expression:
        case m.Conditional():
            yield from _alternatives(expression.body)
            yield from _alternatives(expression.orelse)
        case m.NamedExpression():
            yield from _alternatives(expression.value)
        case _:
            yield expression


def _returned(block: tuple[m.Statement, ...]) -> Iterator[m.Expression]:
    """Yield what a function gives to its caller, who may enter it."""
    for statement in block:
        if isinstance(statement, m.Return) and statement.value is not None:
            yield from _alternatives(statement.value)
        for inside in m.blocks_of(statement):
            yield from _returned(inside)
