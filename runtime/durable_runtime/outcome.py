"""What an exception means for a scope: the only place of the package that classifies exceptions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from aws_durable_execution_sdk_python.exceptions import (
    BackgroundThreadError,
    BotoClientError,
    ExecutionError,
    InvocationError,
    NonDeterministicExecutionError,
    OrphanedChildException,
    SerDesError,
    SuspendExecution,
)

from durable_runtime.errors import RegistrationError, ScopeCancelled

if TYPE_CHECKING:
    from aws_durable_execution_sdk_python.serdes import SerDes

_SDK_CONTROL_FLOW = (SuspendExecution, OrphanedChildException, BackgroundThreadError)
_CONTROL_FLOW = (*_SDK_CONTROL_FLOW, KeyboardInterrupt, SystemExit, GeneratorExit)


class ScopeStatus(StrEnum):
    """The terminal outcomes of a scope. A suspension is none of them."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


@dataclass(frozen=True)
class ScopeOutcome:
    """The outcome as it was recorded, so the same on every replay.

    Attributes:
        status: SUCCEEDED, FAILED or CANCELLED.
        error_type: The qualified name of the type that left the body ("ValueError" for a builtin), or None.
        message: The text of that error, or None.
    """

    status: ScopeStatus
    error_type: str | None = None
    message: str | None = None


@dataclass(frozen=True)
class TerminalScopeConfig:
    """The policies of a scope.

    Attributes:
        cancelled_by: Exception classes that mean CANCELLED when they leave the body, besides ScopeCancelled.
            Any BaseException class except control flow; TypeError otherwise.
        compensate_on_cancellation: Whether a cancelled scope runs its compensations.
        cleanup_on_cancellation: Whether a cancelled scope runs its cleanups.
        stop_on_compensation_failure: Whether a failed compensation skips those that are still due. Cleanups
            run in any case.
        fail_on_cleanup_failure: Whether a failed cleanup fails a scope whose body succeeded.
        serdes: How the result of an isolated body is serialized; the SDK's default when None.
    """

    cancelled_by: tuple[type[BaseException], ...] = ()
    compensate_on_cancellation: bool = True
    cleanup_on_cancellation: bool = True
    stop_on_compensation_failure: bool = False
    fail_on_cleanup_failure: bool = True
    serdes: SerDes[Any] | None = None  # Any: the value it takes is the body's, which the config doesn't know

    def __post_init__(self) -> None:
        _check_cancelled_by(self.cancelled_by)


class Diverged(BaseException):
    """A frozen body went where the history doesn't follow. Never leaves the package."""


class Unfinished(ExecutionError):
    """An operation that a frozen body went past without an end in the history: an ExecutionError left it."""


def classify(
    error: BaseException | None, cancelled_by: tuple[type[BaseException], ...]
) -> ScopeStatus | None:
    """The terminal outcome that `error` (None: a value) means when it leaves a body.

    None means no outcome: the invocation suspends, ends or is retried, or the history can't be trusted. Then
    nothing runs and the error goes on as it is.
    """
    if error is None:
        return ScopeStatus.SUCCEEDED
    if is_control_flow(error):
        return None
    if isinstance(error, (ScopeCancelled, *cancelled_by)):
        return ScopeStatus.CANCELLED
    return ScopeStatus.FAILED if isinstance(error, Exception) else None


def is_control_flow(error: BaseException) -> bool:
    """Whether it is no outcome whatever a scope's policy is, and must not be replaced by anything else."""
    if isinstance(error, (*_CONTROL_FLOW, Diverged, BotoClientError, NonDeterministicExecutionError)):
        return True
    return isinstance(error, InvocationError) and error.is_retryable()


def is_suspension(error: BaseException) -> bool:
    return isinstance(error, SuspendExecution)


def is_interruption(error: BaseException) -> bool:
    """Whether the SDK stops this invocation's code with it: what a body must not swallow."""
    return isinstance(error, _SDK_CONTROL_FLOW)


def is_divergence(error: BaseException) -> bool:
    """Whether it shows, in a body that has ended before, that the body does not end the same way."""
    return isinstance(error, (Diverged, SuspendExecution, NonDeterministicExecutionError))


def fails_execution(error: BaseException | None) -> bool:
    """Whether the SDK fails the whole execution with it, without a checkpoint of the operation it left."""
    return isinstance(error, ExecutionError)


def is_permanent(error: BaseException) -> bool:
    """Whether no retry strategy is asked about it: the SDK asks none, or another attempt can't help."""
    return isinstance(error, (ExecutionError, SerDesError, RegistrationError)) or not isinstance(
        error, Exception
    )


def _check_cancelled_by(types: tuple[type[BaseException], ...]) -> None:
    """Raise TypeError for what can't mean a cancellation."""
    for listed in types:
        if not (isinstance(listed, type) and issubclass(listed, BaseException)):
            raise TypeError(f"cancelled_by takes exception classes, not {listed!r}")
        if issubclass(listed, _CONTROL_FLOW):
            raise TypeError(
                f"cancelled_by can't contain {listed.__name__}: it is control flow, not a cancellation"
            )
