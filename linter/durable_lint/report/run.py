"""What one run found, as plain data: what every report is made from. It knows no format."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from durable_lint.config.paths import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from durable_lint.rules.finding import Finding
    from durable_lint.source.text import SourceText


class Failure(NamedTuple):
    """Something that kept a file from being judged: unreadable, undecodable, a crash. One line, exit status
    2.
    """

    path: Path | None
    message: str

    def line(self) -> str:
        """Return the one line that says it."""
        return self.message if self.path is None else f"{shown(self.path)}: {self.message}"


class Note(NamedTuple):
    """Something worth knowing about a clean result: a file that was skipped, a call that could not be
    resolved.

    `important` ones are printed always, the others with `--verbose`.
    """

    path: Path | None
    message: str
    important: bool = False

    def line(self) -> str:
        """Return the one line that says it."""
        return self.message if self.path is None else f"{shown(self.path)}: {self.message}"


def no_source(_path: Path) -> SourceText | None:
    """Stand for sources that are not at hand."""
    return None


@dataclass(frozen=True)
class Run:
    """The result of a run over any number of files, sorted. Paths are absolute."""

    findings: tuple[Finding, ...] = ()
    failures: tuple[Failure, ...] = ()
    notes: tuple[Note, ...] = ()
    judged: frozenset[Path] = frozenset()
    """The files that were judged, clean ones included."""

    skipped: int = 0
    """How many files were too large to be judged."""

    suppressed: int = 0
    """How many findings a comment switched off."""

    parsed: int = 0
    """How many modules were parsed, those that calls led to included."""

    hidden: int = 0
    """How many findings the baseline hides."""

    fixed: tuple[Finding, ...] = ()
    """The findings that were fixed in this run."""

    unsafe_fixes: bool = False
    """Whether unsafe fixes are on, so that a report can say what `--fix` would do."""

    source: Callable[[Path], SourceText | None] = field(default=no_source, compare=False, repr=False)

    @property
    def unresolved(self) -> tuple[Note, ...]:
        """The calls that could not be resolved: what a clean result leaves open."""
        return tuple(note for note in self.notes if not note.important)

    """Gives the text of a file, for the lines that a report shows."""

    @property
    def files(self) -> int:
        """How many files were judged."""
        return len(self.judged)

    def would_fix(self, finding: Finding) -> bool:
        """Return whether `--fix`, with the other options as they are, would apply this finding's fix."""
        fix = finding.fix
        return fix is not None and (self.unsafe_fixes or fix.applicability.value == "safe")


def repository_root() -> Path:
    """Return the root that CI servers take paths from: their own variables, else the nearest `.git`, else
    here.
    """
    for variable in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        named = os.environ.get(variable)
        if named and Path.cwd().is_relative_to(named):
            return Path(named)
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def repository_path(path: Path) -> str:
    """Return a path relative to the repository's root, with slashes, as CI servers want it."""
    root = repository_root()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def noqa_row(finding: Finding) -> int:
    """Return the row where a suppression comment for this finding is best written."""
    rows = finding.noqa_rows
    if not rows or finding.start.row in rows:
        return finding.start.row
    return min(rows)


def plural(count: int, thing: str) -> str:
    """Return `1 finding`, `2 findings`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
