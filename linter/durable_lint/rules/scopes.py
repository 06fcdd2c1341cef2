"""What LDC401 to LDC407 share: durable calls under a frame, registrations, free names, and where things
stand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from durable_lint.facts import model as m
from durable_lint.project.flags import expressions_of
from durable_lint.project.suspension import operands
from durable_lint.project.values import Context
from durable_lint.sdk import aws

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.project.frames import Frame, Record
    from durable_lint.project.suspension import Step
    from durable_lint.project.values import Values
    from durable_lint.rules.view import ModuleView


class Registration(NamedTuple):
    """A call that registers a terminal action; `action` is the expression that it is given."""

    frame: Frame
    call: m.Call
    record: Record
    action: m.Expression


def registrations(view: ModuleView) -> Iterator[Registration]:
    """Yield the registrations that the module's functions make, for each frame."""
    for frame, step in all_steps(view):
        call = step.fact
        if step.record.registration and isinstance(call, m.Call):
            action = action_of(call, step.record.registration)
            if action is not None:
                yield Registration(frame, call, step.record, action)


def all_steps(view: ModuleView, *, attempts: bool = False) -> Iterator[tuple[Frame, Step]]:
    """Yield what the module's functions run, function by function; with `attempts` also inside attempts."""
    for function in view.module.functions:
        for frame in view.solver.frames_of.get(function, ()):
            if attempts or not frame.mode.attempt:
                for step in view.suspensions.body(frame):
                    yield frame, step


def action_of(call: m.Call, method: str) -> m.Expression | None:
    """Return the expression of the terminal action in a registration."""
    name, index = ("release", 1) if method == aws.ACQUIRE else ("func", 0)
    for keyword in call.keywords:
        if keyword.name == name:
            return keyword.value
    return call.arguments[index] if index < len(call.arguments) else None


def durable_contexts(view: ModuleView, frame: Frame) -> Values:
    """Return the contexts on which running a frame makes durable calls, `create_callback` included."""
    found: set[Context] = set()
    for inside in reached(view, frame):
        for step in view.suspensions.body(inside):
            if step.record.durable:
                found |= {value for value in step.record.contexts if isinstance(value, Context)}
    return frozenset(found)


def makes_durable_call(view: ModuleView, frame: Frame) -> bool:
    """Whether running a frame makes a durable call, itself or through what it calls."""
    return any(
        step.record.durable for inside in reached(view, frame) for step in view.suspensions.body(inside)
    )


def reached(view: ModuleView, frame: Frame) -> Iterator[Frame]:
    """Yield a frame and the ones that its calls lead to."""
    seen = {frame}
    waiting = [frame]
    while waiting:
        current = waiting.pop()
        yield current
        for step in view.suspensions.body(current):
            for target in step.record.targets:
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)


def is_inside(function: m.Function, outer: m.Function) -> bool:
    """Whether a function stands in the source of another one, or is it."""
    return function is outer or (
        (outer.at.row, outer.at.column) <= (function.at.row, function.at.column)
        and (function.at.end_row, function.at.end_column) <= (outer.at.end_row, outer.at.end_column)
    )


def contains(statement: m.Statement, at: m.At) -> bool:
    """Whether a place lies in a statement."""
    inside = statement.at
    return (inside.row, inside.column) <= (at.row, at.column) and (at.end_row, at.end_column) <= (
        inside.end_row,
        inside.end_column,
    )


def statements_around(function: m.Function, at: m.At) -> list[tuple[tuple[m.Statement, ...], int]]:
    """Return the statements of a function that contain a place, outermost first, each as its block and
    index.
    """
    found: list[tuple[tuple[m.Statement, ...], int]] = []
    block = function.body
    while True:
        index = next((i for i, statement in enumerate(block) if contains(statement, at)), None)
        if index is None:
            return found
        found.append((block, index))
        inner = [inside for inside in m.blocks_of(block[index]) if any(contains(s, at) for s in inside)]
        if not inner:
            return found
        block = inner[0]


def free_names(function: m.Function) -> frozenset[str]:
    """Return the names that a function reads from around it when it runs; its defaults are read earlier."""
    found: set[str] = set()
    _read_in_block(function.body, found)
    return frozenset(found - function.local_names)


def _read_in_block(block: tuple[m.Statement, ...], found: set[str]) -> None:
    for statement in block:
        for expression in expressions_of(statement):
            found |= names_read(expression)
        if isinstance(statement, m.FunctionDefinition):
            found |= free_names(statement.function)
        for inside in m.blocks_of(statement):
            _read_in_block(inside, found)


def names_read(expression: m.Expression) -> set[str]:
    """Return the names that an expression reads, now or, in functions inside it, later."""
    found: set[str] = set()
    waiting = [expression]
    while waiting:
        current = waiting.pop()
        if isinstance(current, m.Name):
            found.add(current.id)
        elif isinstance(current, m.LambdaExpression):
            found |= free_names(current.function)
            for parameter in current.function.parameters:
                if parameter.default is not None:
                    waiting.append(parameter.default)
        waiting.extend(operands(current))
    return found


def local_function(frame: Frame, expression: m.Expression) -> m.Function | None:
    """Return the lambda or the nested `def` that an expression of a function's own names, None for anything
    else.
    """
    if isinstance(expression, m.LambdaExpression):
        return expression.function
    if not isinstance(expression, m.Name) or frame.function is None:
        return None
    return _defined(frame.function.body, expression.id)


def _defined(block: tuple[m.Statement, ...], name: str) -> m.Function | None:
    for statement in block:
        match statement:
            case m.FunctionDefinition():
                if statement.function.name == name:
                    return statement.function
            case m.Assignment(value=m.LambdaExpression() as value):
                if any(isinstance(t, m.Name) and t.id == name for t in statement.targets):
                    return value.function
        for inside in m.blocks_of(statement):
            found = _defined(inside, name)
            if found is not None:
                return found
    return None
