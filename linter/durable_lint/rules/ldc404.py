"""LDC404 registration-after-suspension: a durable call stands between acquiring a resource and registering
its cleanup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.project.flags import names_in_target
from durable_lint.project.suspension import expression_steps
from durable_lint.rules import RULES
from durable_lint.rules.scopes import (
    free_names,
    local_function,
    names_read,
    registrations,
    statements_around,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.project.frames import Frame
    from durable_lint.project.suspension import Suspension
    from durable_lint.rules.finding import Finding
    from durable_lint.rules.scopes import Registration
    from durable_lint.rules.view import ModuleView

_RULE = RULES["LDC404"]
_ACQUIRING = frozenset({"step", "invoke", "run_in_child_context"})


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield one finding for each such registration, at the registration."""
    done: set[m.Call] = set()
    for registration in registrations(view):
        if registration.call in done or registration.record.durable:
            continue
        found = _late(view, registration)
        if found is not None:
            name, suspension = found
            done.add(registration.call)
            yield view.finding(
                _RULE,
                registration.call.at,
                f"the cleanup of `{name}` is registered after {view.at_suspension(suspension)}: a failure there"
                " leaks it",
                help="register it right after the step that acquires it, or use `terminal.acquire`",
                suspension=suspension,
                at_call="can fail here",
                frame=registration.frame,
                subject=(registration.call, name),
            )


def _late(view: ModuleView, registration: Registration) -> tuple[str, Suspension] | None:
    frame = registration.frame
    if frame.function is None:
        return None
    read = _names_of(registration)
    around = statements_around(frame.function, registration.call.at)
    if not around:
        return None
    block, index = around[-1]
    for earlier in range(index - 1, -1, -1):
        statement = block[earlier]
        if not isinstance(statement, m.Assignment):
            continue
        names = [n for target in statement.targets for n in names_in_target(target) if n in read]
        if not names:
            continue
        if _acquires(frame, statement):
            suspension = view.suspension(frame, block[earlier + 1 : index])
            if suspension is not None:
                return names[0], suspension
        read -= set(names)
    return None


def _names_of(registration: Registration) -> set[str]:
    """Return the names that the action reads: free ones, bound defaults, and arguments of a partial."""
    action = local_function(registration.frame, registration.action)
    if action is None:
        return names_read(registration.action)
    found = set(free_names(action))
    for parameter in action.parameters:
        if parameter.default is not None:
            found |= names_read(parameter.default)
    return found


def _acquires(frame: Frame, statement: m.Assignment) -> bool:
    return any(step.record.durable in _ACQUIRING for step in expression_steps(frame, statement.value))
