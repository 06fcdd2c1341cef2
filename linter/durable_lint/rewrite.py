"""Applies fixes: takes edits to bytes, checks the result, and lints again until nothing is left to fix.

It decides nothing about a rewrite; it only refuses one whose result does not parse or still has the finding.
"""

from __future__ import annotations

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
_REFUSED = "the rewritten file did not come out clean, so it was left as it was"


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
        self._refused: set[tuple[object, ...]] = set()

    def rewrite(self, path: Path, raw: bytes | None = None) -> Rewritten:
        """Fix what can be fixed in a file, in memory. The linter then knows the new contents. Raises
        `ConfigError`.
        """
        contents: dict[Path, bytes] = {}
        fixed: list[Finding] = []
        result = self._linter.lint(path, raw)
        for _ in range(_MOST_PASSES):
            batch = list(self._batch(result.findings))
            if not batch:
                break
            attempt = self._attempt(path, result, batch)
            if attempt is None and len(batch) > 1:
                batch = batch[:1]
                attempt = self._attempt(path, result, batch)
            if attempt is None:
                self._refused.add(_key(batch[0]))
                continue
            result, changed = attempt
            contents.update(changed)
            fixed.extend(batch)
        left = tuple(
            replace(finding, fix=None, no_fix=_REFUSED) if _key(finding) in self._refused else finding
            for finding in result.findings
        )
        return Rewritten(replace(result, findings=left), contents, tuple(fixed))

    def _batch(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield findings whose fixes can be applied together: no edit of one touches an edit of another."""
        taken: list[tuple[Path, Edit]] = []
        for finding in findings:
            if finding.fix is None or not self._may_fix(finding):
                continue
            edits = [(edit.path or finding.path, edit) for edit in finding.fix.edits]
            if all(_fits(edit, taken) for edit in edits):
                taken.extend(edits)
                yield finding

    def _may_fix(self, finding: Finding) -> bool:
        fix = finding.fix
        if fix is None or _key(finding) in self._refused:
            return False
        if self._codes is not None and finding.code not in self._codes:
            return False
        if not (self._unsafe_fixes or fix.applicability is Applicability.SAFE):
            return False
        return self._only is None or all(edit.path in {None, self._only} for edit in fix.edits)

    def _attempt(
        self, path: Path, before: FileResult, batch: Sequence[Finding]
    ) -> tuple[FileResult, dict[Path, bytes]] | None:
        """Return what the file comes to with these fixes and the changed bytes; None if nothing changed."""
        old: dict[Path, bytes] = {}
        try:
            changed = self._applied(batch, old)
        except (SourceError, SourceSyntaxError, IndexError):
            return None
        for where, new in changed.items():
            self._linter.update(where, new)
        after = self._linter.lint(path)
        if not after.failures and _is_better(before, after, batch):
            for where, raw in old.items():
                self._before.setdefault(where, raw)
            return after, changed
        for where, raw in old.items():
            self._linter.update(where, raw)
        return None

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


def _is_better(before: FileResult, after: FileResult, batch: Sequence[Finding]) -> bool:
    codes = {finding.code for finding in batch}
    left = sum(finding.code in codes for finding in after.findings)
    had = sum(finding.code in codes for finding in before.findings)
    return left < had and not any(finding.code == "LDC900" for finding in after.findings)


def _key(finding: Finding) -> tuple[object, ...]:
    return (finding.path, finding.code, finding.start, finding.message)
