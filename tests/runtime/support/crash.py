"""Runs a durable handler on the SDK's test runner, and kills its invocations where the test says.

    def build(life: Life) -> Handler:
        def handler(event, context):
            life.note("body")
            context.step(lambda _: life.note("effect"), name="effect")
            return "done"
        return handler

    run = execute(build)                                          # undisturbed
    run = execute(build, kills=[Kill(3, Loss.RESPONSE)])          # killed at the third checkpoint request
    for kill, run in killed_everywhere(build): ...                # at each request, in each way

`build` is called once for each invocation, with the `Life` of that invocation. What user code does is told
to the life (`note`), what the service accepted is noted by the harness: both stand in one journal, in the
order in which they happened, and outlive every invocation.

A kill loses the request (`Loss.UPDATE`), its answer (`Loss.RESPONSE`), or the token in the answer
(`Loss.TOKEN`, a suspension in the middle of any durable call; SDK 2.1 on). The invocation then dies of the
failing request, so that user code unwinds (`Death.ERROR`), or stops as if its sandbox had been frozen: no
code of it runs any more (`Death.FROZEN`). Time is skipped, failed invocations are retried at once.

This module knows the test runners of testing 1.2.1 to 1.4.0 and nothing about scopes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import json
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import aws_durable_execution_sdk_python.execution
import aws_durable_execution_sdk_python.state
from aws_durable_execution_sdk_python import durable_execution
from aws_durable_execution_sdk_python.lambda_service import ErrorObject, OperationStatus, OperationType
from aws_durable_execution_sdk_python_testing.runner import DurableFunctionTestRunner

from tests.runtime.support import versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from aws_durable_execution_sdk_python import DurableContext
    from aws_durable_execution_sdk_python.lambda_service import Operation, OperationUpdate

# The event and the result are any JSON, as the SDK has it; the SDK's plugins have no common public type.
Handler: TypeAlias = "Callable[[Any, DurableContext], Any]"
Answer: TypeAlias = "bytes | ErrorObject | None"
Answers: TypeAlias = "Callable[[str], Answer]"

# Modules whose internals this harness sets, so Any.
sdk_execution: Any = aws_durable_execution_sdk_python.execution
sdk_state: Any = aws_durable_execution_sdk_python.state


class Loss(enum.Enum):
    """What a killed checkpoint request loses."""

    UPDATE = "update lost"
    RESPONSE = "response lost"
    TOKEN = "token revoked"


class Death(enum.Enum):
    """How an invocation ends whose request was lost. A revoked token ends it by suspension."""

    ERROR = "error"
    FROZEN = "frozen"


@dataclass(frozen=True)
class Kill:
    """Kill the invocation that sends checkpoint request number `request` of the execution, from 1.

    A kill fires once. The requests of all invocations are counted together.
    """

    request: int
    loss: Loss = Loss.UPDATE
    death: Death = Death.ERROR


BOTH_WAYS = ((Loss.UPDATE, Death.ERROR), (Loss.RESPONSE, Death.ERROR))
EVERY_WAY = (
    *BOTH_WAYS,
    (Loss.UPDATE, Death.FROZEN),
    (Loss.RESPONSE, Death.FROZEN),
    *(((Loss.TOKEN, Death.ERROR),) if versions.CAN_REVOKE_TOKENS else ()),
)


@dataclass(frozen=True)
class Entry:
    """One line of the journal.

    `kind` is `note` (user code), `accepted` (an update that the service has stored), `killed`, `started` or
    `ended` (an invocation). For an update `text` is the operation's name and `data` holds `action`, `type`,
    `id`, `parent`.
    """

    kind: str
    text: str
    invocation: int
    thread: int
    data: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        extra = " ".join(f"{key}={value}" for key, value in self.data.items() if value is not None)
        return f"{self.invocation:3} {self.kind:9} {self.text} {extra}".rstrip()


@dataclass
class Run:
    """What came of an execution."""

    status: str
    result: Any
    error: ErrorObject | None
    operations: list[Operation]
    journal: list[Entry]
    requests: int
    invocations: int
    fired: list[Kill]
    stored: Mapping[str, Any] | None = None

    def notes(self, prefix: str = "") -> list[str]:
        """What user code noted, in order, repetitions of replays and of killed attempts included."""
        return [
            entry.text for entry in self.journal if entry.kind == "note" and entry.text.startswith(prefix)
        ]

    def updates(self) -> list[Entry]:
        """The updates that the service accepted, in order."""
        return [entry for entry in self.journal if entry.kind == "accepted"]

    def accepted(self, *actions: str) -> list[str]:
        """Names of the operations for which the service accepted one of `actions` (`SUCCEED`, `FAIL`,
        ...).
        """
        return [entry.text for entry in self.updates() if not actions or entry.data["action"] in actions]

    def names(self) -> list[str]:
        """Names of all operations in the history, the execution itself left out."""
        return [op.name or "" for op in self.operations if op.operation_type is not OperationType.EXECUTION]

    def status_of(self, name: str) -> str:
        """Status of the one operation with this name."""
        (operation,) = [op for op in self.operations if op.name == name]
        return operation.status.value

    @property
    def deaths(self) -> int:
        """How many invocations ended before they wanted to: killed, or failed by themselves."""
        ends = {"SUCCEEDED", "FAILED", "PENDING"}
        whole = sum(1 for entry in self.journal if entry.kind == "ended" and entry.text in ends)
        return self.invocations - whole + sum(1 for kill in self.fired if kill.loss is Loss.TOKEN)

    def story(self) -> str:
        """The journal as text, for a failing test's message."""
        head = f"{self.status} result={self.result!r} error={self.error} fired={self.fired}"
        return "\n".join([head, *map(str, self.journal)])


class Hung(AssertionError):
    """The execution did not end in time."""


class InvocationDied(BaseException):
    """Raised in the remains of a frozen invocation when the test is over, so that its threads end."""


class RequestLost(Exception):
    """What the SDK sees of a lost checkpoint request."""


class Life:
    """One invocation, as its user code sees it."""

    def __init__(self, run: _Running, number: int) -> None:
        self.number = number
        self.frozen = False
        self.over = threading.Event()
        self._run = run

    def note(self, text: str, **data: Any) -> None:
        """Tell the journal what user code does. Code of a frozen invocation gets no further than this."""
        self._run.record("note", text, self, data)


@dataclass(frozen=True)
class _Options:
    answers: Answers | None
    answer_early: bool
    functions: Mapping[str, Callable[..., Any]]
    event: Any
    skip_time: bool
    seconds: float
    leave_at: str | None
    stored: Mapping[str, Any] | None


def execute(
    build: Callable[[Life], Handler],
    *,
    kills: Sequence[Kill] = (),
    answers: Answers | None = None,
    answer_early: bool = False,
    one_update_per_request: bool = False,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    event: Any = None,
    skip_time: bool = True,
    plugins: Sequence[Any] | None = None,
    seconds: float = 30,
    leave_at: str | None = None,
    stored: Mapping[str, Any] | None = None,
) -> Run:
    """Run one execution to its end.

    `answers` maps the name of a callback to its result (bytes) or failure (`ErrorObject`); None leaves it
    open. They are sent when no invocation runs, or at once with `answer_early`. `one_update_per_request`
    stops the SDK from batching, so that the start and the end of a step are two requests and a kill can
    come between them. `functions` are the targets of `context.invoke`.

    `leave_at` names a callback: as soon as the execution is suspended with it open, the run ends RUNNING,
    with the stored execution as JSON in `Run.stored`. `stored` takes such an execution up again, in another
    process and with another SDK if you like (testing 1.3.0 on).

    Raises `Hung` after `seconds` of real time.
    """
    options = _Options(answers, answer_early, functions or {}, event, skip_time, seconds, leave_at, stored)
    with _no_batches(one_update_per_request), _quick_stops():
        return _Running(build, kills, plugins, options).to_the_end()


def killed_everywhere(
    build: Callable[[Life], Handler],
    *,
    ways: Sequence[tuple[Loss, Death]] = EVERY_WAY,
    **options: Any,
) -> Iterator[tuple[Kill, Run]]:
    """Run once for each checkpoint request and each way to kill there, until a kill finds no request any
    more.
    """
    for loss, death in ways:
        request = 0
        while True:
            request += 1
            kill = Kill(request, loss, death)
            run = execute(build, kills=[kill], **options)
            if not run.fired:
                break
            yield kill, run


