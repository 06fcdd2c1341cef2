"""The text of one source file, and its tree from the standard library's `ast`.

Knows how Python reads source (PEP 263 cookies, byte order mark, line ends) and nothing of rules. Columns that
leave this module count characters from 1; `ast` counts UTF-8 bytes from 0, so `SourceText.column` converts.
"""

from __future__ import annotations

import ast
import codecs
import gc
import re
import sys
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_BOM = codecs.BOM_UTF8
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$")
_LINE_END = re.compile(r"\r\n|\r|\n")
_LINE_END_BYTES = re.compile(rb"\r\n|\r|\n")

DEEPEST_EXPRESSION = 100
"""Levels of an expression that `shallow` leaves in place."""

_DEEPEST_STATEMENT = 150
_LIMIT_WHILE_PARSING = 25_000
_NOT_ALONE = (ast.FormattedValue, ast.Slice)
_SMALL = 10


class SourceError(Exception):
    """A file that cannot be read or decoded. The message is one line and says why, without the path."""


class SourceSyntaxError(Exception):
    """Source that neither `ast` nor the reader of newer syntax understands.

    `row` and `column` count from 1, columns in characters; they say where `ast` stopped.
    """

    def __init__(self, row: int, column: int, message: str) -> None:
        super().__init__(f"{row}:{column}: {message}")
        self.row = row
        self.column = column
        self.message = message


@dataclass(frozen=True)
class SourceText:
    """One file's bytes and what they say.

    `text` is decoded without the byte order mark and keeps its line ends. `encoding` is the codec's name
    as the file gives it (`utf-8` when it gives none). `newline` is the line end used most often, or `\\n`.
    """

    path: Path
    raw: bytes
    text: str
    encoding: str
    bom: bool
    newline: str

    @classmethod
    def read(cls, path: Path) -> SourceText:
        """The file at `path`. Raises `SourceError` when it cannot be read or decoded."""
        return cls.from_bytes(path, read_bytes(path))

    @classmethod
    def from_bytes(cls, path: Path, raw: bytes) -> SourceText:
        """The file whose content is `raw`; `path` is only its name. Raises `SourceError`."""
        bom = raw.startswith(_BOM)
        encoding = declared_encoding(raw)
        body = raw[len(_BOM) :] if bom else raw
        try:
            text = body.decode(encoding)
        except UnicodeDecodeError as error:
            row = len(_LINE_END_BYTES.findall(body, 0, error.start)) + 1
            raise SourceError(
                f"cannot be decoded as {encoding}: byte 0x{body[error.start]:02x} on line {row}"
                f" ({error.reason}); save it as UTF-8 or declare its encoding (PEP 263)"
            ) from None
        except Exception as error:
            raise SourceError(f"cannot be decoded as {encoding}: {_one_line(error)}") from None
        return cls(path, raw, text, encoding, bom, _usual_newline(text))

    def encode(self, text: str) -> bytes:
        """`text` as this file would hold it: its encoding, and its byte order mark. Raises `SourceError`."""
        try:
            body = text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise SourceError(f"cannot hold {text[error.start]!r} in its encoding {self.encoding}") from None
        return _BOM + body if self.bom else body

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines without their ends, split where Python splits them (not at form feeds or U+2028)."""
        if "\r" in self.text:
            return tuple(_LINE_END.split(self.text))
        return tuple(self.text.split("\n"))

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """For each line the offset in `text` at which it starts."""
        return (0, *(match.end() for match in _LINE_END.finditer(self.text)))

    def column(self, row: int, byte_offset: int) -> int:
        """The 1-based character column of `ast`'s `col_offset` (UTF-8 bytes, from 0) on `row` (from 1)."""
        if self.text.isascii():
            return byte_offset + 1
        line = self.lines[row - 1] if 0 < row <= len(self.lines) else ""
        if line.isascii():
            return byte_offset + 1
        return len(line.encode("utf-8", "surrogatepass")[:byte_offset].decode("utf-8", "ignore")) + 1

    def offset(self, row: int, column: int) -> int:
        """The offset in `text` of a 1-based row and character column."""
        return self.line_starts[row - 1] + column - 1


