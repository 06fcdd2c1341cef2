"""Whether code can suspend, at which call, and through which chain of calls. Reads what the solver found;
changes nothing.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from durable_lint.facts import model as m
from durable_lint.project.values import External

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from durable_lint.project.frames import Frame, Record


Runnable: TypeAlias = m.Expression | m.Item | m.Statement | m.Clause
"""What can run something by itself: a call, an item that is entered, a loop or clause over a generator."""

_RUNS_NOTHING = frozenset({m.Name, m.Constant, m.LambdaExpression})


class Step(NamedTuple):
    """One thing that a block runs: `fact` is the expression, item or loop that runs it."""

    fact: Runnable
    record: Record


class Link(NamedTuple):
    """A place in a chain of calls."""

    module: m.ModuleFacts
    fact: Runnable

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


def place(fact: Runnable) -> m.At:
    """Return where a step is shown: for loops, what they iterate over."""
    if isinstance(fact, (m.For, m.Clause)):
        return fact.iterable.at
    return fact.at


# ---------------------------------------------------------------- what runs, in order


def steps(frame: Frame, block: Iterable[m.Statement], rounds: int = 1) -> Iterator[Step]:
    """Yield what a block runs, in order, without what cannot be reached; the bodies of loops `rounds`
    times.
    """
    return _recorded(frame, runs(block, rounds))


def expression_steps(frame: Frame, expression: m.Expression | None) -> Iterator[Step]:
    """Yield what evaluating one expression runs. The bodies of functions in it are not run."""
    found: list[Runnable] = []
    _expression(expression, found)
    return _recorded(frame, found)


def recorded(frame: Frame, fact: Runnable) -> Iterator[Step]:
    """Yield what one fact runs by itself: a call, an item that is entered, a loop that runs a generator."""
    return _recorded(frame, (fact,))


def _recorded(frame: Frame, facts: Iterable[Runnable]) -> Iterator[Step]:
    records = frame.records
    for fact in facts:
        record = records.get(fact)
        if record is not None:
            yield Step(fact, record)


def runs(block: Iterable[m.Statement], rounds: int = 1) -> list[Runnable]:
    """Return the facts of a block that can run something, in order: the same ones for every frame."""
    found: list[Runnable] = []
    _block(block, rounds, found)
    return found


def _expression(expression: m.Expression | None, found: list[Runnable]) -> None:
    if expression is None or type(expression) in _RUNS_NOTHING:
        return
    match expression:
        case m.Call():
            _expression(expression.function, found)
            for argument in expression.arguments:
                _expression(argument, found)
            for keyword in expression.keywords:
                _expression(keyword.value, found)
            found.append(expression)
        case m.Attribute():
            _expression(expression.value, found)
        case m.Comprehension():
            for clause in expression.clauses:
                _expression(clause.iterable, found)
                found.append(clause)
                for condition in clause.conditions:
                    _expression(condition, found)
            for element in expression.elements:
                _expression(element, found)
        case m.Await() | m.Yield():
            _expression(expression.value, found)
            found.append(expression)
        case _:
            for operand in operands(expression):
                _expression(operand, found)


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


def _block(block: Iterable[m.Statement], rounds: int, found: list[Runnable]) -> None:
    for statement in block:
        _statement(statement, rounds, found)
        if ends(statement):
            return


def _statement(statement: m.Statement, rounds: int, found: list[Runnable]) -> None:
    match statement:
        case m.ExpressionStatement():
            _expression(statement.value, found)
        case m.Return():
            _unless_generator(statement.value, found)
        case m.Assignment():
            _unless_generator(statement.value, found)
            for target in statement.targets:
                _expression(target, found)
        case m.AugmentedAssignment():
            _expression(statement.target, found)
            _expression(statement.value, found)
        case m.Raise():
            _expression(statement.exception, found)
            _expression(statement.cause, found)
        case m.Assertion():
            _expression(statement.test, found)
            _expression(statement.message, found)
        case m.Deletion():
            for target in statement.targets:
                _expression(target, found)
        case m.If():
            _expression(statement.test, found)
            known = static_truth(statement.test)
            if known is not False:
                _block(statement.body, rounds, found)
            if known is not True:
                _block(statement.orelse, rounds, found)
        case m.While():
            _expression(statement.test, found)
            if static_truth(statement.test) is not False:
                for _ in range(rounds):
                    _block(statement.body, rounds, found)
            _block(statement.orelse, rounds, found)
        case m.For():
            _expression(statement.iterable, found)
            found.append(statement)
            for _ in range(rounds):
                _block(statement.body, rounds, found)
            _block(statement.orelse, rounds, found)
        case m.Try():
            _block(statement.body, rounds, found)
            for handler in statement.handlers:
                _expression(handler.type, found)
                _block(handler.body, rounds, found)
            if not any(ends(inner) for inner in statement.body):
                _block(statement.orelse, rounds, found)
            _block(statement.finalbody, rounds, found)
        case m.With():
            for item in statement.items:
                _expression(item.manager, found)
                found.append(item)
            _block(statement.body, rounds, found)
        case m.Match():
            _expression(statement.subject, found)
            for case in statement.cases:
                _expression(case.guard, found)
                _block(case.body, rounds, found)
        case m.FunctionDefinition():
            for decorator in statement.function.decorators:
                _expression(decorator, found)
                if isinstance(decorator, m.Attribute):
                    found.append(decorator)  # `@stack.callback`
            for parameter in statement.function.parameters:
                _expression(parameter.default, found)
        case m.ClassDefinition():
            _block(statement.definition.body, rounds, found)


def _unless_generator(expression: m.Expression | None, found: list[Runnable]) -> None:
    """A generator expression that is only stored or returned runs nothing but its first iterable."""
    if isinstance(expression, m.Comprehension) and expression.kind == "generator":
        _expression(expression.clauses[0].iterable, found)
    else:
        _expression(expression, found)


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
        self._runs: dict[m.Function, list[Runnable]] = {}
        self._bodies: dict[Frame, tuple[Step, ...]] = {}
        self._known: dict[Frame, bool] = {}

    def body(self, frame: Frame) -> tuple[Step, ...]:
        """Return what a frame's function runs when it runs whole."""
        if frame.deferred:
            return ()  # nothing durable was handed to it
        body = self._bodies.get(frame)
        if body is None:
            function = frame.function
            assert function is not None
            facts = self._runs.get(function)
            if facts is None:
                facts = self._runs[function] = runs(function.body)
            body = self._bodies[frame] = tuple(_recorded(frame, facts))
        return body

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
