"""What a plugin learns about a user function that did not complete."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from aws_durable_execution_sdk_python.exceptions import SuspendExecution, TimedSuspendExecution
from aws_durable_execution_sdk_python.lambda_service import OperationSubType
from aws_durable_execution_sdk_python.plugin import UserFunctionStartInfo
from durable_runtime.plugin import UserFunctionCompleteInfo, UserFunctionCompleteReason

from tests.runtime.plugin.choke_point import attempt_to, invocation, leaves_by
from tests.runtime.plugin.plugins import Recording

if TYPE_CHECKING:
    from collections.abc import Callable


class Remembering(Recording):
    """Keeps the start info to compare with."""

    def on_user_function_start(self, info: UserFunctionStartInfo) -> None:
        super().on_user_function_start(info)
        self.started = info


def complete(error: BaseException, **run: object) -> tuple[UserFunctionStartInfo, UserFunctionCompleteInfo]:
    plugin = Remembering()
    with invocation(plugin) as invoked:
        run_it: Callable[..., object] = invoked.run
        attempt_to(lambda: run_it(leaves_by(error), "reserve", **run))
    [info] = plugin.completed
    return plugin.started, info


def test_it_carries_all_that_the_start_info_carried() -> None:
    started, info = complete(SuspendExecution("waits"), parent="order", attempt=3)
    for field in fields(UserFunctionStartInfo):
        assert getattr(info, field.name) == getattr(started, field.name), field.name
    assert (info.operation_id, info.name, info.parent_id, info.attempt) == ("reserve", "reserve", "order", 3)
    assert info.operation_type.value == "STEP"
    assert info.sub_type == OperationSubType.STEP
    assert info.is_replay_children is False


def test_a_context_has_no_attempt() -> None:
    _, info = complete(SuspendExecution("waits"))
    assert info.attempt is None
    assert info.operation_type.value == "CONTEXT"


def test_a_timed_suspension_says_when_the_operation_goes_on() -> None:
    _, info = complete(TimedSuspendExecution("waits", datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC).timestamp()))
    assert info.reason is UserFunctionCompleteReason.SUSPENDED_UNTIL
    assert info.resume_at == datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)


def test_a_suspension_without_a_time_has_none() -> None:
    _, info = complete(SuspendExecution("waits for a callback"))
    assert info.reason is UserFunctionCompleteReason.SUSPENDED
    assert info.resume_at is None


def test_it_is_immutable() -> None:
    _, info = complete(SuspendExecution("waits"))
    with pytest.raises(FrozenInstanceError):
        info.reason = UserFunctionCompleteReason.ORPHANED  # type: ignore[misc]