def read_bytes(path: Path) -> bytes:
    """The bytes of a file. Raises `SourceError` with the system's reason when it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or _one_line(error)}") from None
    except ValueError as error:
        raise SourceError(f"cannot be read: {_one_line(error)}") from None


def declared_encoding(raw: bytes) -> str:
    """The encoding of a file: its byte order mark, a cookie in its first two lines, or `utf-8` (PEP 263).

    Raises `SourceError` for an encoding that Python does not know, or that contradicts the mark.
    """
    bom = raw.startswith(_BOM)
    head = raw[3:4096] if bom else raw[:4096]
    if b"coding" not in head:
        return "utf-8"
    for line in _LINE_END_BYTES.split(head)[:2]:
        match = _COOKIE.match(line)
        if match:
            name = match.group(1).decode("ascii")
            break
        if not _BLANK.match(line):
            return "utf-8"
    else:
        return "utf-8"
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError):
        raise SourceError(f"declares an encoding that Python does not know: {name}") from None
    if not getattr(codec, "_is_text_encoding", True):
        raise SourceError(f"declares an encoding that is not one of text: {name}")
    if bom and codec.name != "utf-8":
        raise SourceError(f"has a UTF-8 byte order mark but declares {name}")
    return "utf-8" if codec.name == "utf-8" else name


def _usual_newline(text: str) -> str:
    crlf = text.count("\r\n")
    counts = {"\n": text.count("\n") - crlf, "\r\n": crlf, "\r": text.count("\r") - crlf}
    return max(counts, key=lambda end: counts[end])


def _one_line(error: object) -> str:
    return " ".join(str(error).split())


def parse(source: SourceText) -> ast.Module:
    """The tree of a file, also where its syntax is newer than the running Python (up to 3.15).

    Rows and columns are those of the file. A tree that is too deep for `ast` comes back cut by `shallow`.
    Raises `SourceSyntaxError` when the file cannot be read as Python.
    """
    return parse_text(source.text, source)


def parse_text(text: str, source: SourceText) -> ast.Module:
    """Like `parse` for another text of the same file (a lowered or rewritten one)."""
    try:
        return _ast_parse(text)
    except RecursionError:
        return _parse_deep(text, source)
    except (SyntaxError, ValueError, MemoryError, OverflowError, SystemError) as error:
        failure = _syntax_error(error, source)
    if "\0" in text:
        raise failure
    from durable_lint.source.newer import lowered, restore

    lower = lowered(text)
    if lower is None or lower == text:
        raise failure
    try:
        return restore(_ast_parse(lower))
    except RecursionError:
        return restore(_parse_deep(lower, source))
    except (SyntaxError, ValueError, MemoryError, OverflowError, SystemError):
        raise failure from None


def _ast_parse(text: str) -> ast.Module:
    # A tree is made of many objects and no cycles: collecting while it grows doubles the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    finally:
        if collecting:
            gc.enable()


def _parse_deep(text: str, source: SourceText) -> ast.Module:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _LIMIT_WHILE_PARSING))
    try:
        tree = _ast_parse(text)
    except RecursionError:
        raise SourceSyntaxError(1, 1, "is nested too deeply to be read") from None
    except (SyntaxError, ValueError, MemoryError, OverflowError, SystemError) as error:
        raise _syntax_error(error, source) from None
    finally:
        sys.setrecursionlimit(limit)
    return shallow(tree)


def _syntax_error(error: BaseException, source: SourceText) -> SourceSyntaxError:
    if "\0" in source.text:
        before = _LINE_END.split(source.text[: source.text.index("\0")])
        return SourceSyntaxError(len(before), len(before[-1]) + 1, "source code cannot contain null bytes")
    if isinstance(error, SyntaxError):
        row = min(max(error.lineno or 1, 1), len(source.lines))
        column = min(max(error.offset or 1, 1), len(source.lines[row - 1]) + 1)
        return SourceSyntaxError(row, column, _one_line(error.msg))
    if isinstance(error, MemoryError):
        return SourceSyntaxError(1, 1, "is nested too deeply to be read")
    return SourceSyntaxError(1, 1, _one_line(error) or type(error).__name__)


def shallow(tree: ast.Module) -> ast.Module:
    """Cut a tree in place so that recursive code can walk it, and return it.

    For who walks a tree with recursion: catch `RecursionError`, and walk `shallow(tree)` again. Chains of
    `elif` become one equivalent `match` with guards. Of an expression deeper than `DEEPEST_EXPRESSION`
    levels (a sum of thousands of terms) the operands stay, in order and with their places, as a tuple;
    only how they were combined is lost.
    """
    _flatten_elif(tree)
    _flatten_expressions(tree)
    return tree


def _flatten_elif(tree: ast.Module) -> None:
    stack: list[tuple[ast.AST, int]] = [(tree, 0)]
    deepest = 0
    chains: list[ast.If] = []
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        if isinstance(node, ast.If):
            chains.append(node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
                stack.append((child, depth + 1))
    if deepest <= _DEEPEST_STATEMENT:
        return
    absorbed: set[int] = set()
    for chain in chains:
        if id(chain) not in absorbed and _elif(chain) is not None:
            chain.orelse = [_as_match(chain, absorbed)]


def _elif(node: ast.If) -> ast.If | None:
    if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        return node.orelse[0]
    return None


def _as_match(chain: ast.If, absorbed: set[int]) -> ast.Match:
    first = branch = _elif(chain)
    assert first is not None
    cases: list[ast.match_case] = []
    rest: list[ast.stmt] = []
    while branch is not None:
        absorbed.add(id(branch))
        cases.append(ast.match_case(_wildcard(branch), branch.test, branch.body))
        rest = branch.orelse
        branch = _elif(branch)
    if rest:
        cases.append(ast.match_case(_wildcard(rest[0]), None, rest))
    subject = ast.copy_location(ast.Constant(value=None), first.test)
    return ast.copy_location(ast.Match(subject, cases), first)


def _wildcard(place: ast.stmt) -> ast.MatchAs:
    return ast.MatchAs(
        pattern=None,
        name=None,
        lineno=place.lineno,
        col_offset=place.col_offset,
        end_lineno=place.end_lineno or place.lineno,
        end_col_offset=place.end_col_offset or place.col_offset,
    )


def _flatten_expressions(tree: ast.Module) -> None:
    # Parents come before their children in `order`, so walking it backwards sees children first.
    order: list[ast.AST] = []
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(ast.iter_child_nodes(node))
    heights: dict[int, int] = {}
    cuts: set[int] = set()
    for node in reversed(order):
        height = _height(node, heights)
        if height > DEEPEST_EXPRESSION and not isinstance(node, (ast.stmt, ast.mod)):
            _cut_below(node, heights, cuts)
            height = _height(node, heights)
        heights[id(node)] = height


def _height(node: ast.AST, heights: dict[int, int]) -> int:
    children = [heights[id(child)] for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]
    return max(children, default=0) + 1


def _cut_below(node: ast.AST, heights: dict[int, int], cuts: set[int]) -> None:
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.expr):
            setattr(node, name, _cut(value, heights, cuts))
        elif isinstance(value, list):
            value[:] = [_cut(item, heights, cuts) if isinstance(item, ast.expr) else item for item in value]


def _cut(node: ast.expr, heights: dict[int, int], cuts: set[int], *, in_lambda: bool = False) -> ast.expr:
    if heights[id(node)] <= _SMALL or _is_target(node):
        return node
    if isinstance(node, ast.Lambda) and not in_lambda:
        # What a lambda calls is not called where it stands, so the outermost one stays.
        node.body = _cut(node.body, heights, cuts, in_lambda=True)
        heights[id(node)] = _height(node, heights)
        return node
    pieces: list[ast.expr] = []
    stack: list[ast.AST] = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, ast.Tuple) and id(part) in cuts:
            pieces.extend(part.elts)
        elif heights[id(part)] <= _SMALL and isinstance(part, ast.expr) and not isinstance(part, _NOT_ALONE):
            if not _is_target(part):
                pieces.append(part)
        elif isinstance(part, ast.Lambda) and not in_lambda:
            pieces.append(_cut(part, heights, cuts))
        else:
            stack.extend(reversed(list(ast.iter_child_nodes(part))))
    kept = ast.copy_location(ast.Tuple(elts=pieces, ctx=ast.Load()), node)
    heights[id(kept.ctx)] = 1
    heights[id(kept)] = _height(kept, heights)
    cuts.add(id(kept))
    return kept


def _is_target(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
