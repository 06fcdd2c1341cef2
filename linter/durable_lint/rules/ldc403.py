"""LDC403 terminal-action-captures-loop-variable: an action closes over a name that the loop around it
rebinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.project.flags import assigned_names, expressions_of, names_in_target
from durable_lint.project.suspension import operands
from durable_lint.project.values import Terminal
from durable_lint.rules import RULES
from durable_lint.rules.scopes import contains, free_names, local_function, registrations, statements_around

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.rules.finding import Finding
    from durable_lint.rules.scopes import Registration
    from durable_lint.rules.view import ModuleView

_RULE = RULES["LDC403"]


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield one finding for each such action, at the lambda or `def`."""
    done: set[m.Function] = set()
    for registration in registrations(view):
        action = local_function(registration.frame, registration.action)
        if action is None or action in done:
            continue
        rebound = _rebound(registration) & free_names(action)
        if rebound:
            done.add(action)
            names = ", ".join(f"`{name}`" for name in sorted(rebound))
            yield view.finding(
                _RULE,
                action.at,
                f"this terminal action reads {names} when it runs, after the loop has rebound it",
                help="bind it as a default: " + ", ".join(f"`{name}={name}`" for name in sorted(rebound)),
                frame=registration.frame,
                rows={registration.call.at.row, action.at.row},
                subject=(registration.call, action, tuple(sorted(rebound))),
            )


def _rebound(registration: Registration) -> set[str]:
    """Return the names that the loops between the registration and the opening of its scope rebind."""
    function = registration.frame.function
    if function is None:
        return set()
    opened = [t.opened for t in registration.record.registers if isinstance(t, Terminal)]
    found: set[str] = set()
    for block, index in statements_around(function, registration.call.at):
        loop = block[index]
        if not isinstance(loop, (m.For, m.While)):
            continue
        if any(isinstance(call, m.Call) and contains(loop, call.at) for call in opened):
            continue
        if isinstance(loop, m.For):
            found |= set(names_in_target(loop.target))
        found |= assigned_names(loop.body)
    for block, index in statements_around(function, registration.call.at)[-1:]:
        for expression in expressions_of(block[index]):
            found |= _comprehension_names(expression, registration.call)
    return found


def _comprehension_names(expression: m.Expression, call: m.Call) -> set[str]:
    """Return the targets of the comprehensions in an expression that hold the call."""
    found: set[str] = set()
    if isinstance(expression, m.Comprehension) and call in _calls(expression):
        for clause in expression.clauses:
            found |= set(names_in_target(clause.target))
    for operand in operands(expression):
        found |= _comprehension_names(operand, call)
    return found


def _calls(expression: m.Expression) -> Iterator[m.Expression]:
    yield expression
    for operand in operands(expression):
        yield from _calls(operand)
