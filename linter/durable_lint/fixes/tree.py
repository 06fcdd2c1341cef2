"""One file as the fixes see it: its text, its `ast` tree, and the way from a fact to a node and to a place in the text.

A rewrite is a list of replacements in the text (`Change`), so what it does not name stays as it is, to the byte.
"""

from __future__ import annotations

import ast
import bisect
import io
import re
import tokenize
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from durable_lint.rules.finding import Edit, Position
from durable_lint.source.text import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from durable_lint.facts import model as m
    from durable_lint.source.text import SourceText

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Block = ast.Try | ast.TryStar | ast.With | ast.AsyncWith
_Node = TypeVar("_Node", bound=ast.AST)
CALLABLES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_PLAIN_FIELDS = frozenset(
    {"arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "kwd_attrs", "level", "module"}
    | {"op", "ops", "rest", "simple", "type_comment", "type_ignores"}
)
"""Fields that hold no code: names, flags, operators, and whether a name is read or bound."""

_fields_of: dict[type[ast.AST], tuple[str, ...]] = {}
"""For each kind of node the fields that can hold code."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Module)


class Refused(Exception):
    """There is no sound rewrite. The message is one clause that says why, for people."""


class Comment(NamedTuple):
    """A comment: where it stands in the text, and whether nothing else stands on its line."""

    start: int
    end: int
    row: int
    alone: bool
    text: str


class SourceTree:
    """A file's text with its tree, whose `nodes` come from the outside in.

    Raises `Refused` when its tokens cannot be told apart.
    """

    def __init__(self, source: SourceText, tree: ast.Module | None = None) -> None:
        self.source = source
        self.text = source.text
        self.tree = parse(source) if tree is None else tree
        self.nodes: list[ast.AST] = [self.tree]
        """Every node of the file, in the order of `walk`."""
        self._parents: dict[ast.AST, ast.AST] = {}
        for node in self.nodes:
            inside = children(node)
            self.nodes += inside
            for child in inside:
                self._parents[child] = node

    # ------------------------------------------------ nodes

    def find(self, at: m.At, kind: type[_Node] | tuple[type[_Node], ...]) -> _Node:
        """Return the node of a kind at the place of a fact. Raises `Refused` when there is none."""
        for node in self.nodes:
            if isinstance(node, kind) and _at(node) == at:
                return node
        raise Refused("its place in the file cannot be found")

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """Every name that the file mentions: what a new name in it must not be."""
        from durable_lint.fixes import names

        return frozenset(names.mentioned_by(self.nodes))

    @cached_property
    def rebound(self) -> frozenset[str]:
        """The names that functions of the file rebind through `nonlocal` or `global`."""
        from durable_lint.fixes import names

        return frozenset(names.changed_inside_functions(self.tree))

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self._parents.get(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes around one, innermost first."""
        current = self._parents.get(node)
        while current is not None:
            yield current
            current = self._parents.get(current)

    def scope(self, node: ast.AST) -> ast.AST:
        """Return the function, class, lambda or module in whose scope a node stands."""
        inside = node
        for around in self.ancestors(node):
            if isinstance(around, _SCOPES):
                body = around.body
                if inside is body or (isinstance(body, list) and inside in body):
                    return around  # defaults, decorators and bases belong to the scope outside
            inside = around
        return self.tree

    def function(self, node: ast.AST) -> FunctionNode:
        """Return the function in whose own scope a node stands. Raises `Refused` when it is in none."""
        scope = self.scope(node)
        if isinstance(scope, FunctionNode):
            return scope
        raise Refused("the block is not in a function")

    # ------------------------------------------------ places

    def start(self, node: ast.stmt | ast.expr | ast.excepthandler | ast.keyword | ast.alias) -> int:
        """Return the offset in the text at which a node starts."""
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: ast.stmt | ast.expr | ast.excepthandler | ast.keyword | ast.alias) -> int:
        """Return the offset in the text at which a node ends."""
        return self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def end_of(self, node: ast.arg | ast.expr) -> int:
        """Return the offset at which a parameter or its default ends."""
        return self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def offset(self, row: int, byte_column: int) -> int:
        return self.source.offset(row, self.source.column(row, byte_column))

    def slice(self, node: ast.stmt | ast.expr) -> str:
        """Return a node's own text."""
        return self.text[self.start(node) : self.end(node)]

    def row_start(self, row: int) -> int:
        """Return the offset at which a row starts; the end of the text for the row after the last."""
        starts = self.source.line_starts
        return starts[row - 1] if row <= len(starts) else len(self.text)

    def row_end(self, row: int) -> int:
        """Return the offset after a row's line end."""
        return self.row_start(row + 1)

    def row_of(self, offset: int) -> int:
        return bisect.bisect_right(self.source.line_starts, offset)

    def indent(self, row: int) -> str:
        """Return the white space with which a row starts."""
        line = self.source.lines[row - 1]
        return line[: len(line) - len(line.lstrip(" \t\f"))]

    def starts_line(self, node: ast.stmt) -> bool:
        """Whether nothing but white space stands before a statement on its row."""
        return not self.text[self.row_start(node.lineno) : self.start(node)].strip()

    def colon(self, start: int) -> int:
        """Return the offset after the colon of a `try`, `finally` or bare `except` that starts at `start`."""
        found = re.compile(r"\w+(?:[ \t\f]|\\\r?\n|\\\r)*:").match(self.text, start)
        if found is None:
            raise Refused("its header cannot be read")
        return found.end()

    # ------------------------------------------------ tokens

    @cached_property
    def _tokens(self) -> list[tokenize.TokenInfo]:
        reader = io.StringIO(self.text, newline="").readline
        try:
            return list(tokenize.generate_tokens(reader))
        except (tokenize.TokenError, SyntaxError):
            raise Refused("the file's tokens cannot be told apart") from None

    @cached_property
    def comments(self) -> list[Comment]:
        """The comments of the file, in order."""
        found = []
        for token in self._tokens:
            if token.type == tokenize.COMMENT:
                row, column = token.start
                start = self.source.offset(row, column + 1)
                alone = not token.line[:column].strip()
                found.append(Comment(start, start + len(token.string), row, alone, token.string))
        return found

    def comments_in(self, start: int, end: int) -> list[Comment]:
        if "#" not in self.text[start:end]:
            return []  # tokens are slow to come by
        return [comment for comment in self.comments if start <= comment.start < end]

    @cached_property
    def rows_in_strings(self) -> frozenset[int]:
        """The rows that start inside a string, whose indentation is part of its value."""
        if not any(_is_long_string(node) for node in self.nodes):
            return frozenset()
        rows: set[int] = set()
        opened: list[int] = []
        for token in self._tokens:
            kind = tokenize.tok_name[token.type]
            if kind == "STRING":
                rows.update(range(token.start[0] + 1, token.end[0] + 1))
            elif kind.endswith("STRING_START"):
                opened.append(token.start[0])
            elif kind.endswith("STRING_END") and opened:
                rows.update(range(opened.pop() + 1, token.end[0] + 1))
        return frozenset(rows)

    @cached_property
    def longest_line(self) -> int:
        """The length that a new line may have: the usual limit (79, 88, 100, 120) that the file keeps to."""
        longest = max(map(len, self.source.lines))
        return next((limit for limit in (79, 88, 100, 120) if longest <= limit), 120)

    def fitted(self, call: str, indent: str, unit: str) -> str:
        """Return a call that stands at `indent`, its arguments on lines of their own where it is too long."""
        if "\n" in call or "\r" in call or len(indent) + len(call) <= self.longest_line:
            return call
        head, _, rest = call.partition("(")
        inside = rest.rstrip()
        if not inside.endswith(")"):
            return call
        inside = inside[:-1].strip().rstrip(",")
        newline, deeper = self.source.newline, indent + unit
        first, middle, last = inside.rpartition(", name=")
        if len(deeper) + len(inside) > self.longest_line and middle:
            inside = f"{first},{newline}{deeper}name={last},"
        return f"{head}({newline}{deeper}{inside}{newline}{indent})"

    # ------------------------------------------------ blocks

    def lines_of(self, node: ast.stmt, old: str, new: str) -> str:
        """Return a statement's text with its indentation changed from `old` to `new`, its first line without."""
        return self.moved(self.start(node), self.end(node), old, new)

    def moved(
        self, start: int, end: int, old: str, new: str, replacements: Sequence[tuple[int, int, str]] = ()
    ) -> str:
        """Return the text from `start` to `end`, replacements made, its further lines indented by `new`, not `old`."""
        pieces: list[str] = []
        done = start
        changes = list(replacements)
        for row in range(self.row_of(start) + 1, self.row_of(max(end - 1, start)) + 1):
            if (
                row not in self.rows_in_strings
                and self.indent(row).startswith(old)
                and self.source.lines[row - 1].strip()
            ):
                at = self.row_start(row)
                if not any(first < at < last for first, last, _ in replacements):
                    changes.append((at, at + len(old), new))
        for first, last, text in sorted(changes):
            pieces += self.text[done:first], text
            done = last
        return "".join([*pieces, self.text[done:end]])


