"""What was seen at one suspension, as plain data. It knows neither how it was seen nor the rules."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from durable_lint.rules.finding import Position


class Kind(StrEnum):
    """Why a line ran while a suspension was on its way out."""

    FINALLY = "finally"
    EXCEPT = "except"
    EXIT = "__exit__"
    CALLBACK = "ExitStack callback"
    CLOSING = "generator closing"
    """A generator was dropped by the code that iterated over it, and closed."""

    OTHER = "other"
    """Anything else: a `__del__`, or code whose source is not at hand."""


class Cause(StrEnum):
    """What unwound the stack."""

    SUSPENSION = "suspension"
    ORPHANED = "orphaned"
    """The branch was abandoned: its map or parallel had completed without it. It never comes back."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file of the user's, and the function that it is in."""

    path: Path
    start: Position
    end: Position
    function: str

    @property
    def row(self) -> int:
        return self.start.row


@dataclass(frozen=True, slots=True)
class Ran:
    """One line (the first of its statement) that ran while the suspension was on its way out, in order."""

    path: Path
    row: int
    function: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class DurableCall:
    """A durable call: `operation` is the method (`wait`), `name` its name in the history or ""."""

    operation: str
    name: str
    place: Place
    text: str
    """The source of what was called: `context.wait`."""

    def __str__(self) -> str:
        return f"`{self.text}` (line {self.place.row})"


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that ran and is not process-local: `label` as people know it, and where it stands.

    `unseen` is true where nothing is known against it but that it could not be seen.
    """

    label: str
    reason: str
    place: Place
    unseen: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the user's code that the suspension ran: a `finally`, a handler, a manager's exit.

    `place` is where a finding about it belongs. `lost` is the place at which the suspension was lost in this
    part, None where it left the part again. `rule` is the code of the finding, "" where the part is harmless.
    """

    kind: Kind
    place: Place
    rule: str
    effects: tuple[Effect, ...] = ()
    lost: Place | None = None
    lost_rule: str = ""
    header: frozenset[int] = frozenset()
    """The rows of the header of its statement, on which a comment that suppresses counts as well."""


@dataclass(frozen=True, slots=True)
class Suspension:
    """One suspension, from the durable call that raised it to the SDK, which catches it."""

    cause: Cause
    call: DurableCall
    thread: str
    ran: tuple[Ran, ...]
    durable_calls: tuple[DurableCall, ...]
    """The durable calls that were made meanwhile."""

    swallowed: bool
    """Whether it never came back to the SDK, or as something else."""

    parts: tuple[Part, ...]
    passed: tuple[Place, ...]
    """The places, from the inside out, at which it went through the user's functions."""
