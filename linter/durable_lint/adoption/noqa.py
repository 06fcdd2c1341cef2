"""Writes `# noqa: LDC101` where findings are, so that a project can start with nothing reported and all of it
marked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.report.run import Failure
from durable_lint.rules.finding import Edit, Position
from durable_lint.source.suppressions import Suppressions, rows_inside_strings
from durable_lint.source.text import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from durable_lint.rules.finding import Finding
    from durable_lint.source.text import SourceText

NOT_SUPPRESSED = frozenset({"LDC900", "LDC901"})


def add_suppressions(
    findings: Iterable[Finding], source: Callable[[Path], SourceText | None]
) -> tuple[int, list[Failure]]:
    """Write a suppression for each finding. Return how many findings it now suppresses, and what did not
    work.

    Syntax errors and unused suppressions are left: they are to be mended, not hidden.
    """
    by_path: dict[Path, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.path, []).append(finding)
    added = 0
    failures: list[Failure] = []
    for path, of_file in by_path.items():
        wanted = [finding for finding in of_file if finding.code not in NOT_SUPPRESSED]
        text = source(path)
        if text is None:
            failures.append(Failure(path, "can't be read again"))
            continue
        failures += [
            Failure(path, f"line {finding.start.row}: {finding.code} is to be mended, not suppressed")
            for finding in of_file
            if finding.code in NOT_SUPPRESSED
        ]
        added += _add(text, wanted, failures)
    return added, failures


def _add(source: SourceText, findings: Sequence[Finding], failures: list[Failure]) -> int:
    from durable_lint.rewrite import edited
    from durable_lint.source.write import write_atomically

    edits, left = suppression_edits(source, findings)
    failures += [
        Failure(
            source.path, f"line {finding.start.row}: {finding.code} has no line that could take a comment"
        )
        for finding in left
    ]
    if not edits:
        return 0
    try:
        write_atomically(source.path, source.encode(edited(source, edits)), expected=source.raw)
    except (OSError, SourceError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        failures.append(Failure(source.path, f"can't be written: {why}"))
        return 0
    return len(findings) - len(left)


def suppression_edits(source: SourceText, findings: Iterable[Finding]) -> tuple[list[Edit], list[Finding]]:
    """Return the edits that suppress findings of one file, and the findings that no comment can suppress."""
    codes: dict[int, list[str]] = {}
    left: list[Finding] = []
    taken = rows_inside_strings(source)
    for finding in findings:
        row = None if finding.code in NOT_SUPPRESSED else _row(finding, source, taken)
        if row is None:
            left.append(finding)
        elif finding.code not in codes.setdefault(row, []):
            codes[row].append(finding.code)
    existing = {one.row: one for one in Suppressions(source, {}).all if not one.whole_file and one.entries}
    edits: list[Edit] = []
    for row, of_row in sorted(codes.items()):
        if row in existing:
            place = Position(row, existing[row].end)
            edits.append(Edit(place, place, "".join(f",{code}" for code in of_row)))
        else:
            line = source.lines[row - 1]
            start = Position(row, len(line.rstrip()) + 1)
            edits.append(Edit(start, Position(row, len(line) + 1), f"  # noqa: {','.join(of_row)}"))
    return edits, left


def _row(finding: Finding, source: SourceText, taken: frozenset[int]) -> int | None:
    rows = [finding.start.row, *sorted(finding.noqa_rows)]
    allowed = finding.noqa_rows or {finding.start.row}
    for row in rows:
        if row in allowed and row not in taken and not source.lines[row - 1].rstrip().endswith("\\"):
            return row
    return None
