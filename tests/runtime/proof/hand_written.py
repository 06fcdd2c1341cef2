"""Scopes written by hand, right and wrong: the proof is tried on them, to see that it finds what it should.

`HandWritten` does what the contract asks of the in-place form in the plain case. Each `Fault` is a mistake
that real code makes.
"""

from __future__ import annotations

import enum
import types
from typing import TYPE_CHECKING, Any, Self

from durable_runtime import ScopeCancelled, TerminalScopeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_durable_execution_sdk_python import DurableContext, StepContext
    from aws_durable_execution_sdk_python.config import StepConfig
    from durable_runtime import TerminalScopeConfig


class Fault(enum.Enum):
    """A mistake, by what it gets wrong."""

    NONE = "right in the plain case"
    FINALLY = "runs the actions whatever leaves the body, a suspension too"
    FORWARDS = "runs the actions in the order of registration"
    ONCE_PER_INVOCATION = "calls the actions without a step"
    STOPS = "stops at the first action that fails"
    MASKS = "lets the failure of an action take the place of the body's"
    NO_COMPENSATION = "compensates nothing"
    ALWAYS_COMPENSATES = "compensates after a success"
    CLEANS_FIRST = "cleans up before it compensates"
    NO_RECORD = "records no outcome"
    FORGETS = "runs the last registered action only"


class HandWritten:
    """A scope in place, with one fault."""

    def __init__(self, context: DurableContext, name: str, config: TerminalScopeConfig, fault: Fault) -> None:
        self._context = context
        self._name = name
        self._config = config
        self._fault = fault
        self._registered: list[tuple[str, str, Callable[[StepContext], object], StepConfig | None]] = []
        self.outcome: Any = None

    def __enter__(self) -> Self:
        return self

    def cleanup(
        self, func: Callable[[StepContext], object], *, name: str, config: StepConfig | None = None
    ) -> None:
        self._registered.append(("cleanup", name, func, config))

    def compensate(
        self, func: Callable[[StepContext], object], *, name: str, config: StepConfig | None = None
    ) -> None:
        self._registered.append(("compensate", name, func, config))

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        if (
            isinstance(error, BaseException)
            and not isinstance(error, Exception)
            and self._fault is not Fault.FINALLY
        ):
            return
        status = (
            "SUCCEEDED" if error is None else "CANCELLED" if isinstance(error, ScopeCancelled) else "FAILED"
        )
        self.outcome = types.SimpleNamespace(status=status)
        if self._registered and self._fault is not Fault.NO_RECORD:
            self._context.step(lambda _: {"outcome": status}, name=f"{self._name}.outcome")
        failures = [failure for action in self._ordered(status) if (failure := self._run(*action))]
        if failures and self._fault is Fault.MASKS:
            raise failures[0].error
        if isinstance(error, Exception):
            error.terminal_failures = tuple(failures)  # type: ignore[attr-defined]
        elif failures and self._config.fail_on_cleanup_failure:
            failed = TerminalScopeError("a cleanup failed")
            failed.terminal_failures = tuple(failures)
            raise failed

    def _ordered(self, status: str) -> list[Any]:
        actions = self._registered if self._fault is Fault.FORWARDS else self._registered[::-1]
        if self._fault is Fault.FORGETS:
            actions = actions[:1]
        kinds = ["cleanup"]
        if (status != "SUCCEEDED" or self._fault is Fault.ALWAYS_COMPENSATES) and (
            self._fault is not Fault.NO_COMPENSATION
        ):
            kinds.insert(1 if self._fault is Fault.CLEANS_FIRST else 0, "compensate")
        return [action for kind in kinds for action in actions if action[0] == kind]

    def _run(
        self, kind: str, name: str, func: Callable[[StepContext], object], config: StepConfig | None
    ) -> Any:
        def run(step_context: StepContext) -> None:
            func(step_context)

        try:
            if self._fault is Fault.ONCE_PER_INVOCATION:
                run(types.SimpleNamespace(attempt=1))  # type: ignore[arg-type]
            else:
                self._context.step(run, name=f"{self._name}.{kind}.{name}", config=config)
        except Exception as error:
            if self._fault is Fault.STOPS:
                raise
            return types.SimpleNamespace(name=name, skipped=False, error=error)
        return None
