"""Lints files in several processes, and outlives the death of any of them."""

from __future__ import annotations

import dataclasses
import signal
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING

from durable_lint.config.load import ConfigError
from durable_lint.report.run import Failure

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from pathlib import Path

    from durable_lint.linter import FileResult, Linter
    from durable_lint.rules.finding import Finding
    from durable_lint.running import Input, Total

_linter: Linter | None = None
"""The linter of a worker process."""


def lint_in_processes(linter: Linter, inputs: Iterable[Input | Failure], total: Total, jobs: int) -> None:
    """Lint files into `total`, in `jobs` processes. A file whose process dies is a failure of its own."""
    waiting: list[Path] = []
    for each in inputs:
        if isinstance(each, Failure):
            total.fail(each)
            continue
        try:
            kept = linter.lint(each.path, each.raw) if each.raw is not None else linter.kept(each.path)
        except ConfigError as error:
            total.fail_config(error)
            continue
        if kept is None:
            waiting.append(each.path)
        else:
            total.add(kept)
    for result in _results(linter, waiting, jobs):
        linter.keep(result)
        total.add(result)


def _results(linter: Linter, paths: Sequence[Path], jobs: int) -> Iterator[FileResult]:
    unfinished = yield from _run(linter, paths, jobs)
    # One of them took its process along, and the pool with it: each has to show alone that it is not the one.
    while unfinished:
        left = yield from _run(linter, unfinished, 1)
        if left:
            yield _died(left[0])
        unfinished = left[1:]


def _run(linter: Linter, paths: Sequence[Path], jobs: int) -> Generator[FileResult, None, Sequence[Path]]:
    """Yield results; return, in order, the files that have none because a process died."""
    done: set[Path] = set()
    if not paths:
        return []
    pool = ProcessPoolExecutor(min(jobs, len(paths)), initializer=_start, initargs=(linter.for_worker(),))
    try:
        futures: dict[Future[FileResult], Path] = {}
        remaining = iter(paths)
        while True:
            # A few at a time, so that an interrupt or a death leaves little behind.
            for path in remaining:
                futures[pool.submit(_lint, path)] = path
                if len(futures) >= 2 * jobs:
                    break
            if not futures:
                return []
            finished, _ = wait(futures, return_when=FIRST_COMPLETED)
            for future in finished:
                path = futures.pop(future)
                result = future.result()
                done.add(path)
                yield result
    except BrokenProcessPool:
        return [path for path in paths if path not in done]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _died(path: Path) -> FileResult:
    from durable_lint.linter import FileResult

    message = "the process that judged it died (killed, or out of memory); lint it alone with --jobs 1"
    return FileResult(path, failures=(Failure(path, message),))


def _start(linter: Linter) -> None:
    global _linter
    _linter = linter
    # The parent answers an interrupt; a worker would only add its traceback.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _lint(path: Path) -> FileResult:
    assert _linter is not None
    result = _linter.lint(path)
    return dataclasses.replace(
        result,
        findings=tuple(map(_portable, result.findings)),
        suppressed=tuple(map(_portable, result.suppressed)),
    )


def _portable(finding: Finding) -> Finding:
    return dataclasses.replace(finding, subject=None)
