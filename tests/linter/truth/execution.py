"""Runs handlers and arrangements on the SDK's test runner, and tells what a suspension ran.

A suspension is one exception, raised by one durable call. To learn what it runs on its way out takes one call
of the function with a real `DurableContext`; ending the invocation each time adds nothing but time. So one
handler calls all arrangements, one after the other, and catches what leaves each. `test_arrangements.py` also
runs a sample of them as handlers of their own, and finds the same.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import types
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any  # a generated module's functions are known at run time only

from aws_durable_execution_sdk_python import durable_execution
from aws_durable_execution_sdk_python.exceptions import SuspendExecution
from aws_durable_execution_sdk_python.lambda_service import OperationStatus, OperationType
from aws_durable_execution_sdk_python_testing.runner import DurableFunctionTestRunner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.linter.truth.arrangements import Written


SUSPENDED = "-- suspended --"


@dataclass(frozen=True)
class Ending:
    """How an execution ended. `log` has `SUSPENDED` where an invocation ended and the execution did not.

    `error` is the type of the error that it failed with; `waits` are the statuses of its waits, in order.
    """

    log: list[str]
    status: str
    result: Any
    error: str | None
    waits: list[str]


def play(handler: Callable[[Any, Any], Any], log: list[str], event: object = None) -> Ending:
    """Run a durable handler to its end. Its effects write into `log`; each callback is answered with `ok`."""

    def invoked(invocation: Any, lambda_context: Any) -> Any:
        output = handler(invocation, lambda_context)
        if output["Status"] == "PENDING":
            log.append(SUSPENDED)
        return output

    with DurableFunctionTestRunner(invoked, poll_interval=0.02, execution_timeout=20) as runner:
        arn = runner.run_async(input=json.dumps(event))
        _answer(runner, arn, log)
        result = runner.wait_for_result(arn)
    return Ending(
        log=log,
        status=result.status.value,
        result=json.loads(result.result) if result.result else None,
        error=result.error.type if result.error else None,
        waits=[
            operation.status.value
            for operation in result.operations
            if operation.operation_type is OperationType.WAIT
        ],
    )


def _answer(runner: DurableFunctionTestRunner, arn: str, log: list[str]) -> None:
    """Fulfil each callback of the execution, once it has suspended to wait for it."""
    suspensions = 0
    while not (execution := runner._store.load(arn)).is_complete:
        time.sleep(0.01)
        open_callbacks = [
            operation.callback_details.callback_id
            for operation in execution.operations
            if operation.status is OperationStatus.STARTED and operation.callback_details
        ]
        if open_callbacks and log.count(SUSPENDED) > suspensions:
            suspensions = log.count(SUSPENDED)
            runner.send_callback_success(open_callbacks[0], b"ok")


@dataclass
class Trace:
    """What one call of an arrangement did. Has state because the parts write into it as they run.

    Each entry is a part, whether it was an effect, and whether a suspension was in flight then.
    """

    entries: list[tuple[str, bool, bool]] = field(default_factory=list)
    suspended: bool = False
    """Whether the suspension left the function."""

    def note(self, part: str, *, effect: bool) -> None:
        self.entries.append((part, effect, _suspending(sys.exception())))

    def ran(self, part: str, *, effect: bool | None = None, suspending: bool | None = None) -> bool:
        return any(
            name == part and effect in (None, was_effect) and suspending in (None, was_suspending)
            for name, was_effect, was_suspending in self.entries
        )


def _suspending(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, SuspendExecution):
            return True
        error = error.__context__
    return False


class _Recorder(logging.Handler):
    """Writes log lines into the trace of the call that is running."""

    def __init__(self, current: Callable[[], Trace]) -> None:
        super().__init__()
        self._current = current

    def emit(self, record: logging.LogRecord) -> None:
        self._current().note(record.getMessage(), effect=False)


class OutsideError(Exception):
    """What a failing call to the outside raises."""


def execute(source: str, names: Sequence[str]) -> dict[str, Trace]:
    """Run the functions of a generated module; give each one's trace by its name."""
    traces = {name: Trace() for name in names}
    current = [Trace()]
    with _Outside(lambda: current[0]):
        namespace: dict[str, Any] = {"__name__": "arrangements"}
        exec(compile(source, "<arrangements>", "exec"), namespace)

        @durable_execution
        def handler(_event: Any, context: Any) -> None:
            for name in names:
                current[0] = traces[name]
                try:
                    namespace[name](context)
                except SuspendExecution:
                    traces[name].suspended = True
                except OutsideError:
                    pass

        with DurableFunctionTestRunner(handler, poll_interval=0.01, skip_time=False) as runner:
            result = runner.run(input="{}")
    if result.error is not None:
        raise RuntimeError(f"the arrangements did not run: {result.error}")
    return traces


