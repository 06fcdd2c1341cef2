"""Narrows or removes what catches a suspension: handlers, and `suppress`.

All of it changes what happens to `SystemExit` and the like, so it is unsafe.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.fixes import imports, names, scope
from durable_lint.fixes.tree import Change, Refused, walk
from durable_lint.project.values import External, inner
from durable_lint.rules.finding import Applicability, Fix
from durable_lint.sdk import aws

if TYPE_CHECKING:
    from collections.abc import Callable

    from durable_lint.fixes.place import Place
    from durable_lint.project.frames import Frame

_BASE = "builtins.BaseException"
_EXCEPTION = "Exception"


def undo(
    place: Place,
    handler: m.Handler,
    frame: Frame,
    is_first_party: Callable[[str], bool],
    *,
    in_manager: bool = False,
) -> Fix:
    """Return the fix that makes a compensation of what a handler undoes, or else narrows it. Raises `Refused`."""
    try:
        return scope.rewrite_handler(place, handler, is_first_party, in_manager=in_manager)
    except Refused:
        return narrow(place, handler, frame)


def narrow(place: Place, handler: m.Handler, frame: Frame) -> Fix:
    """Return the fix that lets a handler catch `Exception` only. Raises `Refused`."""
    node, clause = _clause(place, handler)
    change = Change(place.tree)
    _narrow_clause(change, place, frame, node, clause, handler)
    return _unsafe(change, place, "catch `Exception`, which lets a suspension through")


def _narrow_clause(
    change: Change,
    place: Place,
    frame: Frame,
    node: ast.Try | ast.TryStar,
    clause: ast.ExceptHandler,
    handler: m.Handler,
) -> None:
    _check_exception(place)
    earlier = node.handlers[: node.handlers.index(clause)]
    if any(_catches_exception(other) for other in earlier):
        raise Refused("a handler above it catches `Exception` already: remove this one by hand")
    if clause.type is None:
        change.insert(change.tree.start(clause) + len("except"), f" {_EXCEPTION}")
    else:
        _narrow_type(change, place, frame, clause.type, handler)


def _narrow_type(change: Change, place: Place, frame: Frame, type_: ast.expr, handler: m.Handler) -> None:
    tree = change.tree
    assert handler.type is not None
    if isinstance(type_, ast.Tuple) and isinstance(handler.type, m.Sequence):
        done = False
        for item, fact in zip(type_.elts, handler.type.items, strict=True):
            if _BASE in _classes(place, frame, fact):
                change.replace(tree.start(item), tree.end(item), _EXCEPTION)
                done = True
        if not done:
            raise Refused("which of the classes catches a suspension cannot be seen")
        return
    start, end = tree.start(type_), tree.end(type_)
    glued = start > 0 and tree.text[start - 1] not in " \t(\\"
    change.replace(start, end, (" " if glued else "") + _EXCEPTION)


def _classes(place: Place, frame: Frame, expression: m.Expression) -> set[str]:
    values = inner(place.view.solver.value(frame, expression))
    return {value.name for value in values if isinstance(value, External) and not value.called}


def _clause(place: Place, handler: m.Handler) -> tuple[ast.Try | ast.TryStar, ast.ExceptHandler]:
    node = place.node
    if not isinstance(node, (ast.Try, ast.TryStar)):
        raise Refused("it is not a `try`")
    for clause in node.handlers:
        if (clause.lineno, clause.col_offset) == (handler.at.row, handler.at.column):
            return node, clause
    raise Refused("its place in the file cannot be found")


def _catches_exception(clause: ast.ExceptHandler) -> bool:
    types = clause.type.elts if isinstance(clause.type, ast.Tuple) else [clause.type]
    return any(isinstance(t, ast.Name) and t.id in {"Exception", "BaseException"} for t in types)


def _check_exception(place: Place) -> None:
    tree = place.tree.tree
    if _EXCEPTION in names.bound(*tree.body) or any(_EXCEPTION in names.bound(*f.body) for f in place.around):
        raise Refused("`Exception` means something else here")


def _unsafe(change: Change, place: Place, message: str) -> Fix:
    path = place.tree.source.path
    own = None if path == place.view.module.path else path
    return Fix(Applicability.UNSAFE, message, change.edits(own))


# ---------------------------------------------------------------- control flow


def remove(place: Place, handler: m.Handler, frame: Frame) -> Fix:
    """Return the fix that takes the SDK's control flow out of what a `try` handles. Raises `Refused`."""
    tree = place.tree
    node, clause = _clause(place, handler)
    change = Change(tree)
    assert clause.type is not None and handler.type is not None
    if isinstance(clause.type, ast.Tuple) and isinstance(handler.type, m.Sequence):
        kept = [
            item
            for item, fact in zip(clause.type.elts, handler.type.items, strict=True)
            if not _classes(place, frame, fact) & aws.CONTROL_FLOW
        ]
        if kept:
            text = ", ".join(tree.slice(item) for item in kept)
            text = text if len(kept) == 1 and not isinstance(kept[0], ast.Starred) else f"({text})"
            comments = tree.comments_in(tree.start(clause.type), tree.end(clause.type))
            if comments:
                raise Refused("comments stand among the classes that it names")
            change.replace(tree.start(clause.type), tree.end(clause.type), text)
            _drop_names(change, [i for i in clause.type.elts if i not in kept])
            return _unsafe(change, place, "leave the SDK's control flow out of the handler")
    elif not isinstance(clause.type, (ast.Name, ast.Attribute)):
        raise Refused("the classes that it names cannot be told apart")
    elif not _classes(place, frame, handler.type) <= aws.CONTROL_FLOW:
        raise Refused("it names other classes under the same name")
    later = node.handlers[node.handlers.index(clause) + 1 :]
    for other in later:
        if other.type is None or _BASE in _named(place, frame, other):
            _narrow_below(change, place, frame, node, other)
    _remove_clause(change, place, node, clause)
    _drop_names(change, [clause.type])
    return _unsafe(change, place, "remove the handler")


