"""Evaluates statements: what they bind, define and return. Functions of the solver, apart for their size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.project import calls, expressions, libraries, operations
from durable_lint.project.frames import Mode, Record
from durable_lint.project.values import (
    NOTHING,
    OPERATION_KINDS,
    Arguments,
    ClassValue,
    Contents,
    External,
    FunctionValue,
    Imported,
    Instance,
    Manager,
    Partial,
    Scope,
    Terminal,
    TupleValue,
    Value,
    Values,
    one,
)
from durable_lint.sdk import aws

if TYPE_CHECKING:
    from durable_lint.project.frames import Frame
    from durable_lint.project.solver import Solver

DECORATED_KIND = {
    **dict.fromkeys(aws.STEP_DECORATORS, "step"),
    **dict.fromkeys(aws.SUBMITTER_DECORATORS, "submitter"),
    **dict.fromkeys(aws.CHILD_DECORATORS, "child"),
    **dict.fromkeys(aws.BRANCH_DECORATORS, "branch"),
    "contextlib.contextmanager": "manager",
    "contextlib.asynccontextmanager": "manager",
    "builtins.property": "property",
    "functools.cached_property": "property",
    "builtins.staticmethod": "static",
    "builtins.classmethod": "class",
}


def run_block(solver: Solver, frame: Frame, block: tuple[m.Statement, ...]) -> None:
    """Evaluate the statements of a block, in order, whatever their conditions."""
    for statement in block:
        run_statement(solver, frame, statement)


def run_statement(solver: Solver, frame: Frame, statement: m.Statement) -> None:
    """Evaluate one statement."""
    match statement:
        case m.ExpressionStatement():
            expressions.evaluate(solver, frame, statement.value)
        case m.Assignment():
            assignment(solver, frame, statement)
        case m.AugmentedAssignment():
            values = expressions.evaluate(solver, frame, statement.value)
            expressions.evaluate(solver, frame, statement.target)
            if values:
                assign(solver, frame, statement.target, values)
        case m.Return():
            if statement.value is not None:
                returns(solver, frame, expressions.evaluate(solver, frame, statement.value))
        case m.If() | m.While():
            expressions.evaluate(solver, frame, statement.test)
            run_block(solver, frame, statement.body)
            run_block(solver, frame, statement.orelse)
        case m.For():
            values = expressions.iterate(
                solver, frame, statement, expressions.evaluate(solver, frame, statement.iterable)
            )
            assign(solver, frame, statement.target, values)
            run_block(solver, frame, statement.body)
            run_block(solver, frame, statement.orelse)
        case m.Try():
            run_block(solver, frame, statement.body)
            for handler in statement.handlers:
                if handler.type is not None:
                    expressions.evaluate(solver, frame, handler.type)
                run_block(solver, frame, handler.body)
            run_block(solver, frame, statement.orelse)
            run_block(solver, frame, statement.finalbody)
        case m.With():
            for item in statement.items:
                enter_item(solver, frame, item)
            run_block(solver, frame, statement.body)
        case m.Match():
            values = expressions.evaluate(solver, frame, statement.subject)
            for case in statement.cases:
                for pattern_value in case.values:
                    expressions.evaluate(solver, frame, pattern_value)
                for name in case.names:
                    write(solver, frame, name, values | solver.elements(values))
                if case.guard is not None:
                    expressions.evaluate(solver, frame, case.guard)
                run_block(solver, frame, case.body)
        case m.FunctionDefinition():
            define_function(solver, frame, statement.function)
        case m.ClassDefinition():
            define_class(solver, frame, statement.definition)
        case m.Import():
            for binding in statement.bindings:
                write(solver, frame, binding.local, one(Imported(binding, frame.module)))
                if binding.local == "*":
                    found = solver.imported(Imported(binding, frame.module))
                    write(solver, solver.module_frame(frame.module), "*", found)
        case m.Raise():
            for part in (statement.exception, statement.cause):
                if part is not None:
                    expressions.evaluate(solver, frame, part)
        case m.Assertion():
            expressions.evaluate(solver, frame, statement.test)
        case m.Deletion():
            for target in statement.targets:
                expressions.evaluate(solver, frame, target)


def assignment(solver: Solver, frame: Frame, statement: m.Assignment) -> None:
    """Evaluate an assignment; an annotation counts where the value says nothing."""
    values = NOTHING if statement.value is None else expressions.evaluate(solver, frame, statement.value)
    if statement.annotation is not None and not values:
        values = solver.annotated(frame, statement.annotation, frame.function)
    for target in statement.targets:
        assign(solver, frame, target, values)


def assign(solver: Solver, frame: Frame, target: m.Expression, values: Values) -> None:
    """Bind a target to values."""
    match target:
        case m.Name():
            write(solver, frame, target.id, values)
        case m.Attribute():
            for base in expressions.evaluate(solver, frame, target.value):
                if isinstance(base, Instance):
                    solver.store(base, target.name, values)
                elif isinstance(base, ClassValue):
                    write(solver, solver.class_frame(base), target.name, values)
        case m.Sequence():
            for index, item in enumerate(target.items):
                part = unpacked(solver, values, index, len(target.items))
                inner_target = item.value if isinstance(item, m.Starred) else item
                assign(solver, frame, inner_target, part)
        case m.Subscript():
            expressions.evaluate(solver, frame, target.index)
            base_values = expressions.evaluate(solver, frame, target.value)
            if values and isinstance(target.value, (m.Name, m.Attribute)):
                held = one(Contents(values))
                if not held <= base_values:
                    assign(solver, frame, target.value, held)


def unpacked(solver: Solver, values: Values, index: int, count: int) -> Values:
    """Return what the target at `index` of `count` gets when `values` are unpacked."""
    found = NOTHING
    for value in values:
        if isinstance(value, TupleValue):
            if len(value.items) == count:
                found |= value.items[index]
            else:
                found |= frozenset().union(*value.items) if value.items else NOTHING
        elif isinstance(value, Instance):
            found |= field_at(solver, value, index)
        else:
            found |= solver.elements(one(value))
    return found


def field_at(solver: Solver, value: Instance, index: int) -> Values:
    """Return the field of a named tuple that stands at `index`."""
    fields = [
        statement.targets[0].id
        for statement in value.of.definition.body
        if isinstance(statement, m.Assignment)
        and statement.annotation is not None
        and isinstance(statement.targets[0], m.Name)
    ]
    named = any(m.last_name(base) == "NamedTuple" for base in value.of.definition.bases)
    return solver.heap(value, fields[index]) if named and index < len(fields) else NOTHING


def write(solver: Solver, frame: Frame, name: str, values: Values) -> None:
    """Bind a name in the scope that it belongs to."""
    if not values:
        return
    target = frame
    if frame.function is not None and name not in frame.function.local_names:
        if name in frame.function.global_names:
            target = solver.module_frame(frame.module)
        else:
            scope = frame.closure
            while scope is not None and scope.function is not None:
                if name in scope.function.local_names:
                    target = scope
                    break
                scope = scope.closure
    if target.function is None:
        solver.bound_outside_functions(target, name, values)
    else:
        solver.note_durable(target, values)
    target.names[name] = solver.grown(target.names.get(name, NOTHING), values, (target, name))


def returns(solver: Solver, frame: Frame, values: Values) -> None:
    """Add to what a frame returns."""
    frame.returns = solver.grown(frame.returns, values, ("returns", frame))


def define_function(solver: Solver, frame: Frame, function: m.Function) -> None:
    """Bind a function, as its decorators leave it."""
    closure = closure_of(solver, frame)
    value = FunctionValue(function, frame.module, closure)
    values = one(value)
    for decorator in reversed(function.decorators):
        decorators = expressions.evaluate(solver, frame, decorator)
        libraries.decorated_registration(solver, frame, decorator, decorators, values)
        values = decorate(solver, frame, decorators, values)
    write(solver, frame, function.name, values)


def closure_of(solver: Solver, frame: Frame) -> Frame | None:
    """Return the frame that functions defined in this one close over."""
    if frame in solver.class_by_frame:
        return frame.closure
    return frame if frame.function is not None else None


def decorate(solver: Solver, frame: Frame, decorators: Values, values: Values) -> Values:
    """Apply a decorator to what it decorates."""
    for decorator in solver.resolved(decorators):
        if isinstance(decorator, External):
            if decorator.name in aws.HANDLER_DECORATORS:
                operations.handler(solver, values)
                continue
            kind = DECORATED_KIND.get(decorator.name)
            if kind is not None:
                values = of_kind(solver, values, kind)
        elif isinstance(decorator, (FunctionValue, Partial)) and not _is_kind(decorator, "manager"):
            record = Record()
            given = Arguments((values,))
            wrapped = solver.resolved(calls.call_value(solver, frame, decorator, given, record, None))
            if any(isinstance(w, (FunctionValue, Partial, ClassValue, Instance)) for w in wrapped):
                values = wrapped
    return values


def of_kind(solver: Solver, values: Values, kind: str) -> Values:
    """Mark functions that a decorator of the SDK or of `contextlib` has changed."""
    found: set[Value] = set()
    for value in values:
        if isinstance(value, FunctionValue):
            changed = FunctionValue(value.function, value.module, value.closure, value.receiver, kind)
            found.add(changed)
            if kind in OPERATION_KINDS:
                operations.start(solver, changed, kind, Arguments(), Mode())
        else:
            found.add(value)
    return frozenset(found)


def define_class(solver: Solver, frame: Frame, definition: m.Class) -> None:
    """Evaluate a class body and bind the class."""
    value = ClassValue(definition, frame.module, closure_of(solver, frame))
    body = solver.class_frame(value)
    run_block(solver, body, definition.body)
    frame.records.update(body.records)  # a class body runs where it stands
    for decorator in definition.decorators:
        expressions.evaluate(solver, frame, decorator)
    write(solver, frame, definition.name, one(value))


def enter_item(solver: Solver, frame: Frame, item: m.Item) -> None:
    """Evaluate a `with` item and bind its target."""
    managers = solver.resolved(expressions.evaluate(solver, frame, item.manager))
    record = Record()
    entered: set[Value] = set()
    for manager in managers:
        entered |= enter(solver, frame, manager, record, item)
    frame.records[item] = record
    if item.target is not None:
        assign(solver, frame, item.target, frozenset(entered))


def enter(solver: Solver, frame: Frame, manager: Value, record: Record, item: m.Item | None) -> Values:
    """Return what entering a manager gives, and record what it runs."""
    match manager:
        case Scope():
            record.durable = "terminal_scope"
            return one(Terminal(manager.call, manager.operation))
        case Manager():
            record.targets[manager.frame] = None
            return solver.yielded(manager.frame)
        case Instance():
            found = NOTHING
            for name in ("__enter__", "__exit__", "__aenter__", "__aexit__"):
                results = calls.call_values(
                    solver, frame, solver.attribute(one(manager), name), Arguments(), record
                )
                found |= results if name in {"__enter__", "__aenter__"} else NOTHING
            return found or one(manager)
        case External(
            name="contextlib.closing" | "contextlib.nullcontext" | "contextlib.aclosing", called=True
        ):
            call = None if item is None else item.manager
            if isinstance(call, m.Call) and call.arguments:
                return expressions.evaluate(solver, frame, call.arguments[0])
            return NOTHING
        case External():
            return one(manager)
    return NOTHING


def _is_kind(value: Value, kind: str) -> bool:
    return isinstance(value, FunctionValue) and value.kind == kind
