"""What annotations say: which parameters, variables and fields are contexts, callbacks or instances of
classes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.project import expressions
from durable_lint.project.values import (
    NOTHING,
    WRAPPING_ANNOTATIONS,
    Callback,
    ClassValue,
    Contents,
    Context,
    External,
    Instance,
    OperationContext,
    Terminal,
    Value,
    Values,
    one,
)
from durable_lint.sdk import aws

if TYPE_CHECKING:
    from durable_lint.project.frames import Frame
    from durable_lint.project.solver import Solver

_DOTTED = re.compile(r"[A-Za-z_][\w.]*")

_IN_MEMORY = frozenset(
    "list List set Set dict Dict bytearray deque Deque defaultdict DefaultDict OrderedDict Counter "
    "MutableMapping MutableSequence MutableSet".split()
)
"""Containers: what is done to one is done in memory, whatever it holds."""

_HOLDING_ANNOTATIONS = _IN_MEMORY | frozenset(
    "tuple Tuple frozenset Mapping Sequence Iterable Iterator Collection".split()
)


def annotated(solver: Solver, where: Frame, annotation: m.Expression, owner: m.Function | None) -> Values:
    """Return what something annotated so can be: a context, a callback, an instance of a class."""
    match annotation:
        case m.Constant(kind="str"):
            found = NOTHING
            for dotted in _DOTTED.findall(str(annotation.value)):
                found |= instances(solver, named(solver, where, dotted), owner)
            return found
        case m.Name() | m.Attribute():
            return instances(solver, expressions.evaluate(solver, where, annotation), owner)
        case m.Compound():
            found = NOTHING
            for operand in annotation.operands:
                found |= solver.annotated(where, operand, owner)
            return found
        case m.Subscript():
            base = m.last_name(annotation.value)
            if base in WRAPPING_ANNOTATIONS:
                return annotated_parts(solver, where, annotation.index, owner)
            if base in _HOLDING_ANNOTATIONS:
                held = annotated_parts(solver, where, annotation.index, owner)
                return one(Contents(held)) if held or base in _IN_MEMORY else NOTHING
            if base in {"Callable", "type", "Type", "Literal"}:
                return NOTHING
            return solver.annotated(where, annotation.value, owner)
    return NOTHING


def annotated_parts(solver: Solver, where: Frame, index: m.Expression, owner: m.Function | None) -> Values:
    """What the parts of `Optional[...]`, `Union[...]` or a container can be."""
    parts = index.items if isinstance(index, m.Sequence) else (index,)
    found = NOTHING
    for part in parts:
        found |= solver.annotated(where, part, owner)
    return found


def named(solver: Solver, where: Frame, dotted: str) -> Values:
    """What a dotted name in a quoted annotation is."""
    first, *rest = dotted.strip(".").split(".")
    values = solver.name(where, first)
    for attribute in rest:
        values = solver.attribute(values, attribute)
    return values


def instances(solver: Solver, types: Values, owner: m.Function | None) -> Values:
    """What instances of these types are."""
    found: set[Value] = set()
    for value in types:
        if isinstance(value, External) and not value.called:
            found |= external_instance(solver, value.name, owner)
        elif isinstance(value, ClassValue):
            if solver.is_context_class(value):
                found.add(Context(owner))
            else:
                found.add(Instance(value))
    return frozenset(found)


def external_instance(solver: Solver, name: str, owner: m.Function | None) -> Values:
    """What an instance of a type outside the project is: one of the SDK's, or just its name."""
    if name in aws.CONTEXT_TYPES or solver.names.is_context_type(name):
        return one(Context(owner))
    if name in aws.OPERATION_CONTEXT_TYPES:
        return one(OperationContext())
    if name in aws.CALLBACK_TYPES:
        return one(Callback())
    if name in aws.TERMINAL_TYPES:
        return one(Terminal(owner, None)) if owner is not None else NOTHING
    if name.startswith(("builtins.", "typing.", "collections.")):
        return one(Contents(NOTHING)) if name.rpartition(".")[2] in _IN_MEMORY else NOTHING
    return one(External(name, called=True))
