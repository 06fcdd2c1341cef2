"""The two reports for people: `full` shows the lines, `concise` takes one line a finding."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from durable_lint.config.paths import shown
from durable_lint.report.addresses import rule_url
from durable_lint.report.run import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from durable_lint.report.run import Run
    from durable_lint.report.style import Style
    from durable_lint.rules.finding import Finding, Position

_MARGIN = "   "
_TAB = 4
_LONGEST_LINE = 200
_RUNS_EARLY = "runs on every suspension, not only at the end"
_LABELS = {
    "LDC101": _RUNS_EARLY,
    "LDC102": _RUNS_EARLY,
    "LDC103": _RUNS_EARLY,
    "LDC104": "the suspension is lost here",
    "LDC105": "swallows the suspension",
    "LDC201": "catches the suspension",
    "LDC202": "catches the suspension",
    "LDC203": "catches the suspension",
    "LDC204": _RUNS_EARLY,
    "LDC205": "the cleanup in this handler stands behind the block again",
    "LDC301": "stays attached to the thread",
    "LDC302": "is not called for a suspension",
    "LDC303": "passes by the release",
    "LDC304": "can run on another thread",
    "LDC305": "the function may not have ended",
    "LDC401": "not the context of the function it stands in",
    "LDC402": "can suspend, but runs inside a step",
    "LDC403": "runs after the loop, with its last values",
    "LDC404": "registered too late",
    "LDC405": "has no end when its branch is abandoned",
    "LDC406": "not made again on replay",
    "LDC407": "has no body",
    "LDC900": "the parser stopped here",
    "LDC901": "suppresses nothing",
}
"""What is said at the place of a finding, for every rule."""


class Mark(NamedTuple):
    """A place to underline and what to say about it."""

    start: Position
    end: Position
    text: str
    primary: bool


def concise(run: Run, style: Style) -> Iterator[str]:
    """Yield one line for each finding."""
    for finding in run.findings:
        yield headline(finding, run, style) + "\n"


def full(run: Run, style: Style) -> Iterator[str]:
    """Yield each finding with the lines it is about, what can suspend there, and what to do."""
    for finding in run.findings:
        yield headline(finding, run, style) + "\n"
        yield from _snippets(finding, run, style)
        help_line = _help(finding, run)
        if help_line:
            yield f"{_MARGIN}{style.paint('= help:', 'cyan')} {help_line}\n"
        if finding.no_fix and finding.fix is None:
            yield f"{_MARGIN}{style.paint('= note:', 'cyan')} no fix: {clean(finding.no_fix)}\n"
        yield "\n"


def headline(finding: Finding, run: Run, style: Style) -> str:
    """Return the first line of a finding: where, which rule, whether `--fix` fixes it, and what is wrong."""
    place = f"{style.paint(clean(shown(finding.path)), 'bold')}:{finding.start.row}:{finding.start.column}:"
    code = style.link(style.paint(finding.code, "red", "bold"), rule_url(finding.code))
    mark = f" [{style.paint('*', 'cyan')}]" if run.would_fix(finding) else ""
    return f"{place} {code}{mark} {clean(finding.message)}"


def applied(run: Run, style: Style) -> Iterator[str]:
    """Yield what was fixed, by file and rule."""
    by_path: dict[Path, Counter[tuple[str, str]]] = {}
    for finding in run.fixed:
        by_path.setdefault(finding.path, Counter())[finding.code, finding.name] += 1
    for path, fixed in sorted(by_path.items()):
        yield f"{style.paint(clean(shown(path)), 'bold')}:\n"
        for (code, name), count in sorted(fixed.items()):
            yield f"    {count} x {style.paint(code, 'red', 'bold')} ({name})\n"


def summary(run: Run, style: Style, *, fixing: bool) -> Iterator[str]:
    """Yield the lines that close a report for people.

    `fixing` says whether fixes were applied in this run.
    """
    if fixing:
        yield style.paint(f"Fixed {plural(len(run.fixed), 'finding')}.", "green") + "\n"
    if run.findings:
        files = len({finding.path for finding in run.findings})
        left = " left" if fixing else ""
        yield f"Found {plural(len(run.findings), 'finding')}{left} in {plural(files, 'file')}.\n"
    elif not run.failures:
        left = " left" if fixing else ""
        yield style.paint(f"No findings{left} in {plural(run.files, 'file')}.", "green") + "\n"
    fixes = [finding.fix.applicability.value for finding in run.findings if finding.fix is not None]
    safe, unsafe = fixes.count("safe"), fixes.count("unsafe")
    if fixing and unsafe and not run.unsafe_fixes:
        yield f"{unsafe} more can be fixed with `--unsafe-fixes`.\n"
    elif not fixing and run.unsafe_fixes and safe + unsafe:
        yield f"[*] {safe + unsafe} can be fixed with `--fix`.\n"
    elif not fixing and safe:
        more = f", {unsafe} more with `--fix --unsafe-fixes`" if unsafe else ""
        yield f"[*] {safe} can be fixed with `--fix`{more}.\n"
    elif not fixing and unsafe:
        yield f"{unsafe} can be fixed with `--fix --unsafe-fixes`.\n"
    if run.unresolved:
        yield f"{plural(len(run.unresolved), 'call')} could not be resolved (`--verbose` lists them).\n"
    if run.hidden:
        yield hidden(run) + "\n"
    if run.skipped:
        yield f"{plural(run.skipped, 'file')} skipped as too large (see `max-file-size`).\n"


def hidden(run: Run) -> str:
    """Return the line that says what the baseline keeps back."""
    return f"{plural(run.hidden, 'finding')} hidden by the baseline."


def _help(finding: Finding, run: Run) -> str:
    if finding.fix is None:
        return clean(finding.help)
    how = "run with --fix" if run.would_fix(finding) else "run with --fix --unsafe-fixes"
    return f"{clean(finding.help or finding.fix.message)} ({how})"


def _snippets(finding: Finding, run: Run, style: Style) -> Iterator[str]:
    marks: dict[Path, list[Mark]] = {
        finding.path: [Mark(finding.start, finding.end, _LABELS.get(finding.code, ""), primary=True)]
    }
    for related in finding.related:
        mark = Mark(related.start, related.end, related.message, primary=False)
        marks.setdefault(related.path, []).append(mark)
    gutter = max(len(str(mark.start.row)) for group in marks.values() for mark in group)
    for path, group in marks.items():
        source = run.source(path)
        if source is None:
            continue
        if path != finding.path:
            first = group[0].start
            yield f"{_MARGIN}{style.paint('-->', 'blue')} {clean(shown(path))}:{first.row}:{first.column}\n"
        yield from _snippet(source.lines, group, gutter, style)


def _snippet(lines: tuple[str, ...], marks: Iterable[Mark], gutter: int, style: Style) -> Iterator[str]:
    shown_row = 0
    for mark in sorted(set(marks), key=lambda mark: (mark.start, mark.primary)):
        row = mark.start.row
        line = lines[row - 1] if row <= len(lines) else ""
        end = mark.end.column if mark.end.row == row else len(line) + 1
        text, before, length = _window(line, mark.start.column, max(end, mark.start.column + 1))
        if row != shown_row or len(line) > _LONGEST_LINE:
            yield f"{_MARGIN}{style.paint(f'{row:>{gutter}} |', 'blue')} {text}".rstrip() + "\n"
            shown_row = row
        underline = style.paint(
            ("^" if mark.primary else "-") * length, *(("red",) if mark.primary else ("yellow",))
        )
        said = f" {clean(mark.text)}" if mark.text else ""
        yield f"{_MARGIN}{style.paint(' ' * gutter + ' |', 'blue')} {' ' * before}{underline}{said}\n"


def _window(line: str, start: int, end: int) -> tuple[str, int, int]:
    """Return a line fit to print, the width before the place and the width of the place.

    A very long line is cut to the part around the place.
    """
    head, place, tail = line[: start - 1], line[start - 1 : end - 1], line[end - 1 :]
    if len(line) > _LONGEST_LINE:
        head = f"…{head[-60:]}" if len(head) > 60 else head
        place = place[:80]
        tail = f"{tail[:60]}…" if len(tail) > 60 else tail
    head, place, tail = clean(head), clean(place), clean(tail)
    return head + place + tail, _width(head), max(1, _width(place))


def clean(text: str) -> str:
    """Return text that is safe to print: tabs as spaces, control characters visible.

    No file can move the cursor. A part of a file name that is no text stays, for the stream to escape.
    """
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character == "\t":
        return " " * _TAB
    if character.isprintable() or "\udc80" <= character <= "\udcff":
        return character
    return "\N{REPLACEMENT CHARACTER}"


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )
