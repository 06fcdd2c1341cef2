"""LDC205 repeated-terminal-cleanup: the same cleanup after the success path and in `except Exception: ...;
raise`.

It is what careful code does without a terminal scope: right at a suspension, and written twice. A list of
compensations that a handler runs in reverse is the same by hand.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from durable_lint.facts import model as m
from durable_lint.project.flags import expressions_of
from durable_lint.project.suspension import operands
from durable_lint.project.unwinding import About, source_text
from durable_lint.rules import RULES
from durable_lint.rules.ldc201 import keyword, rows
from durable_lint.rules.view import blocks_of, what_runs
from durable_lint.sdk import aws

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from durable_lint.project.frames import Frame
    from durable_lint.rules.finding import Finding
    from durable_lint.rules.view import ModuleView

_RULE = RULES["LDC205"]


class Repeated(NamedTuple):
    """How a cleanup is repeated. `where`: `after` the block, `inside` it at its end, in its `else`, or as a
    `list` of compensations.

    `again` are the statements of the second copy; `name` is the list's name.
    """

    where: str
    again: tuple[m.Statement, ...]
    name: str = ""


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield one finding for each such handler, at its `except` keyword."""
    for block in _blocks(view.module):
        for index, statement in enumerate(block):
            if isinstance(statement, m.Try) and len(statement.handlers) == 1 and not statement.finalbody:
                found = repeated(view.module, statement, block[index + 1 :])
                if found is not None:
                    yield from _judge(view, statement, found)


def _blocks(module: m.ModuleFacts) -> Iterator[tuple[m.Statement, ...]]:
    waiting = [function.body for function in module.functions]
    while waiting:
        block = waiting.pop()
        yield block
        for statement in block:
            waiting.extend(blocks_of(statement))


def _judge(view: ModuleView, statement: m.Try, found: Repeated) -> Iterator[Finding]:
    handler = statement.handlers[0]
    for frame in view.frames(statement):
        suspension = view.suspension(frame, statement.body)
        if suspension is None or not _is_exception(view, frame, handler):
            continue
        effect = view.unwinding.block(frame, handler.body[:-1], About("")).effect
        if effect is None and found.where != "list":
            continue
        if found.where == "list":
            what = f"the compensations in `{found.name}` are kept and run by hand"
        else:
            assert effect is not None
            what = f"{what_runs(effect)} is written twice: here and on line {found.again[0].at.row}"
        yield view.finding(
            _RULE,
            keyword(handler),
            what,
            help="a `terminal_scope` says it once",
            suspension=suspension,
            frame=frame,
            rows=rows(handler),
            subject=(statement, handler, found),
        )
        return


def _is_exception(view: ModuleView, frame: Frame, handler: m.Handler) -> bool:
    if handler.type is None:
        return False
    values = view.solver.value(frame, handler.type)
    return {getattr(value, "name", "") for value in values} == {"builtins.Exception"}


def repeated(module: m.ModuleFacts, statement: m.Try, following: tuple[m.Statement, ...]) -> Repeated | None:
    """Return how the cleanup of a handler that raises again is repeated, None when it is not."""
    handler = statement.handlers[0]
    last = handler.body[-1]
    if len(handler.body) < 2 or not isinstance(last, m.Raise) or last.cause is not None:
        return None
    if last.exception is not None and not (
        isinstance(last.exception, m.Name) and last.exception.id == handler.name
    ):
        return None
    cleanup = handler.body[:-1]
    kept = _kept_list(cleanup)
    if kept and _appends(statement.body, kept):
        again = following[: len(cleanup)]
        same = _same(module, cleanup, again)
        return Repeated("list", again if same else (), kept)
    inside = _at_end(module, cleanup, statement.body)
    if inside is not None and not statement.orelse:
        return Repeated("inside", inside)
    if _leaves(statement.body):
        return None
    if statement.orelse:
        return Repeated("else", statement.orelse) if _same(module, cleanup, statement.orelse) else None
    again = following[: len(cleanup)]
    return Repeated("after", again) if _same(module, cleanup, again) else None


