"""Notices suspensions where they leave the SDK, in every thread, and has them followed.

The durable calls of the SDK are wrapped while somebody watches. A wrapper costs a call; nothing is traced
until a suspension comes out of it.
"""

from __future__ import annotations

import functools
import sys
import threading
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from durable_lint.observed.following import Following, Record, place_at
from durable_lint.observed.model import Cause, DurableCall
from durable_lint.observed.source import Sources
from durable_lint.observed.territory import Owner, Territory
from durable_lint.observed.text import called_text
from durable_lint.sdk import aws

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

_METHODS = (*sorted(aws.SUSPENDING), aws.CREATE_CALLBACK)


class MissingSdkError(RuntimeError):
    """There is nothing to watch: the durable execution SDK is not installed."""


class Engine(Protocol):
    """Follows suspensions with what the running Python offers."""

    def start(self, following: Following, frame: FrameType) -> None: ...

    def finish(self, following: Following) -> None: ...

    def stop(self) -> None: ...


class Listener(Protocol):
    """Who wants to know."""

    territory: Territory

    def hear(self, record: Record) -> None: ...


class Watcher:
    """Watches for any number of listeners; there is one for the process (`WATCHER`).

    It has state: who listens, which methods are wrapped, and what each thread is in the middle of.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._listeners: list[Listener] = []
        self._engine: Engine | None = None
        self._wrapped: list[tuple[type, str, Any]] = []
        self._sources = Sources()
        self._control: tuple[type[BaseException], ...] = ()
        self._orphaned: type[BaseException] = BaseException
        self._mine = threading.local()

    def add(self, listener: Listener) -> None:
        """Begin to tell a listener. Raises `MissingSdkError`."""
        with self._lock:
            if not self._listeners:
                self._begin()
            self._listeners.append(listener)

    def remove(self, listener: Listener) -> None:
        """Stop telling a listener; with the last one, take everything back."""
        with self._lock:
            self._listeners.remove(listener)
            if not self._listeners:
                self._finish()

    def _begin(self) -> None:
        try:
            from aws_durable_execution_sdk_python import exceptions
            from aws_durable_execution_sdk_python.context import Callback, DurableContext
        except ImportError as error:
            raise MissingSdkError(
                f"watching suspensions needs {aws.PACKAGE.replace('_', '-')}; it is not installed ({error})"
            ) from error
        self._orphaned = getattr(exceptions, "OrphanedChildException", exceptions.SuspendExecution)
        self._control = (exceptions.SuspendExecution, self._orphaned)
        self._sources = Sources()
        if sys.version_info >= (3, 12):  # pragma: no cover (coverage is taken on 3.11)
            from durable_lint.observed.monitoring import Monitoring

            self._engine = Monitoring()
        else:
            from durable_lint.observed.tracing import Tracing

            self._engine = Tracing()
        for name in _METHODS:
            self._wrap(DurableContext, name)
        self._wrap(Callback, "result")

    def _finish(self) -> None:
        for owner, name, original in reversed(self._wrapped):
            setattr(owner, name, original)
        self._wrapped.clear()
        if self._engine is not None:
            self._engine.stop()
            self._engine = None

    def _wrap(self, owner: type, name: str) -> None:
        original = vars(owner).get(name)
        if original is None:
            return  # this release of the SDK does not have it

        @functools.wraps(original)
        def watched(*arguments: Any, **keywords: Any) -> Any:
            return self._watched(original, name, sys._getframe(1), arguments, keywords)

        setattr(owner, name, watched)
        self._wrapped.append((owner, name, original))

    def _watched(
        self,
        original: Callable[..., Any],
        operation: str,
        caller: FrameType,
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Any:
        mine = self._mine
        outer: _Made | None = getattr(mine, "call", None)
        following: Following | None = getattr(mine, "following", None)
        try:
            listener = self._listeners[0]
        except IndexError:
            return original(*arguments, **keywords)
        territory = listener.territory
        noted = False
        if outer is None or territory.owner(caller.f_code.co_filename) is not Owner.SDK:
            user = _nearest(caller, territory)
            if user is not None:
                mine.call = _made(operation, user, arguments, keywords)
                if following is not None and not following.ended:
                    noted = following.durable_call(mine.call.described())
        try:
            return original(*arguments, **keywords)
        except self._control as error:
            call: _Made | None = getattr(mine, "call", None)
            if call is not None:
                self._suspended(error, caller, call, territory)
            raise
        finally:
            mine.call = outer
            if noted and following is not None:
                following.durable_call_made()

    def _suspended(self, error: BaseException, frame: FrameType, call: _Made, territory: Territory) -> None:
        mine = self._mine
        current: Following | None = getattr(mine, "following", None)
        if current is not None and not current.ended:
            if current.follows(error):
                return
            current.end()
        engine = self._engine
        listeners = tuple(self._listeners)
        if engine is None or not listeners:
            return
        cause = Cause.ORPHANED if isinstance(error, self._orphaned) else Cause.SUSPENSION
        record = Record(cause, call.described(), threading.current_thread().name)

        def done(following: Following) -> None:
            engine.finish(following)
            for listener in listeners:
                listener.hear(following.record)

        mine.following = Following(error, frame, record, self._sources, territory, done)
        engine.start(mine.following, frame)


def _nearest(frame: FrameType | None, territory: Territory) -> FrameType | None:
    while frame is not None:
        if territory.owner(frame.f_code.co_filename) is Owner.USER:
            return frame
        frame = frame.f_back
    return None


class _Made(NamedTuple):
    """A durable call that is being made, as cheap to note as it can be: most do not suspend."""

    operation: str
    name: str
    code: CodeType
    offset: int
    row: int

    def described(self) -> DurableCall:
        place, span = place_at(self.code, self.offset, self.row)
        text = called_text(self.code.co_filename, span)
        return DurableCall(self.operation, self.name, place, text or self.operation)


def _made(operation: str, frame: FrameType, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> _Made:
    name = keywords.get("name")
    names = aws.POSITIONS.get(operation, ())
    if name is None and "name" in names and len(arguments) > names.index("name") + 1:
        name = arguments[names.index("name") + 1]
    given = name if isinstance(name, str) else ""
    return _Made(operation, given, frame.f_code, frame.f_lasti, frame.f_lineno or 1)


WATCHER = Watcher()
