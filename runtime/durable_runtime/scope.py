"""`terminal_scope`: cleanup and compensation that run at a true terminal outcome, and never on a suspension.

Two forms over one engine, the terminal phase. They differ in where the body runs and in how its value or its
error leaves.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from aws_durable_execution_sdk_python.config import ChildConfig
from aws_durable_execution_sdk_python.context import DurableContext
from aws_durable_execution_sdk_python.exceptions import ChildContextError, ExecutionError, SerDesError
from aws_durable_execution_sdk_python.serdes import SerDes, SerDesContext, deserialize, serialize

from durable_runtime import sdk
from durable_runtime.actions import check_function, check_name, function_name
from durable_runtime.errors import (
    ErrorFields,
    aggregate_in_data,
    attach,
    cleanup_failure,
    rebuilt,
    recordable,
)
from durable_runtime.events import ScopeEventKind
from durable_runtime.guard import Guard, guards_of, watched_by
from durable_runtime.outcome import TerminalScopeConfig, classify, is_divergence
from durable_runtime.terminal import Record, TerminalPhase

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from aws_durable_execution_sdk_python import BatchResult
    from aws_durable_execution_sdk_python.concurrency.models import BatchItem
    from aws_durable_execution_sdk_python.types import DurableContext as AnyDurableContext

    from durable_runtime.actions import DurableTerminalActions

T = TypeVar("T")

_DEFAULT_NAME = "scope"


@overload
def terminal_scope(
    context: AnyDurableContext, *, name: str | None = None, config: TerminalScopeConfig | None = None
) -> InPlaceScope: ...


@overload
def terminal_scope(
    context: AnyDurableContext,
    func: Callable[[DurableContext, DurableTerminalActions], T],
    *,
    name: str | None = None,
    config: TerminalScopeConfig | None = None,
) -> T: ...


def terminal_scope(
    context: AnyDurableContext,
    func: Callable[[DurableContext, DurableTerminalActions], T] | None = None,
    *,
    name: str | None = None,
    config: TerminalScopeConfig | None = None,
) -> InPlaceScope | T:
    """Open a scope whose terminal actions run once its body succeeded, failed or was cancelled.

    Suspension is no outcome: it passes through and runs nothing. Actions are durable operations named
    `<name>.compensate.<action>` and `<name>.cleanup.<action>`. Compensations run first, and only after a
    failure or a cancellation; then cleanups; each in reverse order of registration.

    Args:
        context: The durable context that the scope belongs to.
        func: The body. Without it the scope is in place: use it in a `with` statement, whose block goes on
            using `context`. With it the scope is isolated: the body is called as
            `func(scope_context, terminal)` in a child context of its own.
        name: The scope's name in the history; by default the body's, or "scope". Printable ASCII, not empty,
            and short enough for the names made from it (256 characters).
        config: The scope's policies.

    Returns:
        In place, a context manager that gives DurableTerminalActions. Isolated, the body's result, as it
        comes out of its checkpoint.

    Raises:
        RegistrationError: The name is not acceptable to the service, or `func` is no plain function.
        TerminalScopeError: A cleanup failed after the body succeeded; or, isolated, the body raised an
            exception that is not one of the SDK's operation errors, which leave with their own type.
        NonDeterministicExecutionError: The body ended, or registered, otherwise than the history records.
    """
    if not isinstance(context, DurableContext):
        raise TypeError(f"terminal_scope needs the SDK's DurableContext, not {type(context).__name__}")
    if func is not None:
        check_function(func, "A scope's body")
    if not isinstance(config, TerminalScopeConfig | None):
        raise TypeError(f"terminal_scope takes a TerminalScopeConfig, not {config!r}")
    default = _DEFAULT_NAME if func is None else function_name(func)
    scope_name = default if name is None else name
    check_name(scope_name, f"The scope {scope_name!r}")
    check_name(f"{scope_name}.outcome", f"The outcome of scope {scope_name!r}")
    settings = config or TerminalScopeConfig()
    if func is None:
        return InPlaceScope(context, scope_name, settings)
    return _IsolatedScope(context, func, scope_name, settings).call()


def abandoned(batch_result: BatchResult[T]) -> list[BatchItem[T]]:
    """The items of a map or parallel that were started and never finished, because it completed early.

    Their scopes have no outcome and ran nothing, so a scope around the map has to release what they hold.
    """
    return batch_result.started()


class InPlaceScope:
    """A scope around a `with` block. `terminal_scope` makes it; it serves one block."""

    def __init__(self, context: DurableContext, name: str, config: TerminalScopeConfig) -> None:
        self._context = context
        self._name = name
        self._config = config
        self._phase: TerminalPhase | None = None
        self._watch = ExitStack()

    def __enter__(self) -> DurableTerminalActions:
        if self._phase is not None:
            raise RuntimeError(f"Scope {self._name!r} was entered before; call terminal_scope again")
        context = self._context
        for around in guards_of(context):
            around.refuse_after_interruption()
        guard = Guard()
        started = sdk.is_new_ground(context)
        self._phase = TerminalPhase(self._name, self._config, context, guard, context, news=started)
        self._watch.enter_context(guard.watching(context))
        if started:
            self._phase.report(ScopeEventKind.SCOPE_STARTED)
        return self._phase.terminal

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._watch.close()
        phase = self._phase
        assert phase is not None
        left = phase.guard.leaving(error)
        status = classify(left, self._config.cancelled_by)
        if status is not None:
            self._finish(phase, Record.of(status, left), left)
            return
        assert left is not None
        phase.interrupted(left)
        if left is not error:
            raise left

    def _finish(self, phase: TerminalPhase, current: Record, error: BaseException | None) -> None:
        # A virtual context runs again until its map is complete; then nothing follows its last scope either.
        phase.news = phase.news or (sdk.is_new_ground(self._context) and not self._context.is_virtual)
        recorded, registrations = phase.select(current)
        if not recorded.ended_like(current):
            phase.refuse_other_end(recorded, current)
        failures = phase.perform(recorded, phase.due(recorded, registrations))
        if error is not None:
            attach(error, failures)
            aggregate_in_data(error)
        elif failures and self._config.fail_on_cleanup_failure:
            raise rebuilt(cleanup_failure(self._name, failures))


class _IsolatedScope(Generic[T]):
    """One call of a body in a child context of its own. Has state: what the SDK's callback needs later."""

    def __init__(
        self,
        context: DurableContext,
        func: Callable[[DurableContext, DurableTerminalActions], T],
        name: str,
        config: TerminalScopeConfig,
    ) -> None:
        self._context = context
        self._func = func
        self._name = name
        self._config = config
        self._operation = sdk.next_operation(context)
        self._serdes = _ResultSerDes(config.serdes)

    def call(self) -> T:
        try:
            return self._context.run_in_child_context(
                self._run, name=self._name, config=ChildConfig(serdes=self._serdes)
            )
        except (ChildContextError, SerDesError) as failed:
            raise rebuilt(ErrorFields.from_recorded(failed))  # noqa: B904 - it has its cause

    def _run(self, scope_context: DurableContext) -> T:
        body_context = sdk.body_context(scope_context)
        guard = Guard(frozen=sdk.is_terminal(sdk.next_operation(scope_context)))
        if guard.frozen:
            sdk.pin_to_replay(body_context)
        news = not sdk.is_terminal(self._operation)
        phase = TerminalPhase(self._name, self._config, scope_context, guard, body_context, news=news)
        if self._operation is None:
            phase.report(ScopeEventKind.SCOPE_STARTED)
        result: T | None = None
        error: BaseException | None = None
        try:
            with watched_by((*guards_of(scope_context), guard), body_context):
                result = self._func(body_context, phase.terminal)
            if guard.leaving(None) is None:
                self._serdes.prepare(result, scope_context)
        except BaseException as raised:
            error = raised
        error = guard.leaving(error)
        status = classify(error, self._config.cancelled_by)
        if error is not None and status is None and not (guard.frozen and is_divergence(error)):
            phase.interrupted(error)
            raise error
        self._finish(phase, Record.of(status, error), error)
        return cast("T", result)  # it has returned, or _finish has raised

    def _finish(self, phase: TerminalPhase, current: Record, error: BaseException | None) -> None:
        """Run the terminal phase and raise what the scope fails with, if it fails."""
        recorded, registrations = phase.select(current)
        same = recorded.ended_like(current)
        failures = phase.perform(recorded, phase.due(recorded, registrations, more_allowed=not same))
        if recorded.error is None:
            if not same:
                phase.refuse_other_end(recorded, current)
            if failures and self._config.fail_on_cleanup_failure:
                raise recordable(cleanup_failure(self._name, failures))
        elif recorded.fails_execution:
            if error is not None and same:
                attach(error, failures)
                raise error
            fatal = ExecutionError(recorded.error.message or "")
            attach(fatal, (*recorded.error.failures, *failures))
            raise fatal
        else:
            fields = replace(recorded.error, failures=(*recorded.error.failures, *failures))
            raise recordable(fields, error) from error


class _ResultSerDes(SerDes[Any]):
    """Serializes an isolated body's result once, before its outcome is chosen, and keeps it for the SDK."""

    def __init__(self, given: SerDes[Any] | None) -> None:
        self._given = given
        self._payload: str | None = None
        self._value: Any = None

    def prepare(self, result: object, scope_context: DurableContext) -> None:
        """Serialize and deserialize, so that neither can fail after the cleanups ran."""
        operation_id = sdk.operation_id(scope_context)
        arn = scope_context.execution_context.durable_execution_arn
        self._payload = serialize(self._given, result, operation_id, arn)
        if self._payload is not None:
            self._value = deserialize(self._given, self._payload, operation_id, arn)

    def serialize(self, value: object, serdes_context: SerDesContext) -> str:  # noqa: ARG002
        return self._payload  # type: ignore[return-value]  # the SDK lets a serdes give None for None

    def deserialize(self, data: str, serdes_context: SerDesContext) -> Any:
        if data is self._payload:
            return self._value
        return deserialize(
            self._given, data, serdes_context.operation_id, serdes_context.durable_execution_arn
        )