class _Running:
    def __init__(
        self,
        build: Callable[[Life], Handler],
        kills: Sequence[Kill],
        plugins: Sequence[Any] | None,
        options: _Options,
    ) -> None:
        self._build = build
        self._plugins = plugins
        self._options = options
        self._kills = {kill.request: kill for kill in kills}
        self._journal: list[Entry] = []
        self._lock = threading.Lock()
        self._thaw = threading.Event()
        self._lives: list[Life] = []
        self._threads: list[threading.Thread] = []
        self._active = 0
        self._requests = 0
        self._fired: list[Kill] = []
        self._runner: Any = None

    def to_the_end(self) -> Run:
        options = self._options
        runner = self._runner = open_runner(self._invocation, options.skip_time)
        try:
            for name, function in options.functions.items():
                runner.register_function(name, function)
            if options.stored is None:
                arn = runner.run_async(json.dumps(options.event), int(options.seconds) + 60)
            else:
                arn = take_up(runner, options.stored)
            self._attend(arn)
            execution = load(runner, arn)
            outcome = execution.result
            return Run(
                status=outcome.status.value if outcome else "RUNNING",
                result=json.loads(outcome.result) if outcome and outcome.result else None,
                error=outcome.error if outcome else None,
                operations=list(execution.operations),
                journal=list(self._journal),
                requests=self._requests,
                invocations=len(self._lives),
                fired=self._fired,
                stored=execution.to_json_dict() if options.leave_at else None,
            )
        finally:
            self._thaw.set()
            for thread in self._threads:
                thread.join(timeout=10)
            close_runner(runner)

    def _attend(self, arn: str) -> None:
        """Answer callbacks and lift pauses until the execution is complete, or where it is to be left."""
        deadline = time.monotonic() + self._options.seconds
        while not (execution := load(self._runner, arn)).is_complete:
            if time.monotonic() > deadline:
                raise Hung("\n".join(["the execution did not end", *map(str, self._journal)]))
            if self._options.leave_at and self._is_left(execution):
                return
            # Testing 1.2.1 can lose an answer that arrives while a checkpoint is stored.
            early = self._options.answer_early and versions.TESTING >= (1, 3, 0)
            if early or not self._active:
                answer_callbacks(self._runner, execution, self._options.answers)
            if not self._active and getattr(execution, "is_paused", False):
                self._runner.resume_execution(arn)
            time.sleep(0.001)

    def _is_left(self, execution: Any) -> bool:
        """Whether the callback to leave at is open and the last invocation has been accounted for."""
        return len(execution.invocation_completions) == len(self._lives) and any(
            operation.name == self._options.leave_at for operation in open_callbacks(execution)
        )

    def _invocation(self, event: Any, lambda_context: Any) -> Any:
        """What the runner takes for the Lambda function: one invocation, on a thread that it may leave
        behind.
        """
        life = Life(self, len(self._lives) + 1)
        self._lives.append(life)
        self._active += 1
        self.record("started", "", life)
        client = _Client(self, life, event.service_client)
        outcome: list[Any] = []

        def invoke() -> None:
            options = {} if self._plugins is None else {"plugins": list(self._plugins)}
            try:
                outcome.append(
                    durable_execution(self._build(life), **options)(
                        dataclasses.replace(event, service_client=client), lambda_context
                    )
                )
            except BaseException as error:
                outcome.append(error)
            finally:
                life.over.set()

        thread = threading.Thread(target=invoke, name=f"invocation-{life.number}", daemon=True)
        self._threads.append(thread)
        thread.start()
        life.over.wait()
        try:
            if life.frozen:
                raise RequestLost("the invocation was frozen")
            self.record(
                "ended",
                str(outcome[0].get("Status") if isinstance(outcome[0], dict) else repr(outcome[0])),
                life,
            )
            if isinstance(outcome[0], BaseException):
                # The runner understands Exception only; for the service any other end is a failure too.
                raise RequestLost(repr(outcome[0])) from outcome[0]
            return outcome[0]
        finally:
            self._active -= 1

    def record(self, kind: str, text: str, life: Life, data: Mapping[str, Any] | None = None) -> None:
        if life.frozen and kind != "killed":
            self.park()
        with self._lock:
            if life.frozen and kind != "killed":
                raise InvocationDied
            self._journal.append(Entry(kind, text, life.number, threading.get_ident(), data or {}))

    def park(self) -> None:
        """Hold a thread of a frozen invocation until the execution is over."""
        self._thaw.wait()
        raise InvocationDied

    def next_kill(self) -> Kill | None:
        with self._lock:
            self._requests += 1
            kill = self._kills.get(self._requests)
            if kill:
                self._fired.append(kill)
            return kill

    def kill(self, kill: Kill, life: Life) -> None:
        self.record("killed", f"request {kill.request}, {kill.loss.value}, {kill.death.value}", life)
        if kill.death is Death.FROZEN:
            with self._lock:
                life.frozen = True
            life.over.set()
            self._thaw.wait()
        raise RequestLost(kill.loss.value)

    def revoke(self, arn: str) -> None:
        """Make the service answer the next request without a token, as `pause_execution` does before it
        waits.
        """
        from aws_durable_execution_sdk_python_testing.worker.checkpoint_tasks import CallableTask

        executor = self._runner._executor
        self._runner._registry.submit(arn, CallableTask(lambda: executor._set_paused(arn))).result()


