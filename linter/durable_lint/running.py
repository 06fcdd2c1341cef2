"""Takes many files through a `Linter`, one after the other or in several processes, and adds up what came of
it.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from durable_lint.config.load import ConfigError
from durable_lint.report.run import Failure, Note, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from durable_lint.linter import FileResult, Linter
    from durable_lint.rules.finding import Finding

_WORTH_A_PROCESS = 500_000
"""Bytes of durable code, about 14,000 lines, which take about a second: ten times what a process costs."""


class Input(NamedTuple):
    """A file to lint; `raw` is its content where that does not come from disk."""

    path: Path
    raw: bytes | None = None


class Total:
    """Adds up the results of files. `progress` is told how many files are done."""

    def __init__(self, progress: Callable[[int], None] = lambda _done: None) -> None:
        self.progress = progress
        self.findings: list[Finding] = []
        self.failures: dict[Failure, None] = {}
        self.notes: dict[Note, None] = {}
        self.judged: set[Path] = set()
        self.skipped = 0
        self.suppressed = 0
        self.parsed = 0
        """How many modules other processes parsed."""

    def add(self, result: FileResult) -> None:
        """Count one file's result."""
        self.findings.extend(result.findings)
        self.failures.update(dict.fromkeys(result.failures))
        self.notes.update(dict.fromkeys(result.notes))
        if not result.failures and not result.skipped:
            self.judged.add(result.path)
        self.skipped += result.skipped
        self.suppressed += len(result.suppressed)
        self.progress(len(self.judged) + self.skipped + len(self.failures))

    def start_again(self) -> None:
        """Forget the files that were counted, but not what failed."""
        self.findings.clear()
        self.judged.clear()
        self.skipped = self.suppressed = 0

    def fail(self, failure: Failure) -> None:
        """Count something that could not be judged, once."""
        self.failures[failure] = None

    def fail_config(self, error: ConfigError) -> None:
        """Count a configuration that can't be used, once however many files it holds for."""
        for message in error.messages:
            self.fail(Failure(None, message))

    def run(self, linter: Linter, *, unsafe_fixes: bool = False, fixed: Iterable[Finding] = ()) -> Run:
        """Return the whole as plain data, sorted."""
        return Run(
            findings=tuple(sorted(self.findings, key=lambda finding: finding.sort_key)),
            failures=tuple(self.failures),
            notes=tuple(self.notes),
            judged=frozenset(self.judged),
            skipped=self.skipped,
            suppressed=self.suppressed,
            fixed=tuple(fixed),
            unsafe_fixes=unsafe_fixes,
            parsed=linter.parsed + self.parsed,
            source=lru_cache(maxsize=32)(linter.source),
        )


def lint_all(
    linter: Linter, inputs: Iterable[Input | Failure], total: Total, *, jobs: int | None = None
) -> None:
    """Lint files into `total`, in at most `jobs` processes; None means as many as pay.

    Most files can be told at a glance. A process more pays only where the others are many.
    """
    files: list[tuple[Path, int]] = []
    for each in inputs:
        if isinstance(each, Failure):
            total.fail(each)
            continue
        try:
            if jobs == 1 or each.raw is not None:
                total.add(linter.lint(each.path, each.raw))
                continue
            seen = linter.without_judging(each.path)
        except ConfigError as error:
            total.fail_config(error)
            continue
        if isinstance(seen, int):
            files.append((each.path, seen))
        else:
            total.add(seen)
    if jobs is None:
        jobs = min(_processors(), sum(size for _, size in files) // _WORTH_A_PROCESS)
    if jobs > 1 and len(files) > 1:
        from durable_lint.workers import lint_in_processes

        lint_in_processes(linter, files, total, jobs)
        return
    for path, _ in files:
        total.add(linter.lint(path, passed=True))


def _processors() -> int:
    """Return how many processors this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Rewrites(NamedTuple):
    """What rewriting came to: bytes before and after for each file that changed, and the findings that were
    fixed.
    """

    before: dict[Path, bytes]
    after: dict[Path, bytes]
    fixed: tuple[Finding, ...]
    inputs: dict[Path, bytes]
    """The contents that were handed in, not read from disk."""

    def adds(self, word: bytes) -> bool:
        """Return whether a word stands more often in a file than before."""
        return any(raw.count(word) > self.before[path].count(word) for path, raw in self.after.items())


def rewrite_all(
    linter: Linter, inputs: Iterable[Input | Failure], total: Total, *, unsafe_fixes: bool | None
) -> Rewrites:
    """Fix files in memory, one after the other; what is left to report goes into `total`. Nothing is written.

    `unsafe_fixes` None leaves the choice to each file's settings.
    """
    from durable_lint.rewrite import Rewriter

    before: dict[Path, bytes] = {}
    after: dict[Path, bytes] = {}
    fixed: list[Finding] = []
    touched: list[Input] = []
    for each in inputs:
        if isinstance(each, Failure):
            total.fail(each)
            continue
        try:
            unsafe = linter.settings_for(each.path).unsafe_fixes if unsafe_fixes is None else unsafe_fixes
            rewritten = Rewriter(linter, unsafe_fixes=unsafe, before=before).rewrite(each.path, each.raw)
        except ConfigError as error:
            total.fail_config(error)
            continue
        after.update(rewritten.contents)
        fixed.extend(rewritten.fixed)
        touched.append(each)
        total.add(rewritten.result)
    changed = {path: raw for path, raw in after.items() if raw != before.get(path)}
    if len(changed) > 1 or changed.keys() - {each.path for each in touched}:
        # A fix may have changed what another file's calls lead to, after that file was judged.
        total.start_again()
        for each in touched:
            total.add(linter.lint(each.path, linter.content(each.path)))
    handed_in = {each.path: each.raw for each in touched if each.raw is not None}
    return Rewrites({path: before[path] for path in changed}, changed, tuple(fixed), handed_in)


def write_all(rewrites: Rewrites) -> list[Failure]:
    """Write every file that changed, each at once or not at all. Return what could not be written."""
    from durable_lint.source.write import write_atomically

    failures: list[Failure] = []
    for path, raw in rewrites.after.items():
        try:
            write_atomically(path, raw, expected=rewrites.before[path])
        except OSError as error:
            failures.append(Failure(path, f"can't be written: {error.strerror or error}"))
    return failures
