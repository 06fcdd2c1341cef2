"""Sends what one process saw to another as plain lists and strings: pytest-xdist carries nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any  # what comes over the wire is plain JSON

from durable_lint.observed.model import Place
from durable_lint.rules import RULES
from durable_lint.rules.finding import Finding, Position

if TYPE_CHECKING:
    from collections.abc import Iterable

    from durable_lint.observed.comparing import Comparison
    from durable_lint.observed.suspensions import Suspensions


def packed(watch: Suspensions) -> dict[str, Any]:
    """Return what `compared` needs of a watch."""
    return {
        "findings": [
            [one.code, str(one.path), *_rows(one.start), *_rows(one.end), one.message]
            for one in watch.findings
        ],
        "passed": [
            [str(place.path), *_rows(place.start), *_rows(place.end), place.function]
            for one in watch.seen
            for place in one.passed
        ],
    }


def compared(watch: Suspensions, others: Iterable[object]) -> Comparison:
    """Compare what a watch and what others sent, all together, with the linter."""
    findings = list(watch.findings)
    passed = [place for one in watch.seen for place in one.passed]
    for other in others:
        assert isinstance(other, dict)
        findings += [_finding(*one) for one in other["findings"]]
        passed += [_place(*one) for one in other["passed"]]
    return watch.compared_with(findings, passed)


def _rows(position: Position) -> tuple[int, int]:
    return position.row, position.column


def _finding(
    code: str, path: str, row: int, column: int, end_row: int, end_column: int, message: str
) -> Finding:
    start, end = Position(row, column), Position(end_row, end_column)
    return Finding(code, RULES[code].name, Path(path), start, end, message)


def _place(path: str, row: int, column: int, end_row: int, end_column: int, function: str) -> Place:
    return Place(Path(path), Position(row, column), Position(end_row, end_column), function)
