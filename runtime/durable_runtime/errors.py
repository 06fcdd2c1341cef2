"""The errors of scopes, and how an error with its terminal failures crosses a checkpoint.

A checkpoint keeps four fields of an error (type, message, data, stack trace) and nothing else, and the
service refuses an error object over 32,768 bytes of escaped JSON. So what a scope adds travels as JSON in
`data`, cut to fit.
"""

from __future__ import annotations

import itertools
import json
import traceback
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from aws_durable_execution_sdk_python.exceptions import (
    ChildContextError,
    DurableOperationError,
    SerDesError,
    ValidationError,
    register_operation_error,
)
from aws_durable_execution_sdk_python.lambda_service import ErrorObject

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

Kind = Literal["compensate", "cleanup"]

ERROR_OBJECT_LIMIT = 32_768
"""Bytes of escaped JSON that the service takes for an error object."""

_MARK = "terminalScope"
_ATTACHED_AT = "_terminal_failures_attached_at"
_moments = itertools.count()
_FRAMES = 20
_PACKAGE = __file__.removesuffix("errors.py")
_SERDES_ERROR = f"{SerDesError.__module__}.{SerDesError.__qualname__}"


class ScopeCancelled(Exception):
    """Raise it in a scope's body to end the scope as CANCELLED."""


class RegistrationError(ValidationError):
    """A scope or a registration that can't be accepted, now or on any later replay.

    The message says which: a name the service would refuse, a registration after the body ended, on another
    thread than the body's, or inside a durable call of the body.
    """


@dataclass(frozen=True)
class TerminalFailure:
    """A terminal action that failed for good, or was skipped because a compensation before it failed.

    Attributes:
        kind: "compensate" or "cleanup".
        name: The action's name as registered.
        type: The qualified name of what the action raised ("ValueError" for a builtin); None when skipped.
        message: The text of that error, or why the action was skipped.
        stack_trace: Lines of the traceback; empty when the error was too large to keep them.
        skipped: Whether the action was not attempted.
    """

    kind: Kind
    name: str
    type: str | None
    message: str
    stack_trace: tuple[str, ...] = ()
    skipped: bool = False

    def __str__(self) -> str:
        if self.skipped:
            return f"{self.kind} {self.name!r} skipped: {self.message}"
        return f"{self.kind} {self.name!r} failed: {self.type}: {self.message}"


class TerminalScopeError(ChildContextError):
    """A body that succeeded and a cleanup that failed, or a user's own exception out of an isolated scope.

    `error_type`, `message`, `data` and `stack_trace` are those of the error that left the body.

    Attributes:
        terminal_failures: The terminal actions that failed or were skipped, in the order they were due.
    """

    def __init__(
        self,
        message: str | None = None,
        error_type: str | None = None,
        data: str | None = None,
        stack_trace: list[str] | None = None,
    ) -> None:
        super().__init__(message, error_type, data, stack_trace)
        self.terminal_failures: tuple[TerminalFailure, ...] = _opened(data).failures


register_operation_error(TerminalScopeError)