def _at_end(
    module: m.ModuleFacts, cleanup: tuple[m.Statement, ...], body: tuple[m.Statement, ...]
) -> tuple[m.Statement, ...] | None:
    """Return the copy of a cleanup that ends a body, a plain `return` behind it or not; None when there is
    none.
    """
    last = body[-1]
    if isinstance(last, m.Return) and (last.value is None or not list(operands(last.value))):
        body = body[:-1]
    again = body[-len(cleanup) :]
    if len(body) <= len(cleanup) or _leaves(body) or not _same(module, cleanup, again):
        return None
    return again


def _same(module: m.ModuleFacts, first: tuple[m.Statement, ...], second: tuple[m.Statement, ...]) -> bool:
    """Whether two blocks say the same, apart from the names of durable operations."""
    if len(first) != len(second) or not first:
        return False
    return all(_shape(module, a) == _shape(module, b) != "" for a, b in zip(first, second, strict=True))


def _shape(module: m.ModuleFacts, statement: m.Statement) -> str:
    """Return a statement's tree as text without the names of durable operations; "" when it cannot be read."""
    at = statement.at
    source = module.source
    start = source.offset(at.row, source.column(at.row, at.column))
    end = source.offset(at.end_row, source.column(at.end_row, at.end_column))
    lines = source.lines[at.row - 1]
    indent = lines[: len(lines) - len(lines.lstrip())]
    text = f"if 1:\n{indent or ' '}{source.text[start:end]}\n"
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            positions = aws.POSITIONS.get(node.func.attr, ())
            if "name" in positions:
                node.keywords = [k for k in node.keywords if k.arg != "name"]
                index = positions.index("name")
                if index < len(node.args) and isinstance(node.args[index], (ast.Constant, ast.JoinedStr)):
                    node.args[index] = ast.Constant(None)
                if node.args[index:] and all(_is_none(argument) for argument in node.args[index:]):
                    del node.args[index:]
    return ast.dump(tree)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _leaves(block: Iterable[m.Statement], *, in_loop: bool = False) -> bool:
    """Whether a block can be left otherwise than off its end or by an exception."""
    for statement in block:
        if isinstance(statement, m.Return) or (isinstance(statement, (m.Break, m.Continue)) and not in_loop):
            return True
        looping = in_loop or isinstance(statement, (m.For, m.While))
        if any(_leaves(inside, in_loop=looping) for inside in blocks_of(statement)):
            return True
    return False


def _kept_list(cleanup: tuple[m.Statement, ...]) -> str:
    """Return the list that a cleanup runs in reverse, if that is all it does: `for undo in reversed(undos):
    undo()`.
    """
    if len(cleanup) != 1 or not isinstance(cleanup[0], m.For) or cleanup[0].orelse:
        return ""
    loop = cleanup[0]
    if not isinstance(loop.target, m.Name) or len(loop.body) != 1:
        return ""
    match loop.iterable:
        case m.Call(function=m.Name(id="reversed"), arguments=(m.Name(id=name),)):
            return name if _runs(loop.body[0], loop.target.id) else ""
        case m.Subscript(value=m.Name(id=name), index=m.Compound()):
            return name if _runs(loop.body[0], loop.target.id) else ""
    return ""


def _runs(statement: m.Statement, name: str) -> bool:
    """Whether a statement calls `name()`, or hands it to a step."""
    if not isinstance(statement, m.ExpressionStatement):
        return False
    waiting: list[m.Expression] = [statement.value]
    while waiting:
        expression = waiting.pop()
        if isinstance(expression, m.Name) and expression.id == name:
            return True
        if isinstance(expression, m.LambdaExpression):
            for inner in expression.function.body:
                waiting.extend(expressions_of(inner))
        waiting.extend(operands(expression))
    return False


def _appends(block: Iterable[m.Statement], name: str) -> bool:
    for statement in block:
        for expression in expressions_of(statement):
            match expression:
                case m.Call(function=m.Attribute(value=m.Name(id=owner), name="append")) if owner == name:
                    return True
        if any(_appends(inside, name) for inside in blocks_of(statement)):
            return True
    return False


__all__ = ["Repeated", "check", "repeated", "source_text"]
