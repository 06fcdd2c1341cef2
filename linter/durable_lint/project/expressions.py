"""Evaluates expressions, and the attributes of what they can be."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from durable_lint.facts import model as m
from durable_lint.project import calls, statements
from durable_lint.project.frames import Record
from durable_lint.project.values import (
    NOTHING,
    WRAPPING_ANNOTATIONS,
    Arguments,
    Callback,
    CallbackResult,
    ClassValue,
    Contents,
    Context,
    ContextMethod,
    External,
    FunctionValue,
    Instance,
    Keywords,
    ModuleValue,
    OperationContext,
    Running,
    Super,
    Terminal,
    TerminalMethod,
    TupleValue,
    Unseen,
    Value,
    Values,
    one,
    pruned,
)
from durable_lint.sdk import aws

if TYPE_CHECKING:
    from collections.abc import Callable

    from durable_lint.project.frames import Frame
    from durable_lint.project.solver import Solver

_SDK_MODULES = frozenset(
    "config context exceptions execution plugin types waits retries concurrency models serdes state".split()
)
_LONGEST_NAME = 6
_ROOT_CLASSES = frozenset({"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol", "enum.Enum"})


def iterate(solver: Solver, frame: Frame, key: object, values: Values) -> Values:
    """Return the elements of `values`, and record the generators that iterating runs under `key`."""
    frames = [value.frame for value in values if isinstance(value, Running)]
    if frames:
        record = frame.records.setdefault(key, Record())
        record.targets.update(dict.fromkeys(frames))
    return solver.elements(values)


def elements(solver: Solver, values: Values) -> Values:
    """Return what iterating over `values` can give."""
    found: set[Value] = set()
    for value in solver.resolved(values):
        match value:
            case Contents():
                found |= value.items
            case TupleValue():
                for item in value.items:
                    found |= item
            case Keywords():
                for _, item in value.items:
                    found |= item
            case Running():
                found |= solver.yielded(value.frame)
            case External() if value.name.startswith("logging."):
                found.add(value)  # `for handler in logger.handlers`
    return frozenset(found)


def evaluate(solver: Solver, frame: Frame, expression: m.Expression) -> Values:
    """Return what an expression can be, and record the calls in it."""
    evaluator = _EVALUATORS.get(type(expression))
    return NOTHING if evaluator is None else evaluator(solver, frame, expression)


def name(solver: Solver, frame: Frame, expression: m.Name) -> Values:
    return solver.name(frame, expression.id)


def attribute_access(solver: Solver, frame: Frame, expression: m.Attribute) -> Values:
    return attribute(solver, evaluate(solver, frame, expression.value), expression.name, frame)


def call(solver: Solver, frame: Frame, expression: m.Call) -> Values:
    return calls.call(solver, frame, expression)


def lambda_expression(solver: Solver, frame: Frame, expression: m.LambdaExpression) -> Values:
    return one(FunctionValue(expression.function, frame.module, statements.closure_of(solver, frame)))


def mapping(solver: Solver, frame: Frame, expression: m.Mapping) -> Values:
    """Evaluate a dict display, as the values that it holds."""
    for key in expression.keys:
        if key is not None:
            evaluate(solver, frame, key)
    return one(Contents(any_of(solver, frame, expression.values)))


def conditional(solver: Solver, frame: Frame, expression: m.Conditional) -> Values:
    evaluate(solver, frame, expression.test)
    return evaluate(solver, frame, expression.body) | evaluate(solver, frame, expression.orelse)


def boolean(solver: Solver, frame: Frame, expression: m.Boolean) -> Values:
    return any_of(solver, frame, expression.values)


def named_expression(solver: Solver, frame: Frame, expression: m.NamedExpression) -> Values:
    found = evaluate(solver, frame, expression.value)
    statements.assign(solver, frame, expression.target, found)
    return found


def starred(solver: Solver, frame: Frame, expression: m.Starred) -> Values:
    return evaluate(solver, frame, expression.value)


def negation(solver: Solver, frame: Frame, expression: m.Negation) -> Values:
    evaluate(solver, frame, expression.value)
    return NOTHING


def comparison(solver: Solver, frame: Frame, expression: m.Comparison) -> Values:
    evaluate(solver, frame, expression.left)
    any_of(solver, frame, expression.rights)
    return NOTHING


def compound(solver: Solver, frame: Frame, expression: m.Compound) -> Values:
    """Evaluate the operands of plain data, which may be joined containers, or types."""
    found = any_of(solver, frame, expression.operands)
    return frozenset(v for v in found if isinstance(v, (Contents, TupleValue)) or _is_type(v))


def any_of(solver: Solver, frame: Frame, parts: tuple[m.Expression, ...]) -> Values:
    """Evaluate expressions, and return what one of them can be."""
    found = NOTHING
    for part in parts:
        found |= evaluate(solver, frame, part)
    return found


def sequence(solver: Solver, frame: Frame, expression: m.Sequence) -> Values:
    """Evaluate a tuple, list or set display."""
    items = [evaluate(solver, frame, item) for item in expression.items]
    starred = any(isinstance(item, m.Starred) for item in expression.items)
    if expression.kind == "tuple" and not starred and len(items) <= 16:
        return one(TupleValue(tuple(items)))
    found = NOTHING
    for item, values in zip(expression.items, items, strict=True):
        found |= solver.elements(values) if isinstance(item, m.Starred) else values
    return one(Contents(found))


def subscript(solver: Solver, frame: Frame, expression: m.Subscript) -> Values:
    """Evaluate `a[b]`, as an element or as a type."""
    values = evaluate(solver, frame, expression.value)
    index = expression.index
    inside = evaluate(solver, frame, index)
    if m.last_name(expression.value) in WRAPPING_ANNOTATIONS:  # an alias: `Ctx = Optional[DurableContext]`
        return inside | solver.elements(inside)
    found: set[Value] = set()
    for value in values:
        if isinstance(value, TupleValue) and isinstance(index, m.Constant) and isinstance(index.value, int):
            if -len(value.items) <= index.value < len(value.items):
                found |= value.items[index.value]
        elif isinstance(value, Keywords) and isinstance(index, m.Constant):
            found |= dict(value.items).get(str(index.value), NOTHING)
        elif isinstance(value, (ClassValue, External)) and not getattr(value, "called", False):
            found.add(value)  # `Generic[int]`
        else:
            found |= solver.elements(one(value))
    return frozenset(found)


def awaited(solver: Solver, frame: Frame, expression: m.Await) -> Values:
    """Evaluate an `await`, which runs a coroutine that was made before."""
    values = evaluate(solver, frame, expression.value)
    frames = [value.frame for value in values if isinstance(value, Running)]
    found: Values = frozenset(v for v in values if not isinstance(v, Running))
    if frames:
        record = frame.records.setdefault(expression, Record())
        record.targets.update(dict.fromkeys(frames))
        for running in frames:
            found |= solver.returned(running)
    return found


def yielding(solver: Solver, frame: Frame, expression: m.Yield) -> Values:
    """Evaluate a `yield` into the frame's yielded values."""
    if expression.value is None:
        return NOTHING
    values = evaluate(solver, frame, expression.value)
    if expression.delegates:
        values = iterate(solver, frame, expression, values)
    frame.yields = solver.grown(frame.yields, values, ("yields", frame))
    return NOTHING


