"""What a rule reports, and what a report prints: plain frozen data that knows nothing of files, flags or
output.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class Applicability(Enum):
    """Whether a fix keeps what the code does (see docs/fixes.md): safe ones need `--fix`, unsafe ones
    `--unsafe-fixes`.
    """

    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a file: `row` and `column` count from 1, columns in characters (not bytes)."""

    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that explains a finding: the call that can suspend, or a link of the chain that leads
    to it.

    `call` is the source text of that place, shortened (`context.wait`).
    """

    path: Path
    start: Position
    end: Position
    message: str
    call: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text from `start` to `end` (end exclusive) by `content`."""

    start: Position
    end: Position
    content: str
    path: Path | None = None
    """The file to edit where it is not the finding's own (a manager mended where it is defined)."""


@dataclass(frozen=True, slots=True)
class Fix:
    """A rewrite that was computed and checked. `edits` are ordered and do not overlap."""

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault. `start`/`end` are the place that rules.md defines (a keyword, a `with` item, a call).

    `message` is one line: it names the durable call that can suspend with its line, and what would run
    because of it. `related` starts with the suspending call; the chain of calls follows, outermost first.
    `noqa_rows` are the rows on which a suppression comment counts. `help` is one line that says what to do.
    `fix` is None where none was computed; `no_fix` then may say why.
    """

    code: str
    name: str
    path: Path
    start: Position
    end: Position
    message: str
    help: str = ""
    related: tuple[Related, ...] = ()
    noqa_rows: frozenset[int] = frozenset()
    fix: Fix | None = None
    no_fix: str = ""
    subject: object = field(default=None, compare=False, repr=False)
    """What the rule judged, for the fixes: the facts of the region."""

    @property
    def sort_key(self) -> tuple[str, Position, str]:
        """Findings are reported by file, then place, then code."""
        return str(self.path), self.start, self.code
