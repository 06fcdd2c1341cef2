"""One function under one set of arguments: what the evaluation finds out about it.

A frame is the only thing in the analysis that changes while it runs; its sets only grow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from durable_lint.project.values import NOTHING, Values

if TYPE_CHECKING:
    from durable_lint.facts import model as m


class Mode(NamedTuple):
    """Under which operation code runs.

    `attempt`: inside one attempt of a step, submitter or check, where nothing can suspend. `operations`:
    the functions that are durable operations around this one, outermost first; the last one is the own one.
    `abandonable`: the `map` or `parallel` call that can complete without this branch, if any.
    """

    attempt: bool = False
    operations: tuple[m.Function, ...] = ()
    abandonable: m.Call | None = None

    @property
    def operation(self) -> m.Function | None:
        return self.operations[-1] if self.operations else None

    def enter(
        self, operation: m.Function, *, attempt: bool = False, abandonable: m.Call | None = None
    ) -> Mode:
        """Return the mode of an operation that is started in this one."""
        around = self.operations
        if operation not in around and len(around) < _DEEPEST:
            around = (*around, operation)
        return Mode(self.attempt or attempt, around, abandonable or self.abandonable)


_DEEPEST = 8


@dataclass(slots=True, eq=False)
class Record:
    """What evaluating one expression runs, besides itself.

    `targets`: the frames of project functions that it runs. `durable`: the durable call that it is
    (`context.wait`). `contexts`: on which contexts. `assumed`: it hands a durable context to something that
    cannot be seen. `suspends` is false for `create_callback`, which is a durable call that does not
    suspend.
    """

    targets: dict[Frame, None] = field(default_factory=dict)
    durable: str = ""
    suspends: bool = True
    contexts: Values = NOTHING
    assumed: str = ""
    """Why it is only assumed: one clause, or "" when it is not."""
    actions: dict[Frame, None] = field(default_factory=dict)
    """The frames of the functions that it hands to an operation or registers as terminal actions."""
    registers: Values = NOTHING
    """The terminals on which it registers."""
    callee: Values = NOTHING
    held: Values = NOTHING
    """What it puts on an `ExitStack`."""
    registration: str = ""
    abandonable: m.Call | None = None


@dataclass(slots=True, eq=False)
class Frame:
    """A function of the project under one set of arguments; a module's own body when `function` is None."""

    module: m.ModuleFacts
    function: m.Function | None
    closure: Frame | None
    mode: Mode
    receiver: Values = NOTHING
    names: dict[str, Values] = field(default_factory=dict)
    """For each local name what it can be."""
    returns: Values = NOTHING
    yields: Values = NOTHING
    records: dict[object, Record] = field(default_factory=dict)
    """For each call, `with` item, loop, comprehension clause, `await` and `yield from`: what it runs."""
    level: int = 0
    """How many answers deep it was asked for; 0 for what durable calls lead to."""
    deferred: bool = False
    """True until somebody asks what it does: nothing durable was handed to it."""
