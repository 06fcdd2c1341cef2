"""Where an instruction stands in the source, and which part of a `try` or `with` it is in.

A code object says which source range each of its instructions comes from (PEP 657); this module lays those
ranges over the syntax tree. It knows nothing of suspensions.
"""

from __future__ import annotations

import ast
import dis
import gc
import linecache
import warnings
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import types
    from collections.abc import Iterator

_CALLS = frozenset({"CALL", "CALL_FUNCTION_EX", "CALL_KW"})
_EXIT = "WITH_EXCEPT_START"


_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Span(NamedTuple):
    """A range of source: rows from 1, columns from 0 in UTF-8 bytes, as in `ast`. The end is exclusive."""

    row: int
    column: int
    end_row: int
    end_column: int

    @property
    def start(self) -> tuple[int, int]:
        return self.row, self.column

    @property
    def end(self) -> tuple[int, int]:
        return self.end_row, self.end_column

    def contains(self, other: Span) -> bool:
        return self.start <= other.start and other.end <= self.end


@dataclass(frozen=True, eq=False)
class Clause:
    """A `finally` or a handler: `body` is what it runs, `protected` what an exception must come from."""

    statement: ast.Try | ast.TryStar
    handler: ast.ExceptHandler | None
    body: Span
    protected: Span


@dataclass(frozen=True, eq=False)
class Instruction:
    """What is of interest at one offset. `statement` is the innermost one that it belongs to.

    `call` is the call that it makes; `item` the `with` item that it leaves because of an exception, or
    (`leaves`) at the end of the block.
    """

    span: Span
    statement: ast.stmt | None
    clauses: tuple[Clause, ...]
    call: ast.Call | None = None
    item: tuple[ast.With | ast.AsyncWith, ast.withitem] | None = None
    leaves: bool = False


class FunctionSource:
    """One function's code with its syntax. It has state only to answer again faster."""

    def __init__(self, code: types.CodeType, body: list[ast.stmt], name: str) -> None:
        self.name = name
        self._code = code
        self._statements = list(_statements(body))
        self._clauses = [clause for statement in self._statements for clause in _clauses(statement)]
        self._calls = {
            span_of(node): node
            for statement in body
            for node in ast.walk(statement)
            if isinstance(node, ast.Call)
        }
        self._known: dict[int, Instruction | None] = {}

    def at(self, offset: int) -> Instruction | None:
        """Return what stands at an offset, None for what has no place in the source."""
        if offset not in self._known:
            self._known[offset] = self._find(offset)
        return self._known[offset]

    @property
    def _spans(self) -> dict[int, Span]:
        return spans(self._code)

    @property
    def _operations(self) -> dict[int, str]:
        return operations(self._code)

    @cached_property
    def _exits(self) -> dict[int, tuple[ast.With | ast.AsyncWith, ast.withitem]]:
        """For each instruction that calls an `__exit__` because of an exception: the item.

        Up to 3.12 they have the span of the whole statement; its items come innermost first, once for each
        copy that the compiler makes of the block around it.
        """
        found = {}
        seen: dict[ast.stmt, int] = {}
        for offset, name in self._operations.items():
            span = self._spans.get(offset)
            if name != _EXIT or span is None:
                continue
            for statement in self._statements:
                if not isinstance(statement, ast.With | ast.AsyncWith):
                    continue
                exact = [item for item in statement.items if span_of(item.context_expr) == span]
                if span_of(statement) == span:
                    count = seen[statement] = seen.get(statement, 0) + 1
                    found[offset] = (statement, statement.items[-1 - (count - 1) % len(statement.items)])
                elif exact:
                    found[offset] = (statement, exact[0])
        return found

    def _find(self, offset: int) -> Instruction | None:
        span = self._spans.get(offset)
        if span is None:
            return None
        inside = [statement for statement in self._statements if span_of(statement).contains(span)]
        statement = max(inside, key=lambda one: (span_of(one).start, -one.end_lineno), default=None)  # type: ignore[operator]
        clauses = [clause for clause in self._clauses if clause.body.contains(span)]
        clauses.sort(key=lambda clause: clause.body.start, reverse=True)
        operation = self._operations.get(offset, "")
        call = self._calls.get(span) if operation in _CALLS else None
        item = self._exits.get(offset)
        leaves = False
        if operation in _CALLS and item is None and isinstance(statement, ast.With | ast.AsyncWith):
            item = self._left_item(statement, span, offset)
            leaves = item is not None
        return Instruction(span, statement, tuple(clauses), call, item, leaves)

    def _left_item(
        self, statement: ast.With | ast.AsyncWith, span: Span, offset: int
    ) -> tuple[ast.With | ast.AsyncWith, ast.withitem] | None:
        """Return the item whose `__exit__` a call is, made at the end of the block."""
        if offset < self._entered.get(statement, offset + 1):
            return None
        for item in statement.items:
            if span_of(item.context_expr) == span:
                return statement, item
        return (statement, statement.items[0]) if span == span_of(statement) else None

    @cached_property
    def _entered(self) -> dict[ast.stmt, int]:
        """For each `with` statement the offset at which its last item is entered."""
        found: dict[ast.stmt, int] = {}
        for offset, name in self._operations.items():
            span = self._spans.get(offset)
            if name not in {"BEFORE_WITH", "LOAD_SPECIAL"} or span is None:
                continue
            for statement in self._statements:
                if isinstance(statement, ast.With) and span in (
                    span_of(statement),
                    span_of(statement.items[-1].context_expr),
                ):
                    found.setdefault(statement, offset)
        return found


