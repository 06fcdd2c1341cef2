"""Applies fixes: takes edits to bytes, checks the result, and lints again until nothing is left to fix.

It decides nothing about a rewrite; it only refuses one whose result does not parse or still has the finding.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from durable_lint.rules.finding import Applicability
from durable_lint.source.text import SourceError, SourceSyntaxError, SourceText, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from durable_lint.linter import FileResult, Linter
    from durable_lint.rules.finding import Edit, Finding

_MOST_PASSES = 50
_MAY_REMAIN = "LDC405"
"""What a scope in a branch that can be abandoned is told, however it came there."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What became of one file: what is left to report, the new bytes of every file that changed, what was
    fixed.
    """

    result: FileResult
    contents: dict[Path, bytes]
    fixed: tuple[Finding, ...]


class Rewriter:
    """Fixes files one after the other.

    With `only`, fixes that touch another file are left alone; with `codes`, the other rules' findings are.

    `before` collects the first contents of each file that changes.
    """

    def __init__(
        self,
        linter: Linter,
        *,
        unsafe_fixes: bool = False,
        only: Path | None = None,
        codes: frozenset[str] | None = None,
        before: dict[Path, bytes] | None = None,
    ) -> None:
        self._linter = linter
        self._unsafe_fixes = unsafe_fixes
        self._only = only
        self._codes = codes
        self._before = {} if before is None else before
        self._refused: dict[tuple[object, ...], str] = {}
        self._definitions: dict[Path, list[tuple[int, int]]] = {}

    def rewrite(self, path: Path, raw: bytes | None = None) -> Rewritten:
        """Fix what can be fixed in a file, in memory. The linter then knows the new contents. Raises
        `ConfigError`.
        """
        contents: dict[Path, bytes] = {}
        fixed: list[Finding] = []
        result = self._linter.lint(path, raw)
        for _ in range(_MOST_PASSES + 2 * len(result.findings)):
            batch = list(self._batch(result.findings))
            if not batch:
                break
            attempt = self._attempt(path, result, batch)
            if isinstance(attempt, str) and len(batch) > 1:
                batch = batch[:1]
                attempt = self._attempt(path, result, batch)
            if isinstance(attempt, str):
                self._refused[self._key(batch[0])] = attempt
                continue
            result, changed = attempt
            contents.update(changed)
            fixed.extend(batch)
        left = tuple(
            replace(finding, fix=None, no_fix=self._refused[key])
            if (key := self._key(finding)) in self._refused
            else finding
            for finding in result.findings
        )
        return Rewritten(replace(result, findings=left), contents, tuple(fixed))

    def _batch(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield findings whose fixes can be applied together.

        No edit of one touches an edit of another, and no two are in the same function or class of a module,
        so that each sees the names that the others have chosen. What is outside comes before what is inside.
        """
        taken: list[tuple[Path, Edit]] = []
        used: set[tuple[Path, int]] = set()
        for finding in sorted(findings, key=_outside_first):
            if finding.fix is None or not self._may_fix(finding):
                continue
            edits = [(edit.path or finding.path, edit) for edit in finding.fix.edits]
            parts = {part for edit in edits if (part := self._definition(*edit)) is not None}
            if not parts & used and all(_fits(edit, taken) for edit in edits):
                taken.extend(edits)
                used |= parts
                yield finding

    def _definition(self, path: Path, edit: Edit) -> tuple[Path, int] | None:
        """Return the function or class at the top of its module that an edit is in."""
        if path not in self._definitions:
            source = self._linter.source(path)
            spans: list[tuple[int, int]] = []
            if source is not None:
                for node in parse(source).body:
                    if not isinstance(node, (ast.Import, ast.ImportFrom)):
                        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
                        spans.append((first, node.end_lineno or node.lineno))
            self._definitions[path] = spans
        for first, last in self._definitions[path]:
            if first <= edit.start.row <= last:
                return path, first
        return None

    def _key(self, finding: Finding) -> tuple[object, ...]:
        """Return what tells a finding from others although lines above it have moved."""
        source = self._linter.source(finding.path)
        row = finding.start.row
        line = source.lines[row - 1] if source is not None and row <= len(source.lines) else ""
        return finding.path, finding.code, re.sub(r"\d+", "#", finding.message), line.strip()

    def _may_fix(self, finding: Finding) -> bool:
        fix = finding.fix
        if fix is None or self._key(finding) in self._refused:
            return False
        if self._codes is not None and finding.code not in self._codes:
            return False
        if not (self._unsafe_fixes or fix.applicability is Applicability.SAFE):
            return False
        return self._only is None or all(edit.path in {None, self._only} for edit in fix.edits)

    def _attempt(
        self, path: Path, before: FileResult, batch: Sequence[Finding]
    ) -> tuple[FileResult, dict[Path, bytes]] | str:
        """Return what the file comes to with these fixes and the changed bytes, or why that is no good."""
        old: dict[Path, bytes] = {}
        try:
            changed = self._applied(batch, old)
        except SourceError as error:
            return f"the rewritten code {error}"
        except (SourceSyntaxError, IndexError):
            return "the rewritten code does not parse"
        others = [other for other in changed if other != path]
        had = [before, *(self._linter.lint(other) for other in others)]
        self._update(changed)
        now = [self._linter.lint(path), *(self._linter.lint(other) for other in others)]
        worse = _worse(had, now, batch)
        if worse:
            self._update(old)
            return worse
        for where, raw in old.items():
            self._before.setdefault(where, raw)
        return now[0], changed

    def _update(self, contents: dict[Path, bytes]) -> None:
        self._definitions.clear()
        for where, raw in contents.items():
            self._linter.update(where, raw)

    def _applied(self, batch: Sequence[Finding], old: dict[Path, bytes]) -> dict[Path, bytes]:
        edits: dict[Path, set[Edit]] = {}
        for finding in batch:
            for edit in finding.fix.edits if finding.fix is not None else ():
                edits.setdefault(edit.path or finding.path, set()).add(replace(edit, path=None))
        changed: dict[Path, bytes] = {}
        for path, parts in edits.items():
            source = self._linter.source(path)
            if source is None:
                raise SourceError("cannot be read again")
            old[path] = source.raw
            changed[path] = source.encode(edited(source, parts))
            parse(SourceText.from_bytes(path, changed[path]))
        return changed


