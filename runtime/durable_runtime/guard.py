"""Watches the durable calls of a scope's body, on the contexts it uses and on the scope's own thread.

A body must not hide a suspension, must not register inside a durable call, and, once its outcome is recorded,
must not do anything that the history doesn't know. Each context has one registry of the guards that watch it,
so scopes may end in any order and leave nothing behind.
"""

from __future__ import annotations

import functools
import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from durable_runtime import sdk
from durable_runtime.errors import forget_older, moment
from durable_runtime.outcome import (
    Diverged,
    Unfinished,
    is_control_flow,
    is_divergence,
    is_interruption,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from aws_durable_execution_sdk_python import DurableContext
    from aws_durable_execution_sdk_python.config import ChildConfig

_OPERATIONS = (
    "step",
    "wait",
    "invoke",
    "map",
    "parallel",
    "run_in_child_context",
    "wait_for_condition",
    "wait_for_callback",
    "create_callback",
)
_REGISTRY = "_durable_runtime_registry"


class Guard:
    """The watch over one body. Has state: it follows the body from call to call."""

    def __init__(self, *, frozen: bool = False) -> None:
        self.frozen = frozen
        self.thread = threading.get_ident()
        self._since = moment()
        self.depth = 0
        """How many durable calls of the body are open."""
        self.progressed = False
        """Whether the body did anything in this run that no earlier run had completed."""
        self._hidden: BaseException | None = None

    @contextmanager
    def watching(self, context: DurableContext) -> Iterator[None]:
        registry = vars(context).get(_REGISTRY)
        if registry is None:
            registry = _Registry(context)
        registry.add(self)
        try:
            yield
        finally:
            registry.remove(self)

    def remember(self, interruption: BaseException) -> None:
        if self._hidden is None:
            self._hidden = interruption

    def refuse_after_interruption(self) -> None:
        if self._hidden is not None:
            raise self._hidden

    def leaving(self, error: BaseException | None) -> BaseException | None:
        """What really leaves the body: the interruption it hid behind a value or another error, if any."""
        if error is not None:
            forget_older(error, self._since)
        hides = error is None or not is_control_flow(error)
        return self._hidden if self._hidden is not None and hides else error


def guards_of(context: DurableContext) -> tuple[Guard, ...]:
    """The guards that watch the context on this thread, outer ones first."""
    registry: _Registry | None = vars(context).get(_REGISTRY)
    return registry.here() if registry is not None else ()


@contextmanager
def watched_by(guards: Iterable[Guard], context: DurableContext) -> Iterator[None]:
    """Let the guards watch one more context."""
    with ExitStack() as stack:
        for guard in guards:
            stack.enter_context(guard.watching(context))
        yield


class _Registry:
    """The guards of one context. It stands before the context's public methods while there is any."""

    def __init__(self, context: DurableContext) -> None:
        self._context = context
        self._guards: list[Guard] = []
        self._before: dict[str, object] = {}
        self._installed: dict[str, object] = {}

    def here(self) -> tuple[Guard, ...]:
        thread = threading.get_ident()
        return tuple(guard for guard in self._guards if guard.thread == thread)

    def add(self, guard: Guard) -> None:
        if not self._guards:
            attributes = vars(self._context)
            self._before = {name: attributes[name] for name in _OPERATIONS if name in attributes}
            self._installed = {name: self._watched(name) for name in _OPERATIONS} | {_REGISTRY: self}
            attributes |= self._installed
        self._guards.append(guard)

    def remove(self, guard: Guard) -> None:
        self._guards.remove(guard)
        if not self._guards:
            attributes = vars(self._context)
            for name, ours in self._installed.items():
                if attributes.get(name) is ours:  # and not what somebody else has put before it since
                    del attributes[name]
                    if name in self._before:
                        attributes[name] = self._before[name]

    # Any, here and below: the signatures are the SDK's, and are passed through.
    def _watched(self, name: str) -> Callable[..., Any]:
        method = getattr(self._context, name)

        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            guards = self._admit(name)
            with _open_call(guards):
                return method(*args, **kwargs)

        @functools.wraps(method)
        def run_in_child_context(
            func: Callable[[DurableContext], Any],
            name: str | None = None,
            config: ChildConfig[Any] | None = None,
        ) -> Any:
            virtual = config is not None and config.is_virtual
            guards = self._admit(
                "a virtual child context" if virtual else "run_in_child_context", virtual=virtual
            )
            with _open_call(guards):
                return method(watched_child(guards, func), name, config)

        @functools.wraps(method)
        def create_callback(*args: Any, **kwargs: Any) -> Any:
            guards = self._admit(name)
            with _open_call(guards):
                callback = method(*args, **kwargs)
            vars(callback)["result"] = _watched_result(self._context, callback.result)
            return callback

        special = {"run_in_child_context": run_in_child_context, "create_callback": create_callback}
        watched: Callable[..., Any] = special.get(name, call)
        return watched

    def _admit(self, name: str, *, virtual: bool = False) -> tuple[Guard, ...]:
        """The guards that watch this call, unless one refuses it."""
        guards = self.here()
        for guard in guards:
            guard.refuse_after_interruption()
        if guards and not virtual:
            operation = sdk.next_operation(self._context)
            terminal = sdk.is_terminal(operation)
            known = terminal or (name == "create_callback" and operation is not None)
            frozen = [guard for guard in guards if guard.frozen]
            if frozen and operation is not None and not known:
                sdk.skip_operation(self._context)
                raise Unfinished(
                    f"{name} left no end in the history when the scope's body ran; it runs no more"
                )
            if frozen and not known:
                _diverge(frozen[-1], f"{name} has no completed operation in the history")
            for guard in guards:
                guard.progressed = guard.progressed or not known
        return guards


def watched_child(guards: tuple[Guard, ...], func: Callable[[DurableContext], Any]) -> Callable[..., Any]:
    """`func` for a child context, so that the guards watch that context and `func` hides no suspension."""

    @functools.wraps(func, updated=())
    def body(child: DurableContext) -> Any:
        if any(guard.frozen for guard in guards):
            sdk.pin_to_replay(child)
        with watched_by(guards, child):
            left: BaseException | None = None
            try:
                result = func(child)
            except BaseException as error:
                left = error
            for guard in guards:
                left = guard.leaving(left)
            if left is not None:
                raise left
            return result

    if hasattr(func, "_original_name"):  # where the SDK's decorators keep a function's name
        vars(body)["_original_name"] = func._original_name
    return body


def _watched_result(context: DurableContext, result: Callable[[], Any]) -> Callable[[], Any]:
    @functools.wraps(result)
    def call() -> Any:
        guards = guards_of(context)
        for guard in guards:
            guard.refuse_after_interruption()
        with _open_call(guards):
            return result()

    return call


@contextmanager
def _open_call(guards: tuple[Guard, ...]) -> Iterator[None]:
    for guard in guards:
        guard.depth += 1
    try:
        yield
    except BaseException as error:
        frozen = [guard for guard in guards if guard.frozen]
        if frozen and is_divergence(error):
            _diverge(frozen[-1], str(error))
        if is_interruption(error):
            for guard in guards:
                guard.remember(error)
        raise
    finally:
        for guard in guards:
            guard.depth -= 1


def _diverge(guard: Guard, reason: str) -> NoReturn:
    diverged = Diverged(reason)
    guard.remember(diverged)
    raise diverged
