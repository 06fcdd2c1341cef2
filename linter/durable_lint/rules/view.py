"""One module as the rules see it: its regions, the frames they run in, and the questions to ask about them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from durable_lint.facts import model as m
from durable_lint.facts.model import blocks_of as blocks_of
from durable_lint.project.flags import constants
from durable_lint.project.suspension import Suspension, Suspensions, steps
from durable_lint.project.unwinding import About, Effect, source_text
from durable_lint.rules.finding import Finding, Position, Related
from durable_lint.sdk import aws

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from durable_lint.project.frames import Frame
    from durable_lint.project.solver import Solver
    from durable_lint.project.unwinding import Unwinding
    from durable_lint.rules import Rule


class ModuleView:
    """What a rule is given. `sdk_version` is the SDK version in use, as `(major, minor)`."""

    def __init__(
        self,
        module: m.ModuleFacts,
        solver: Solver,
        suspensions: Suspensions,
        unwinding: Unwinding,
        sdk_version: tuple[int, int] = (3, 0),
    ) -> None:
        self.module = module
        self.solver = solver
        self.suspensions = suspensions
        self.unwinding = unwinding
        self.sdk_version = sdk_version

    @cached_property
    def tries(self) -> list[m.Try]:
        """The `try` statements of the module, in source order."""
        return _in_order(fact for fact in self.module.function_of if isinstance(fact, m.Try))

    @cached_property
    def withs(self) -> list[m.With]:
        """The `with` statements of the module, in source order."""
        return _in_order(fact for fact in self.module.function_of if isinstance(fact, m.With))

    def frames(self, fact: m.Expression | m.Statement | m.Function) -> list[Frame]:
        """Return the frames in which something of this module runs and can be reached by a suspension."""
        function = self.module.function_of.get(fact)
        return [] if function is None else self.frames_of(function)

    def frames_of(self, function: m.Function) -> list[Frame]:
        """Return the frames of a function that are not inside one attempt of an operation."""
        return [frame for frame in self.solver.frames_of.get(function, ()) if not frame.mode.attempt]

    # ------------------------------------------------ questions

    def suspension(self, frame: Frame, *blocks: Iterable[m.Statement]) -> Suspension | None:
        """Return how blocks can suspend that run one after the other, None when they cannot."""
        return self.suspensions.first(frame, (step for block in blocks for step in steps(frame, block)))

    def about_handler(self, frame: Frame, statement: m.Try, kind: str, name: str | None) -> About:
        """Return what is known when a suspension reaches a handler of a `try`."""
        values = frozenset({name} if name else ())
        return About(kind, values, constants=self._constants(frame, statement, None))

    def about_finally(self, frame: Frame, statement: m.Try, kind: str) -> About:
        """Return what is known when a suspension reaches the `finally` of a `try`."""
        handler = self.unwinding.handler_of(frame, statement, kind)
        return About(kind, constants=self._constants(frame, statement, handler))

    def _constants(self, frame: Frame, statement: m.Try, handler: m.Handler | None) -> dict[str, object]:
        return constants(
            self.module, statement, handler, lambda block: self.suspension(frame, block) is not None
        )

    # ------------------------------------------------ findings

    def finding(
        self,
        rule: Rule,
        at: m.At,
        message: str,
        *,
        help: str,
        suspension: Suspension | None = None,
        at_call: str = "can suspend here",
        frame: Frame | None = None,
        rows: Iterable[int] = (),
        subject: object = None,
    ) -> Finding:
        """Return a finding at `at`; `rows` are further rows on which a suppression counts, and `at_call` is
        what is said of the durable call.
        """
        related = () if suspension is None else tuple(self._related(suspension, at_call))
        return Finding(
            code=rule.code,
            name=rule.name,
            path=self.module.path,
            start=self.position(at.row, at.column),
            end=self.position(at.end_row, at.end_column),
            message=message,
            help=help,
            related=related,
            noqa_rows=frozenset((at.row, *rows)),
            subject=(subject, frame),
        )

    def header_rows(self, statement: m.Try | m.With) -> set[int]:
        """Return the first and the last row of a compound statement's header, where a suppression counts."""
        if not isinstance(statement, m.With):
            return {statement.at.row}
        end = statement.items[-1].at
        lines = self.module.source.lines
        for row in range(end.end_row, statement.body[0].at.row + 1):
            # What may follow the last item: brackets, a comma, a comment, and the colon that ends the header.
            text = lines[row - 1].encode()[end.end_column if row == end.end_row else 0 :]
            if b":" in text.partition(b"#")[0]:
                return {statement.at.row, row}
        return {statement.at.row}

    def position(self, row: int, column: int) -> Position:
        """Return the reported position of a place in this module."""
        return Position(row, self.module.source.column(row, column))

    def _related(self, suspension: Suspension, at_call: str) -> Iterator[Related]:
        """Yield the durable call first, then the chain that leads to it, outermost first."""
        links = suspension.links
        for link in (links[-1], *links[:-1]):
            source = link.module.source
            at = link.at
            call = source_text(link.module, _callee_at(link.fact))
            last = link is links[-1]
            if last:
                message = "is assumed to suspend: " + suspension.assumed if suspension.assumed else at_call
            else:
                message = "leads to it"
            yield Related(
                link.module.path,
                Position(at.row, source.column(at.row, at.column)),
                Position(at.end_row, source.column(at.end_row, at.end_column)),
                message,
                call,
            )

    def at_suspension(self, suspension: Suspension) -> str:
        """Return the clause that names the durable call, its line, and the way to it: "at `context.wait`
        (line 12)".
        """
        last = suspension.links[-1]
        call = source_text(last.module, _callee_at(last.fact), 40)
        where = f"line {last.at.row}"
        if last.module.path != self.module.path:
            where = f"{last.module.path.name}:{last.at.row}"
        clause = f"`{call}` ({where}"
        if len(suspension.links) > 1:
            first = suspension.links[0]
            through = source_text(first.module, _callee_at(first.fact), 40)
            clause += f", through `{through}` on line {first.at.row}"
        clause += ")"
        if suspension.assumed:
            clause += f", which is assumed to suspend because {suspension.assumed}"
        return clause


def what_runs(effect: Effect) -> str:
    """Return how a message names an effect."""
    return f"`{effect.label}`"


def _callee_at(fact: m.Expression | m.Item | m.Statement | m.Clause) -> m.At:
    """Return the part of a step that people know it by: what is called, entered or iterated over."""
    match fact:
        case m.Call():
            return fact.function.at
        case m.Item():
            return _callee_at(fact.manager)
        case m.For() | m.Clause():
            return _callee_at(fact.iterable)
        case m.Await():
            return _callee_at(fact.value)
    return fact.at


def suspension_kinds() -> tuple[str, ...]:
    """Return the exact classes of the exceptions by which the SDK suspends."""
    return aws.SUSPENSIONS


_Statement = TypeVar("_Statement", bound=m.Statement)


def _in_order(facts: Iterable[_Statement]) -> list[_Statement]:
    return sorted(facts, key=lambda fact: (fact.at.row, fact.at.column))
