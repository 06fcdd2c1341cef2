"""What `durable-lint --fix` makes of a plugin for SDK 1.7 (`rewritten/`) lets go on every SDK.

That the fix writes exactly `after.py` is asserted by the linter's own tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from aws_durable_execution_sdk_python.exceptions import OrphanedChildException, SuspendExecution

from tests.runtime.plugin.choke_point import attempt_to, invocation, leaves_by, worker
from tests.runtime.plugin.rewritten import after, before
from tests.runtime.support.versions import SDK

if TYPE_CHECKING:
    from types import ModuleType

SUSPENDED = SuspendExecution("waits")
ORPHANED = OrphanedChildException("gone", operation_id="x")


def left_on_the_worker(module: ModuleType | Any, error: BaseException) -> str:
    with invocation(module.OperationName()) as invoked, worker() as on_worker:
        on_worker(lambda: attempt_to(lambda: invoked.run(leaves_by(error), "pack")))
        left: str = on_worker(module.OPERATION.get)
    return left


def test_the_original_stays_attached_when_sdk_17_suspends_the_function() -> None:
    assert left_on_the_worker(before, SUSPENDED) == ("pack" if SDK[:2] == (1, 7) else "-")


def test_the_original_stays_attached_to_an_orphan_below_sdk_2() -> None:
    assert left_on_the_worker(before, ORPHANED) == ("pack" if SDK < (2,) else "-")


@pytest.mark.parametrize(
    "error", [SUSPENDED, ORPHANED, SystemExit(1)], ids=lambda error: type(error).__name__
)
def test_the_rewritten_one_lets_go_on_every_sdk(error: BaseException) -> None:
    assert left_on_the_worker(after, error) == "-"
