"""The engine on Python 3.12 and later: `sys.monitoring`, switched on only while a suspension is on its way
out.

It takes a tool's number of its own, so coverage.py, debuggers and profilers keep theirs.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

from durable_lint.observed.territory import Owner

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from durable_lint.observed.following import Following

_TOOL = "durable-lint"
_NUMBERS = (4, 3, 2, 5, 1, 0)
"""The tool numbers to try: those that PEP 669 reserves for a kind of tool come last."""


class NoToolNumber(RuntimeError):
    """All numbers of `sys.monitoring` are taken."""


class Monitoring:  # pragma: no cover (Python 3.12 and later; coverage is taken on 3.11)
    """Follows suspensions, one at a time in each thread."""

    def __init__(self) -> None:
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]  # new in 3.12
        self._lock = threading.RLock()
        self._threads: dict[int, Following] = {}
        self._codes: dict[int, CodeType] = {}
        self._tool = self._take_number()

    def _take_number(self) -> int:
        for number in _NUMBERS:
            if self._monitoring.get_tool(number) is None:
                self._monitoring.use_tool_id(number, _TOOL)
                events = self._monitoring.events
                for event, callback in (
                    (events.RAISE, self._raised),
                    (events.RERAISE, self._raised),
                    (events.INSTRUCTION, self._instruction),
                    (events.LINE, self._line),
                    (events.PY_START, self._entered),
                    (events.PY_RESUME, self._entered),
                    (events.PY_THROW, self._entered),
                    (events.PY_RETURN, self._left),
                    (events.PY_UNWIND, self._left),
                ):
                    self._monitoring.register_callback(number, event, callback)
                return number
        raise NoToolNumber("durable-lint can't watch: all six tool numbers of sys.monitoring are taken")

    def start(self, following: Following, frame: FrameType) -> None:
        """Follow a suspension that is about to leave `frame`, in the thread that calls this."""
        events = self._monitoring.events
        with self._lock:
            first = not self._threads
            self._threads[threading.get_ident()] = following
            walked: FrameType | None = frame
            while walked is not None:
                owner = following.level(walked)
                if owner is not None:
                    self._watch(walked.f_code, events.INSTRUCTION if owner is Owner.USER else events.LINE)
                walked = walked.f_back
            if first:
                self._monitoring.set_events(
                    self._tool,
                    events.RAISE
                    | events.RERAISE
                    | events.PY_START
                    | events.PY_RESUME
                    | events.PY_THROW
                    | events.PY_RETURN
                    | events.PY_UNWIND,
                )

    def stop(self) -> None:
        """End what is left over, and give the number back."""
        for following in list(self._threads.values()):
            following.end()
        with self._lock:
            self._quiet()
            self._monitoring.free_tool_id(self._tool)

    def finish(self, following: Following) -> None:
        """Stop watching a thread, because its suspension has ended."""
        with self._lock:
            for ident, one in list(self._threads.items()):
                if one is following:
                    del self._threads[ident]
            if not self._threads:
                self._quiet()

    def _quiet(self) -> None:
        self._monitoring.set_events(self._tool, 0)
        for code in self._codes.values():
            self._monitoring.set_local_events(self._tool, code, 0)
        self._codes.clear()

    def _watch(self, code: CodeType, event: int) -> None:
        if id(code) not in self._codes:
            self._codes[id(code)] = code
            self._monitoring.set_local_events(self._tool, code, event)

    # ---------------------------------------------------------------- events, in any thread

    def _raised(self, _code: CodeType, _offset: int, error: BaseException) -> None:
        following = self._threads.get(threading.get_ident())
        if following is not None:
            following.raised(sys._getframe(1), error)

    def _instruction(self, _code: CodeType, offset: int) -> None:
        following = self._threads.get(threading.get_ident())
        if following is not None:
            following.instruction(sys._getframe(1), offset)

    def _line(self, _code: CodeType, _row: int) -> None:
        following = self._threads.get(threading.get_ident())
        if following is not None:
            following.instruction(sys._getframe(1), -1)

    def _entered(self, code: CodeType, _offset: int, _thrown: BaseException | None = None) -> None:
        following = self._threads.get(threading.get_ident())
        if following is not None and following.entered(sys._getframe(1)):
            with self._lock:
                self._watch(code, self._monitoring.events.INSTRUCTION)

    def _left(self, _code: CodeType, _offset: int, _value: object) -> None:
        following = self._threads.get(threading.get_ident())
        if following is not None:
            following.left(sys._getframe(1))
