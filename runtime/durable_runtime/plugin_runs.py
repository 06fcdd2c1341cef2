"""The user functions that run on this thread, and what plugins bound for them.

Knows threads and order, and nothing of outcomes, of exceptions, or of when the SDK calls which hook. A
plugin enters a run when it hears that a user function starts, and leaves it when it has heard the last of
it. What was bound for a run is released in reverse order, on the thread that bound it.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aws_durable_execution_sdk_python.plugin import OperationInfo, UserFunctionStartInfo

    from durable_runtime.plugin import CompletionPlugin

logger = logging.getLogger("durable_runtime.plugin")


@dataclass(eq=False)
class Watch:
    """One plugin's part in a run: what it has heard, and how much was bound when its base classes had."""

    plugin: CompletionPlugin
    bound_before_bases: int | None = None
    leaving: bool = False


@dataclass(eq=False)
class Run:
    """One run of a user function on one thread, shared by the plugins that watch it.

    The SDK tells plugins of an end in the order in which it told them of the start, so the first one hears
    of an end while a later one still holds what it bound on top. So the last one to leave releases.
    """

    info: UserFunctionStartInfo
    watches: list[Watch] = field(default_factory=list)
    releases: list[Callable[[], object]] = field(default_factory=list)

    def watch_of(self, plugin: CompletionPlugin) -> Watch | None:
        """The part of `plugin`, or None when it does not (or no longer) take part."""
        return next((watch for watch in self.watches if watch.plugin is plugin), None)

    def release_all_but(self, count: int) -> None:
        """Release what was bound after the first `count` bindings, newest first.

        A release that raises is logged and keeps none of the others from running. An exception that is no
        `Exception` (`SystemExit`, say) is raised again when all have run.
        """
        stop: BaseException | None = None
        while len(self.releases) > count:
            release = self.releases.pop()
            try:
                release()
            except Exception:
                logger.exception("A binding of operation %s failed to release", self.info.operation_id)
            except BaseException as error:
                stop = stop or error
        if stop is not None:
            raise stop


class _Thread(threading.local):
    """The open runs of a thread, outermost first. Kept by thread because what is bound belongs to one."""

    def __init__(self) -> None:
        self.runs: list[Run] = []


_thread = _Thread()


def enter(plugin: CompletionPlugin, info: UserFunctionStartInfo) -> tuple[Run, Watch]:
    """Let `plugin` take part in the run that `info` starts.

    The SDK hands the same `info` object to every plugin. An open run of the same operation on this thread
    was never reported as over, and the operation has been entered again: its bindings are released first.
    """
    runs = _thread.runs
    if not runs or runs[-1].info is not info:
        for index, stale in enumerate(runs):
            if stale.info.operation_id == info.operation_id:
                _close_from(index)
                break
        runs.append(Run(info))
    run = runs[-1]
    watch = run.watch_of(plugin)
    if watch is None:
        watch = Watch(plugin)
        run.watches.append(watch)
    return run, watch


def find(plugin: CompletionPlugin, info: OperationInfo) -> tuple[Run, Watch] | None:
    """The open run, on this thread, of the operation that `info` names, if `plugin` takes part in it."""
    for run in reversed(_thread.runs):
        if run.info.operation_id == info.operation_id:
            watch = run.watch_of(plugin)
            return None if watch is None else (run, watch)
    return None


def leave(run: Run, watch: Watch) -> None:
    """A plugin has heard the last of `run`. The last one to leave releases; inner runs are closed before."""
    runs = _thread.runs
    try:
        _close_from(runs.index(run) + 1)
    finally:
        run.watches.remove(watch)
        if not run.watches:
            runs.remove(run)
            run.release_all_but(0)


def open_runs() -> tuple[Run, ...]:
    """The open runs on this thread, outermost first."""
    return tuple(_thread.runs)


def opened_since(before: tuple[Run, ...]) -> Iterator[tuple[Run, Watch]]:
    """Who takes part in the runs on this thread that were not among `before`, inner runs first."""
    for run in reversed(open_runs()):
        if run not in before:
            for watch in tuple(run.watches):
                yield run, watch


def _close_from(index: int) -> None:
    runs = _thread.runs
    abandoned, runs[index:] = runs[index:], []
    for run in reversed(abandoned):
        run.release_all_but(0)
