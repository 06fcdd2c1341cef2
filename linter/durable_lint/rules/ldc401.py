"""LDC401 scope-uses-outer-context: the body of an operation makes durable calls on a context of a function
around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.project.unwinding import source_text
from durable_lint.project.values import Context
from durable_lint.rules import RULES
from durable_lint.rules.scopes import all_steps, durable_contexts, is_inside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.project.frames import Frame
    from durable_lint.project.suspension import Step
    from durable_lint.rules.finding import Finding
    from durable_lint.rules.view import ModuleView

_RULE = RULES["LDC401"]


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield one finding for each such call: the durable call itself, or the helper that is handed the
    context.
    """
    done: set[m.Call] = set()
    for frame, step in all_steps(view):
        call = step.fact
        if not isinstance(call, m.Call) or call in done:
            continue
        outer = _outer_context(view, frame, step)
        if outer is None:
            continue
        done.add(call)
        operation = frame.mode.operation
        assert operation is not None and outer.owner is not None
        yield view.finding(
            _RULE,
            call.at,
            f"`{source_text(view.module, call.function.at, 40)}` works on the context of `{outer.owner.name}`, inside"
            f" {_named(operation)}, which has a context of its own",
            help=f"use {_own_parameter(operation)}",
            frame=frame,
            subject=(call, operation),
        )


def _outer_context(view: ModuleView, frame: Frame, step: Step) -> Context | None:
    operation = frame.mode.operation
    if operation is None or frame.function is None or not is_inside(frame.function, operation):
        return None
    around = frame.mode.operations[:-1]
    used = set(step.record.contexts) if step.record.durable else set()
    for target in step.record.targets:
        if target.function is not None and not is_inside(target.function, operation):
            used |= durable_contexts(view, target)
    outer = [value for value in used if isinstance(value, Context) and value.owner in around]
    return outer[0] if outer else None


def _named(operation: m.Function) -> str:
    return "this operation" if operation.is_lambda else f"`{operation.name}`"


def _own_parameter(operation: m.Function) -> str:
    names = [p.name for p in operation.parameters if p.kind == "positional" and p.name not in {"self", "cls"}]
    return f"its own parameter `{names[0]}`" if names else "a parameter of its own"
