"""Follows one suspension on its way out, event by event, and writes down what it runs.

An engine (`tracing` or `monitoring`) tells of four things, for the thread that suspends: an exception is
raised in or arrives at a frame, an instruction is about to run, a frame is entered, a frame is left.
Whether a suspension is on its way out is decided by two facts of the interpreter: it has arrived at a frame
that has not run anything since, or it is the exception that is being handled (or in the context of that
one).

No frame and no exception is kept: they would live longer than without us, and their generators would be
closed later.
"""

from __future__ import annotations

import inspect
import sys
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from durable_lint.observed import naming
from durable_lint.observed.model import Cause, DurableCall, Kind, Place, Ran
from durable_lint.observed.source import Clause, Instruction, Span, clause_for, operations, span_of, spans
from durable_lint.observed.territory import Owner, is_test_code
from durable_lint.rules.finding import Position

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable
    from types import CodeType, FrameType

    from durable_lint.observed.source import FunctionSource, Sources
    from durable_lint.observed.territory import Territory

_CONTEXTS = 64
"""How far a chain of exception contexts is followed."""

STAND_IN = "stand-in"
"""The callee of a call that the test suite answers: a fake, which says nothing of what it stands in for."""

_CALLBACK_WRAPPER = "_exit_wrapper"
_STACK_EXITS = frozenset({"__exit__", "close", "__aexit__", "aclose"})


@dataclass
class Site:
    """A call that ran, or a manager's exit (`item`), with what is known of the callee at run time.

    `callee` is `user` when the user's own code ran, `sdk`, `library`, or "" when it was not seen. `names`
    are the qualified names that it may be known by, most telling first. `chain` are the user's functions
    that led to it.
    """

    path: Path
    code: CodeType
    span: Span
    place: Place
    text: str
    call: ast.Call | None
    item: ast.withitem | None
    names: tuple[str, ...]
    chain: tuple[str, ...]
    callee: str = ""
    registered: list[naming.Named] = field(default_factory=list)
    """What an `ExitStack` that it closes had registered."""


@dataclass
class Region:
    """A part that the suspension ran, while it is being watched; see `model.Part`."""

    kind: Kind
    place: Place
    code: CodeType
    clause: Clause | None = None
    statement: ast.With | ast.AsyncWith | None = None
    sites: list[Site] = field(default_factory=list)
    calls: list[DurableCall] = field(default_factory=list)
    acted: bool = False
    """Whether it ran anything but a `raise`."""

    is_stack: bool = False
    lost: Place | None = None
    last: tuple[ast.stmt, Place] | None = None
    """The last statement of the part itself that ran."""


@dataclass
class _Level:
    """A frame of the stack that the suspension has to pass. `point` is where it was raised, seen from
    there.
    """

    owner: Owner
    code: CodeType
    function: str
    point: Span | None


@dataclass
class _Called:
    """A frame of the user's that was entered since. `point` is where a generator was resumed."""

    code: CodeType
    kind: Kind
    chain: tuple[str, ...]
    point: Span | None
    row: int = 0
    site: Site | None = None
    region: Region | None = None
    current: Kind | None = None


@dataclass
class Record:
    """What was written down about one suspension."""

    cause: Cause
    call: DurableCall
    thread: str
    ran: list[Ran] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    durable_calls: list[DurableCall] = field(default_factory=list)
    passed: list[Place] = field(default_factory=list)
    swallowed: bool = False


