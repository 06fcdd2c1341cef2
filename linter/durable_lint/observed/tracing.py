"""The engine on Python 3.11: `sys.settrace`, only in the thread that suspends and only while it does.

Whoever traced before (coverage.py, a debugger) is told everything it would have been told, and gets the
thread back.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any, cast

from durable_lint.observed.territory import Owner

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from durable_lint.observed.following import Following

    Tracer = Callable[[FrameType, str, Any], Any]
    """As `sys.settrace` takes it; `Any` because what it is handed and returns depends on the event."""


class Tracing:
    """Follows suspensions, one at a time in each thread."""

    def __init__(self) -> None:
        self._threads: dict[int, _Thread] = {}

    def start(self, following: Following, frame: FrameType) -> None:
        """Follow a suspension that is about to leave `frame`, in the thread that calls this."""
        _Thread(self._threads, following).start(frame)

    def stop(self) -> None:
        """End what is left over: threads that never went on."""
        for thread in list(self._threads.values()):
            thread.following.end()

    def finish(self, following: Following) -> None:
        """Give a thread back, because its suspension has ended."""
        for thread in list(self._threads.values()):
            if thread.following is following:
                thread.restore()


class _Thread:
    """One thread that is being traced."""

    def __init__(self, threads: dict[int, _Thread], following: Following) -> None:
        self.following = following
        self._threads = threads
        self._ident = threading.get_ident()
        self._previous: Tracer | None = None

    def start(self, frame: FrameType) -> None:
        self._previous = cast("Tracer | None", sys.gettrace())
        self._threads[self._ident] = self
        walked: FrameType | None = frame
        while walked is not None:
            owner = self.following.level(walked)
            if owner is not None:
                walked.f_trace = _Local(self, walked.f_trace or self._untold(), owner)
                walked.f_trace_opcodes = owner is Owner.USER
            walked = walked.f_back
        sys.settrace(self.enter)

    def _untold(self) -> Tracer | None:
        """Return a tracer that is told of every frame although the frame does not name it: coverage.py's,
        in C.
        """
        return self._previous if type(self._previous).__name__ == "CTracer" else None

    def enter(self, frame: FrameType, event: str, argument: object) -> Tracer | None:
        told = None if self._previous is None else self._previous(frame, event, argument)
        if self.following.ended:  # from another thread, which could not give this one back
            self.restore()
            return told
        wanted = self.following.entered(frame)
        sys.settrace(self.enter)  # coverage.py's tracer puts itself in our place
        if wanted:
            frame.f_trace_opcodes = True
            return _Local(self, told, Owner.USER)
        return told

    def restore(self) -> None:
        """Give everything back as it was, from inside a call of ours or from another thread."""
        self._threads.pop(self._ident, None)
        if threading.get_ident() != self._ident:
            return
        walked: FrameType | None = sys._getframe()
        while walked is not None:
            if isinstance(walked.f_trace, _Local):
                walked.f_trace_opcodes = False
                walked.f_trace = walked.f_trace.told
            walked = walked.f_back
        sys.settrace(self._previous)


class _Local:
    """Traces one frame, and tells who traced it before."""

    def __init__(self, thread: _Thread, told: Tracer | None, owner: Owner) -> None:
        self.told = told
        self._thread = thread
        self._owner = owner

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Tracer | None:
        if self.told is not None and event != "opcode":
            self.told = self.told(frame, event, argument)
        following = self._thread.following
        if following.ended:
            return self.told
        if event == "exception":
            following.raised(frame, argument[1])
        elif event == "return":
            following.left(frame)
        elif event == ("opcode" if self._owner is Owner.USER else "line"):
            following.instruction(frame, frame.f_lasti)
        return self.told if following.ended else self