def run_alone(source: str, name: str) -> Trace:
    """Run one function of a module as a handler of its own; give the trace of its first invocation."""
    traces: list[Trace] = []
    with _Outside(lambda: traces[-1]):
        namespace: dict[str, Any] = {"__name__": "arrangements"}
        exec(compile(source, "<arrangements>", "exec"), namespace)

        @durable_execution
        def handler(_event: Any, context: Any) -> None:
            traces.append(Trace())
            namespace[name](context)

        play(handler, [])
    return traces[0]


class _Outside:
    """While it is open, generated modules can import `outside`, and their log lines are recorded."""

    def __init__(self, current: Callable[[], Trace]) -> None:
        self._recorder = _Recorder(current)
        self._module = types.ModuleType("outside")
        self._module.__dict__.update(effect=lambda part: current().note(part, effect=True), fail=_fail)

    def __enter__(self) -> None:
        sys.modules["outside"] = self._module
        log = logging.getLogger("arrangements")
        log.addHandler(self._recorder)
        log.setLevel(logging.INFO)
        log.propagate = False

    def __exit__(self, *exc_info: object) -> None:
        del sys.modules["outside"]
        logging.getLogger("arrangements").removeHandler(self._recorder)


def _fail() -> None:
    raise OutsideError


def shadowed(written: Written, trace: Trace) -> Iterator[tuple[int, str]]:
    """Findings that hold by the rules' text, although something further in kept the suspension from it.

    Its own handler keeps it from a `finally`, a whole block from the block around it. Once the inner fault is
    mended they are true, so the linter may report them at once.
    """
    kept = {"LDC104", "LDC105", "LDC201", "LDC202"}
    parts = {row: part for part, row in written.rows.items()}
    keepers = {parts[row] for row, code in expected(written, trace) if code in kept}
    for depth, block in enumerate(written.arrangement.blocks):
        inside = {part for part in keepers if int(part[0]) > depth}
        if inside:
            yield from _by_text(written, depth)
        if block.ending and (inside or f"{depth}.handler" in keepers) and block.inside != "finally":
            yield written.rows[f"{depth}.finally"], "LDC101"
            if block.ending == "return":
                yield written.rows[f"{depth}.return"], "LDC104"


def _by_text(written: Written, depth: int) -> Iterator[tuple[int, str]]:
    """What the block's manager or handler would get, if the suspension came to it."""
    block = written.arrangement.blocks[depth]
    codes = {
        "stack": "LDC103",
        "class": "LDC102",
        "generator": "LDC102",
        "deaf": "LDC105",
        "suppress": "LDC105",
    }
    if block.manager in codes:
        yield written.rows[f"{depth}.exit"], codes[block.manager]
    elif block.inside == "body" and block.handler.endswith("swallow"):
        yield written.rows[f"{depth}.handler"], "LDC202" if block.handler.startswith("bare") else "LDC201"
    elif block.inside == "body" and block.handler.endswith("raise"):
        yield written.rows[f"{depth}.handler"], "LDC204"


def expected(written: Written, trace: Trace) -> Iterator[tuple[int, str]]:
    """The findings that a run asks for, with their rows: each rule's definition, applied to what happened."""
    for depth, block in enumerate(written.arrangement.blocks):
        exit_row = written.rows.get(f"{depth}.exit", 0)
        if block.manager and trace.ran(f"{depth}.exit", effect=True, suspending=True):
            yield exit_row, "LDC103" if block.manager == "stack" else "LDC102"
        if block.manager == "deaf" and trace.ran(f"{depth}.exit", suspending=True):
            yield exit_row, "LDC105"
        if block.manager == "suppress" and trace.ran(f"{depth}.after") and not trace.ran(f"{depth}.done"):
            yield exit_row, "LDC105"
        handler_row = written.rows.get(f"{depth}.handler", 0)
        if block.handler and trace.ran(f"{depth}.handler", suspending=True):
            if block.handler.endswith("swallow"):
                yield handler_row, "LDC202" if block.handler.startswith("bare") else "LDC201"
            elif trace.ran(f"{depth}.handler", effect=True, suspending=True):
                yield handler_row, "LDC204"
        if block.ending and trace.ran(f"{depth}.finally", effect=True, suspending=True):
            yield written.rows[f"{depth}.finally"], "LDC101"
        if block.ending == "return" and trace.ran(f"{depth}.finally", suspending=True):
            yield written.rows[f"{depth}.return"], "LDC104"
