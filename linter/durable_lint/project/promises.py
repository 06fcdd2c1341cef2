"""Functions that only promise what another class does: abstract methods, protocols, stubs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.project.values import ClassValue, FunctionValue, Instance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.project.solver import Solver
    from durable_lint.project.values import Value, Values


def only_promised(solver: Solver, callee: Values) -> bool:
    """Whether all that is called are promises: what really runs is then somewhere else."""
    return bool(callee) and all(is_promise(solver, value) for value in callee)


def is_promise(solver: Solver, value: Value) -> bool:
    """Whether a value is a function without code of its own that stands for another one."""
    if not isinstance(value, FunctionValue) or len(value.function.body) > 2:
        return False
    known = solver.promises.get(value.function)
    if known is None:
        known = solver.promises[value.function] = _promises(solver, value)
    return known


def _promises(solver: Solver, value: FunctionValue) -> bool:
    function = value.function
    code = [statement for statement in function.body if not _says_nothing(statement)]
    if code:
        return len(code) == 1 and _is_not_implemented(code[0])
    if value.module.path.suffix == ".pyi" or any(
        m.last_name(d) == "abstractmethod" for d in function.decorators
    ):
        return True
    definition = solver.methods.get(function)
    return definition is not None and _is_protocol(definition)


def _says_nothing(statement: m.Statement) -> bool:
    return isinstance(statement, m.Pass) or (
        isinstance(statement, m.ExpressionStatement) and isinstance(statement.value, m.Constant)
    )


def _is_not_implemented(statement: m.Statement) -> bool:
    return (
        isinstance(statement, m.Raise)
        and statement.exception is not None
        and m.last_name(statement.exception) == "NotImplementedError"
    )


def _is_protocol(definition: m.Class) -> bool:
    return any(m.last_name(base) == "Protocol" for base in definition.bases)


def implementations(solver: Solver, promise: FunctionValue) -> Iterator[FunctionValue]:
    """Yield the project's functions that keep a promise: those of subclasses, and of classes that have every
    method of a protocol.
    """
    definition = solver.methods.get(promise.function)
    if definition is None:
        return
    methods = {s.function.name for s in definition.body if isinstance(s, m.FunctionDefinition)}
    structural = _is_protocol(definition)
    for other, values in list(solver.classes.items()):
        if other is definition:
            continue
        for value in values:
            derived = any(
                isinstance(b, ClassValue) and b.definition is definition for b in solver.all_bases(value)
            )
            if not derived and not (structural and methods <= other.local_names):
                continue
            for member in solver.attribute(frozenset((Instance(value),)), promise.function.name):
                if isinstance(member, FunctionValue) and not is_promise(solver, member):
                    yield member
