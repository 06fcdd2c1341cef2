"""Registrations: what a body declares to run at its terminal outcome."""

from __future__ import annotations

import functools
import inspect
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from aws_durable_execution_sdk_python import DurableContext, StepContext
from aws_durable_execution_sdk_python.config import ChildConfig, StepConfig

from durable_runtime.errors import Kind, RegistrationError

if TYPE_CHECKING:
    from durable_runtime.guard import Guard
    from durable_runtime.outcome import ScopeOutcome

# ChildConfig[Any], below: its parameter is the action's result, which is dropped.

T = TypeVar("T")

StepAction = Callable[[StepContext], object]
ContextAction = Callable[[DurableContext], object]

NAME_LIMIT = 256
"""Characters that the service takes for a name, all of them printable ASCII."""

LIST_LIMIT = 200_000
"""Bytes for the names of all registrations of a scope, which one outcome record of at most 256 KB keeps."""


@dataclass(frozen=True)
class StepRegistration:
    """An action that runs as a step."""

    kind: Kind
    name: str
    func: StepAction
    config: StepConfig | None


@dataclass(frozen=True)
class ContextRegistration:
    """An action that runs in a child context, so that it may wait, invoke or take several steps."""

    kind: Kind
    name: str
    func: ContextAction
    config: ChildConfig[Any] | None


Registration = StepRegistration | ContextRegistration


