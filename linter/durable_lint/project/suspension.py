"""Whether code can suspend, at which call, and through which chain of calls. Reads what the solver found;
changes nothing.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from durable_lint.facts import model as m
from durable_lint.project.values import External

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from durable_lint.project.frames import Frame, Record


class Step(NamedTuple):
    """One thing that a block runs: `fact` is the expression, item or loop that runs it."""

    fact: m.Expression | m.Item | m.Statement | m.Clause
    record: Record


class Link(NamedTuple):
    """A place in a chain of calls."""

    module: m.ModuleFacts
    fact: m.Expression | m.Item | m.Statement | m.Clause

    @property
    def at(self) -> m.At:
        return place(self.fact)


class Suspension(NamedTuple):
    """A way to a suspension: `links` lead from the block to the durable call, which is the last one.

    `durable` is the durable call's method name; `assumed` says why it is only assumed to suspend, or is "".
    """

    links: tuple[Link, ...]
    durable: str
    assumed: str


def place(fact: m.Expression | m.Item | m.Statement | m.Clause) -> m.At:
    """Return where a step is shown: for loops, what they iterate over."""
    if isinstance(fact, (m.For, m.Clause)):
        return fact.iterable.at
    return fact.at


# ---------------------------------------------------------------- what runs, in order


def steps(frame: Frame, block: Iterable[m.Statement], rounds: int = 1) -> Iterator[Step]:
    """Yield what a block runs, in order, without what cannot be reached; the bodies of loops `rounds`
    times.
    """
    for statement in block:
        yield from _statement(frame, statement, rounds)
        if ends(statement):
            return


def expression_steps(frame: Frame, expression: m.Expression | None) -> Iterator[Step]:
    """Yield what evaluating one expression runs. The bodies of functions in it are not run."""
    if expression is None:
        return
    match expression:
        case m.Call():
            yield from expression_steps(frame, expression.function)
            for argument in expression.arguments:
                yield from expression_steps(frame, argument)
            for keyword in expression.keywords:
                yield from expression_steps(frame, keyword.value)
            yield from recorded(frame, expression)
        case m.Comprehension():
            for clause in expression.clauses:
                yield from expression_steps(frame, clause.iterable)
                yield from recorded(frame, clause)
                for condition in clause.conditions:
                    yield from expression_steps(frame, condition)
            for element in expression.elements:
                yield from expression_steps(frame, element)
        case m.Await():
            yield from expression_steps(frame, expression.value)
            yield from recorded(frame, expression)
        case m.Yield():
            yield from expression_steps(frame, expression.value)
            yield from recorded(frame, expression)
        case _:
            for operand in operands(expression):
                yield from expression_steps(frame, operand)


def operands(expression: m.Expression) -> Iterator[m.Expression]:
    """Yield the expressions directly inside one, in the order in which they are evaluated."""
    match expression:
        case m.Attribute() | m.Starred() | m.Negation() | m.Await() | m.NamedExpression():
            yield expression.value
        case m.Subscript():
            yield expression.value
            yield expression.index
        case m.Call():
            yield expression.function
            yield from expression.arguments
            for keyword in expression.keywords:
                yield keyword.value
        case m.Sequence():
            yield from expression.items
        case m.Mapping():
            yield from (key for key in expression.keys if key is not None)
            yield from expression.values
        case m.Conditional():
            yield expression.test
            yield expression.body
            yield expression.orelse
        case m.Boolean():
            yield from expression.values
        case m.Comparison():
            yield expression.left
            yield from expression.rights
        case m.Yield():
            if expression.value is not None:
                yield expression.value
        case m.Comprehension():
            for clause in expression.clauses:
                yield clause.iterable
                yield from clause.conditions
            yield from expression.elements
        case m.Compound():
            yield from expression.operands


def recorded(frame: Frame, fact: m.Expression | m.Item | m.Statement | m.Clause) -> Iterator[Step]:
    """Yield what one fact runs by itself: a call, an item that is entered, a loop that runs a generator."""
    record = frame.records.get(fact)
    if record is not None:
        yield Step(fact, record)


def _statement(frame: Frame, statement: m.Statement, rounds: int) -> Iterator[Step]:
    match statement:
        case m.ExpressionStatement():
            yield from expression_steps(frame, statement.value)
        case m.Return():
            yield from _unless_generator(frame, statement.value)
        case m.Assignment():
            yield from _unless_generator(frame, statement.value)
            for target in statement.targets:
                yield from expression_steps(frame, target)
        case m.AugmentedAssignment():
            yield from expression_steps(frame, statement.target)
            yield from expression_steps(frame, statement.value)
        case m.Raise():
            yield from expression_steps(frame, statement.exception)
            yield from expression_steps(frame, statement.cause)
        case m.Assertion():
            yield from expression_steps(frame, statement.test)
            yield from expression_steps(frame, statement.message)
        case m.Deletion():
            for target in statement.targets:
                yield from expression_steps(frame, target)
        case m.If():
            yield from expression_steps(frame, statement.test)
            known = static_truth(statement.test)
            if known is not False:
                yield from steps(frame, statement.body, rounds)
            if known is not True:
                yield from steps(frame, statement.orelse, rounds)
        case m.While():
            yield from expression_steps(frame, statement.test)
            if static_truth(statement.test) is not False:
                for _ in range(rounds):
                    yield from steps(frame, statement.body, rounds)
            yield from steps(frame, statement.orelse, rounds)
        case m.For():
            yield from expression_steps(frame, statement.iterable)
            yield from recorded(frame, statement)
            for _ in range(rounds):
                yield from steps(frame, statement.body, rounds)
            yield from steps(frame, statement.orelse, rounds)
        case m.Try():
            yield from steps(frame, statement.body, rounds)
            for handler in statement.handlers:
                yield from expression_steps(frame, handler.type)
                yield from steps(frame, handler.body, rounds)
            if not any(ends(inner) for inner in statement.body):
                yield from steps(frame, statement.orelse, rounds)
            yield from steps(frame, statement.finalbody, rounds)
        case m.With():
            for item in statement.items:
                yield from expression_steps(frame, item.manager)
                yield from recorded(frame, item)
            yield from steps(frame, statement.body, rounds)
        case m.Match():
            yield from expression_steps(frame, statement.subject)
            for case in statement.cases:
                yield from expression_steps(frame, case.guard)
                yield from steps(frame, case.body, rounds)
        case m.FunctionDefinition():
            for decorator in statement.function.decorators:
                yield from expression_steps(frame, decorator)
            for parameter in statement.function.parameters:
                yield from expression_steps(frame, parameter.default)
        case m.ClassDefinition():
            yield from steps(frame, statement.definition.body, rounds)


def _unless_generator(frame: Frame, expression: m.Expression | None) -> Iterator[Step]:
    """A generator expression that is only stored or returned runs nothing but its first iterable."""
    if isinstance(expression, m.Comprehension) and expression.kind == "generator":
        yield from expression_steps(frame, expression.clauses[0].iterable)
    else:
        yield from expression_steps(frame, expression)


def static_truth(test: m.Expression) -> bool | None:
    """Return what a test is known to be from its text alone: a literal, or `TYPE_CHECKING`."""
    match test:
        case m.Constant(kind="none"):
            return False
        case m.Constant(kind="bool" | "int"):
            return bool(test.value)
        case m.Name(id="TYPE_CHECKING") | m.Attribute(name="TYPE_CHECKING"):
            return False
        case m.Negation():
            known = static_truth(test.value)
            return None if known is None else not known
    return None


def ends(statement: m.Statement) -> bool:
    """Whether nothing after `statement` in its block can be reached."""
    match statement:
        case m.Return() | m.Raise() | m.Break() | m.Continue():
            return True
        case m.If():
            known = static_truth(statement.test)
            if known is True:
                return _block_ends(statement.body)
            if known is False:
                return _block_ends(statement.orelse)
            return _block_ends(statement.body) and _block_ends(statement.orelse)
        case m.While():
            return static_truth(statement.test) is True and not _breaks(statement.body)
        case m.Try():
            if _block_ends(statement.finalbody):
                return True
            after = _block_ends(statement.body) or _block_ends(statement.orelse)
            return after and all(_block_ends(handler.body) for handler in statement.handlers)
        case m.Match():
            return any(case.irrefutable for case in statement.cases) and all(
                _block_ends(case.body) for case in statement.cases
            )
    return False


def _block_ends(block: tuple[m.Statement, ...]) -> bool:
    return any(ends(statement) for statement in block)


def _breaks(block: Iterable[m.Statement]) -> bool:
    """Whether a `break` in the block leaves the loop that the block belongs to."""
    for statement in block:
        match statement:
            case m.Break():
                return True
            case m.If():
                if _breaks(statement.body) or _breaks(statement.orelse):
                    return True
            case m.Try():
                parts = [statement.body, statement.orelse, statement.finalbody]
                parts += [handler.body for handler in statement.handlers]
                if any(_breaks(part) for part in parts):
                    return True
            case m.With():
                if _breaks(statement.body):
                    return True
            case m.For() | m.While():
                if _breaks(statement.orelse):
                    return True
            case m.Match():
                if any(_breaks(case.body) for case in statement.cases):
                    return True
    return False


# ---------------------------------------------------------------- can it suspend?


class Suspensions:
    """Answers for the frames of one solver, and remembers the answers."""

    def __init__(self) -> None:
        self._bodies: dict[Frame, tuple[Step, ...]] = {}
        self._known: dict[Frame, bool] = {}

    def body(self, frame: Frame) -> tuple[Step, ...]:
        """Return what a frame's function runs when it runs whole."""
        if frame.deferred:
            return ()  # nothing durable was handed to it
        if frame not in self._bodies:
            assert frame.function is not None
            self._bodies[frame] = tuple(steps(frame, frame.function.body))
        return self._bodies[frame]

    def frame(self, frame: Frame) -> bool:
        """Whether running a frame can suspend."""
        if frame not in self._known:
            self._settle(frame)
        return self._known[frame]

    def _settle(self, start: Frame) -> None:
        """Decide every frame that `start` can reach, together: calls may go in circles."""
        order: list[Frame] = []
        seen = {start}
        waiting = [start]
        while waiting:
            frame = waiting.pop()
            order.append(frame)
            if frame.mode.attempt:
                continue
            for step in self.body(frame):
                for target in step.record.targets:
                    if target not in seen and target not in self._known:
                        seen.add(target)
                        waiting.append(target)
        suspending: set[Frame] = set()
        changed = True
        while changed:
            changed = False
            for frame in order:
                if frame in suspending or frame.mode.attempt:
                    continue
                if any(
                    self._direct(s.record) or self._through(s.record, suspending) for s in self.body(frame)
                ):
                    suspending.add(frame)
                    changed = True
        for frame in order:
            self._known[frame] = frame in suspending

    @staticmethod
    def _direct(record: Record) -> bool:
        return bool((record.durable and record.suspends) or record.assumed)

    def _through(self, record: Record, suspending: set[Frame]) -> bool:
        return any(target in suspending or self._known.get(target, False) for target in record.targets)

    def record(self, record: Record) -> bool:
        """Whether one step can suspend."""
        return self._direct(record) or any(self.frame(target) for target in record.targets)

    def first(self, frame: Frame, found: Iterable[Step]) -> Suspension | None:
        """Return the suspension among the steps of a block that explains best: a certain one, with the
        shortest chain, and rather a call that waits than a step, which only waits for its next attempt.
        """
        best: Suspension | None = None
        for step in found:
            if frame.mode.attempt or not self.record(step.record):
                continue
            chain = self.chain(frame, step)
            if chain is not None and (best is None or _rank(chain) < _rank(best)):
                best = chain
                if _rank(best) == _PLAIN:
                    break
        return best

    def chain(self, frame: Frame, step: Step) -> Suspension | None:
        """Return the shortest way from one step to a durable call."""
        assumed: Suspension | None = None
        waiting: deque[tuple[Frame, Step, tuple[Link, ...]]] = deque([(frame, step, ())])
        seen: set[Frame] = set()
        while waiting:
            within, current, links = waiting.popleft()
            chain = (*links, Link(within.module, current.fact))
            record = current.record
            if record.durable and record.suspends:
                return Suspension(chain, record.durable, "")
            if record.assumed and assumed is None:
                assumed = Suspension(chain, _called_name(record), record.assumed)
            for target in record.targets:
                if target in seen or not self.frame(target):
                    continue
                seen.add(target)
                waiting.extend(
                    (target, inside, chain) for inside in self.body(target) if self.record(inside.record)
                )
        return assumed


def _rank(suspension: Suspension) -> tuple[bool, int, bool]:
    return bool(suspension.assumed), len(suspension.links), suspension.durable == "step"


_PLAIN = (False, 1, False)
"""The rank that nothing can better."""


def _called_name(record: Record) -> str:
    names = sorted(value.name for value in record.callee if isinstance(value, External))
    return names[0] if names else ""
