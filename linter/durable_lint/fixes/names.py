"""Which names a piece of code binds and reads, and which it changes in place: what decides whether it may be moved."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from durable_lint.fixes.tree import FunctionNode, children, own_nodes, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MUTATORS = frozenset(
    [
        "append",
        "appendleft",
        "extend",
        "extendleft",
        "insert",
        "remove",
        "pop",
        "popleft",
        "popitem",
        "clear",
        "update",
        "setdefault",
        "add",
        "discard",
        "sort",
        "reverse",
        "difference_update",
        "intersection_update",
        "symmetric_difference_update",
        "move_to_end",
        "subtract",
        "__setitem__",
        "__delitem__",
        "rotate",
        "put",
        "put_nowait",
        "set",
    ]
)
"""Methods by which containers, queues and events change in place."""

_BINDING = (
    ast.Name,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.ExceptHandler,
    ast.MatchAs,
    ast.MatchStar,
    ast.MatchMapping,
    ast.Import,
    ast.ImportFrom,
)
"""The nodes that may bind a name (see `bound_by`)."""


def bound(*nodes: ast.AST) -> set[str]:
    """Return the names that code binds in its own scope; `global` and `nonlocal` ones included."""
    found: set[str] = set()
    inner: set[ast.AST] = set()
    for node in own_nodes(*nodes):
        if isinstance(node, ast.comprehension):
            inner.update(walk(node.target))  # a comprehension's targets are its own
        elif isinstance(node, _BINDING) and node not in inner:
            found.update(bound_by(node))
    return found


def bound_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
        case ast.Import(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name for alias in aliases)


def changed_inside_functions(*nodes: ast.AST) -> set[str]:
    """Return the names that functions inside the code rebind through `nonlocal` or `global`."""
    found: set[str] = set()
    for root in nodes:
        for node in walk(root):
            if isinstance(node, (ast.Nonlocal, ast.Global)):
                found.update(node.names)
    return found


def reads(*nodes: ast.AST) -> Iterator[ast.Name]:
    """Yield each place where a name is read, functions inside included."""
    for root in nodes:
        for node in walk(root):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                yield node
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                yield node.target


def read_names(*nodes: ast.AST) -> set[str]:
    return {node.id for node in reads(*nodes)}


def mentioned(*nodes: ast.AST) -> set[str]:
    """Return every name that code mentions in any way, functions inside included: what a new name must not be."""
    return mentioned_by(node for root in nodes for node in walk(root))


def mentioned_by(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that nodes themselves mention, without what is inside them (see `mentioned`)."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            found.update(node.names)
        elif isinstance(node, _BINDING):
            found.update(bound_by(node))
    return found


def fresh(wanted: str, taken: Iterable[str]) -> str:
    """Return `wanted`, or the first of `wanted_2`, `wanted_3` that is not taken."""
    used = set(taken)
    name, count = wanted, 1
    while name in used:
        count += 1
        name = f"{wanted}_{count}"
    return name


def mutated(*nodes: ast.AST) -> set[str]:
    """Return the names whose objects code changes in place: `x.append(...)`, `x[...] = ...`, `x.y = ...`."""
    return mutated_by(node for root in nodes for node in walk(root))


def mutated_by(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names whose objects these very nodes change in place, whatever is in them."""
    found: set[str] = set()
    for node in nodes:
        target = _changed_object(node)
        while isinstance(target, (ast.Attribute, ast.Subscript)):
            target = target.value
        if isinstance(target, ast.Name):
            found.add(target.id)
    return found


def mutated_attributes(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the attributes whose objects these very nodes change: `self.held.pop()`, `self.held[key] = ...`."""
    found: set[str] = set()
    for node in nodes:
        target = _changed_object(node)
        while isinstance(target, ast.Subscript):
            target = target.value
        if isinstance(target, ast.Attribute):
            found.add(target.attr)
    return found


def _changed_object(node: ast.AST) -> ast.expr | None:
    """Return the expression of the object that a node changes in place, None when it changes none."""
    if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATORS:
        return node.func.value
    return None


def stored_attributes(*nodes: ast.AST) -> set[str]:
    """Return the attribute names that code assigns or deletes, functions inside included."""
    return {
        node.attr
        for root in nodes
        for node in walk(root)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del))
    }


def assigned_first(block: list[ast.stmt], name: str) -> bool:
    """Whether a block surely assigns a name before it reads it."""
    for statement in block:
        match statement:
            case ast.For() | ast.AsyncFor():
                if name in read_names(statement.iter):
                    return False
                if name in bound(statement.target):
                    body = [*statement.body, *statement.orelse]
                    return not statement.orelse or name not in read_names(*body)
            case ast.With() | ast.AsyncWith():
                for item in statement.items:
                    if name in read_names(item.context_expr):
                        return False
                    if item.optional_vars is not None and name in bound(item.optional_vars):
                        return True
                if name in mentioned(*statement.body):
                    return assigned_first(statement.body, name)
            case ast.Assign() | ast.AnnAssign() if statement.value is not None:
                if name in read_names(statement):
                    return False
                if name in bound(statement):
                    return True
            case ast.Expr() if _bound_at_once(statement.value, name):
                return True
            case ast.If() | ast.While():
                if _bound_at_once(statement.test, name):
                    return True
                if name in read_names(statement.test):
                    return False
                if isinstance(statement, ast.While):
                    if name in mentioned(statement):
                        return False
                    continue
                if name in mentioned(statement):
                    inside = [part for part in (statement.body, statement.orelse) if name in mentioned(*part)]
                    if len(inside) == 2 and all(assigned_first(p, name) and assigns(p, name) for p in inside):
                        return True
                    return all(assigned_first(part, name) for part in inside) and not _read_after(
                        block, statement, name
                    )
            case ast.FunctionDef() | ast.ClassDef() | ast.Import() | ast.ImportFrom():
                if name in bound(statement) and name not in read_names(statement):
                    return True
            case _:
                if name in mentioned(statement) and not _only_in_handlers(statement, name):
                    return False
    return True


def assigns(block: list[ast.stmt], name: str) -> bool:
    """Whether a statement of the block itself assigns a name, under no condition."""
    return any(isinstance(s, (ast.Assign, ast.AnnAssign)) and name in bound(s) for s in block)


def _bound_at_once(expression: ast.expr, name: str) -> bool:
    """Whether evaluating an expression assigns a name before anything in it reads it: `(name := f())`."""
    match expression:
        case ast.NamedExpr(target=ast.Name(id=target), value=value):
            return target == name and name not in read_names(value)
        case ast.BoolOp(values=[first, *_]) | ast.Compare(left=first) | ast.UnaryOp(operand=first):
            return _bound_at_once(first, name)
    return False


def _only_in_handlers(statement: ast.stmt, name: str) -> bool:
    """Whether a statement mentions a name only in handlers that bind it: `except E as name`."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ExceptHandler) and node.name == name:
            continue
        if isinstance(node, ast.Name) and node.id == name:
            return False
        if name in set(bound_by(node)):
            return False
        waiting.extend(children(node))
    return True


def _read_after(block: list[ast.stmt], statement: ast.stmt, name: str) -> bool:
    return name in read_names(*block[block.index(statement) + 1 :])


def parameters(function: FunctionNode | ast.Lambda) -> set[str]:
    arguments = function.args
    listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    listed += [extra for extra in (arguments.vararg, arguments.kwarg) if extra is not None]
    return {argument.arg for argument in listed}