class Following:
    """One suspension that is on its way out of one thread. `done` is called once, when it has ended."""

    def __init__(
        self,
        error: BaseException,
        frame: FrameType,
        record: Record,
        sources: Sources,
        territory: Territory,
        done: Callable[[Following], None],
    ) -> None:
        self.record = record
        self._sources = sources
        self._territory = territory
        self._done: Callable[[Following], None] | None = done
        self._dead = False
        self._error = weakref.ref(error, self._died)
        self._levels: list[_Level] = []
        self._index: dict[int, int] = {}
        self._base = -1
        self._propagating = False
        self._region: Region | None = None
        self._site: Site | None = None
        self._row = 0
        self._making = 0
        self._called: dict[int, _Called] = {}
        self._collect(frame)

    def _collect(self, frame: FrameType) -> None:
        """Note the stack, from the durable call out to the last frame of the SDK's, which catches."""
        walked: FrameType | None = frame
        while walked is not None:
            code = walked.f_code
            owner = self._territory.owner(code.co_filename)
            self._index[id(walked)] = len(self._levels)
            self._levels.append(_Level(owner, code, _function(walked), _span_at(code, walked.f_lasti)))
            walked = walked.f_back
        last = max(
            (at for at, level in enumerate(self._levels) if level.owner is not Owner.LIBRARY), default=0
        )
        if self._levels[last].owner is Owner.USER and last + 1 < len(self._levels):
            # Up to SDK 1.7 a thread pool of the standard library runs the handler, and hands on what it raises.
            last += 1
            self._levels[last].owner = Owner.SDK
        self._index = {key: level for key, level in self._index.items() if level <= last}
        del self._levels[last + 1 :]

    @property
    def ended(self) -> bool:
        return self._done is None

    def level(self, frame: FrameType) -> Owner | None:
        """Return whose a frame is, when it is one that the suspension has to pass."""
        index = self._index.get(id(frame))
        return None if index is None else self._levels[index].owner

    def follows(self, error: BaseException) -> bool:
        return self._error() is error

    def end(self) -> None:
        """Stop, wherever the suspension is."""
        done, self._done = self._done, None
        if done is not None:
            done(self)

    # ---------------------------------------------------------------- events

    def raised(self, frame: FrameType, error: BaseException) -> None:
        """Tell that an exception was raised in a frame, or arrived there."""
        index = self._index.get(id(frame))
        if index is None:
            called = self._called.get(id(frame))
            if called is not None and isinstance(error, GeneratorExit) and called.row == 0:
                called.kind = Kind.CLOSING
            return
        if error is not self._error():
            if index > self._base >= 0:
                self._stop()
            elif self._in_chain(error):
                self._propagating = True
            return
        if index != self._base:
            for key in [key for key, level in self._index.items() if level < index]:
                del self._index[key]
            self._base = index
            self._region = None
            level = self._levels[index]
            level.point = _span_at(level.code, frame.f_lasti)
            if level.owner is Owner.USER and level.point is not None:
                self.record.passed.append(_place(level.code, level.point, level.function))
        self._propagating = True
        self._row = 0

    def instruction(self, frame: FrameType, offset: int) -> None:
        """Tell that an instruction is about to run (in frames that are not the user's: a line)."""
        index = self._index.get(id(frame))
        if index is None:
            called = self._called.get(id(frame))
            if called is not None and self._in_flight():
                self._inside(frame, called, offset)
            return
        if index < self._base or self._base < 0:
            return
        if index > self._base:
            self._stop()
            return
        if operations(frame.f_code).get(frame.f_lasti) == "PUSH_EXC_INFO":
            return  # it is what makes an exception the one that is handled
        handling = self._handling()
        if not handling and (self._propagating or spans(frame.f_code).get(frame.f_lasti) is None):
            # On its way to a handler, or to the next one: what closes a handler has no place in the source.
            return
        self._propagating = False
        level = self._levels[index]
        if not handling:
            self._stop()
        elif level.owner is Owner.USER:
            self._at_base(frame, level, offset)

    def entered(self, frame: FrameType) -> bool:
        """Tell that a frame was entered, also a generator that goes on. Returns whether to watch its
        instructions.
        """
        if self._base < 0 or not self._counts():
            return False
        code = frame.f_code
        owner = self._territory.owner(code.co_filename)
        caller = frame.f_back
        site = self._site_in(caller)
        if owner is Owner.LIBRARY and _is_contextlib(code):
            self._contextlib(frame, site)
        elif owner is not Owner.USER and site is not None and not site.callee:
            site.callee = owner.value
            site.names = (*site.names, *naming.of_frame(frame))
        if owner is not Owner.USER:
            return False
        origin = self._origin(caller)
        if origin is not None and is_test_code(code.co_filename) and not is_test_code(str(origin[0].path)):
            if not origin[0].callee:
                origin[0].callee = STAND_IN
            return False
        if origin is not None and (origin[0] is site or _is_contextlib_frame(caller)):
            origin[0].callee = Owner.USER.value
        kind = self._kind(caller, origin)
        chain = origin[2] if origin is not None else ()
        point = _span_at(code, frame.f_lasti) if code.co_flags & inspect.CO_GENERATOR else None
        self._called[id(frame)] = _Called(code, kind, (*chain, naming.qualified(frame)), point)
        return True

    def left(self, frame: FrameType) -> None:
        """Tell that a frame was left, either way."""
        self._called.pop(id(frame), None)
        if self._index.get(id(frame)) == len(self._levels) - 1:
            self.end()

    def durable_call(self, call: DurableCall) -> bool:
        """Tell of a durable call that is being made in this thread. Returns whether its end is to be told."""
        if self._base < 0 or not self._in_flight() or self._levels[self._base].owner is Owner.SDK:
            return False
        self.record.durable_calls.append(call)
        if self._region is not None:
            self._region.calls.append(call)
            self._region.acted = True
        self._making += 1
        return True

    def durable_call_made(self) -> None:
        """Tell that a durable call has ended; what it ran was its own effect."""
        self._making -= 1

    # ---------------------------------------------------------------- is it on its way?

    def _died(self, _: object) -> None:
        self._dead = True

    def _handling(self) -> bool:
        """Whether the suspension is being handled, or in the context of what is."""
        return self._in_chain(sys.exception())

    def _in_chain(self, error: BaseException | None) -> bool:
        wanted = self._error()
        for _ in range(_CONTEXTS):
            if error is None:
                return False
            if error is wanted:
                return True
            error = error.__context__
        return False

    def _in_flight(self) -> bool:
        return self._propagating or self._dead or self._handling()

    def _counts(self) -> bool:
        """Whether what is entered now is the user's doing: the SDK's own hooks and serializers are not."""
        if self._levels[self._base].owner is Owner.SDK:
            return self._dead or self._propagating
        return self._in_flight()

    def _stop(self) -> None:
        """End, because the frame at the base has kept the suspension: the SDK may."""
        if self._levels[self._base].owner is Owner.SDK:
            self.end()
        else:
            self._lose()

    def _lose(self) -> None:
        """Note that the suspension will not come back from the frame at the base."""
        self.record.swallowed = True
        region = self._region
        if region is None:
            region = Region(Kind.OTHER, self._called_from(), self._levels[self._base].code)
            self.record.regions.append(region)
        region.lost = region.last[1] if region.last is not None else region.place
        self.end()

    def _called_from(self) -> Place:
        """Return the user's place nearest to the base, outwards: what called the library that is there."""
        for level in self._levels[self._base :]:
            if level.owner is Owner.USER and level.point is not None:
                return _place(level.code, level.point, level.function)
        return self.record.passed[-1] if self.record.passed else self.record.call.place

    # ---------------------------------------------------------------- what runs

    def _at_base(self, frame: FrameType, level: _Level, offset: int) -> None:
        source = self._sources.of(level.code)
        instruction = None if source is None else source.at(offset)
        if source is None or instruction is None:
            return
        if instruction.item is not None and not instruction.leaves:
            self._exit(frame, level, instruction)
            return
        clause = clause_for(instruction, level.point)
        if clause is None or instruction.statement is None:
            return
        kind = Kind.FINALLY if clause.handler is None else Kind.EXCEPT
        region = self._region
        if region is None or region.clause is not clause:
            region = Region(kind, _clause_place(level, clause, source), level.code, clause)
            self._region = region
            self.record.regions.append(region)
        self._statement(region, level.code, level.function, instruction, kind)
        self._look_at_call(region, frame, level.code, level.function, instruction, (level.function,))

    def _exit(self, frame: FrameType, level: _Level, instruction: Instruction) -> None:
        assert instruction.item is not None
        statement, item = instruction.item
        place = _place(level.code, span_of(item.context_expr), level.function)
        region = Region(Kind.EXIT, place, level.code, None, statement)
        self._region = region
        self.record.regions.append(region)
        self._row = 0
        self.record.ran.append(Ran(place.path, statement.lineno, level.function, Kind.EXIT))
        names = naming.of_manager(item.context_expr, frame)
        text = _text(level.code, span_of(item.context_expr))
        self._site = Site(
            place.path,
            level.code,
            span_of(item.context_expr),
            place,
            text,
            None,
            item,
            names,
            (level.function,),
        )
        region.sites.append(self._site)

    def _statement(
        self, region: Region, code: CodeType, function: str, instruction: Instruction, kind: Kind
    ) -> None:
        statement = instruction.statement
        assert statement is not None
        place = _place(code, span_of(statement), function)
        if not _is_raise(statement):
            region.acted = True
        region.last = (statement, place)
        if statement.lineno != self._row:
            self._row = statement.lineno
            self.record.ran.append(Ran(place.path, statement.lineno, function, kind))

    def _inside(self, frame: FrameType, called: _Called, offset: int) -> None:
        """Note what a function does that was called since."""
        source = self._sources.of(called.code)
        function = called.code.co_qualname
        if source is None:
            row = frame.f_lineno
            if row and row != called.row:
                called.row = row
                self.record.ran.append(Ran(Path(called.code.co_filename), row, function, called.kind))
            return
        instruction = source.at(offset)
        if instruction is None or instruction.statement is None:
            return
        clause = clause_for(instruction, called.point)
        called.current = called.kind
        if clause is not None and called.kind is not Kind.CLOSING:
            called.current = Kind.FINALLY if clause.handler is None else Kind.EXCEPT
        region = self._region
        if called.kind is Kind.CLOSING:
            region = self._closing(called, source, clause)
        row = instruction.statement.lineno
        if clause is None and called.kind is Kind.CLOSING:
            return
        if row != called.row:
            called.row = row
            self.record.ran.append(Ran(Path(called.code.co_filename), row, function, called.current))
        if region is not None:
            region.acted = True
            self._look_at_call(region, frame, called.code, function, instruction, called.chain, called)

    def _closing(self, called: _Called, source: FunctionSource, clause: Clause | None) -> Region | None:
        if clause is None:
            return called.region
        if called.region is None or called.region.clause is not clause:
            level = _Level(Owner.USER, called.code, called.code.co_qualname, called.point)
            place = _clause_place(level, clause, source)
            called.region = Region(Kind.CLOSING, place, called.code, clause)
            self.record.regions.append(called.region)
        return called.region

    def _look_at_call(
        self,
        region: Region,
        frame: FrameType,
        code: CodeType,
        function: str,
        instruction: Instruction,
        chain: tuple[str, ...],
        called: _Called | None = None,
    ) -> None:
        call = instruction.call
        item = instruction.item[1] if instruction.item is not None else None
        if call is None and item is None:
            return
        names = (
            naming.of_manager(item.context_expr, frame) if item is not None else naming.of_call(call, frame)
        )
        span = instruction.span if call is None else span_of(call.func)
        text = _text(code, span_of(item.context_expr) if item is not None else span)
        place = _place(code, instruction.span, function)
        site = Site(
            place.path, code, instruction.span, place, text, None if item else call, item, names, chain
        )
        region.sites.append(site)
        if called is None:
            self._site = site
        else:
            called.site = site

    # ---------------------------------------------------------------- who called whom

    def _site_in(self, frame: FrameType | None) -> Site | None:
        """Return the call that is under way in a frame of the user's."""
        if frame is None:
            return None
        if self._index.get(id(frame)) == self._base:
            return self._site if self._levels[self._base].owner is Owner.USER else None
        called = self._called.get(id(frame))
        return None if called is None else called.site

    def _origin(self, frame: FrameType | None) -> tuple[Site, Kind | None, tuple[str, ...]] | None:
        """Return the call in the nearest frame of the user's from which a frame was reached."""
        while frame is not None:
            called = self._called.get(id(frame))
            if called is not None:
                return None if called.site is None else (called.site, called.current, called.chain)
            if id(frame) in self._index:
                if self._site is None or self._region is None:
                    return None
                return self._site, self._region.kind, self._site.chain
            if self._territory.owner(frame.f_code.co_filename) is Owner.SDK:
                return None  # what the SDK calls is its own affair
            frame = frame.f_back
        return None

    def _kind(
        self, caller: FrameType | None, origin: tuple[Site, Kind | None, tuple[str, ...]] | None
    ) -> Kind:
        walked = caller
        while walked is not None and _is_contextlib_frame(walked):
            if walked.f_code.co_name == _CALLBACK_WRAPPER:
                return Kind.CALLBACK
            walked = walked.f_back
        if origin is not None:
            site, kind, _ = origin
            if site.item is not None:
                return Kind.EXIT
            if kind is not None:
                return kind
        if self._region is not None and not self._propagating:
            return self._region.kind
        return Kind.OTHER

    def _contextlib(self, frame: FrameType, site: Site | None) -> None:
        """Look into the standard library's managers: they run what they were handed."""
        owner: Any = frame.f_locals.get("self")  # the standard library's classes, by their private parts
        name = type(owner).__name__
        if frame.f_code.co_name in _STACK_EXITS and hasattr(owner, "_exit_callbacks"):
            origin = self._origin(frame.f_back)
            if origin is not None and frame.f_code.co_name in {"__exit__", "__aexit__"}:
                origin[0].registered.extend(naming.of_callbacks(owner._exit_callbacks))
                origin[0].callee = "stack"
                if self._region is not None:
                    self._region.is_stack = True
        elif site is not None and name in {"closing", "aclosing"}:
            site.names = (*site.names, *naming.of_method(frame.f_locals["self"].thing, "close"))
        elif site is not None and name.endswith("GeneratorContextManager"):
            site.names = (*site.names, *naming.of_generator(frame.f_locals["self"].gen))
            site.callee = "generator"
        elif site is not None and not site.callee:
            site.callee = Owner.LIBRARY.value
            site.names = (*site.names, *naming.of_frame(frame))