def comprehension(solver: Solver, frame: Frame, expression: m.Comprehension) -> Values:
    """Evaluate a comprehension: the names it binds, and its elements."""
    for clause in expression.clauses:
        values = iterate(solver, frame, clause, evaluate(solver, frame, clause.iterable))
        statements.assign(solver, frame, clause.target, values)
        for condition in clause.conditions:
            evaluate(solver, frame, condition)
    found = NOTHING
    for element in expression.elements:
        found |= evaluate(solver, frame, element)
    return one(Contents(found))


def attribute(solver: Solver, values: Values, name: str, frame: Frame | None = None) -> Values:
    """Return the attribute `name` of `values`."""
    return pruned(NOTHING.union(*(attribute_of(solver, v, name, frame) for v in solver.resolved(values))))


def attribute_of(solver: Solver, value: Value, name: str, frame: Frame | None) -> Values:
    """Return the attribute of one value."""
    match value:
        case External():
            return _continued(value.name, name)
        case Context():
            if name in aws.SUSPENDING or name == aws.CREATE_CALLBACK:
                return one(ContextMethod(value, name))
            return one(External("logging.getLogger", called=True)) if name == "logger" else NOTHING
        case OperationContext():
            return one(External("logging.getLogger", called=True)) if name == "logger" else NOTHING
        case Callback():
            return one(CallbackResult()) if name == "result" else NOTHING
        case Terminal():
            return one(TerminalMethod(value, name))
        case Instance():
            return instance_attribute(solver, value, name, frame)
        case Super():
            return super_attribute(solver, value, name)
        case ClassValue():
            found = solver.member(value, name)
            return frozenset(_bound_to_class(v, value) for v in found)
        case ModuleValue():
            return module_attribute(solver, value.module, name)
        case Unseen():
            return one(value)
    return NOTHING