@dataclass(frozen=True)
class ErrorFields:
    """What is kept of an error. `type` is its own; `error_type` is what an SDK operation error wraps."""

    type: str
    message: str | None = None
    error_type: str | None = None
    data: str | None = None
    stack_trace: tuple[str, ...] = ()
    failures: tuple[TerminalFailure, ...] = ()
    dropped: int = 0

    @classmethod
    def of(cls, error: BaseException) -> ErrorFields:
        """The fields of a live exception, those that an inner scope attached included."""
        recorded = _recorded(error)
        inner = _opened(recorded.data)
        attached = _attached(error)
        return replace(
            inner,
            type=recorded.type or "",
            message=recorded.message,
            error_type=error.error_type if isinstance(error, DurableOperationError) else None,
            stack_trace=tuple(recorded.stack_trace or _formatted(error.__traceback__)),
            failures=inner.failures if attached is None else attached,
        )

    @classmethod
    def from_recorded(cls, error: DurableOperationError | SerDesError) -> ErrorFields:
        """The fields out of the SDK's error for a CONTEXT that failed with `recordable`."""
        inner = _opened(error.data)
        return replace(
            inner, type=error.error_type, message=error.message, stack_trace=tuple(error.stack_trace or ())
        )

    def to_json(self) -> dict[str, object]:
        return {
            "type": self.type,
            "message": self.message,
            "stackTrace": list(self.stack_trace),
            "data": self.envelope(),
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> ErrorFields:  # Any: decoded JSON
        return replace(
            _opened(fields["data"]),
            type=fields["type"],
            message=fields["message"],
            stack_trace=tuple(fields["stackTrace"]),
        )

    def envelope(self) -> str | None:
        """What has no field of its own in an error object, as JSON for its `data`."""
        if not self.failures and self.error_type is None:
            return self.data
        content: dict[str, object] = {_MARK: 1}
        if self.error_type is not None:
            content["errorType"] = self.error_type
        if self.data is not None:
            content["data"] = self.data
        if self.failures:
            content["terminalFailures"] = [_failure_json(failure) for failure in self.failures]
        if self.dropped:
            content["dropped"] = self.dropped
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"))

    def size(self) -> int:
        error_object = ErrorObject(self.message, self.type, self.envelope(), list(self.stack_trace))
        return len(json.dumps(error_object.to_dict()))

    def fitted(self, *, keep_message: bool = False) -> ErrorFields:
        """The same error, cut until the service takes it: stack traces, then long texts, then failures."""
        candidate = self
        for longest in (8_000, 2_000, 500, 100):
            if candidate.size() <= ERROR_OBJECT_LIMIT:
                return candidate
            candidate = self._cut(longest, keep_message)
        while (size := candidate.size()) > ERROR_OBJECT_LIMIT and candidate.failures:
            kept = len(candidate.failures) * ERROR_OBJECT_LIMIT // (size + 1)
            candidate = replace(
                candidate, failures=candidate.failures[:kept], dropped=len(self.failures) - kept
            )
        return candidate

    def _cut(self, longest: int, keep_message: bool) -> ErrorFields:
        return replace(
            self,
            message=self.message if keep_message else _shortened(self.message, longest),
            data=self.data if self.data is None or len(self.data) <= longest else None,
            stack_trace=(),
            failures=tuple(
                replace(failure, message=_shortened(failure.message, longest) or "", stack_trace=())
                for failure in self.failures
            ),
        )


def _recorded(error: BaseException) -> ErrorObject:
    """What the SDK would record. An exception without a text must not keep an action from running."""
    try:
        return ErrorObject.from_exception(error)
    except Exception as failure:
        kind = type(error)
        name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
        return ErrorObject(f"its text failed with {type(failure).__name__}", name, None, None)


def _formatted(trace: TracebackType | None) -> list[str]:
    """The last frames of a traceback, without this package's own before the user's."""
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        trace = trace.tb_next
    return traceback.format_tb(trace)[-_FRAMES:]


def _shortened(text: str | None, longest: int) -> str | None:
    return text if text is None or len(text) <= longest else text[: longest - 3] + "..."


def _failure_json(failure: TerminalFailure) -> dict[str, object]:
    return {
        "kind": failure.kind,
        "name": failure.name,
        "type": failure.type,
        "message": failure.message,
        "stackTrace": list(failure.stack_trace),
        "skipped": failure.skipped,
    }


def _opened(data: str | None) -> ErrorFields:
    """The fields that `data` carries: an envelope's, or just data of somebody else."""
    plain = ErrorFields(type="", data=data)
    if data is None or _MARK not in data:
        return plain
    try:
        content = json.loads(data)
    except ValueError:
        return plain
    if not isinstance(content, dict) or content.get(_MARK) != 1:
        return plain
    return ErrorFields(
        type="",
        error_type=content.get("errorType"),
        data=content.get("data"),
        failures=tuple(
            TerminalFailure(
                item["kind"],
                item["name"],
                item["type"],
                item["message"],
                tuple(item["stackTrace"]),
                item["skipped"],
            )
            for item in content.get("terminalFailures", ())
        ),
        dropped=content.get("dropped", 0),
    )


class Recordable(DurableOperationError):
    """Stands for another exception where a checkpoint is written; `original` is that exception, if at hand.

    The SDK takes type, message, data and stack trace of an operation error as they are, so a subclass that
    bears the other's name records it whole: stack trace, aggregate and all, and never too large.
    """

    original: BaseException | None = None


def recordable(fields: ErrorFields, original: BaseException | None = None) -> Recordable:
    fitted = fields.fitted()
    module, _, name = fitted.type.rpartition(".")
    bearer = cast("type[Recordable]", type(name, (Recordable,), {"__module__": module or "builtins"}))
    error = bearer(fitted.message, fitted.error_type, fitted.envelope(), list(fitted.stack_trace) or None)
    error.original = original
    return error


def rebuilt(fields: ErrorFields) -> Exception:
    """The exception that leaves an isolated scope: the same on the first run and on every replay.

    The SDK's own operation errors keep their type; any other becomes TerminalScopeError. Like the SDK's,
    it has a stand-in of the wrapped error as its cause.
    """
    data = fields.envelope() if fields.failures else fields.data
    stack_trace = list(fields.stack_trace) or None
    error: DurableOperationError | SerDesError
    if fields.type == _SERDES_ERROR:
        error = SerDesError(fields.message, fields.type, data, stack_trace)
    else:
        error = DurableOperationError.from_error_fields(fields.type, fields.message, data, stack_trace)
        if type(error) is DurableOperationError:
            error = TerminalScopeError(fields.message, fields.type, data, stack_trace)
        elif fields.error_type is not None:
            error.error_type = fields.error_type
    error.__cause__ = DurableOperationError.from_error_fields(
        error.error_type, fields.message, fields.data, stack_trace
    )
    vars(error)["terminal_failures"] = ()
    attach(error, fields.failures)
    return error


def cleanup_failure(scope: str, failures: tuple[TerminalFailure, ...]) -> ErrorFields:
    """The error of a scope whose body succeeded and whose cleanup did not."""
    return ErrorFields(
        type=f"{TerminalScopeError.__module__}.{TerminalScopeError.__qualname__}",
        message=f"The body of scope {scope!r} succeeded, but " + "; ".join(map(str, failures)),
        failures=failures,
    ).fitted()


def moment() -> int:
    """A point in the order in which bodies begin and failures are attached, in this process."""
    return next(_moments)


def attach(error: BaseException, failures: tuple[TerminalFailure, ...]) -> None:
    """List further failures on the error, and as notes; on one that takes no attributes too."""
    attributes = vars(error)
    attributes["terminal_failures"] = (*(_attached(error) or ()), *failures)
    attributes[_ATTACHED_AT] = moment()
    if failures:
        attributes["__notes__"] = [*attributes.get("__notes__", ()), *map(str, failures)]


def _attached(error: BaseException) -> tuple[TerminalFailure, ...] | None:
    """What scopes have listed on the error, if any has; not what a class of the user's own has by that name."""
    listed = vars(error).get("terminal_failures")
    ours = isinstance(listed, tuple) and all(isinstance(item, TerminalFailure) for item in listed)
    return cast("tuple[TerminalFailure, ...]", listed) if ours else None


def forget_older(error: BaseException, since: int) -> None:
    """Take off what was attached before `since`: an object that is raised again was in another scope then."""
    attributes = vars(error)
    if attributes.get(_ATTACHED_AT, since) < since:
        stale = {str(failure) for failure in _attached(error) or ()}
        attributes["__notes__"] = [note for note in attributes.get("__notes__", ()) if note not in stale]
        attributes["terminal_failures"] = ()


def aggregate_in_data(error: BaseException) -> None:
    """Let the failures survive the next checkpoint too, where the error has a field for it."""
    if isinstance(error, DurableOperationError) and _attached(error):
        error.data = ErrorFields.of(error).fitted(keep_message=True).envelope()
