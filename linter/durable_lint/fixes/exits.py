"""Moves the `return`, `break` or `continue` that ends a `finally` behind the block.

What the `finally` swallowed is said by a handler then: every `Exception`, but no suspension. So it is unsafe.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from durable_lint.fixes import names
from durable_lint.fixes.tree import Change, Refused, own_nodes
from durable_lint.rules.finding import Applicability, Fix

if TYPE_CHECKING:
    from durable_lint.facts import model as m
    from durable_lint.fixes.place import Place

_BY_HAND = "only its author can tell: move the statement behind the block"


def move_out(place: Place, leaving: m.Statement) -> Fix:
    """Return the fix for a statement that leaves a `finally`. Raises `Refused`."""
    node, tree = place.node, place.tree
    if not isinstance(node, ast.Try) or node.handlers or node.orelse:
        raise Refused(_BY_HAND)
    last = node.finalbody[-1]
    is_last = (last.lineno, last.col_offset) == (leaving.at.row, leaving.at.column)
    if not is_last or not isinstance(last, (ast.Return, ast.Break, ast.Continue)):
        raise Refused(_BY_HAND)
    _check(place, node)
    change = Change(tree)
    newline, outer = tree.source.newline, tree.indent(node.lineno)
    deeper = outer + place.unit
    handler = f"{outer}except Exception:{newline}{deeper}pass{newline}"
    at = place.facts.finally_at  # type: ignore[union-attr]
    if (
        at is None
        or not tree.starts_line(node)
        or tree.text[tree.row_start(at.row) : tree.offset(at.row, at.column)].strip()
    ):
        raise Refused(_BY_HAND)
    end = tree.row_end(last.end_lineno or last.lineno)
    ending = "" if tree.text[:end].endswith(("\n", "\r")) else newline
    said = [c.text for c in tree.comments_in(tree.end(last), end)]
    beside = f"  {said[0]}" if said else ""
    moved = outer + tree.lines_of(last, tree.indent(last.lineno), outer) + beside
    if len(node.finalbody) == 1:
        start = tree.row_start(at.row)
        comments = "".join(f"{outer}{c.text}{newline}" for c in tree.comments_in(start, tree.start(last)))
        change.replace(start, end, f"{handler}{comments}{moved}{newline if not ending else ''}")
    else:
        before = node.finalbody[-2]
        if not tree.starts_line(last) or not tree.starts_line(before):
            raise Refused(_BY_HAND)
        change.insert(tree.row_start(at.row), handler)
        start = tree.row_end(before.end_lineno or before.lineno)
        comments = "".join(f"{outer}{c.text}{newline}" for c in tree.comments_in(start, tree.start(last)))
        change.replace(start, end, f"{comments}{moved}{newline if not ending else ''}")
    word = {ast.Return: "return", ast.Break: "break"}.get(type(last), "continue")
    return Fix(
        Applicability.UNSAFE,
        f"move `{word}` behind the block, and swallow `Exception`, which lets a suspension through",
        change.edits(None),
    )


def _check(place: Place, node: ast.Try) -> None:
    """Refuse where the block has other exits, which the `finally` overrode."""
    loops = {n for n in own_nodes(*node.body) if isinstance(n, (ast.For, ast.While, ast.AsyncFor))}
    for inside in own_nodes(*node.body):
        if isinstance(inside, (ast.Return, ast.Yield, ast.YieldFrom, ast.Await)):
            raise Refused("the block has exits of its own, which the `finally` overrides")
        if isinstance(inside, (ast.Break, ast.Continue)):
            around = next(
                a for a in place.tree.ancestors(inside) if isinstance(a, (ast.For, ast.While, ast.AsyncFor))
            )
            if around not in loops:
                raise Refused("the block has exits of its own, which the `finally` overrides")
    for inside in own_nodes(*node.finalbody[:-1]):
        if isinstance(inside, (ast.Return, ast.Break, ast.Continue, ast.Raise)):
            raise Refused(_BY_HAND)
    if "Exception" in names.bound(*place.tree.tree.body, *place.around):
        raise Refused("`Exception` means something else here")