def children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes directly inside one, in the order of the grammar, without contexts and operators.

    A rewrite looks at whole modules many times, and `ast.iter_child_nodes` takes five times as long.
    """
    kind = type(node)
    fields = _fields_of.get(kind)
    if fields is None:
        fields = _fields_of[kind] = tuple(name for name in node._fields if name not in _PLAIN_FIELDS)
    found: list[ast.AST] = []
    for name in fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def walk(root: ast.AST) -> list[ast.AST]:
    """Return a node and all nodes below it, those that are less deep first (as `ast.walk` gives them)."""
    found = [root]
    for node in found:
        found += children(node)
    return found


def own_nodes(*roots: ast.AST) -> Iterator[ast.AST]:
    """Yield nodes in the scope of the roots: functions and classes inside are yielded, but not entered."""
    waiting = list(reversed(roots))
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, CALLABLES):
            arguments = node.args
            waiting.extend(d for d in (*arguments.defaults, *arguments.kw_defaults) if d is not None)
            waiting.extend(getattr(node, "decorator_list", ()))
        elif isinstance(node, ast.ClassDef):
            waiting.extend((*node.decorator_list, *node.bases, *(k.value for k in node.keywords)))
        else:
            waiting.extend(reversed(children(node)))


def _at(node: ast.AST) -> tuple[int, int, int, int] | None:
    if not isinstance(node, (ast.stmt, ast.expr, ast.excepthandler)):
        return None
    return (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)


def _is_long_string(node: ast.AST) -> bool:
    """Whether a node is a string that goes over several rows, be it in pieces; templates are known by name."""
    if not isinstance(node, ast.expr) or node.lineno == node.end_lineno:
        return False
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (str, bytes))
    return isinstance(node, ast.JoinedStr) or type(node).__name__ == "TemplateStr"


@dataclass
class Change:
    """Replacements in one file, collected while a rewrite is worked out."""

    tree: SourceTree
    parts: list[tuple[int, int, str]] = field(default_factory=list)

    def replace(self, start: int, end: int, text: str) -> None:
        self.parts.append((start, end, text))

    def insert(self, at: int, text: str) -> None:
        self.parts.append((at, at, text))

    def indent(self, first: int, last: int, by: str) -> None:
        """Indent the rows from `first` to `last`, both included; blank ones and insides of strings stay."""
        tree = self.tree
        for row in range(first, last + 1):
            if row not in tree.rows_in_strings and tree.source.lines[row - 1].strip():
                self.insert(tree.row_start(row), by)

    def edits(self, path: Path | None) -> tuple[Edit, ...]:
        """Return the replacements as edits in order, those that touch joined into one."""
        merged: list[tuple[int, int, str]] = []
        for start, end, text in sorted(self.parts, key=lambda part: (part[0], part[1])):
            if merged and start < merged[-1][1]:
                raise Refused("its parts overlap")
            if merged and start == merged[-1][1]:
                merged[-1] = (merged[-1][0], end, merged[-1][2] + text)
            else:
                merged.append((start, end, text))
        return tuple(
            Edit(self._position(start), self._position(end), text, path)
            for start, end, text in merged
            if self.tree.text[start:end] != text
        )

    def _position(self, offset: int) -> Position:
        row = self.tree.row_of(offset)
        return Position(row, offset - self.tree.row_start(row) + 1)
