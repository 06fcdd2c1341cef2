"""A line on a terminal that says how far a long run has come, and nothing where nobody watches."""

from __future__ import annotations

import sys
import time

_QUIET_SECONDS = 0.7
_EVERY_SECONDS = 0.1


class Progress:
    """Counts files on standard error, from the moment a run turns out to be long. Use it with `with`."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown and sys.stderr.isatty()
        self._started = time.monotonic()
        self._last = 0.0
        self._wrote = False

    def __call__(self, done: int) -> None:
        """Say how many files are done."""
        if not self._shown:
            return
        now = time.monotonic()
        if now - self._started < _QUIET_SECONDS or now - self._last < _EVERY_SECONDS:
            return
        self._last = now
        self._wrote = True
        sys.stderr.write(f"\r\x1b[2K{done} files judged")
        sys.stderr.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._wrote:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
