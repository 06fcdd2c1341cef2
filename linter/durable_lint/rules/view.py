"""One module as the rules see it: its regions, the frames they run in, and the questions to ask about them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from durable_lint.facts import model as m
from durable_lint.facts.model import blocks_of as blocks_of
from durable_lint.project.suspension import Suspension, Suspensions, operands, steps
from durable_lint.project.unwinding import About, Effect, operation_name, source_text
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

    def about_try(self, frame: Frame, statement: m.Try, kind: str, name: str | None = None) -> About:
        """Return what is known when a suspension leaves the body of a `try`."""
        values = frozenset({name} if name else ())
        return About(kind, values, constants=self._constants(frame, statement))

    def _constants(self, frame: Frame, statement: m.Try) -> dict[str, object]:
        """Return the names that still have the constant they were given before the `try` when it suspends.

        Only what can be proven: a constant is assigned earlier in the same block as the `try`, and the name
        is assigned nowhere else but in its body, after the last call that can suspend.
        """
        function = self.module.function_of.get(statement)
        if function is None:
            return {}
        block = _block_of(function.body, statement)
        if block is None:
            return {}
        if self.suspension(frame, *(handler.body for handler in statement.handlers), statement.orelse):
            return {}
        constants: dict[str, object] = {}
        for earlier in block[: block.index(statement)]:
            bound = assigned_names([earlier])
            value = _constant_assignment(earlier)
            for name in bound:
                constants.pop(name, None)
            if value is not None:
                constants.update(dict.fromkeys(bound, value.value))
        if not constants:
            return {}
        late = _after_last(self, frame, statement.body)
        elsewhere = assigned_names(statement.body[: len(statement.body) - len(late)])
        if late and not isinstance(late[0], m.Assignment) and self.suspension(frame, [late[0]]):
            # What the statement with the last suspending call assigns at its own level is assigned afterwards.
            elsewhere |= assigned_names([late[0]])
        for handler in statement.handlers:
            elsewhere |= assigned_names(handler.body) | ({handler.name} if handler.name else set())
        elsewhere |= assigned_names(statement.orelse) | _assigned_inside_functions(self.module, function)
        return {name: value for name, value in constants.items() if name not in elsewhere}

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


def durable_name(call: m.Call, method: str) -> str:
    """Return the name of a durable operation in the history, or the method's."""
    return operation_name(call, method) or method


def suspension_kinds() -> tuple[str, ...]:
    """Return the exact classes of the exceptions by which the SDK suspends."""
    return aws.SUSPENSIONS


_Statement = TypeVar("_Statement", bound=m.Statement)


def _in_order(facts: Iterable[_Statement]) -> list[_Statement]:
    return sorted(facts, key=lambda fact: (fact.at.row, fact.at.column))


def _block_of(block: tuple[m.Statement, ...], wanted: m.Statement) -> tuple[m.Statement, ...] | None:
    """Return the block in which a statement stands."""
    if wanted in block:
        return block
    for statement in block:
        for inside in m.blocks_of(statement):
            found = _block_of(inside, wanted)
            if found is not None:
                return found
    return None


def _constant_assignment(statement: m.Statement) -> m.Constant | None:
    if isinstance(statement, m.Assignment) and isinstance(statement.value, m.Constant):
        return None if statement.value.kind == "other" else statement.value
    return None


def names_in_target(target: m.Expression) -> Iterator[str]:
    """Yield the names that an assignment to `target` binds."""
    match target:
        case m.Name():
            yield target.id
        case m.Sequence():
            for item in target.items:
                yield from names_in_target(item)
        case m.Starred():
            yield from names_in_target(target.value)


def assigned_names(block: Iterable[m.Statement]) -> set[str]:
    """Return every name that a block binds, at any depth, functions excluded."""
    found: set[str] = set()
    for statement in block:
        match statement:
            case m.Assignment():
                for target in statement.targets:
                    found |= set(names_in_target(target))
            case m.AugmentedAssignment():
                found |= set(names_in_target(statement.target))
            case m.For():
                found |= set(names_in_target(statement.target))
            case m.With():
                for item in statement.items:
                    if item.target is not None:
                        found |= set(names_in_target(item.target))
            case m.Try():
                found |= {handler.name for handler in statement.handlers if handler.name}
            case m.Match():
                for case in statement.cases:
                    found |= set(case.names)
            case m.Deletion():
                for target in statement.targets:
                    found |= set(names_in_target(target))
            case m.FunctionDefinition():
                found.add(statement.function.name)
            case m.ClassDefinition():
                found.add(statement.definition.name)
            case m.Import():
                found |= {binding.local for binding in statement.bindings}
        found |= _walrus(statement)
        for inside in m.blocks_of(statement):
            found |= assigned_names(inside)
    return found


def _walrus(statement: m.Statement) -> set[str]:
    found: set[str] = set()
    waiting: list[m.Expression] = list(expressions_of(statement))
    while waiting:
        expression = waiting.pop()
        if isinstance(expression, m.NamedExpression):
            found.add(expression.target.id)
        waiting.extend(operands(expression))
    return found


def expressions_of(statement: m.Statement) -> Iterator[m.Expression]:
    """Yield the expressions that a statement evaluates itself, those of the blocks inside it excluded."""
    match statement:
        case m.ExpressionStatement():
            yield statement.value
        case m.Assignment():
            if statement.value is not None:
                yield statement.value
            yield from statement.targets
        case m.AugmentedAssignment():
            yield statement.target
            yield statement.value
        case m.Return():
            if statement.value is not None:
                yield statement.value
        case m.Raise():
            if statement.exception is not None:
                yield statement.exception
            if statement.cause is not None:
                yield statement.cause
        case m.If() | m.While():
            yield statement.test
        case m.For():
            yield statement.iterable
            yield statement.target
        case m.With():
            for item in statement.items:
                yield item.manager
                if item.target is not None:
                    yield item.target
        case m.Match():
            yield statement.subject
            for case in statement.cases:
                yield from case.values
                if case.guard is not None:
                    yield case.guard
        case m.Try():
            for handler in statement.handlers:
                if handler.type is not None:
                    yield handler.type
        case m.Assertion():
            yield statement.test
            if statement.message is not None:
                yield statement.message
        case m.Deletion():
            yield from statement.targets


def _after_last(view: ModuleView, frame: Frame, block: tuple[m.Statement, ...]) -> tuple[m.Statement, ...]:
    """Return the end of a block, from the last statement that can suspend on."""
    for index in range(len(block) - 1, -1, -1):
        if view.suspension(frame, [block[index]]) is not None:
            return block[index:]
    return block


def _assigned_inside_functions(module: m.ModuleFacts, function: m.Function) -> set[str]:
    """Return the names that functions inside `function` rebind through `nonlocal`."""
    found: set[str] = set()
    for inner in module.functions:
        if inner is not function and inner.qualname.startswith(function.qualname + "."):
            found |= {name for name in assigned_names(inner.body) if name not in inner.local_names}
    return found
