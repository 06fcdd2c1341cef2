"""Rewrites a `try` whose `finally` or handler cleans up into a `with terminal_scope(...)`, in place.

The body keeps its lines; its indentation changes only where a `try` has to stay inside or around the scope.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from durable_lint.fixes import imports, isolated, names
from durable_lint.fixes.cleanup import Cleanup, Parts, Piece
from durable_lint.fixes.tree import Change, Refused, own_nodes
from durable_lint.rules.finding import Applicability, Fix
from durable_lint.sdk import aws

if TYPE_CHECKING:
    from collections.abc import Callable

    from durable_lint.facts import model as m
    from durable_lint.fixes.place import Place, Spot

RUNTIME = aws.RUNTIME
_SCOPE = "terminal_scope"


@dataclass(frozen=True)
class Header:
    """The clause whose cleanup moves: the row of its keyword, the text that starts it, and what must end it."""

    row: int
    text: str
    comments: tuple[str, ...]
    last: str = ""
    """A statement that a clause which stays has to end with (`raise`)."""

    end_row: int = 0


def rewrite_finally(place: Place, is_first_party: Callable[[str], bool], *, in_manager: bool = False) -> Fix:
    """Return the fix that registers the cleanup of a `finally`. Raises `Refused`."""
    node = place.node
    facts = place.facts
    if not isinstance(node, (ast.Try, ast.TryStar)):
        raise Refused("it is not a `try`")
    check_suspendable(place, in_manager=in_manager)
    handlers = [handler.body for handler in facts.handlers]  # type: ignore[union-attr]
    spot = place.context([facts.body, *handlers, facts.orelse])  # type: ignore[union-attr]
    cleanup = new_cleanup(place, spot, "cleanup")
    finally_at = facts.finally_at  # type: ignore[union-attr]
    if finally_at is None:
        raise Refused("its `finally` cannot be found")
    start = place.tree.offset(finally_at.row, finally_at.column)
    colon = place.tree.colon(start)
    comments = header_comments(place, colon, node.finalbody[0])
    pieces = cleanup.pieces(node.finalbody, facts.finalbody, place.tree.row_of(colon))  # type: ignore[union-attr]
    pieces = _without_header_comments(pieces, comments)
    parts = cleanup.take_apart(pieces)
    header = Header(finally_at.row, "finally:", comments, "", last_row(node.finalbody))
    change = Change(place.tree)
    compose(change, place, cleanup, parts, header, keeps_handlers=bool(node.handlers or node.orelse))
    return finish(change, place, cleanup, is_first_party, described(parts))


def rewrite_handler(
    place: Place, handler: m.Handler, is_first_party: Callable[[str], bool], *, in_manager: bool = False
) -> Fix:
    """Return the fix that registers what a handler undoes as a compensation. Raises `Refused`."""
    node = place.node
    facts = place.facts
    assert isinstance(node, (ast.Try, ast.TryStar))
    if len(node.handlers) != 1 or node.orelse or node.finalbody or isinstance(node, ast.TryStar):
        raise Refused("it is not the only clause of its `try`")
    check_suspendable(place, in_manager=in_manager)
    clause = node.handlers[0]
    last = clause.body[-1]
    if not isinstance(last, ast.Raise) or last.cause is not None:
        raise Refused("it does not end by raising the exception again")
    if last.exc is not None and not (isinstance(last.exc, ast.Name) and last.exc.id == clause.name):
        raise Refused("it does not end by raising the exception again")
    if clause.name and clause.name in names.read_names(*clause.body[:-1]):
        raise Refused(f"it uses the exception (`{clause.name}`)")
    spot = place.context([facts.body])
    cleanup = new_cleanup(place, spot, "compensate")
    tree = place.tree
    start = tree.start(clause)
    colon = clause_colon(place, clause)
    comments = header_comments(place, colon, clause.body[0])
    pieces = cleanup.pieces(clause.body[:-1], handler.body[:-1], tree.row_of(colon))
    pieces = _without_header_comments(pieces, comments)
    parts = cleanup.take_apart(pieces, keep_trailing=False)
    raised = tuple(
        c.text for c in tree.comments_in(tree.end(clause.body[-2]), tree.row_end(last.end_lineno or 0))
    )
    raised = tuple(text for text in raised if all(text != piece.beside for piece in pieces))
    header = Header(
        clause.lineno, tree.text[start:colon], comments + raised, tree.slice(last), last_row(clause.body)
    )
    change = Change(tree)
    compose(change, place, cleanup, parts, header, keeps_handlers=False)
    return finish(change, place, cleanup, is_first_party, described(parts))


def check_suspendable(place: Place, *, in_manager: bool = False) -> None:
    """Refuse blocks that can be left in ways that a scope does not see."""
    in_manager = in_manager or place.is_in_manager
    for node in own_nodes(place.node):
        if isinstance(node, (ast.Yield, ast.YieldFrom)) and not in_manager:
            raise Refused("the block has a `yield`, and closing the generator there would clean up")
        if isinstance(node, (ast.Await, ast.AsyncFor, ast.AsyncWith)) or (
            isinstance(node, ast.comprehension) and node.is_async
        ):
            raise Refused("the block awaits, and cancelling the task there would clean up")


def new_cleanup(place: Place, spot: Spot, kind: str) -> Cleanup:
    return Cleanup(place, spot, place.terminal_name, kind, context_type=context_type(place, spot))


def context_type(place: Place, spot: Spot) -> str | None:
    """Return how the function can name the context's type, None when it cannot yet."""
    for function in place.around:
        arguments = function.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            annotation = argument.annotation
            if argument.arg == spot.text and isinstance(annotation, (ast.Name, ast.Attribute)):
                return place.tree.slice(annotation)
            if (
                argument.arg == spot.text
                and isinstance(annotation, ast.Constant)
                and isinstance(annotation.value, str)
            ) and annotation.value.replace(".", "").isidentifier():
                return place.tree.slice(annotation)
    return imports.imported_as(place.tree, aws.PACKAGE, "DurableContext", place.around[-1])