class _Client:
    """The service client of one invocation."""

    def __init__(self, run: _Running, life: Life, client: Any) -> None:
        self._run = run
        self._life = life
        self._client = client

    def checkpoint(
        self,
        durable_execution_arn: str,
        checkpoint_token: str,
        updates: list[OperationUpdate],
        client_token: str | None,
    ) -> Any:
        if self._life.frozen:
            self._run.park()
        kill = self._run.next_kill()
        if kill and kill.loss is Loss.UPDATE:
            self._run.kill(kill, self._life)
        if kill and kill.loss is Loss.TOKEN:
            self._run.revoke(durable_execution_arn)
        output = self._client.checkpoint(durable_execution_arn, checkpoint_token, updates, client_token)
        for update in updates:
            data = {
                "action": update.action.value,
                "type": update.operation_type.value,
                "id": update.operation_id,
                "parent": update.parent_id,
            }
            self._run.record("accepted", update.name or "", self._life, data)
        if kill and kill.loss is Loss.RESPONSE:
            self._run.kill(kill, self._life)
        if kill and kill.loss is Loss.TOKEN:
            self._run.record("killed", f"request {kill.request}, {kill.loss.value}", self._life)
        return output

    def get_execution_state(
        self, durable_execution_arn: str, checkpoint_token: str, next_marker: str, max_items: int = 1000
    ) -> Any:
        return self._client.get_execution_state(
            durable_execution_arn, checkpoint_token, next_marker, max_items
        )


def open_runner(invocation: Callable[[Any, Any], Any], skip_time: bool = True) -> Any:
    """A `DurableFunctionTestRunner` that retries failed invocations at once and gives up late.

    Its type is Any because the harness reaches into it, and because it differs between the testing SDKs.
    """
    if versions.TESTING >= (1, 3, 0):
        runner: Any = DurableFunctionTestRunner(invocation, poll_interval=0.001, skip_time=skip_time)
    else:
        runner = DurableFunctionTestRunner(invocation, poll_interval=0.001)
        if skip_time:
            _skip_timers(runner._executor)
    # Class attributes of the executor, overridden for this runner alone.
    runner._executor.RETRY_BACKOFF_SECONDS = 0
    runner._executor.MAX_CONSECUTIVE_FAILED_ATTEMPTS = 20
    # A PENDING for a callback that was answered while the invocation ran is counted as a failed attempt too.
    runner._executor.MAX_CONSECUTIVE_INVALID_PENDING_ATTEMPTS = 20
    return runner


def close_runner(runner: Any) -> None:
    """Close the runner, and its event loop, which it leaves open: thousands of them are made."""
    runner.close()
    runner._scheduler._loop.close()


def _skip_timers(executor: Any) -> None:
    """Testing 1.2.1 has no clock to skip: its two timers are armed without delay instead."""
    for name in ("on_wait_timer_scheduled", "on_step_retry_scheduled"):
        method = getattr(executor, name)

        def at_once(
            execution_arn: str, operation_id: str, delay: float, method: Callable[..., None] = method
        ) -> None:
            method(execution_arn, operation_id, 0 * delay)

        setattr(executor, name, at_once)


def load(runner: Any, arn: str) -> Any:
    """The stored execution."""
    return runner._store.load(arn)


def take_up(runner: Any, stored: Mapping[str, Any]) -> str:
    """Put a stored execution into the runner and invoke it, as the service would after a deployment."""
    from aws_durable_execution_sdk_python_testing.execution import Execution

    execution = Execution.from_json_dict(dict(stored))
    runner._store.save(execution)
    runner._executor._launch_execution(execution, 600)
    return execution.durable_execution_arn


def open_callbacks(execution: Any) -> list[Operation]:
    """The callbacks that wait for an answer."""
    return [
        operation
        for operation in list(execution.operations)
        if operation.operation_type is OperationType.CALLBACK and operation.status is OperationStatus.STARTED
    ]


def answer_callbacks(runner: Any, execution: Any, answers: Answers | None) -> None:
    """Send the answer to each open callback that `answers` has one for."""
    for operation in open_callbacks(execution) if answers else ():
        answer = answers(operation.name or "") if answers else None
        assert operation.callback_details is not None
        if isinstance(answer, ErrorObject):
            runner.send_callback_failure(operation.callback_details.callback_id, answer)
        elif answer is not None:
            runner.send_callback_success(operation.callback_details.callback_id, answer)


@contextlib.contextmanager
def _no_batches(enabled: bool) -> Iterator[None]:
    """Let the SDK send each update in a request of its own."""
    if not enabled:
        yield
        return
    original = sdk_execution.ExecutionState
    single = sdk_state.CheckpointBatcherConfig(max_batch_operations=1)
    sdk_execution.ExecutionState = functools.partial(original, batcher_config=single)
    try:
        yield
    finally:
        sdk_execution.ExecutionState = original


@contextlib.contextmanager
def _quick_stops() -> Iterator[None]:
    """The SDK's checkpoint thread looks every 100 ms whether its invocation has ended: look more often."""
    original = sdk_state._STOP_SIGNAL_POLL_SECONDS
    sdk_state._STOP_SIGNAL_POLL_SECONDS = 0.002
    try:
        yield
    finally:
        sdk_state._STOP_SIGNAL_POLL_SECONDS = original
