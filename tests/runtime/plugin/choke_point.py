"""Runs user functions through the SDK's own choke point, on a thread of the test's choice.

`ExecutionState.wrap_user_function` and the plugin executor are the real ones of the release in use. Only the
service is absent, because nothing here writes a checkpoint.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

from aws_durable_execution_sdk_python.identifier import OperationIdentifier
from aws_durable_execution_sdk_python.lambda_service import (
    DurableExecutionInvocationOutput,
    InvocationStatus,
    Operation,
    OperationStatus,
    OperationSubType,
    OperationType,
)
from aws_durable_execution_sdk_python.plugin import PluginExecutor
from aws_durable_execution_sdk_python.state import ExecutionState

from tests.runtime.support.versions import SDK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aws_durable_execution_sdk_python.plugin import DurableInstrumentationPlugin

ARN = "arn:aws:lambda:eu-central-1:123456789012:function:orders:1/durable-execution/one/two"


@dataclass
class Invocation:
    """One invocation in which user functions can be run."""

    state: ExecutionState
    executor: PluginExecutor

    def run(
        self,
        function: Callable[[], Any],
        operation: str = "operation",
        *,
        parent: str | None = None,
        attempt: int | None = None,
    ) -> Any:
        """Run `function` as the user function of a child context, or of a step when it has an `attempt`."""
        return self.state.wrap_user_function(
            function, identifier(operation, parent, is_step=attempt is not None), False, attempt
        )()

    def start(self, operation: str, *, parent: str | None = None) -> None:
        """Tell the plugins that a user function starts, and never what became of it."""
        self.executor.on_user_function_start(identifier(operation, parent))

    def end_operation(self, operation: str) -> None:
        """Tell the plugins that an operation has ended, as its terminal checkpoint does."""
        self.executor.on_operation_update(
            Operation(
                operation_id=operation,
                operation_type=OperationType.CONTEXT,
                status=OperationStatus.SUCCEEDED,
                name=operation,
            )
        )

    def end(self) -> None:
        """Tell the plugins that the invocation ends, as it does when the execution suspends."""
        self.executor.on_invocation_end(
            output=DurableExecutionInvocationOutput(status=InvocationStatus.PENDING)
        )


@contextmanager
def invocation(*plugins: DurableInstrumentationPlugin) -> Iterator[Invocation]:
    """An invocation with these plugins, whose start they have been told of."""
    registered: list[Any] = [_Factory(plugin) for plugin in plugins] if SDK >= (3,) else list(plugins)
    executor = PluginExecutor(registered)
    with executor.run():
        executor.on_invocation_start(
            execution_arn=ARN,
            is_first_invocation=True,
            execution_start_time=datetime(2026, 1, 2, tzinfo=UTC),
            lambda_context=None,
        )
        yield Invocation(
            ExecutionState(
                durable_execution_arn=ARN,
                initial_checkpoint_token="token",
                operations={},
                service_client=Mock(),
                plugin_executor=executor,
            ),
            executor,
        )


@contextmanager
def worker() -> Iterator[Callable[[Callable[[], Any]], Any]]:
    """A thread that lives on between calls, as those of branches do. Yields what runs a call on it."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        yield lambda call: pool.submit(call).result()


def leaves_by(error: BaseException) -> Callable[[], Any]:
    """A user function that is left by `error`."""

    def function() -> Any:
        raise error

    return function


def attempt_to(call: Callable[[], Any]) -> BaseException | None:
    """What `call` raised, whatever it is."""
    try:
        call()
    except BaseException as error:
        return error
    return None


def this_thread() -> int:
    """The thread that this is called on."""
    return threading.get_ident()


@dataclass
class _Factory:
    plugin: DurableInstrumentationPlugin

    def create_plugin(self, info: object, /) -> DurableInstrumentationPlugin:  # noqa: ARG002 - the SDK passes it
        return self.plugin


def identifier(operation: str, parent: str | None = None, *, is_step: bool = False) -> OperationIdentifier:
    """What names the operation that a user function belongs to."""
    sub_type = OperationSubType.STEP if is_step else OperationSubType.RUN_IN_CHILD_CONTEXT
    # From SDK 2.0 on the type is given; before, it follows from the subtype.
    operation_type = OperationType.STEP if is_step else OperationType.CONTEXT
    given = {"operation_type": operation_type} if SDK >= (2,) else {}
    make: Callable[..., OperationIdentifier] = OperationIdentifier
    return make(operation, sub_type, parent, operation, **given)
