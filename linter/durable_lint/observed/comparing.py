"""Compares what suspensions were seen to do with what the linter says of the same files."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from durable_lint.config.load import absolute
from durable_lint.observed.source import Sources, Span

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from durable_lint.linter import Linter
    from durable_lint.observed.model import Place
    from durable_lint.rules.finding import Finding

COMPARED = frozenset(
    {"LDC101", "LDC102", "LDC103", "LDC104", "LDC105", "LDC201", "LDC202", "LDC203", "LDC204"}
)
"""The rules about what a suspension runs."""


class Key(NamedTuple):
    """By which a finding of one is known to the other."""

    path: Path
    row: int
    code: str


@dataclass(frozen=True)
class Difference:
    """A finding that only one of the two has, and why the other may not have it."""

    finding: Finding
    why: str


@dataclass(frozen=True)
class Comparison:
    """What both see, what only happened, and what only the linter says."""

    both: tuple[Finding, ...]
    only_seen: tuple[Difference, ...]
    only_linted: tuple[Difference, ...]

    def report(self) -> str:
        """Return it as text, one line a finding."""
        from durable_lint.config.paths import shown
        from durable_lint.report.run import plural

        lines = [f"seen at run time and by the linter: {plural(len(self.both), 'finding')}"]
        for title, differences in (
            ("only seen at run time", self.only_seen),
            ("only seen by the linter", self.only_linted),
        ):
            lines.append(f"{title}: {plural(len(differences), 'finding')}")
            for one in differences:
                at = one.finding
                lines.append(f"  {shown(at.path)}:{at.start.row}:{at.start.column}: {at.code} {at.message}")
                lines.append(f"      {one.why}")
        return "\n".join(lines)


def compare(linter: Linter, seen: Iterable[Finding], places: Iterable[Place]) -> Comparison:
    """Compare findings from a run with the linter's, for every file that a suspension went through at
    `places`.
    """
    seen = list(seen)
    passed = {(absolute(place.path), _span(place)) for place in places}
    paths = sorted({path for path, _ in passed} | {one.path for one in seen})
    linted = [
        one for path in paths if path.is_file() for one in linter.lint(path).findings if one.code in COMPARED
    ]
    seen_by = {key_of(one): one for one in seen}
    linted_by = {key_of(one): one for one in linted}
    tree = Sources()
    return Comparison(
        both=tuple(one for key, one in linted_by.items() if key in seen_by),
        only_seen=tuple(
            Difference(one, _why_unforeseen(key, linted_by))
            for key, one in seen_by.items()
            if key not in linted_by
        ),
        only_linted=tuple(
            Difference(one, _why_unseen(one, passed, tree.tree(str(key.path))))
            for key, one in linted_by.items()
            if key not in seen_by
        ),
    )


def key_of(finding: Finding) -> Key:
    """Return what identifies a finding to both sides."""
    return Key(finding.path, finding.start.row, finding.code)


def _why_unforeseen(key: Key, linted: dict[Key, Finding]) -> str:
    others = sorted(one.code for one in linted if one.path == key.path and one.row == key.row)
    if others:
        return f"the linter reports {', '.join(others)} here: which path runs is decided at run time"
    return "the linter sees nothing here that counts: what is called was decided at run time"


def _why_unseen(finding: Finding, passed: set[tuple[Path, Span]], tree: ast.Module | None) -> str:
    protected = None if tree is None else protected_by(tree, finding.start.row)
    inside = [
        span for path, span in passed if path == finding.path and protected and protected.contains(span)
    ]
    if not inside:
        return "no test suspended inside it"
    return f"a suspension came through line {inside[0].row}, and ran nothing here that counts"


def protected_by(tree: ast.Module, row: int) -> Span | None:
    """Return what the `finally`, the handler or the `with` item on a row protects."""
    found: Span | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.Try | ast.TryStar | ast.With | ast.AsyncWith):
            first = node.body[0].lineno
            if isinstance(node, ast.With | ast.AsyncWith):
                mine = node.lineno <= row < first or row == node.lineno
                block = [*node.body]
            else:
                mine = row > node.body[-1].lineno and row <= (node.end_lineno or 0)
                block = [*node.body, *node.orelse]
            span = Span(block[0].lineno, 0, max(one.end_lineno or 0 for one in block), 1 << 20)
            if mine and (found is None or span.start >= found.start):
                found = span
    return found


def _span(place: Place) -> Span:
    return Span(place.start.row, place.start.column - 1, place.end.row, place.end.column - 1)