def finish(
    change: Change,
    place: Place,
    cleanup: Cleanup,
    is_first_party: Callable[[str], bool],
    what: str,
) -> Fix:
    """Add the imports, and return the fix."""
    add_context_type(change, place, cleanup, is_first_party)
    unsafe = place.is_narrowly_guarded or place.is_abandonable
    path = place.tree.source.path
    own = None if path == place.view.module.path else path
    return Fix(
        Applicability.UNSAFE if unsafe else Applicability.SAFE,
        f"register {what} in a `terminal_scope`",
        change.edits(own),
    )


def add_context_type(
    change: Change, place: Place, cleanup: Cleanup, is_first_party: Callable[[str], bool]
) -> None:
    """Import the type of the actions' own context where an annotation needs it and nothing imports it."""
    if cleanup.needs_context_type and cleanup.context_type is None:
        local = imports.need(change, aws.PACKAGE, "DurableContext", place.around[-1], is_first_party)
        if local != "DurableContext":
            raise Refused("`DurableContext` means something else in this module")


def scope_header(
    change: Change, place: Place, spot: Spot, terminal: str, is_first_party: Callable[[str], bool]
) -> str:
    """Return `terminal_scope(context, name="...") as terminal`, its import added."""
    local = imports.need(change, RUNTIME, _SCOPE, place.around[-1], is_first_party)
    return f'{local}({spot.text}, name="{place.scope_name}") as {terminal}'


def described(parts: Parts) -> str:
    return "the cleanup" if len(parts.actions) == 1 else f"the {len(parts.actions)} cleanups"


