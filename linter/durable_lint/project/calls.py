"""Evaluates calls of the project's own functions and classes, and of what is not known at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.project import expressions, libraries, operations, statements
from durable_lint.project.frames import Record
from durable_lint.project.promises import only_promised
from durable_lint.project.values import (
    NOTHING,
    OPERATION_KINDS,
    Arguments,
    CallbackResult,
    ClassValue,
    Contents,
    Context,
    ContextMethod,
    External,
    FunctionValue,
    Instance,
    Keywords,
    Manager,
    Operation,
    Partial,
    Running,
    Super,
    TerminalMethod,
    TupleValue,
    Unseen,
    Value,
    Values,
    one,
)
from durable_lint.sdk import aws

if TYPE_CHECKING:
    from durable_lint.project.frames import Frame
    from durable_lint.project.solver import Solver


def call(solver: Solver, frame: Frame, call: m.Call) -> Values:
    """Evaluate a call and record what it runs."""
    base = NOTHING
    if isinstance(call.function, m.Attribute):  # evaluated once: chains of calls are long
        base = expressions.evaluate(solver, frame, call.function.value)
        callee = solver.attribute(base, call.function.name, frame)
    else:
        callee = expressions.evaluate(solver, frame, call.function)
    arguments = arguments_of(solver, frame, call)
    record = Record(callee=callee)
    frame.records[call] = record
    if isinstance(call.function, m.Attribute):
        contained = container_call(solver, frame, call.function, base, arguments)
        if contained is not None:
            return contained
    if isinstance(call.function, m.Name) and call.function.id == "super" and not call.arguments:
        return super_of(solver, frame)
    result = call_values(solver, frame, callee, arguments, record, call)
    if not callee or only_promised(solver, callee):
        result |= unknown_call(solver, frame, call, arguments, record)
    return result


def arguments_of(solver: Solver, frame: Frame, call: m.Call) -> Arguments:
    """Return the evaluated arguments of a call."""
    positional: list[Values] = []
    rest: set[Value] = set()
    for argument in call.arguments:
        values = expressions.evaluate(solver, frame, argument)
        if isinstance(argument, m.Starred):
            tuples = [v for v in values if isinstance(v, TupleValue)]
            if len(tuples) == 1 and len(values) == 1:
                positional += tuples[0].items
            else:
                rest |= solver.elements(values)
        else:
            positional.append(values)
    keywords: list[tuple[str, Values]] = []
    for keyword in call.keywords:
        values = expressions.evaluate(solver, frame, keyword.value)
        if keyword.name is not None:
            keywords.append((keyword.name, values))
            continue
        for value in values:
            if isinstance(value, Keywords):
                keywords += value.items
            else:
                rest |= solver.elements(one(value))
    return Arguments(tuple(positional), tuple(keywords), frozenset(rest))


def super_of(solver: Solver, frame: Frame) -> Values:
    """What `super()` gives in a method."""
    function = frame.function
    if function is None or not function.parameters:
        return NOTHING
    definition = solver.methods.get(function)
    found: set[Value] = set()
    for value in frame.names.get(function.parameters[0].name, ()):
        if isinstance(value, Instance) and definition is not None:
            found |= {Super(value, after) for after in solver.classes.get(definition, ())}
    return frozenset(found)


def container_call(
    solver: Solver, frame: Frame, function: m.Attribute, base: Values, arguments: Arguments
) -> Values | None:
    """Return what a method of a list, dict or queue gives, None when it is not one of those methods."""
    if function.name in {"append", "add", "put", "appendleft", "insert", "setdefault", "push"}:
        held = arguments.all()
        is_container = not base or any(isinstance(v, (Contents, TupleValue)) for v in base)
        if held and is_container and isinstance(function.value, (m.Name, m.Attribute)):
            statements.assign(solver, frame, function.value, one(Contents(held)))
            return held if function.name == "setdefault" else NOTHING
        return None
    if not any(isinstance(v, (Contents, TupleValue, Keywords)) for v in base):
        return None
    if function.name in {"get", "pop", "popleft", "popitem"}:
        return solver.elements(base) | arguments.get(1, "default")
    if function.name == "items":
        return one(Contents(one(TupleValue((NOTHING, solver.elements(base))))))
    if function.name in {"values", "copy", "union"}:
        return one(Contents(solver.elements(base)))
    return None


def unknown_call(solver: Solver, frame: Frame, call: m.Call, arguments: Arguments, record: Record) -> Values:
    """Evaluate a call of something of which nothing is known."""
    function = call.function
    name = m.last_name(function)
    if (
        isinstance(function, m.Attribute)
        and name in aws.ONLY_DURABLE
        and b"durable" in frame.module.source.raw
    ):
        return operations.context_call(
            solver, frame, ContextMethod(Context(None), name), arguments, record, call
        )
    libraries.hand_over(solver, frame, name, name, arguments, record)
    return NOTHING


def call_values(
    solver: Solver,
    frame: Frame,
    callee: Values,
    arguments: Arguments,
    record: Record,
    call: m.Call | None = None,
) -> Values:
    """Evaluate a call of each of `callee`, into one record."""
    found: set[Value] = set()
    for value in solver.resolved(callee):
        found |= call_value(solver, frame, value, arguments, record, call)
    return frozenset(found)


def call_value(
    solver: Solver, frame: Frame, value: Value, arguments: Arguments, record: Record, call: m.Call | None
) -> Values:
    """Evaluate a call of one value."""
    match value:
        case ContextMethod():
            return operations.context_call(solver, frame, value, arguments, record, call)
        case CallbackResult():
            record.durable = "result"
        case FunctionValue():
            return function_call(solver, frame, value, arguments, record)
        case Partial():
            given = arguments.after(value.arguments)
            return call_value(solver, frame, value.target, given, record, call)
        case Operation():
            target = operations.start(
                solver, value.function, value.function.kind, value.arguments, frame.mode
            )
            record.targets[target] = None
            return solver.returned(target)
        case ClassValue():
            return construct(solver, frame, value, arguments, record, call)
        case Instance():
            method = solver.attribute(one(value), "__call__", frame)
            return call_values(solver, frame, method, arguments, record)
        case TerminalMethod():
            return operations.registration(solver, frame, value, arguments, record)
        case Unseen():
            record.assumed = record.assumed or "it holds a durable context and its source cannot be seen"
            return one(value)
        case External():
            return libraries.external_call(solver, frame, value, arguments, record, call)
    return NOTHING


def function_call(
    solver: Solver, frame: Frame, value: FunctionValue, arguments: Arguments, record: Record
) -> Values:
    """Evaluate a call of a project function; a generator is made and not run."""
    if value.kind in OPERATION_KINDS:
        return one(Operation(value, arguments))
    target = solver.frame_for(value, arguments, frame.mode)
    if value.kind == "manager":
        return one(Manager(value, target))
    if value.function.is_generator or value.function.is_async:
        return one(Running(target))  # nothing runs before it is iterated over or awaited
    record.targets[target] = None
    return solver.returned(target)


def construct(
    solver: Solver,
    frame: Frame,
    value: ClassValue,
    arguments: Arguments,
    record: Record,
    site: m.Call | None,
) -> Values:
    """Evaluate a call of a project class."""
    instance = Instance(value, site)
    initializers = solver.member(value, "__init__")
    for initializer in initializers:
        if isinstance(initializer, FunctionValue):
            bound = FunctionValue(initializer.function, initializer.module, initializer.closure, instance)
            record.targets[solver.frame_for(bound, arguments, frame.mode)] = None
    if not initializers:
        fill_fields(solver, instance, arguments)
    for after in solver.member(value, "__post_init__"):
        if isinstance(after, FunctionValue):
            bound = FunctionValue(after.function, after.module, after.closure, instance)
            record.targets[solver.frame_for(bound, Arguments(), frame.mode)] = None
    return one(instance)


def fill_fields(solver: Solver, instance: Instance, arguments: Arguments) -> None:
    """Store the arguments of a dataclass or named tuple in its fields, bases first."""
    value = instance.of
    fields: dict[str, tuple[m.Expression, Frame]] = {}
    for owner in (*reversed([b for b in solver.all_bases(value) if isinstance(b, ClassValue)]), value):
        for statement in owner.definition.body:
            if isinstance(statement, m.Assignment) and statement.annotation is not None:
                target = statement.targets[0]
                if isinstance(target, m.Name):
                    where = owner.closure or solver.module_frame(owner.module)
                    fields[target.id] = (statement.annotation, where)
    for index, (name, (annotation, where)) in enumerate(fields.items()):
        given = arguments.get(index, name) | arguments.rest
        if not given:
            given = solver.annotated(where, annotation, None)
        solver.store(instance, name, given)
