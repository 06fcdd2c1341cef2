"""The terminal phase of a scope: the recorded outcome, then every action that is due, in order."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from aws_durable_execution_sdk_python.config import ChildConfig, StepConfig
from aws_durable_execution_sdk_python.exceptions import NonDeterministicExecutionError, OrphanedChildException
from aws_durable_execution_sdk_python.retries import RetryDecision, RetryPresets
from aws_durable_execution_sdk_python.serdes import JsonSerDes

from durable_runtime import sdk
from durable_runtime.actions import DurableTerminalActions, StepRegistration, operation_name
from durable_runtime.errors import (
    ErrorFields,
    Recordable,
    RegistrationError,
    TerminalFailure,
    forget_older,
    moment,
    recordable,
)
from durable_runtime.events import ScopeEvent, ScopeEventKind, logger, report
from durable_runtime.guard import Guard, watched_child
from durable_runtime.outcome import (
    ScopeOutcome,
    ScopeStatus,
    classify,
    fails_execution,
    is_permanent,
    is_suspension,
)

if TYPE_CHECKING:
    from aws_durable_execution_sdk_python import DurableContext, StepContext

    from durable_runtime.actions import Registration
    from durable_runtime.outcome import TerminalScopeConfig


@dataclass(frozen=True)
class Record:
    """What the outcome step keeps. `status` is None for a frozen body that went another way."""

    status: ScopeStatus | None
    error: ErrorFields | None = None
    fails_execution: bool = False
    registered: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, status: ScopeStatus | None, error: BaseException | None) -> Record:
        fields = ErrorFields.of(error).fitted() if error is not None else None
        return cls(status, fields, fails_execution(error))

    def ended_like(self, other: Record) -> bool:
        return self.status is other.status and self.error_type == other.error_type

    @property
    def error_type(self) -> str | None:
        return self.error.type if self.error is not None else None

    def to_json(self) -> dict[str, object]:
        return {
            "outcome": self.status,
            "error": self.error.to_json() if self.error is not None else None,
            "failsExecution": self.fails_execution,
            "registered": self.registered,
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Record:  # Any: decoded JSON
        error = content["error"]
        return cls(
            ScopeStatus(content["outcome"]),
            ErrorFields.from_json(error) if error is not None else None,
            content["failsExecution"],
            tuple((kind, name) for kind, name in content["registered"]),
        )

    def __str__(self) -> str:
        if self.status is None:
            return f"going on otherwise than the history ({self.error.message if self.error else ''})"
        return f"{self.status} ({self.error_type})" if self.error_type else str(self.status)


class TerminalPhase:
    """One run of a scope, from its body's first line to its last action."""

    def __init__(
        self,
        name: str,
        config: TerminalScopeConfig,
        context: DurableContext,
        guard: Guard,
        body_context: DurableContext,
        *,
        news: bool,
    ) -> None:
        self.guard = guard
        self.terminal = DurableTerminalActions(name, body_context, guard)
        self.news = news
        """Whether anything happened in this run that no earlier one has reported."""
        self._name = name
        self._config = config
        self._context = context

    def report(
        self, kind: ScopeEventKind, registration: Registration | None = None, attempt: int | None = None
    ) -> None:
        outcome = self.terminal.outcome
        report(
            ScopeEvent(
                kind,
                self._context.execution_context.durable_execution_arn,
                self._name,
                registration.name if registration is not None else None,
                registration.kind if registration is not None else None,
                outcome.status if outcome is not None else None,
                attempt,
            )
        )

    def interrupted(self, error: BaseException) -> None:
        self.terminal.close()
        if is_suspension(error):
            self.report(ScopeEventKind.SCOPE_SUSPENDED)

    def select(self, current: Record) -> tuple[Record, tuple[Registration, ...]]:
        """Record the outcome, unless nothing is registered; on replay it is the one recorded before."""
        registrations = self.terminal.close()
        recorded = replace(current, registered=_listed(registrations))
        self.news = fresh = self.news or self.guard.progressed
        if registrations or self.guard.frozen:
            fresh = not sdk.is_terminal(sdk.next_operation(self._context))
            if fresh:
                self._refuse_abandoned()
            content = self._context.step(
                lambda _: recorded.to_json(),
                name=f"{self._name}.outcome",
                config=StepConfig(serdes=JsonSerDes()),
            )
            recorded = Record.from_json(content)
            self.news = self.news or fresh
        assert recorded.status is not None
        error = recorded.error
        self.terminal.choose(
            ScopeOutcome(recorded.status, error.type if error else None, error.message if error else None)
        )
        if fresh:
            self.report(ScopeEventKind.OUTCOME_SELECTED)
        return recorded, registrations

    def due(
        self, recorded: Record, registrations: tuple[Registration, ...], *, more_allowed: bool = False
    ) -> tuple[Registration, ...]:
        """The registrations that the record names. A body that went on past its end may have made more."""
        due = registrations[: len(recorded.registered)] if more_allowed else registrations
        if _listed(due) != recorded.registered:
            raise NonDeterministicExecutionError(
                f"Scope {self._name!r} was recorded with the registrations {_names(recorded.registered)}, "
                f"but its body now made {_names(_listed(registrations))}. Remaining actions can't run."
            )
        return due

    def refuse_other_end(self, recorded: Record, current: Record) -> NoReturn:
        raise NonDeterministicExecutionError(
            f"Scope {self._name!r} was recorded as {recorded}, but its body now ended as {current}."
        )

    def perform(
        self, recorded: Record, registrations: tuple[Registration, ...]
    ) -> tuple[TerminalFailure, ...]:
        """Attempt every action that is due, in order. Returns what failed or was skipped."""
        cancelled = recorded.status is ScopeStatus.CANCELLED
        compensate = recorded.status is not ScopeStatus.SUCCEEDED and not (
            cancelled and not self._config.compensate_on_cancellation
        )
        clean_up = not (cancelled and not self._config.cleanup_on_cancellation)
        failures: list[TerminalFailure] = []
        for registration in reversed(registrations if compensate else ()):
            if registration.kind == "compensate":
                if failures and self._config.stop_on_compensation_failure:
                    reason = f"compensation {failures[0].name!r} failed"
                    failures.append(
                        TerminalFailure("compensate", registration.name, None, reason, skipped=True)
                    )
                else:
                    failures += self._attempt(registration)
        for registration in reversed(registrations if clean_up else ()):
            if registration.kind == "cleanup":
                failures += self._attempt(registration)
        if self.news:
            self.report(ScopeEventKind.SCOPE_COMPLETED)
        return tuple(failures)

    def _attempt(self, registration: Registration) -> tuple[TerminalFailure, ...]:
        operation = sdk.next_operation(self._context)
        fresh = not sdk.is_terminal(operation)
        self.news = self.news or fresh
        run = _ActionRun(self, registration, self._config.cancelled_by)
        name = operation_name(self._name, registration.kind, registration.name)
        try:
            if isinstance(registration, StepRegistration):
                self._context.step(run.as_step, name=name, config=run.step_config(registration.config))
            else:
                if operation is None:
                    self.report(ScopeEventKind.ACTION_STARTED, registration, 1)
                config = replace(registration.config or ChildConfig(), serdes=None, summary_generator=None)
                watched = watched_child((Guard(),), run.in_context)
                self._context.run_in_child_context(watched, name=name, config=config)
        except BaseException as error:
            if classify(error, self._config.cancelled_by) is None:
                raise
            if fresh:
                self.report(ScopeEventKind.ACTION_FAILED, registration, run.attempt)
            fields = ErrorFields.of(error)
            return (
                TerminalFailure(
                    registration.kind,
                    registration.name,
                    fields.error_type or fields.type,
                    fields.message or "",
                    fields.stack_trace,
                ),
            )
        if fresh:
            self.report(ScopeEventKind.ACTION_COMPLETED, registration, run.attempt)
        return ()

    def _refuse_abandoned(self) -> None:
        """A branch whose map or parallel has completed without it has no outcome."""
        ancestor = sdk.completed_ancestor(self._context)
        if ancestor is not None:
            raise OrphanedChildException(
                f"Scope {self._name!r} is abandoned: an operation around it has completed already", ancestor
            )


