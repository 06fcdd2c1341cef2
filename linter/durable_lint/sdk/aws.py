"""What the names of the AWS Lambda durable execution SDK and of `durable_runtime` mean. Tables only.

Read off the released wheels `aws-durable-execution-sdk-python` 1.0.0 to 3.0.0. Names are given without the
package's submodules: `canonical` maps `aws_durable_execution_sdk_python.context.DurableContext` to
`sdk.DurableContext`, because the package re-exports and code imports from either place.
"""

from __future__ import annotations

PACKAGE = "aws_durable_execution_sdk_python"
RUNTIME = "durable_runtime"

HANDLER_DECORATORS = frozenset({"sdk.durable_execution"})
"""The second parameter of what they decorate is a durable context."""

CONTEXT_TYPES = frozenset({"sdk.DurableContext"})
CALLBACK_TYPES = frozenset({"sdk.Callback"})
OPERATION_CONTEXT_TYPES = frozenset(
    {
        "sdk.StepContext",
        "sdk.OperationContext",
        "sdk.WaitForCallbackContext",
        "sdk.WaitForConditionCheckContext",
    }
)
"""Contexts of code that runs inside one attempt of an operation and cannot suspend."""

STEP_DECORATORS = frozenset({"sdk.durable_step"})
SUBMITTER_DECORATORS = frozenset({"sdk.durable_wait_for_callback"})
CHILD_DECORATORS = frozenset({"sdk.durable_with_child_context"})
BRANCH_DECORATORS = frozenset({"sdk.durable_parallel_branch"})
"""This one is a decorator that may be called: `@durable_parallel_branch(name=...)`."""

SUSPENDING = frozenset(
    {
        "wait",
        "step",
        "invoke",
        "map",
        "parallel",
        "run_in_child_context",
        "wait_for_callback",
        "wait_for_condition",
    }
)
"""Methods of a durable context that can suspend. Since SDK 2.1 any of them can, for a revoked token."""

CREATE_CALLBACK = "create_callback"
ONLY_DURABLE = frozenset(
    {"run_in_child_context", "wait_for_callback", "wait_for_condition", "create_callback"}
)
"""Methods that no other common library has: they are evidence of a durable context by themselves."""

WITH_RETRY = "sdk.with_retry"
PARALLEL_BRANCH = "sdk.ParallelBranch"
TERMINAL_SCOPE = "runtime.terminal_scope"
TERMINAL_TYPES = frozenset({"runtime.DurableTerminalActions"})

STEP_REGISTRATIONS = frozenset({"cleanup", "compensate"})
CONTEXT_REGISTRATIONS = frozenset({"cleanup_in_context", "compensate_in_context"})
ACQUIRE = "acquire"

BATCH_CONFIGS = frozenset({"sdk.MapConfig", "sdk.ParallelConfig"})
COMPLETION_CONFIG = "sdk.CompletionConfig"

SUSPENSIONS = ("sdk.SuspendExecution", "sdk.TimedSuspendExecution")
"""The exceptions by which the SDK suspends; the second derives from the first, the first from
`BaseException`.
"""

CONTROL_FLOW = frozenset({*SUSPENSIONS, "sdk.OrphanedChildException", "sdk.BackgroundThreadError"})

POSITIONS: dict[str, tuple[str, ...]] = {
    "step": ("func", "name", "config"),
    "wait": ("duration", "name"),
    "run_in_child_context": ("func", "name", "config"),
    "map": ("inputs", "func", "name", "config"),
    "parallel": ("functions", "name", "config"),
    "invoke": ("function_name", "payload", "name", "config"),
    "wait_for_callback": ("submitter", "name", "config"),
    "wait_for_condition": ("check", "config", "name"),
    "create_callback": ("name", "config"),
    "with_retry": ("context", "func", "config", "name"),
    "terminal_scope": ("context", "func", "name", "config"),
    "cleanup": ("func",),
    "compensate": ("func",),
    "cleanup_in_context": ("func",),
    "compensate_in_context": ("func",),
    "acquire": ("func", "release"),
}
"""The parameters of each call, in order: unchanged from SDK 1.0 to 3.0."""


def canonical(qualified: str) -> str:
    """Return `sdk.NAME` or `runtime.NAME` for a name of the two packages, else `qualified` itself."""
    if qualified.startswith(PACKAGE + "."):
        return "sdk." + qualified.rpartition(".")[2]
    if qualified.startswith(RUNTIME + ".") and not qualified.startswith(RUNTIME + ".plugin"):
        return "runtime." + qualified.rpartition(".")[2]
    return qualified


def name_in_history(method: str) -> bool:
    """Whether an operation of this method has a `name` by which people know it."""
    return "name" in POSITIONS.get(method, ())
