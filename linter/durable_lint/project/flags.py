"""Which names still hold a known constant when a suspension leaves a `try`: the flags that cleanup tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.project.suspension import operands

if TYPE_CHECKING:
    from collections.abc import Iterator

Suspends = Callable[[Iterable[m.Statement]], bool]
"""Whether a suspension can come out of a block."""


def constants(
    module: m.ModuleFacts, statement: m.Try, handler: m.Handler | None, suspends: Suspends
) -> dict[str, object]:
    """Return the names that hold a known constant when a suspension has left the body of a `try`, and
    `handler`, where it is caught first.

    Only what can be proven: a constant is assigned earlier in the same block as the `try`, and the name
    is assigned nowhere else but in its body, after the last call that can suspend, and in handlers that a
    suspension does not reach.
    """
    function = module.function_of.get(statement)
    if function is None:
        return {}
    block = _block_of(function.body, statement)
    if (
        block is None
        or any(suspends(other.body) for other in statement.handlers)
        or suspends(statement.orelse)
    ):
        return {}
    known = _assigned_constants(block[: block.index(statement)])
    caught = () if handler is None else handler.body
    if not known and not caught:
        return {}
    late = _after_last(statement.body, suspends)
    elsewhere = assigned_names(statement.body[: len(statement.body) - len(late)])
    if late and not isinstance(late[0], m.Assignment) and suspends([late[0]]):
        # What the statement with the last suspending call assigns at its own level is assigned afterwards.
        elsewhere |= assigned_names([late[0]])
    known = {name: value for name, value in known.items() if name not in elsewhere | assigned_names(caught)}
    known |= _assigned_constants(caught)
    inside = _assigned_inside_functions(module, function) if known else set()
    return {name: value for name, value in known.items() if name not in inside}


def _assigned_constants(block: Iterable[m.Statement]) -> dict[str, object]:
    """Return the names that hold a constant after a block, which is run to its end."""
    known: dict[str, object] = {}
    for statement in block:
        bound = assigned_names([statement])
        value = _constant_assignment(statement)
        for name in bound:
            known.pop(name, None)
        if value is not None:
            known.update(dict.fromkeys(bound, value.value))
    return known


def _block_of(block: tuple[m.Statement, ...], wanted: m.Statement) -> tuple[m.Statement, ...] | None:
    """Return the block in which a statement stands."""
    if wanted in block:
        return block
    for statement in block:
        for inside in m.blocks_of(statement):
            found = _block_of(inside, wanted)
            if found is not None:
                return found
    return None


def _constant_assignment(statement: m.Statement) -> m.Constant | None:
    if isinstance(statement, m.Assignment) and isinstance(statement.value, m.Constant):
        return None if statement.value.kind == "other" else statement.value
    return None


def names_in_target(target: m.Expression) -> Iterator[str]:
    """Yield the names that an assignment to `target` binds."""
    match target:
        case m.Name():
            yield target.id
        case m.Sequence():
            for item in target.items:
                yield from names_in_target(item)
        case m.Starred():
            yield from names_in_target(target.value)


def assigned_names(block: Iterable[m.Statement]) -> set[str]:
    """Return every name that a block binds, at any depth, functions excluded."""
    found: set[str] = set()
    for statement in block:
        match statement:
            case m.Assignment():
                for target in statement.targets:
                    found |= set(names_in_target(target))
            case m.AugmentedAssignment():
                found |= set(names_in_target(statement.target))
            case m.For():
                found |= set(names_in_target(statement.target))
            case m.With():
                for item in statement.items:
                    if item.target is not None:
                        found |= set(names_in_target(item.target))
            case m.Try():
                found |= {handler.name for handler in statement.handlers if handler.name}
            case m.Match():
                for case in statement.cases:
                    found |= set(case.names)
            case m.Deletion():
                for target in statement.targets:
                    found |= set(names_in_target(target))
            case m.FunctionDefinition():
                found.add(statement.function.name)
            case m.ClassDefinition():
                found.add(statement.definition.name)
            case m.Import():
                found |= {binding.local for binding in statement.bindings}
        found |= _walrus(statement)
        for inside in m.blocks_of(statement):
            found |= assigned_names(inside)
    return found


def _walrus(statement: m.Statement) -> set[str]:
    found: set[str] = set()
    waiting: list[m.Expression] = list(expressions_of(statement))
    while waiting:
        expression = waiting.pop()
        if isinstance(expression, m.NamedExpression):
            found.add(expression.target.id)
        waiting.extend(operands(expression))
    return found


def expressions_of(statement: m.Statement) -> Iterator[m.Expression]:
    """Yield the expressions that a statement evaluates itself, those of the blocks inside it excluded."""
    match statement:
        case m.ExpressionStatement():
            yield statement.value
        case m.Assignment():
            if statement.value is not None:
                yield statement.value
            yield from statement.targets
        case m.AugmentedAssignment():
            yield statement.target
            yield statement.value
        case m.Return():
            if statement.value is not None:
                yield statement.value
        case m.Raise():
            if statement.exception is not None:
                yield statement.exception
            if statement.cause is not None:
                yield statement.cause
        case m.If() | m.While():
            yield statement.test
        case m.For():
            yield statement.iterable
            yield statement.target
        case m.With():
            for item in statement.items:
                yield item.manager
                if item.target is not None:
                    yield item.target
        case m.Match():
            yield statement.subject
            for case in statement.cases:
                yield from case.values
                if case.guard is not None:
                    yield case.guard
        case m.Try():
            for handler in statement.handlers:
                if handler.type is not None:
                    yield handler.type
        case m.Assertion():
            yield statement.test
            if statement.message is not None:
                yield statement.message
        case m.Deletion():
            yield from statement.targets


def _after_last(block: tuple[m.Statement, ...], suspends: Suspends) -> tuple[m.Statement, ...]:
    """Return the end of a block, from the last statement that can suspend on."""
    for index in range(len(block) - 1, -1, -1):
        if suspends([block[index]]):
            return block[index:]
    return block


def _assigned_inside_functions(module: m.ModuleFacts, function: m.Function) -> set[str]:
    """Return the names that functions inside `function` rebind through `nonlocal`."""
    found: set[str] = set()
    for inner in module.functions:
        if inner is not function and inner.qualname.startswith(function.qualname + "."):
            found |= {name for name in assigned_names(inner.body) if name not in inner.local_names}
    return found
