"""Plays a durable handler on the SDK's own test runner and tells what a reader would see. Knows no Markdown.

The log that comes out holds what the handler's effects wrote, in order, with `SUSPENDED` wherever an
invocation ended because the execution only waits, and `LOST` where it did not end by itself. Callbacks are
answered when the execution has come to rest.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any  # the SDK's handlers take any event and give any result

from aws_durable_execution_sdk_python.exceptions import CheckpointError
from aws_durable_execution_sdk_python.lambda_service import ErrorObject, OperationStatus, OperationType
from aws_durable_execution_sdk_python_testing.runner import DurableFunctionTestRunner

SUSPENDED = "-- suspended --"
LOST = "-- invocation lost --"
Handler = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Rejection:
    """An outsider's answer that fails a callback, instead of a text that fulfils it."""

    message: str


@dataclass(frozen=True)
class Recorded:
    """One operation of the history: `path` holds the names from the outermost operation to this one."""

    path: tuple[str, ...]
    type: str
    status: str
    result: str | None = None


@dataclass(frozen=True)
class Played:
    """How an execution ended. `error` is the bare class name of the error that the execution failed with."""

    log: list[str]
    status: str
    result: Any
    error: str | None
    message: str | None
    operations: list[Recorded]

    @property
    def names(self) -> list[str]:
        """The recorded operations in the order in which they started, children under their parents."""
        return ["/".join(operation.path) for operation in self.operations]


@dataclass
class _Rest:
    """Knows whether an invocation is running. Has state because the runner's threads enter and leave it."""

    active: int = 0
    changed: float = field(default_factory=time.monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def move(self, step: int) -> None:
        with self.lock:
            self.active, self.changed = self.active + step, time.monotonic()

    def reached(self, quiet: float) -> bool:
        with self.lock:
            return not self.active and time.monotonic() - self.changed >= quiet


def play(
    handler: Handler,
    event: object = None,
    *,
    log: list[str] | None = None,
    answers: Mapping[str, str | Rejection] | None = None,
    functions: Mapping[str, Handler] | None = None,
    fault: Callable[[Sequence[Any]], str | None] | None = None,
    timeout: float = 30,
) -> Played:
    """Run `handler` until its execution is complete.

    `log` is the list that the effects write to; `answers` are sent in their order, each to the callback of
    that name; `functions` can be invoked by name. `fault` sees the updates of each checkpoint request and
    says what is lost of it with the process: "update", "response" or None. Raises `TimeoutError` after
    `timeout` seconds.
    """
    seen, rest = log if log is not None else [], _Rest()

    def invoked(input_event: Any, lambda_context: Any) -> Any:
        rest.move(+1)
        try:
            output = handler(input_event, lambda_context)
            if output["Status"] == "PENDING":
                seen.append(SUSPENDED)
            return output
        except BaseException as error:  # the process ends or the function fails; the service invokes again
            seen.append(LOST)
            raise RuntimeError(f"the invocation was lost: {error!r}") from error
        finally:
            rest.move(-1)

    with DurableFunctionTestRunner(invoked, poll_interval=0.02) as runner:
        runner._executor.RETRY_BACKOFF_SECONDS = 0
        if fault:
            _break(runner, fault)
        for name, function in (functions or {}).items():
            runner.register_function(name, function)
        arn = runner.run_async(input=json.dumps(event))
        _answer(runner, arn, dict(answers or {}), rest, timeout)
        result = runner.wait_for_result(arn, int(timeout) + 1)
        recorded = _recorded(runner._store.load(arn).operations)
    runner._scheduler._loop.close()  # the runner leaves it open
    error = result.error
    return Played(
        log=seen,
        status=result.status.value,
        result=json.loads(result.result) if result.result else None,
        error=(error.type or "").rpartition(".")[2] if error else None,
        message=error.message if error else None,
        operations=recorded,
    )


def _break(runner: DurableFunctionTestRunner, fault: Callable[[Sequence[Any]], str | None]) -> None:
    deliver = runner._service_client.checkpoint

    def checkpoint(**request: Any) -> Any:
        lost = fault(request["updates"])
        if lost == "update":
            raise CheckpointError("the update is lost")
        output = deliver(**request)
        if lost == "response":
            raise CheckpointError("the response is lost")
        return output

    vars(runner._service_client)["checkpoint"] = checkpoint


def _answer(
    runner: DurableFunctionTestRunner,
    arn: str,
    answers: dict[str, str | Rejection],
    rest: _Rest,
    timeout: float,
) -> None:
    deadline = time.monotonic() + timeout
    while answers and not (execution := runner._store.load(arn)).is_complete:
        if time.monotonic() > deadline:
            raise TimeoutError(f"these callbacks were never awaited: {', '.join(answers)}")
        waiting = {
            operation.name: operation.callback_details.callback_id
            for operation in execution.operations
            if operation.operation_type is OperationType.CALLBACK
            and operation.status is OperationStatus.STARTED
            and operation.callback_details
        }
        name = next(iter(answers))
        if name not in waiting or not rest.reached(quiet=0.15):
            time.sleep(0.01)
            continue
        answer = answers.pop(name)
        if isinstance(answer, Rejection):
            error = ErrorObject(message=answer.message, type="Rejected", data=None, stack_trace=None)
            runner.send_callback_failure(waiting[name], error)
        else:
            runner.send_callback_success(waiting[name], answer.encode())
        rest.move(0)


def _recorded(operations: list[Any]) -> list[Recorded]:
    by_id = {operation.operation_id: operation for operation in operations}

    def path(operation: Any) -> tuple[str, ...]:
        parent = by_id.get(operation.parent_id)
        above = path(parent) if parent and parent.operation_type is not OperationType.EXECUTION else ()
        return (*above, operation.name or f"({operation.operation_type.value.lower()})")

    return [
        Recorded(
            path(operation),
            operation.operation_type.value,
            operation.status.value,
            operation.step_details.result if operation.step_details else None,
        )
        for operation in operations
        if operation.operation_type is not OperationType.EXECUTION
    ]


def unordered(log: Sequence[str], mark: str = SUSPENDED) -> tuple[list[str], list[str]]:
    """A log without the order of branches: what came before the first suspension, and what came after it.

    How often the rest suspends depends on which branch is resumed first, so later marks don't count.
    """
    entries = list(log)
    first = entries.index(mark) if mark in entries else len(entries)
    return sorted(entries[:first]), sorted(entry for entry in entries[first:] if entry != mark)
