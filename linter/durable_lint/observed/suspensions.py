"""The watch as people use it: open it, run executions, look at what was seen or assert that nothing unsafe
was.
"""

from __future__ import annotations

import fnmatch
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from durable_lint.config.load import ConfigError, Resolver, absolute
from durable_lint.config.selectors import rules
from durable_lint.linter import Linter
from durable_lint.observed.findings import Fault, faults, finding
from durable_lint.observed.judging import Judge
from durable_lint.observed.territory import Territory
from durable_lint.observed.watcher import WATCHER
from durable_lint.source.suppressions import Suppressions

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from durable_lint.config.settings import Settings
    from durable_lint.observed.comparing import Comparison
    from durable_lint.observed.following import Record
    from durable_lint.observed.model import Place, Suspension
    from durable_lint.rules.finding import Finding


class UnsafeSuspensions(AssertionError):
    """Suspensions ran something that is not right to run at a suspension; the message is the report."""


class Suspensions:
    """What was seen while it was watching. `watch_suspensions` and the pytest plugin make it.

    Every answer is about all suspensions so far that have come to their end, in every thread.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        ignore: Iterable[str] = (),
        src: Iterable[str | os.PathLike[str]] = (),
    ) -> None:
        self.territory = Territory(Path(path) for path in src)
        self._linter = Linter(settings or Resolver())
        self._judge = Judge(self._linter, self.territory)
        self._comments: dict[Path, Suppressions | None] = {}
        self._ignored = list(ignore)
        self._records: list[Record] = []
        self._seen: list[Suspension] = []
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begin to watch. Raises `MissingSdkError` where the durable execution SDK is not installed."""
        WATCHER.add(self)

    def stop(self) -> None:
        """Stop watching; the answers stay."""
        WATCHER.remove(self)

    def hear(self, record: Record) -> None:
        """Take a record: the watcher calls it, in the thread that suspended."""
        with self._lock:
            self._records.append(record)

    def ignore(self, *patterns: str) -> None:
        """Let what matches run: a path (`tests/*`, `*/legacy.py`) or a function (`handlers.review`,
        `*.cleanup`).
        """
        self._ignored.extend(patterns)

    @property
    def seen(self) -> tuple[Suspension, ...]:
        """The suspensions, in the order in which they came to their end."""
        with self._lock:
            waiting, self._records = self._records, []
        self._seen.extend(self._judge.judged(record) for record in waiting)
        return tuple(self._seen)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the rules have against what was seen: one finding for a rule and a place, sorted by place.

        The configuration holds, and the comments that suppress findings: what the linter would not report
        is not reported.
        """
        groups: dict[tuple[str, object, Path], list[Fault]] = {}
        for suspension in self.seen:
            for fault in faults(suspension, self._counts):
                groups.setdefault((fault.code, fault.place.start, absolute(fault.place.path)), []).append(
                    fault
                )
        found = [finding(group, self._counts) for group in groups.values()]
        return tuple(sorted(filter(self._reported, found), key=lambda one: one.sort_key))

    def report(self) -> str:
        """Return the findings as the linter shows them, "" when there are none."""
        from durable_lint.report.run import Run, plural
        from durable_lint.report.style import Style
        from durable_lint.report.text import full

        found = self.findings
        if not found:
            return ""
        run = Run(findings=found, source=self._linter.source)
        text = "".join(full(run, Style()))
        return f"{text}{plural(len(found), 'finding')} at {plural(len(self.seen), 'suspension')}."

    def assert_clean(self, *ignore: str) -> None:
        """Fail with a report when a suspension ran what is not right to run then, or was swallowed.

        `ignore` is as for the method of that name. Raises `UnsafeSuspensions`, an `AssertionError`.
        """
        __tracebackhide__ = True
        self.ignore(*ignore)
        report = self.report()
        if report:
            raise UnsafeSuspensions(f"suspensions ran what they must not\n\n{report}")

    def compared(self) -> Comparison:
        """Return what only one of the two sees: this watch, or the linter reading the same files."""
        return self.compared_with(self.findings, [place for one in self.seen for place in one.passed])

    def compared_with(self, findings: Iterable[Finding], passed: Iterable[Place]) -> Comparison:
        """Compare findings, and the places that suspensions went through, with the linter."""
        from durable_lint.observed.comparing import compare

        return compare(self._linter, findings, passed)

    def _counts(self, path: Path, function: str) -> bool:
        return not is_ignored(path, function, self._ignored)

    def _reported(self, one: Finding) -> bool:
        try:
            settings = self._linter.settings_for(one.path)
        except ConfigError:  # the linter's to report
            return True
        if not settings.reports(one.code, one.path):
            return False
        if one.path not in self._comments:
            source = self._linter.source(one.path)
            names = {rule.name: code for code, rule in rules().items()}
            self._comments[one.path] = None if source is None else Suppressions(source, names)
        comments = self._comments[one.path]
        return comments is None or not comments.covering(one)


def is_ignored(path: Path, function: str, patterns: Iterable[str]) -> bool:
    """Return whether a pattern matches a file, or a function by its name, with or without its module."""
    where = absolute(path)
    shown = {where.as_posix()}
    if where.is_relative_to(Path.cwd()):
        shown.add(where.relative_to(Path.cwd()).as_posix())
    names = {function, f"{where.stem}.{function}"}
    for pattern in patterns:
        if "/" in pattern or pattern.endswith(".py"):
            if any(
                fnmatch.fnmatchcase(one, pattern) or fnmatch.fnmatchcase(one, f"*/{pattern}") for one in shown
            ):
                return True
        elif any(fnmatch.fnmatchcase(name, pattern) or name.endswith(f".{pattern}") for name in names):
            return True
    return False


@contextmanager
def watch_suspensions(
    settings: Settings | None = None,
    *,
    ignore: Iterable[str] = (),
    src: Iterable[str | os.PathLike[str]] = (),
) -> Iterator[Suspensions]:
    """Watch every durable execution of this process while the block runs, in every thread.

    Args:
        settings: The linter's settings; by default those of the nearest configuration file.
        ignore: Paths and functions that may run at a suspension, see `Suspensions.ignore`.
        src: Directories of code that is yours although it is installed as a package.

    Yields:
        What was seen; it can be asked inside the block and after it.

    Raises:
        MissingSdkError: The durable execution SDK is not installed.
    """
    seen = Suspensions(settings, ignore=ignore, src=src)
    seen.start()
    try:
        yield seen
    finally:
        seen.stop()
