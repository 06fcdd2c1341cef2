"""LDC901: suppressions of ours that suppress nothing, with a fix that removes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.rules.finding import Applicability, Edit, Finding, Fix, Position

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from durable_lint.source.suppressions import Entry, Suppression, Suppressions
    from durable_lint.source.text import SourceText

CODE = "LDC901"
NAME = "unused-suppression"


def unused_suppressions(
    source: SourceText, suppressions: Suppressions, found: Iterable[Finding]
) -> Iterator[Finding]:
    """Yield a finding for each comment with a code that suppresses none of `found`, which are those of every
    rule.

    A bare `# noqa` may be meant for another tool, so only codes of ours and file-level comments are judged.
    """
    findings = list(found)
    for suppression in suppressions.all:
        covered = [
            finding.code
            for finding in findings
            if suppression.whole_file or suppression.row in finding.noqa_rows
        ]
        idle = [entry for entry in suppression.entries if _is_ours(entry) and not _used(entry, covered)]
        if not idle and (suppression.entries or not suppression.whole_file or covered):
            continue
        finding = _finding(source, suppression, idle)
        if not any(
            CODE.startswith(entry.prefix)
            for other in _same_place(suppressions, suppression)
            for entry in other
        ):
            yield finding


def _same_place(suppressions: Suppressions, suppression: Suppression) -> Iterator[tuple[Entry, ...]]:
    for other in suppressions.all:
        if other.whole_file or other.row == suppression.row:
            yield other.entries


def _is_ours(entry: Entry) -> bool:
    return entry.prefix.startswith("LDC")


def _used(entry: Entry, covered: list[str]) -> bool:
    return entry.prefix.startswith(CODE) or any(code.startswith(entry.prefix) for code in covered)


def _finding(source: SourceText, suppression: Suppression, idle: list[Entry]) -> Finding:
    if idle:
        names = ", ".join(f"`{entry.written}`" for entry in idle)
        message = f"{names} in this comment {'suppresses' if len(idle) == 1 else 'suppress'} nothing"
    else:
        message = "this comment suppresses nothing in this file"
    return Finding(
        code=CODE,
        name=NAME,
        path=source.path,
        start=Position(suppression.row, suppression.start),
        end=Position(suppression.row, suppression.end),
        message=message,
        help="remove it",
        noqa_rows=frozenset({suppression.row}),
        fix=Fix(Applicability.SAFE, "Remove the unused suppression", (_without(source, suppression, idle),)),
    )


def _without(source: SourceText, suppression: Suppression, idle: list[Entry]) -> Edit:
    """Return the edit that takes the idle codes out, and the comment with them when nothing else is in it."""
    row = suppression.row
    line = source.lines[row - 1]
    kept = [entry for entry in suppression.entries if entry not in idle]
    if kept:
        head = line[suppression.start - 1 : suppression.entries[0].start - 1]
        text = head + ",".join(entry.written for entry in kept)
        return Edit(Position(row, suppression.start), Position(row, suppression.end), text)
    before, after = line[: suppression.start - 1], line[suppression.end - 1 :]
    rest = after.strip()
    if rest.startswith("#"):
        return Edit(Position(row, suppression.start), Position(row, len(line) + 1), rest)
    if rest:
        reason = rest.lstrip(":,;- ") or rest
        return Edit(Position(row, suppression.start), Position(row, len(line) + 1), f"# {reason}")
    if before.strip():
        return Edit(Position(row, len(before.rstrip()) + 1), Position(row, len(line) + 1), "")
    if row < len(source.lines):
        return Edit(Position(row, 1), Position(row + 1, 1), "")
    return Edit(Position(row, 1), Position(row, len(line) + 1), "")
