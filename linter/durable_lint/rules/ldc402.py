"""LDC402 terminal-action-uses-context: a terminal action that runs as a step makes a durable call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.project.unwinding import source_text
from durable_lint.rules import RULES
from durable_lint.rules.scopes import is_inside, makes_durable_call, registrations
from durable_lint.sdk import aws

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.project.frames import Frame
    from durable_lint.rules.finding import Finding
    from durable_lint.rules.scopes import Registration
    from durable_lint.rules.view import ModuleView

_RULE = RULES["LDC402"]


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield a finding at each durable call in such an action, or at the registration of one defined
    elsewhere.
    """
    done: set[m.Call] = set()
    for registration in registrations(view):
        if registration.record.registration in aws.CONTEXT_REGISTRATIONS:
            continue
        for call in _calls(view, registration):
            if call not in done:
                done.add(call)
                yield view.finding(
                    _RULE,
                    call.at,
                    f"`{source_text(view.module, call.function.at, 40)}` makes a durable call in a terminal action that"
                    " runs as a step, where nothing can suspend",
                    help="register it with `cleanup_in_context` or `compensate_in_context` and use the context it gets",
                    frame=registration.frame,
                    subject=(registration.call, call),
                )


def _calls(view: ModuleView, registration: Registration) -> Iterator[m.Call]:
    registering = registration.frame.function
    for action in registration.record.actions:
        function = action.function
        if function is None or registering is None:
            continue
        inside = list(_durable_steps(view, action))
        if is_inside(function, registering):
            yield from inside
        elif inside:
            yield registration.call


def _durable_steps(view: ModuleView, action: Frame) -> Iterator[m.Call]:
    for step in view.suspensions.body(action):
        if not isinstance(step.fact, m.Call):
            continue
        if step.record.durable or any(makes_durable_call(view, target) for target in step.record.targets):
            yield step.fact
