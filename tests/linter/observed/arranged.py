"""Runs the generated arrangements while they are watched; tells for each what its own log says and what was
seen.

The code under test and the watch know nothing of each other: the log lines of an arrangement ask the
interpreter whether a suspension is being handled, and `outside` lies where installed packages lie, so its
calls count as nobody's.
"""

from __future__ import annotations

import importlib.util
import logging
import sys
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any  # a generated module's functions are known at run time only

from aws_durable_execution_sdk_python import durable_execution
from aws_durable_execution_sdk_python.exceptions import SuspendExecution
from aws_durable_execution_sdk_python_testing.runner import DurableFunctionTestRunner
from durable_lint.observed import watch_suspensions

from tests.linter.truth.arrangements import PREAMBLE
from tests.linter.truth.execution import Trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from durable_lint.observed.model import Suspension
    from durable_lint.rules.finding import Finding

    from tests.linter.truth.arrangements import Written

OUTSIDE = """\
class OutsideError(Exception):
    pass

def effect(part):
    note(part, effect=True)

def fail():
    raise OutsideError
"""


@dataclass(frozen=True)
class Seen:
    """One arrangement: what its log says, what was watched, and the findings between its first and last
    row.
    """

    written: Written
    first: int
    trace: Trace
    suspensions: list[Suspension]
    findings: list[Finding]

    @property
    def left(self) -> bool:
        """Whether a suspension left the arrangement, whatever the driver around it did with it."""
        lost = [part.lost for suspension in self.suspensions for part in suspension.parts if part.lost]
        return len([place for place in lost if place.function != "watched.<locals>.handler"]) < len(
            self.suspensions
        )


class _Recorder(logging.Handler):
    def __init__(self, current: Callable[[], Trace]) -> None:
        super().__init__()
        self._current = current

    def emit(self, record: logging.LogRecord) -> None:
        self._current().note(record.getMessage(), effect=False)


def _load(path: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def watched(group: list[Written], folder: Path) -> list[Seen]:
    """Write a group of arrangements as a module into a folder, and run it under the watch."""
    path = folder / "arranged_module.py"
    path.write_text(PREAMBLE + "\n\n".join("\n".join(one.lines) for one in group) + "\n", "utf-8")
    packages = folder / "site-packages"
    packages.mkdir(exist_ok=True)
    (packages / "outside.py").write_text(OUTSIDE, "utf-8")
    traces = {one.name: Trace() for one in group}
    current = [Trace()]
    outside = _load(packages / "outside.py", "outside")
    outside.note = lambda part, *, effect: current[0].note(part, effect=effect)
    log = logging.getLogger("arrangements")
    recorder = _Recorder(lambda: current[0])
    log.addHandler(recorder)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        module = _load(path, "arranged_module")

        @durable_execution
        def handler(_event: Any, context: Any) -> None:
            for name, trace in traces.items():
                current[0] = trace
                try:
                    getattr(module, name)(context)
                except SuspendExecution:
                    trace.suspended = True
                except outside.OutsideError:
                    pass

        with (
            watch_suspensions(ignore=[__file__]) as seen,
            DurableFunctionTestRunner(handler, poll_interval=0.01, skip_time=False) as runner,
        ):
            result = runner.run(input="{}")
    finally:
        log.removeHandler(recorder)
        for name in ("outside", "arranged_module"):
            sys.modules.pop(name, None)
    assert result.error is None, result.error
    suspensions: dict[str, list[Suspension]] = defaultdict(list)
    for suspension in seen.seen:
        suspensions[suspension.call.place.function].append(suspension)
    found = seen.findings
    answer = []
    row = PREAMBLE.count("\n")
    for one in group:
        rows = range(row + 1, row + len(one.lines) + 1)
        inside = [finding for finding in found if finding.path == path and finding.start.row in rows]
        answer.append(Seen(one, row, traces[one.name], suspensions[one.name], inside))
        row += len(one.lines) + 1
    return answer