def compose(
    change: Change,
    place: Place,
    cleanup: Cleanup,
    parts: Parts,
    header: Header,
    *,
    keeps_handlers: bool,
) -> None:
    """Put the scope around a `try`, and take the clause `header` out of it, or leave in it what stays."""
    if place.isolated:
        isolated.compose(
            change,
            place,
            cleanup,
            parts,
            header,
            lambda at: _clause(place, header, parts.leading, at, place.unit, with_last=True),
            _party(place),
            keeps_handlers=keeps_handlers,
        )
        return
    tree, node, unit = place.tree, place.node, place.unit
    newline = tree.source.newline
    outer = tree.indent(node.lineno)
    start = tree.start(node)
    colon = tree.colon(start)
    inside = keeps_handlers or bool(parts.leading)
    around = bool(parts.trailing)
    depth = int(around)
    base = outer + unit * depth
    opening = f"with {scope_header(change, place, cleanup.spot, cleanup.terminal, _party(place))}:"
    registrations = cleanup.registrations(parts.actions, base + unit, unit)
    alone = (
        [base + unit + comment + newline for comment in header.comments]
        if not (inside and parts.leading)
        else []
    )
    if around and parts.trailing and not parts.leading:
        alone = []
    registrations = "".join(alone) + registrations
    first_row = tree.row_start(node.lineno)
    last = header.row - 1
    one_line = tree.row_of(colon) == node.body[0].lineno
    if inside:
        if around:
            change.insert(first_row, f"{outer}try:{newline}")
        change.insert(first_row, f"{base}{opening}{newline}{registrations}")
        change.indent(node.lineno, last, unit * (1 + depth))
    elif around:
        after = tree.row_end(tree.row_of(colon))
        if one_line:
            body = tree.start(node.body[0])
            change.replace(colon, body, f"{newline}{base}{opening}{newline}{registrations}{base}{unit}")
            change.indent(tree.row_of(colon) + 1, last, unit)
        else:
            change.insert(after, f"{base}{opening}{newline}{registrations}")
            change.indent(tree.row_of(colon) + 1, last, unit)
    else:
        change.replace(start, colon, opening)
        if one_line:
            change.replace(colon, tree.start(node.body[0]), f"{newline}{registrations}{base}{unit}")
        else:
            change.insert(tree.row_end(tree.row_of(colon)), registrations)
    kept = ""
    if parts.leading:
        at = outer + unit * (1 + depth)
        kept += _clause(place, header, parts.leading, at, unit, with_last=True)
    if around:
        plain = Header(header.row, "finally:", () if parts.leading else header.comments)
        kept += _clause(place, plain, parts.trailing, outer, unit, with_last=False)
    region_start, region_end = tree.row_start(header.row), tree.row_end(header.end_row)
    ends_open = region_end == len(tree.text) and not tree.text.endswith(("\n", "\r"))
    if ends_open:
        if kept:
            kept = kept[: -len(newline)]
        else:
            region_start -= len(newline) if tree.text[:region_start].endswith(newline) else 1
    change.replace(region_start, region_end, kept)


def _party(place: Place) -> Callable[[str], bool]:
    modules = place.view.solver.modules
    path = place.tree.source.path

    def is_first_party(module: str) -> bool:
        return modules.named(module, path) is not None

    return is_first_party


def _clause(
    place: Place, header: Header, pieces: list[Piece], indent: str, unit: str, *, with_last: bool
) -> str:
    tree = place.tree
    newline = tree.source.newline
    deeper = indent + unit
    comment = f"  {header.comments[0]}" if header.comments else ""
    lines = [indent + header.text + comment]
    lines += [deeper + extra for extra in header.comments[1:]]
    for piece in pieces:
        old = tree.indent(piece.node.lineno)
        lines += [deeper + comment for comment in piece.above]
        beside = f"  {piece.beside}" if piece.beside else ""
        lines.append(deeper + tree.lines_of(piece.node, old, deeper) + beside)
    if with_last and header.last:
        lines.append(deeper + header.last)
    return "".join(line + newline for line in lines)


def header_comments(place: Place, colon: int, first: ast.stmt) -> tuple[str, ...]:
    """Return the comment that stands beside a clause's keyword."""
    tree = place.tree
    end = tree.row_end(tree.row_of(colon))
    return tuple(c.text for c in tree.comments_in(colon, min(end, tree.start(first))))


def _without_header_comments(pieces: list[Piece], comments: tuple[str, ...]) -> list[Piece]:
    from dataclasses import replace

    if not pieces or not comments:
        return pieces
    return [replace(pieces[0], above=pieces[0].above[len(comments) :]), *pieces[1:]]


def clause_colon(place: Place, clause: ast.ExceptHandler) -> int:
    tree = place.tree
    if clause.type is None:
        return tree.colon(tree.start(clause))
    at = tree.end(clause.type)
    limit = tree.start(clause.body[0])
    while at < limit:
        comment = next((c for c in tree.comments_in(at, limit) if c.start == at), None)
        if comment is not None:
            at = comment.end
        elif tree.text[at] == ":":
            return at + 1
        else:
            at += 1
    raise Refused("its header cannot be read")


def last_row(block: list[ast.stmt]) -> int:
    return block[-1].end_lineno or block[-1].lineno
