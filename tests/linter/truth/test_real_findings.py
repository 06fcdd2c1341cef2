"""The findings in released packages that docs/validation/linter.md lists are true: each one is run."""

from __future__ import annotations

import datetime
from typing import Any  # the plugins of a released package are looked up by name

import pytest
from aws_durable_execution_sdk_python.lambda_service import OperationStatus
from aws_durable_execution_sdk_python.plugin import (
    InvocationEndInfo,
    InvocationStartInfo,
    InvocationStatus,
    OperationEndInfo,
    OperationStartInfo,
    OperationType,
    UserFunctionEndInfo,
    UserFunctionOutcome,
    UserFunctionStartInfo,
)

NOW = datetime.datetime(2026, 11, 29, tzinfo=datetime.UTC)
ARN = "arn:aws:lambda:eu-central-1:123456789012:function:orders/durable-execution/a/b"
BRANCH: dict[str, Any] = {
    "operation_id": "branch",
    "operation_type": OperationType.CONTEXT,
    "sub_type": "MapIteration",
    "name": "branch",
    "parent_id": None,
    "start_time": NOW,
    "is_replayed": False,
}


@pytest.mark.parametrize("name", ["ExecutionOtelPlugin", "InvocationOtelPlugin"])
def test_the_opentelemetry_plugins_keep_their_context_attached_when_the_branch_ended_before_its_function(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import aws_durable_execution_sdk_python_otel as otel
    from opentelemetry import context, trace
    from opentelemetry.sdk.trace import TracerProvider

    monkeypatch.setattr(trace, "get_tracer_provider", TracerProvider)
    plugin = getattr(otel, name)()
    plugin.on_invocation_start(InvocationStartInfo("request", ARN, True, NOW))
    before = context.get_current()
    plugin.on_operation_start(OperationStartInfo(**BRANCH, status=OperationStatus.STARTED))
    plugin.on_user_function_start(UserFunctionStartInfo(**BRANCH, status=OperationStatus.STARTED))
    assert context.get_current() is not before

    plugin.on_operation_end(OperationEndInfo(**BRANCH, status=OperationStatus.SUCCEEDED, end_time=NOW))
    with pytest.raises(RuntimeError, match="without matching"):
        plugin.on_user_function_end(
            UserFunctionEndInfo(
                **BRANCH,
                status=OperationStatus.STARTED,
                is_replay_children=False,
                outcome=UserFunctionOutcome.INCOMPLETE,
            )
        )

    assert context.get_current() is not before  # what LDC303 says: it stays attached
    plugin.on_invocation_end(InvocationEndInfo("request", ARN, True, NOW, status=InvocationStatus.PENDING))