def module_attribute(solver: Solver, module: m.ModuleFacts, name: str) -> Values:
    """Return what a module calls `name`, or its submodule."""
    if name in module.local_names or solver.read(solver.module_frame(module), "*"):
        return solver.global_name(module, name)
    submodule = solver.modules.named(name, module.path, 1)
    return one(ModuleValue(submodule)) if submodule is not None else NOTHING


def instance_attribute(solver: Solver, value: Instance, name: str, frame: Frame | None) -> Values:
    """Return what an instance stores or its class defines; a property is called."""
    found = set(solver.heap(value, name))
    members = solver.member(value.of, name)
    for member in members:
        if isinstance(member, FunctionValue) and member.kind == "property":
            if frame is not None:
                getter = FunctionValue(member.function, member.module, member.closure, value)
                found |= solver.returned(solver.frame_for(getter, Arguments(), frame.mode))
        else:
            found.add(_bound(member, value))
    if not found and solver.is_context_class(value.of):
        return attribute_of(solver, Context(None), name, frame)
    if not found and not name.startswith("__"):
        # What is inherited from a class that cannot be seen.
        for base in solver.all_bases(value.of):
            if isinstance(base, External) and base.name not in _ROOT_CLASSES:
                found.add(External(_joined(base.name, name)))
    return frozenset(found)


def super_attribute(solver: Solver, value: Super, name: str) -> Values:
    """Return what the classes behind `super()` define."""
    order = [value.instance.of, *solver.all_bases(value.instance.of)]
    behind = order[order.index(value.after) + 1 :] if value.after in order else order[1:]
    for owner in behind:
        if isinstance(owner, ClassValue):
            found = solver.read(solver.class_frame(owner), name)
            if found:
                return frozenset(_bound(v, value.instance) for v in found)
    return NOTHING


@lru_cache(maxsize=4096)
def _continued(name: str, attribute: str) -> Values:
    return one(External(_joined(name, attribute)))


def _joined(name: str, attribute: str) -> str:
    """Continue a qualified name, skipping the submodules of the SDK (`sdk.config` + `Duration` is
    `sdk.Duration`).
    """
    if name in (aws.PACKAGE, aws.RUNTIME) or name.startswith((aws.PACKAGE + ".", aws.RUNTIME + ".")):
        return aws.canonical(f"{name}.{attribute}")
    if name.count(".") >= _LONGEST_NAME:
        return name  # `node = node.parent` in a loop
    if name.startswith("sdk.") and name[4:] in _SDK_MODULES:
        return f"sdk.{attribute}"
    return f"{name}.{attribute}"


def _bound(value: Value, receiver: Value) -> Value:
    if isinstance(value, FunctionValue) and value.kind != "static" and value.receiver is None:
        of = value.kind if value.kind != "class" else ""
        return FunctionValue(value.function, value.module, value.closure, receiver, of)
    return value


def _bound_to_class(value: Value, owner: ClassValue) -> Value:
    if isinstance(value, FunctionValue) and value.kind == "class":
        return FunctionValue(value.function, value.module, value.closure, owner)
    return value


def _is_type(value: Value) -> bool:
    """Whether a value can be a class, as in the alias `Ctx = DurableContext | None`."""
    if isinstance(value, External):
        return not value.called and value.name.rpartition(".")[2][:1].isupper()
    return isinstance(value, ClassValue)


_EVALUATORS: dict[type[m.Expression], Callable[[Solver, Frame, Any], Values]] = {
    m.Name: name,
    m.Attribute: attribute_access,
    m.Call: call,
    m.LambdaExpression: lambda_expression,
    m.Sequence: sequence,
    m.Mapping: mapping,
    m.Conditional: conditional,
    m.Boolean: boolean,
    m.NamedExpression: named_expression,
    m.Subscript: subscript,
    m.Starred: starred,
    m.Await: awaited,
    m.Yield: yielding,
    m.Comprehension: comprehension,
    m.Negation: negation,
    m.Comparison: comparison,
    m.Compound: compound,
}
"""How each kind of expression is evaluated; a constant says nothing."""