@lru_cache(maxsize=512)
def spans(code: types.CodeType) -> dict[int, Span]:
    """Return the source range of each instruction of a code object that has one, by its offset."""
    found: dict[int, Span] = {}
    for index, (row, end_row, column, end_column) in enumerate(code.co_positions()):
        if row is not None and end_row is not None and column is not None and end_column is not None:
            found[index * 2] = Span(row, column, end_row, end_column)
    return found


@lru_cache(maxsize=512)
def operations(code: types.CodeType) -> dict[int, str]:
    """Return the name of each instruction of a code object, by its offset."""
    return {instruction.offset: instruction.opname for instruction in dis.get_instructions(code)}


def clause_for(instruction: Instruction, point: Span | None) -> Clause | None:
    """Return the innermost clause around an instruction that an exception from `point` reaches."""
    if point is None:
        return None
    return next((clause for clause in instruction.clauses if clause.protected.contains(point)), None)


@dataclass
class Sources:
    """The sources of the functions that were asked for, by code object."""

    _trees: dict[str, ast.Module | None] = field(default_factory=dict)
    _index: dict[str, dict[tuple[str, int], list[_Function]]] = field(default_factory=dict)
    _functions: dict[types.CodeType, FunctionSource | None] = field(default_factory=dict)

    def of(self, code: types.CodeType) -> FunctionSource | None:
        """Return a function with its syntax, None where its source is not at hand or is not what runs."""
        if code not in self._functions:
            self._functions[code] = self._find(code)
        return self._functions[code]

    def _find(self, code: types.CodeType) -> FunctionSource | None:
        tree = self.tree(code.co_filename)
        if tree is None:
            return None
        if code.co_name == "<module>":
            return FunctionSource(code, tree.body, code.co_name)
        for node in self._index[code.co_filename].get((code.co_name, code.co_firstlineno), ()):
            if not isinstance(node, ast.Lambda):
                return FunctionSource(code, node.body, code.co_qualname)
            last = [Span(*place) for place in _places(code)][-1:]
            if all(span_of(node).contains(span) for span in last):
                body: list[ast.stmt] = [ast.copy_location(ast.Expr(node.body), node.body)]
                return FunctionSource(code, body, code.co_qualname)
        return None

    def tree(self, filename: str) -> ast.Module | None:
        """Return the tree of a file, from what `linecache` has, None where there is none."""
        if filename not in self._trees:
            text = "".join(linecache.getlines(filename))
            tree = self._trees[filename] = _parsed(text) if text else None
            self._index[filename] = {} if tree is None else _by_first_line(tree)
        return self._trees[filename]


def _by_first_line(tree: ast.Module) -> dict[tuple[str, int], list[_Function]]:
    """Return the functions of a module by the name and the first line that their code objects have."""
    found: dict[tuple[str, int], list[_Function]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            found.setdefault(("<lambda>", node.lineno), []).append(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found.setdefault((node.name, first), []).append(node)
    return found


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, SystemError):
        # A warning that is an error: about the text itself, or in a finalizer that ran meanwhile, which
        # makes CPython
        # 3.11 fail. Filters and collector belong to the whole process, so they are touched only when that
        # happens.
        collecting = gc.isenabled()
        gc.disable()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(text)
        except (SyntaxError, SystemError):
            return None
        finally:
            if collecting:
                gc.enable()
    except (ValueError, RecursionError, MemoryError):
        return None


def span_of(node: ast.stmt | ast.expr) -> Span:
    """Return the source range of a node."""
    return Span(node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0)


def _places(code: types.CodeType) -> Iterator[tuple[int, int, int, int]]:
    for row, end_row, column, end_column in code.co_positions():
        if row and end_row and column is not None and end_column is not None and end_column > 0:
            yield row, column, end_row, end_column


def _statements(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a function at any depth, those of functions and classes inside it excluded."""
    for statement in block:
        yield statement
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for name in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, name, []))
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            yield from _statements(part.body)


def _clauses(statement: ast.stmt) -> Iterator[Clause]:
    if not isinstance(statement, ast.Try | ast.TryStar):
        return
    body = _block(statement.body)
    for handler in statement.handlers:
        yield Clause(statement, handler, _block(handler.body), body)
    if statement.finalbody:
        last = (statement.orelse or (statement.handlers and statement.handlers[-1].body) or statement.body)[
            -1
        ]
        protected = Span(*body.start, last.end_lineno or last.lineno, last.end_col_offset or 0)
        yield Clause(statement, None, _block(statement.finalbody), protected)


def _block(block: list[ast.stmt]) -> Span:
    first, last = block[0], block[-1]
    decorators = getattr(first, "decorator_list", ())
    row = min([first.lineno, *(decorator.lineno for decorator in decorators)])
    return Span(
        row, 0 if decorators else first.col_offset, last.end_lineno or last.lineno, last.end_col_offset or 0
    )
