"""An identity for each finding that stays the same when its code is moved or reformatted.

Made from the rule, the function around the place, and the syntax at the place; never from rows, columns,
quotes or line breaks. It is the same on every version of Python.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from durable_lint.source.text import SourceSyntaxError, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from durable_lint.rules.finding import Finding
    from durable_lint.source.text import SourceText

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BLOCKS = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})
_LEFT_OUT = frozenset({"ctx", "kind", "type_comment", "type_ignores", "type_params"})


@dataclass(frozen=True, slots=True)
class Identity:
    """What makes a finding the same one: its rule, the dotted name of the function around it, a hash of its
    syntax.
    """

    code: str
    scope: str
    syntax: str


def identities(findings: Iterable[Finding], source: SourceText | None) -> list[Identity]:
    """Return an identity for each finding of one file, in order. Equal ones are possible (the same code
    twice).
    """
    try:
        tree = None if source is None else parse(source)
    except SourceSyntaxError:
        tree = None
    if tree is None or source is None:
        return [Identity(finding.code, "", "") for finding in findings]
    return [_identity(finding, tree, source) for finding in findings]


def fingerprints(
    findings: Iterable[Finding], source: Callable[[Path], SourceText | None], name: Callable[[Path], str]
) -> list[str]:
    """Return 32 hexadecimal digits for each finding, in order, no two alike. `name` gives the name of a file
    to use.
    """
    ordered = list(findings)
    by_path: dict[Path, list[int]] = {}
    for index, finding in enumerate(ordered):
        by_path.setdefault(finding.path, []).append(index)
    prints = [""] * len(ordered)
    seen: Counter[str] = Counter()
    for path, indexes in by_path.items():
        found = identities([ordered[index] for index in indexes], source(path))
        for index, identity in zip(indexes, found, strict=True):
            words = "\0".join((name(path), identity.code, identity.scope, identity.syntax))
            seen[words] += 1
            prints[index] = _digest(f"{words}\0{seen[words]}")
    return prints


def _identity(finding: Finding, tree: ast.Module, source: SourceText) -> Identity:
    row, column = finding.start.row, finding.start.column
    scope: list[str] = []
    at_place: ast.AST | None = None
    innermost: ast.AST = tree
    nodes: list[ast.AST] = [tree]
    while nodes:
        node = nodes.pop()
        if not _holds(node, row):
            continue
        if isinstance(node, _SCOPES):
            scope.append(node.name)
        if isinstance(node, ast.stmt | ast.excepthandler):
            innermost = node
        if at_place is None and _starts_at(node, row, column, source):
            at_place = node
        nodes.extend(reversed(list(ast.iter_child_nodes(node))))
    pieces = [at_place] if at_place is not None else getattr(innermost, "finalbody", None) or [innermost]
    syntax = "\n".join(word for piece in pieces for word in _words(piece, whole=at_place is None))
    return Identity(finding.code, ".".join(scope), _digest(syntax))


def _holds(node: ast.AST, row: int) -> bool:
    first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    if first is None or last is None:
        return True
    decorators = getattr(node, "decorator_list", None)
    return bool(min(first, decorators[0].lineno if decorators else first) <= row <= last)


def _starts_at(node: ast.AST, row: int, column: int, source: SourceText) -> bool:
    if getattr(node, "lineno", None) != row or not hasattr(node, "col_offset"):
        return False
    return source.column(row, node.col_offset) == column


def _words(node: ast.AST, *, whole: bool) -> Iterator[str]:
    """Yield what a piece of syntax consists of; of a compound statement only its header, unless `whole`."""
    nodes = [node]
    while nodes:
        current = nodes.pop()
        yield type(current).__name__
        keep_blocks = whole or current is not node or isinstance(current, ast.ExceptHandler | ast.Lambda)
        for name, value in ast.iter_fields(current):
            if name in _LEFT_OUT or (name in _BLOCKS and not keep_blocks):
                continue
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, ast.AST):
                    nodes.append(item)
                elif item is not None:
                    yield f"{name}={item!r}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