def _narrow_below(
    change: Change, place: Place, frame: Frame, node: ast.Try | ast.TryStar, clause: ast.ExceptHandler
) -> None:
    """Keep a handler for everything from catching what the one that is removed above it caught."""
    for fact in place.facts.handlers:  # type: ignore[union-attr]
        if (fact.at.row, fact.at.column) == (clause.lineno, clause.col_offset):
            _narrow_clause(change, place, frame, node, clause, fact)


def _named(place: Place, frame: Frame, clause: ast.ExceptHandler) -> set[str]:
    for fact in place.facts.handlers:  # type: ignore[union-attr]
        if (fact.at.row, fact.at.column) == (clause.lineno, clause.col_offset) and fact.type is not None:
            return _classes(place, frame, fact.type)
    return set()


def _drop_names(change: Change, removed: list[ast.expr]) -> None:
    found: dict[str, int] = {}
    for expression in removed:
        for node in walk(expression):
            if isinstance(node, ast.Name):
                found[node.id] = found.get(node.id, 0) + 1
    imports.drop_unused(change, found)


def _remove_clause(
    change: Change, place: Place, node: ast.Try | ast.TryStar, clause: ast.ExceptHandler
) -> None:
    tree = change.tree
    newline = tree.source.newline
    last_row = clause.body[-1].end_lineno or clause.body[-1].lineno
    start, end = tree.row_start(clause.lineno), tree.row_end(last_row)
    comments = tree.comments_in(start, end)
    if len(node.handlers) > 1 or node.finalbody:
        if len(node.handlers) == 1 and node.orelse:
            raise Refused("its `else` has no other handler to stand beside")
        indent = tree.indent(node.body[0].lineno)
        kept = "".join(f"{indent}{comment.text}{newline}" for comment in comments)
        change.replace(start, end, kept)
        return
    if node.orelse:
        raise Refused("its `else` has no other handler to stand beside")
    _unwrap(change, place, node, [c.text for c in comments], start, end)


def _unwrap(
    change: Change, place: Place, node: ast.Try | ast.TryStar, comments: list[str], start: int, end: int
) -> None:
    """Take a `try` away from around its body, whose lines lose one level."""
    tree = change.tree
    newline = tree.source.newline
    if not tree.starts_line(node.body[0]):
        raise Refused("its body stands on the line of `try`")
    outer, unit = tree.indent(node.lineno), place.unit
    colon = tree.colon(tree.start(node))
    header_row = tree.row_of(colon)
    beside = [c.text for c in tree.comments_in(colon, tree.row_end(header_row))]
    lines = "".join(f"{outer}{text}{newline}" for text in beside)
    change.replace(tree.row_start(node.lineno), tree.row_end(header_row), lines)
    dedent(change, header_row + 1, tree.row_of(start) - 1, outer + unit, outer)
    kept = "".join(f"{outer}{text}{newline}" for text in comments)
    change.replace(start, end, kept)


def dedent(change: Change, first: int, last: int, old: str, new: str) -> None:
    """Take one level from the rows `first` to `last`."""
    tree = change.tree
    for row in range(first, last + 1):
        if row in tree.rows_in_strings or not tree.source.lines[row - 1].strip():
            continue
        if tree.indent(row).startswith(old):
            at = tree.row_start(row)
            change.replace(at, at + len(old), new)


# ---------------------------------------------------------------- suppress


def narrow_suppress(place: Place, item: m.Item, frame: Frame) -> Fix:
    """Return the fix for `suppress(BaseException)`. Raises `Refused`."""
    tree = place.tree
    call = tree.find(item.manager.at, ast.Call) if isinstance(item.manager, m.Call) else None
    fact = item.manager
    if call is None or not isinstance(fact, m.Call):
        raise Refused("what the manager swallows is written elsewhere: let it catch `Exception` there")
    callee = place.view.solver.value(frame, fact.function)
    if not any(isinstance(v, External) and v.name == "contextlib.suppress" for v in callee):
        raise Refused("what the manager swallows is written elsewhere: let it catch `Exception` there")
    if any(isinstance(argument, ast.Starred) for argument in call.args) or call.keywords:
        raise Refused("the classes that it names cannot be told apart")
    _check_exception(place)
    change = Change(tree)
    gone: list[ast.expr] = []
    kept: list[str] = []
    for argument, given in zip(call.args, fact.arguments, strict=True):
        classes = _classes(place, frame, given)
        if _BASE in classes:
            kept.append(_EXCEPTION)
        elif classes & aws.CONTROL_FLOW:
            if not isinstance(argument, (ast.Name, ast.Attribute)):
                raise Refused("the classes that it names cannot be told apart")
            gone.append(argument)
        else:
            kept.append(tree.slice(argument))
    if not kept:
        raise Refused("nothing would be left to suppress: take the `suppress` away by hand")
    if tree.comments_in(tree.start(call), tree.end(call)):
        raise Refused("comments stand among the classes that it names")
    change.replace(tree.start(call.args[0]), tree.end(call.args[-1]), ", ".join(dict.fromkeys(kept)))
    _drop_names(change, gone)
    return _unsafe(change, place, "suppress `Exception`, which lets a suspension through")
