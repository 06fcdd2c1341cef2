"""What scopes need of the SDK and its public API doesn't give, in one place, checked at import.

The package metadata allows SDK 1.6 for the plugin hook; scopes need 2.0. The names below that begin with an
underscore are the same in 2.0.1, 2.1.0 and 3.0.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_durable_execution_sdk_python as _package
from aws_durable_execution_sdk_python.context import DurableContext
from aws_durable_execution_sdk_python.state import ExecutionState

if TYPE_CHECKING:
    from aws_durable_execution_sdk_python.lambda_service import Operation

_NEEDED = (
    (DurableContext, "_create_step_id"),
    (DurableContext, "_peek_next_checkpoint"),
    (DurableContext, "_peek_next_operation_id"),
    (DurableContext, "_set_replay_status_new"),
    (DurableContext, "create_child_context"),
    (DurableContext, "is_replaying"),
    (ExecutionState, "operations"),
)

_TERMINAL = frozenset({"SUCCEEDED", "FAILED", "CANCELLED", "TIMED_OUT", "STOPPED"})


def _check() -> None:
    version = getattr(_package, "__version__", "an older version")
    major = version.partition(".")[0]
    if major not in {"2", "3"}:
        raise ImportError(
            f"durable_runtime's terminal_scope needs aws-durable-execution-sdk-python >=2.0,<4, "
            f"but {version} is installed."
        )
    missing = [f"{owner.__name__}.{name}" for owner, name in _NEEDED if not hasattr(owner, name)]
    if missing:
        raise ImportError(
            f"durable_runtime's terminal_scope can't run on aws-durable-execution-sdk-python {version}, "
            f"which has no {', '.join(missing)}."
        )


_check()


def body_context(scope_context: DurableContext) -> DurableContext:
    """A context for a scope's body: its own namespace of operation ids, and no operation of its own.

    It takes the first id of `scope_context`, so the body's length never moves the ids of what follows it.
    """
    return scope_context.create_child_context(scope_context._create_step_id(), is_virtual=True)


def pin_to_replay(context: DurableContext) -> None:
    """Keep the context's logger muted: all that runs in it has run, and was logged, before."""
    vars(context)["_set_replay_status_new"] = lambda: None


def next_operation(context: DurableContext) -> Operation | None:
    """What the history holds at the place of the context's next operation; nothing is consumed."""
    return context._peek_next_checkpoint().operation


def is_new_ground(context: DurableContext) -> bool:
    """Whether the history holds nothing of what the context does next.

    A virtual child context leaves nothing at its own place, so it looks for the first operation inside one too.
    """
    if next_operation(context) is not None:
        return False
    ahead = context.create_child_context(context._peek_next_operation_id(), is_virtual=True)
    return next_operation(ahead) is None


def skip_operation(context: DurableContext) -> None:
    """Leave the place of the context's next operation to what the history holds there, and go behind it."""
    context._create_step_id()


def is_terminal(operation: Operation | None) -> bool:
    return operation is not None and operation.status.value in _TERMINAL


def operation_id(context: DurableContext) -> str:
    """The id of the CONTEXT operation that the context's own operations report to ("" for the execution)."""
    return context._parent_id or ""


def completed_ancestor(context: DurableContext) -> str | None:
    """The id of the innermost enclosing CONTEXT that is over, by its own end or by that of one around it.

    Besides the history it asks what the SDK notes for this invocation: contexts that are about to complete,
    and their descendants, some of which the service has not acknowledged yet.
    """
    operations = context.state.operations
    over = {*getattr(context.state, "_terminal_contexts", ()), *getattr(context.state, "_parent_done", ())}
    ancestor = context._parent_id
    while ancestor is not None:
        operation = operations.get(ancestor)
        if is_terminal(operation) or ancestor in over:
            return ancestor
        ancestor = operation.parent_id if operation is not None else None
    return None