class _ActionRun:
    """Runs one action in its operation, so that what it raises is recorded whole and its value dropped."""

    def __init__(
        self, scope: TerminalPhase, registration: Registration, cancelled_by: tuple[type[BaseException], ...]
    ) -> None:
        self._scope = scope
        self._registration = registration
        self._cancelled_by = cancelled_by
        self.attempt = 1

    def as_step(self, step_context: StepContext) -> None:
        self.attempt = step_context.attempt
        self._scope.report(ScopeEventKind.ACTION_STARTED, self._registration, self.attempt)
        self._call(step_context)

    def in_context(self, context: DurableContext) -> None:
        self._call(context)

    def _call(self, context: Any) -> None:  # Any: the registration's form decides between the two contexts
        began = moment()
        try:
            returned = self._registration.func(context)
            if inspect.iscoroutine(returned):
                returned.close()
                raise RegistrationError(
                    f"{self._registration.name} returned a coroutine, which nobody awaits: it has done nothing"
                )
        except BaseException as error:
            if classify(error, self._cancelled_by) is None:
                raise
            forget_older(error, began)
            raise recordable(ErrorFields.of(error), error) from error

    def step_config(self, given: StepConfig | None) -> StepConfig:
        """The action's own configuration, with its retries reported."""
        config = given or StepConfig()
        strategy = config.retry_strategy or RetryPresets.default()

        def decide(error: Exception, attempt: int) -> RetryDecision:
            original = error.original if isinstance(error, Recordable) and error.original else error
            if is_permanent(original):
                return RetryDecision.no_retry()
            self.attempt = attempt
            try:
                decision = strategy(original, attempt)  # type: ignore[arg-type]  # permanent unless Exception
                again = decision.should_retry
            except Exception:
                logger.exception("The retry strategy of %s failed; no retry", self._registration.name)
                return RetryDecision.no_retry()
            if again:
                self._scope.report(ScopeEventKind.ACTION_RETRIED, self._registration, attempt)
            return decision

        return replace(config, retry_strategy=decide, serdes=None)


def _listed(registrations: tuple[Registration, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((registration.kind, registration.name) for registration in registrations)


def _names(listed: tuple[tuple[str, str], ...]) -> str:
    return "[" + ", ".join(f"{kind} {name!r}" for kind, name in listed) + "]"
