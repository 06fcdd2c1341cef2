"""Mends code that uses scopes already: the operation's own context, and names that a loop rebinds.

It changes what runs, so all of it is unsafe.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.fixes import names
from durable_lint.fixes.tree import CALLABLES, Change, Refused, SourceTree, walk
from durable_lint.project.values import Context
from durable_lint.rules.finding import Applicability, Fix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from durable_lint.project.frames import Frame
    from durable_lint.rules.view import ModuleView


def use_own_context(
    view: ModuleView, tree: SourceTree, call: m.Call, operation: m.Function, frame: Frame
) -> Fix:
    """Return the fix that makes a durable call on the operation's own parameter. Raises `Refused`."""
    parameters = [
        p.name for p in operation.parameters if p.kind == "positional" and p.name not in {"self", "cls"}
    ]
    if not parameters:
        raise Refused("the operation has no parameter for its own context: give it one")
    own = parameters[0]
    node = tree.find(call.at, ast.Call)
    around = next((a for a in tree.ancestors(node) if isinstance(a, CALLABLES)), None)
    if around is None or own in _bound_between(tree, node, operation):
        raise Refused(f"`{own}` means something else where the call stands")
    receiver = [call.function.value] if isinstance(call.function, m.Attribute) else []
    change = Change(tree)
    for fact in (*receiver, *call.arguments, *(keyword.value for keyword in call.keywords)):
        if isinstance(fact, (m.Name, m.Attribute)):
            values = view.solver.value(frame, fact)
            if any(isinstance(value, Context) and value.owner is not operation for value in values):
                found = tree.find(fact.at, (ast.Name, ast.Attribute))
                change.replace(tree.start(found), tree.end(found), own)
    if not change.parts:
        raise Refused(
            "how the call reaches the outer context cannot be seen: hand it the operation's own one"
        )
    return Fix(Applicability.UNSAFE, f"use `{own}`", change.edits(None))


def _bound_between(tree: SourceTree, node: ast.AST, operation: m.Function) -> set[str]:
    """Return the names that functions between a call and its operation bind."""
    found: set[str] = set()
    for around in tree.ancestors(node):
        if isinstance(around, CALLABLES):
            if (around.lineno, around.col_offset) == (operation.at.row, operation.at.column):
                return found
            found |= names.parameters(around)
    return found


def bind_as_default(
    tree: SourceTree, registration: m.Call, action: m.Function, rebound: Sequence[str]
) -> Fix:
    """Return the fix that keeps the values which names have where an action is registered. Raises `Refused`."""
    node = next(
        (
            n
            for n in tree.nodes
            if isinstance(n, CALLABLES) and (n.lineno, n.col_offset) == (action.at.row, action.at.column)
        ),
        None,
    )
    if node is None:
        raise Refused("its place in the file cannot be found")
    arguments = node.args
    listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    if arguments.kwarg is not None or arguments.vararg is not None or not listed:
        raise Refused("its parameters leave no room for a default")
    for loop in tree.ancestors(node):
        if isinstance(loop, CALLABLES):
            break
        if isinstance(loop, (ast.For, ast.While)):
            for inner in walk(loop):
                if (
                    set(names.bound_by(inner)) & set(rebound)
                    and getattr(inner, "lineno", 0) > registration.at.row
                ):
                    raise Refused("the loop binds it behind the registration: register it there")
    ends: list[ast.arg | ast.expr] = [*listed]
    ends += [d for d in (*arguments.defaults, *arguments.kw_defaults) if d is not None]
    last = max(ends, key=tree.end_of)
    change = Change(tree)
    change.insert(tree.end_of(last), "".join(f", {name}={name}" for name in rebound))
    return Fix(Applicability.UNSAFE, "bind it as a default", change.edits(None))
