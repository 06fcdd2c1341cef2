"""Lints files in several processes, and outlives the death of any of them.

Each process gets stretches of neighbouring files, because what their calls lead to is judged once for all files
of a process, and neighbours call each other.
"""

from __future__ import annotations

import dataclasses
import multiprocessing
import signal
import sys
import threading
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, NamedTuple

from durable_lint.report.run import Failure

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import DefaultContext, ForkContext
    from multiprocessing.process import BaseProcess
    from pathlib import Path

    from durable_lint.linter import FileResult, Linter
    from durable_lint.rules.finding import Finding
    from durable_lint.running import Total

_STRETCHES = 2
"""In how many stretches a process gets its files."""


def lint_in_processes(linter: Linter, files: Sequence[tuple[Path, int]], total: Total, jobs: int) -> None:
    """Lint files, given with their sizes in bytes, into `total`, in at most `jobs` processes.

    A file whose process dies is a failure of its own.
    """
    for result in _results(linter, _shares(files, jobs), total):
        linter.keep(result)
        total.add(result)


def _shares(files: Sequence[tuple[Path, int]], count: int) -> list[list[Path]]:
    """Deal out stretches of neighbouring files in turn, so that each share has about the same number of bytes.

    Several stretches each, because neighbours take alike: handlers much, and their helpers little.
    """
    shares: list[list[Path]] = [[] for _ in range(count)]
    whole = sum(size + 1 for _, size in files)
    before = 0
    for path, size in files:
        shares[before * count * _STRETCHES // whole % count].append(path)
        before += size + 1
    return [share for share in shares if share]


def _results(linter: Linter, shares: list[list[Path]], total: Total) -> Iterator[FileResult]:
    unfinished = yield from _run(linter, shares, total)
    # A process may have been killed for what others did (out of memory): each file gets another one to itself first.
    while unfinished:
        left = yield from _run(linter, [unfinished], total)
        if left:
            yield _died(left[0])
        unfinished = left[1:]


class _Worker(NamedTuple):
    process: BaseProcess
    paths: list[Path]
    done: list[Path]


def _run(linter: Linter, shares: list[list[Path]], total: Total) -> Generator[FileResult, None, list[Path]]:
    """Yield results as they come, a process for each share; return, in order, the files that have none because
    a process died.
    """
    context, given = _context(linter)
    workers: dict[Connection, _Worker] = {}
    unfinished: list[Path] = []
    try:
        for paths in shares:
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_lint_all, args=(given, paths, theirs), daemon=True)
            process.start()
            theirs.close()  # so that reading ends when the process does
            workers[ours] = _Worker(process, paths, [])
        while workers:
            ready = wait(list(workers))
            for connection in [each for each in workers if each in ready]:
                worker = workers[connection]
                try:
                    result = connection.recv()
                except EOFError:
                    del workers[connection]
                    worker.process.join()
                    unfinished += worker.paths[len(worker.done) :]
                    continue
                if isinstance(result, int):
                    total.parsed += result
                    continue
                worker.done.append(result.path)
                yield result
        return unfinished
    finally:
        for worker in workers.values():
            worker.process.kill()


def _context(linter: Linter) -> tuple[ForkContext | DefaultContext, Linter]:
    """Return how processes are started, and the linter that they get.

    A fork has what this process has read; where other threads run, or the system has no fork, a process reads it anew.
    """
    if sys.platform == "linux" and threading.active_count() == 1:
        return multiprocessing.get_context("fork"), linter
    return multiprocessing.get_context(), linter.for_worker()


def _died(path: Path) -> FileResult:
    from durable_lint.linter import FileResult

    message = "the process that judged it died (killed, or out of memory); lint it alone with --jobs 1"
    return FileResult(path, failures=(Failure(path, message),))


def _lint_all(linter: Linter, paths: list[Path], results: Connection) -> None:
    # The parent answers an interrupt; a worker would only add its traceback.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    before = linter.parsed
    for path in paths:
        result = linter.lint(path, passed=True)
        results.send(
            dataclasses.replace(
                result,
                findings=tuple(map(_portable, result.findings)),
                suppressed=tuple(map(_portable, result.suppressed)),
            )
        )
    results.send(linter.parsed - before)


def _portable(finding: Finding) -> Finding:
    return dataclasses.replace(finding, subject=None)