class DurableTerminalActions:
    """Where a scope's body registers its cleanups and compensations. Scopes make it; its state is the list.

    A registration is a declaration that replay makes again, so it is made outside durable calls, on the
    body's own thread, before the body ends; otherwise RegistrationError. Names and arguments are evaluated at
    once. A name defaults to the function's, and equal names of one kind get "-2", "-3" in order.

    Actions are durable operations that run at least once, so they should be idempotent. What they return is
    dropped, except that a coroutine is a failure: nobody awaits it, so it has done nothing.
    """

    def __init__(self, scope: str, context: DurableContext, guard: Guard) -> None:
        self._scope = scope
        self._context = context
        self._guard = guard
        self._closed = False
        self._outcome: ScopeOutcome | None = None
        self._names: set[tuple[Kind, str]] = set()
        self._size = 0
        self._registrations: list[Registration] = []

    @property
    def outcome(self) -> ScopeOutcome | None:
        """The scope's recorded outcome: readable inside actions, None before."""
        return self._outcome

    def cleanup(self, func: StepAction, *, name: str | None = None, config: StepConfig | None = None) -> None:
        """Run `func(step_context)` as a step at every terminal outcome, the last registered first."""
        self._register_step("cleanup", func, name, config)

    def compensate(
        self, func: StepAction, *, name: str | None = None, config: StepConfig | None = None
    ) -> None:
        """Run `func(step_context)` as a step when the body fails or is cancelled, before all cleanups."""
        self._register_step("compensate", func, name, config)

    def cleanup_in_context(
        self, func: ContextAction, *, name: str | None = None, config: ChildConfig[Any] | None = None
    ) -> None:
        """Like `cleanup`, with `func(durable_context)` in a child context, where it may wait or invoke."""
        self._register_in_context("cleanup", func, name, config)

    def compensate_in_context(
        self, func: ContextAction, *, name: str | None = None, config: ChildConfig[Any] | None = None
    ) -> None:
        """Like `compensate`, with `func(durable_context)` in a child context, where it may wait or invoke."""
        self._register_in_context("compensate", func, name, config)

    def acquire(
        self,
        func: Callable[[StepContext], T],
        *,
        release: Callable[[T, StepContext], object],
        name: str | None = None,
        config: StepConfig | None = None,
        release_config: StepConfig | None = None,
    ) -> T:
        """Run `func(step_context)` as a step, and register its release, in one call.

        Args:
            func: Acquires the resource. Its value crosses a checkpoint.
            release: Called as `release(value, step_context)`, as the cleanup `release-<name>`.
            name: The step's name; the function's by default.
            config: The configuration of the step, and of the release unless that has its own.
            release_config: The configuration of the release, when it should be retried otherwise.

        Returns:
            The value of `func`.
        """
        step_name = name if name is not None else function_name(func)
        check_name(step_name, f"The step {step_name!r}")
        config_of_release = release_config or config
        cleanup_name = self._new_name(
            "cleanup", f"release-{step_name}", release, config_of_release, StepConfig
        )
        value = self._context.step(func, name=step_name, config=config)
        self._register(
            StepRegistration(
                "cleanup", cleanup_name, lambda context: release(value, context), config_of_release
            )
        )
        return value

    def close(self) -> tuple[Registration, ...]:
        """The body has ended: refuse further registrations. For the scope alone."""
        self._closed = True
        return tuple(self._registrations)

    def choose(self, outcome: ScopeOutcome) -> None:
        """The outcome is recorded. For the scope alone."""
        self._outcome = outcome

    def _register_step(
        self, kind: Kind, func: StepAction, name: str | None, config: StepConfig | None
    ) -> None:
        action_name = self._new_name(kind, name, func, config, StepConfig)
        self._register(StepRegistration(kind, action_name, func, config))

    def _register_in_context(
        self, kind: Kind, func: ContextAction, name: str | None, config: ChildConfig[Any] | None
    ) -> None:
        action_name = self._new_name(kind, name, func, config, ChildConfig)
        if config is not None and config.is_virtual:
            raise RegistrationError(
                f"{kind} {action_name!r} of scope {self._scope!r} can't run in a virtual child context: "
                f"nothing would record that it has run"
            )
        self._register(ContextRegistration(kind, action_name, func, config))

    def _new_name(
        self,
        kind: Kind,
        name: str | None,
        func: Callable[..., object],
        config: object,
        config_type: type[object],
    ) -> str:
        """The name the next registration will have. Refuses what replay would lose, the service reject, or
        the action stumble over when it is due.
        """
        given = name if name is not None else function_name(func)
        subject = f"{kind} {given!r} of scope {self._scope!r}"
        if self._closed:
            raise RegistrationError(f"{subject} is registered after the body ended")
        if threading.get_ident() != self._guard.thread:
            raise RegistrationError(
                f"{subject} is registered on another thread than the scope's, where registrations have no "
                f"fixed order; open a scope in the branch"
            )
        if self._guard.depth:
            raise RegistrationError(
                f"{subject} is registered inside a durable call of the body, which replay skips once it is "
                f"completed; register it outside, or open a scope inside"
            )
        check_function(func, subject)
        if config is not None and not isinstance(config, config_type):
            raise RegistrationError(f"{subject} takes a {config_type.__name__}, not {config!r}")
        unique, count = given, 1
        while (kind, unique) in self._names:
            count += 1
            unique = f"{given}-{count}"
        check_name(given, subject)
        check_name(operation_name(self._scope, kind, unique), f"{subject}, with the scope's name before it,")
        if self._size + _listed_size(kind, unique) > LIST_LIMIT:
            raise RegistrationError(f"{subject} is one too many: a scope keeps {LIST_LIMIT:,} bytes of names")
        return unique

    def _register(self, registration: Registration) -> None:
        self._names.add((registration.kind, registration.name))
        self._size += _listed_size(registration.kind, registration.name)
        self._registrations.append(registration)


def operation_name(scope: str, kind: Kind, name: str) -> str:
    return f"{scope}.{kind}.{name}"


def check_name(name: object, subject: str) -> None:
    """Raise RegistrationError for a name that the service would refuse only when the operation starts."""
    if (
        not isinstance(name, str)
        or not 1 <= len(name) <= NAME_LIMIT
        or not (name.isascii() and name.isprintable())
    ):
        raise RegistrationError(f"{subject} needs a name of 1 to {NAME_LIMIT} printable ASCII characters")


def check_function(func: object, subject: str) -> None:
    """Raise RegistrationError for what can't be called, and for what a call would not run."""
    if not callable(func):
        raise RegistrationError(f"{subject} takes a function to call, not {func!r}")
    lazy = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    if any(is_lazy(func) for is_lazy in lazy):
        raise RegistrationError(
            f"{subject} takes a plain function: a call of a coroutine or generator function runs nothing of it"
        )


def function_name(func: Callable[..., object]) -> str:
    """The name an operation takes from its function."""
    while isinstance(func, functools.partial):
        func = func.func
    name = getattr(func, "_original_name", None) or getattr(func, "__name__", None)
    return name if isinstance(name, str) else type(func).__name__


def _listed_size(kind: Kind, name: str) -> int:
    return len(json.dumps([kind, name])) + 2