def _span_at(code: CodeType, offset: int) -> Span | None:
    return spans(code).get(offset)


def place_at(code: CodeType, offset: int, row: int) -> tuple[Place, Span]:
    """Return where an instruction of the user's is; `row` is its row, for one that has no exact place."""
    span = _span_at(code, offset) or Span(row, 0, row, 1)
    return _place(code, span, code.co_qualname), span


def _place(code: CodeType, span: Span, function: str) -> Place:
    from durable_lint.observed.text import characters

    path = Path(code.co_filename)
    start = Position(span.row, characters(code.co_filename, span.row, span.column))
    end = Position(span.end_row, characters(code.co_filename, span.end_row, span.end_column))
    return Place(path, start, end, function)


def _clause_place(level: _Level, clause: Clause, source: FunctionSource) -> Place:
    from durable_lint.observed.text import keyword_above

    handler = clause.handler
    if handler is not None:
        start = handler.col_offset
        span = Span(handler.lineno, start, handler.lineno, start + len("except"))
    else:
        span = keyword_above(level.code.co_filename, clause.body, clause.protected, "finally")
    return _place(level.code, span, source.name)


def _text(code: CodeType, span: Span) -> str:
    from durable_lint.observed.text import text_at

    return text_at(code.co_filename, span)


def _function(frame: FrameType) -> str:
    return frame.f_code.co_qualname


def _is_raise(statement: ast.stmt) -> bool:
    return type(statement).__name__ == "Raise"


def _is_contextlib(code: CodeType) -> bool:
    return code.co_filename.endswith("contextlib.py")


def _is_contextlib_frame(frame: FrameType | None) -> bool:
    return frame is not None and _is_contextlib(frame.f_code)
