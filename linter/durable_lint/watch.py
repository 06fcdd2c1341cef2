"""Notices when files change, by looking at them: no service of the operating system is needed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

_EVERY_SECONDS = 0.5


def changes(files: Callable[[], Iterable[object]], every: float = _EVERY_SECONDS) -> Iterator[None]:
    """Yield once at the start, and then whenever one of the files was changed, added or removed. Never ends.

    `files` is asked each time which files there are; what is no path in its answer is left out. `every` is in
    seconds.
    """
    before: dict[Path, tuple[int, int]] | None = None
    while True:
        now = snapshot(files())
        if now != before:
            yield
        before = now
        time.sleep(every)


def snapshot(files: Iterable[object]) -> dict[Path, tuple[int, int]]:
    """Return for each file that exists when it was changed (nanoseconds) and how many bytes it has."""
    from pathlib import Path

    seen: dict[Path, tuple[int, int]] = {}
    for file in files:
        if isinstance(file, Path):
            try:
                found = file.stat()
            except OSError:
                continue
            seen[file] = (found.st_mtime_ns, found.st_size)
    return seen