def edited(source: SourceText, edits: Iterable[Edit]) -> str:
    """Return a file's text with edits applied that do not overlap. Raises `IndexError` for a place that is
    not in it.
    """
    pieces: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        start = source.offset(edit.start.row, edit.start.column)
        pieces += source.text[done:start], edit.content
        done = source.offset(edit.end.row, edit.end.column)
    return "".join([*pieces, source.text[done:]])


def _fits(edit: tuple[Path, Edit], taken: Iterable[tuple[Path, Edit]]) -> bool:
    path, new = edit
    for other_path, other in taken:
        if other_path != path or (other.start, other.end, other.content) == (new.start, new.end, new.content):
            continue
        if new.start <= other.end and other.start <= new.end:
            return False
    return True


def _worse(had: Iterable[FileResult], now: Iterable[FileResult], batch: Sequence[Finding]) -> str:
    """Return why a rewrite is no good, "" when it is."""
    now = list(now)
    if any(result.failures for result in now):
        return "the rewritten code could not be analysed"
    before = Counter(finding.code for result in had for finding in result.findings)
    after = Counter(finding.code for result in now for finding in result.findings)
    if after["LDC900"]:
        return "the rewritten code does not parse"
    for finding in batch:
        if after[finding.code] >= before[finding.code]:
            return "the rewritten code would still have the finding"
    for code in sorted((after - before).keys() - {_MAY_REMAIN}):
        return f"the rewritten code would have a new finding, {code}"
    return ""


def _outside_first(finding: Finding) -> tuple[int, int]:
    """Order findings by where the blocks start that they are about."""
    subject = finding.subject
    while isinstance(subject, tuple) and subject and not hasattr(subject, "row"):
        subject = subject[0]
    at = getattr(subject, "at", None)
    return (finding.start.row, finding.start.column) if at is None else (at.row, at.column)
