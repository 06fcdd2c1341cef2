"""What is put on an `ExitStack`, and what closing the stack would run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.project.libraries import STACK_REGISTRATIONS
from durable_lint.project.suspension import steps
from durable_lint.project.unwinding import STACK_CLASSES, Effect, holds_yield, source_text
from durable_lint.project.values import (
    External,
    FunctionValue,
    Instance,
    Manager,
    Partial,
    Scope,
    TerminalMethod,
)
from durable_lint.sdk import aws

if TYPE_CHECKING:
    from collections.abc import Iterable

    from durable_lint.project.frames import Frame, Record
    from durable_lint.project.solver import Solver
    from durable_lint.project.suspension import Step
    from durable_lint.project.unwinding import Unwinding
    from durable_lint.project.values import Value


def is_stack(solver: Solver, frame: Frame, expression: m.Expression) -> bool:
    """Whether an expression is an `ExitStack`, or an instance of a class that derives from it."""
    for value in solver.value(frame, expression):
        if isinstance(value, External) and value.called and value.name in STACK_CLASSES:
            return True
        if isinstance(value, Instance) and any(
            isinstance(base, External) and base.name in STACK_CLASSES for base in solver.all_bases(value.of)
        ):
            return True
    return False


def registers_on(step: Step, names: set[str]) -> str | None:
    """Return the method by which a step registers on one of the stacks `names`, None when it does not."""
    method = step.fact.function if isinstance(step.fact, m.Call) else step.fact
    if not isinstance(method, m.Attribute):
        return None
    on_it = isinstance(method.value, m.Name) and method.value.id in names
    return method.name if on_it and method.name in STACK_REGISTRATIONS else None


def registered_effect(unwinding: Unwinding, frame: Frame, step: Step) -> Effect | None:
    """Return the effect of what a registration puts on the stack, None when it is process-local."""
    record = step.record
    if isinstance(step.fact, m.Attribute):
        method: m.Expression = step.fact  # `@stack.callback`
        held: m.Expression = step.fact
    else:
        assert isinstance(step.fact, m.Call)
        if not step.fact.arguments:
            return None
        method, held = step.fact.function, step.fact.arguments[0]
    if "context" in m.last_name(method):
        for kind in aws.SUSPENSIONS:
            inside = unwinding.manager_exit(frame, held, record, kind).effect
            if inside is not None:
                return inside
        return None
    label = _shown(frame, record, held)
    if m.last_name(method) in {"push", "push_async_exit"}:
        return _pushed_effect(unwinding, frame, record, held)
    for target in record.actions:
        inside = unwinding.frame_effect(target)
        if inside is not None:
            return Effect(inside.module, inside.at, label, inside.reason, inside.unseen)
    for value in record.held:
        found = _value_effect(unwinding, frame, value, held)
        if found is not None:
            return found
    if not record.held and not record.actions:
        return unwinding.call_of(frame, held)
    return None


def _shown(frame: Frame, record: Record, held: m.Expression) -> str:
    """Return how to name what was registered: a decorated function by its name, anything else by its text."""
    names = [value.function.name for value in record.held if isinstance(value, FunctionValue)]
    if names and isinstance(held, m.Attribute) and held in frame.records:
        return names[0]
    return source_text(frame.module, held.at, 40)


def _pushed_effect(unwinding: Unwinding, frame: Frame, record: Record, held: m.Expression) -> Effect | None:
    """Judge what `push` was given by what it does when it is told of a suspension."""
    label = _shown(frame, record, held)
    for kind in aws.SUSPENSIONS:
        for value in record.held:
            if isinstance(value, FunctionValue):
                found = unwinding.pushed_effect(value, record, kind)
            else:
                found = _value_effect(unwinding, frame, value, held)
            if found is not None:
                return Effect(found.module, found.at, label, found.reason, found.unseen)
    return None if record.held else unwinding.call_of(frame, held)


def _value_effect(unwinding: Unwinding, frame: Frame, value: Value, held: m.Expression) -> Effect | None:
    match value:
        case External():
            return unwinding.named(frame, held, value.name)
        case Manager() | Instance() | Scope():
            return unwinding.exit_of(frame, value, held, None, aws.SUSPENSIONS[0], held.at).effect
        case FunctionValue() | Partial() | TerminalMethod():
            return None
    return Effect(frame.module, held.at, source_text(frame.module, held.at, 40), "is a durable operation")


def held_effect(
    unwinding: Unwinding, frame: Frame, names: set[str], block: Iterable[m.Statement]
) -> Effect | None:
    """Return the first effect that a block puts on one of the stacks `names`."""
    for step in steps(frame, block):
        if registers_on(step, names) is not None:
            found = registered_effect(unwinding, frame, step)
            if found is not None:
                return found
    return None


def manager_effect(unwinding: Unwinding, frame: Frame, block: tuple[m.Statement, ...]) -> Effect | None:
    """Return the first effect on a stack that is open around a `yield` of a generator-based manager."""
    for statement in block:
        if isinstance(statement, m.With) and holds_yield(statement.body):
            stacks = {
                item.target.id
                for item in statement.items
                if isinstance(item.target, m.Name) and is_stack(unwinding.solver, frame, item.manager)
            }
            found = held_effect(unwinding, frame, stacks, statement.body)
            if found is not None:
                return found
        for inside in m.blocks_of(statement):
            found = manager_effect(unwinding, frame, inside)
            if found is not None:
                return found
    return None
