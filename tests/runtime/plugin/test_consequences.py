"""The four consequences that the request observed: each shown without the hook, and gone with it.

What happens without the hook depends on the SDK. 1.6 calls the end hook with PENDING for a suspension, with a
false FAILED for a timed one, and not at all for an orphan; 1.7 calls it for none of them; from 2.0 on the
outcome is INCOMPLETE, which a plugin that knows two outcomes passes over.
"""

from __future__ import annotations

from contextvars import copy_context
from typing import TYPE_CHECKING

import pytest
from aws_durable_execution_sdk_python.exceptions import (
    OrphanedChildException,
    SuspendExecution,
    TimedSuspendExecution,
)

from tests.runtime.plugin.choke_point import attempt_to, invocation, leaves_by, worker
from tests.runtime.plugin.plugins import CURRENT, NOTHING, WithBind, WithHook, WithoutHook
from tests.runtime.support.versions import SDK

if TYPE_CHECKING:
    from tests.runtime.plugin.choke_point import Invocation

IS_1_6 = SDK[:2] == (1, 6)

with_hook = pytest.mark.parametrize("plugin_class", [WithHook, WithBind])


def suspend(invoked: Invocation, *operations: str) -> None:
    """Run the user functions of `operations`, each in the one before, and suspend in the innermost."""

    def nested(index: int) -> None:
        if index == len(operations):
            raise SuspendExecution("waits for a callback")
        invoked.run(lambda: nested(index + 1), operations[index])

    assert isinstance(attempt_to(lambda: nested(0)), SuspendExecution)


def resume(invoked: Invocation, outer: str, inner: str) -> list[str]:
    """Run both to their end; what is current in the inner one, after it, and after the outer one."""
    seen = []

    def outer_function() -> None:
        invoked.run(lambda: seen.append(CURRENT.get()), inner, parent=outer)
        seen.append(CURRENT.get())

    invoked.run(outer_function, outer)
    seen.append(CURRENT.get())
    return seen


class Test1InProcessTimedResume:
    """A branch that waits is resumed in the same invocation, and enters the same operation again."""

    def run(self, plugin: WithoutHook | WithHook | WithBind) -> list[str]:
        seen: list[str] = []
        with invocation(plugin) as invoked, worker() as on_worker:
            wait = TimedSuspendExecution("waits", 1.0)
            on_worker(lambda: attempt_to(lambda: invoked.run(leaves_by(wait), "branch")))
            seen.append(on_worker(CURRENT.get))
            on_worker(lambda: invoked.run(lambda: seen.append(CURRENT.get()), "branch"))
            seen.append(on_worker(CURRENT.get))
        return seen

    def test_without_the_hook_the_worker_stays_attached_or_a_failure_is_invented(self) -> None:
        plugin = WithoutHook()
        seen = self.run(plugin)
        if IS_1_6:
            assert plugin.exported == [("branch", "FAILED"), ("branch", "SUCCEEDED")]
            assert seen == [NOTHING, "branch#2", NOTHING]
        else:
            assert plugin.exported == [("branch", "SUCCEEDED")]
            assert seen == ["branch#1", "branch#2", NOTHING]

    @with_hook
    def test_with_the_hook_the_worker_is_released_and_only_the_end_is_exported(
        self, plugin_class: type[WithHook | WithBind]
    ) -> None:
        plugin = plugin_class()
        assert self.run(plugin) == [NOTHING, "branch#2", NOTHING]
        assert plugin.exported == [("branch", "SUCCEEDED")]


class Test2NestedSuspendsUnwindInOrder:
    """An outer and an inner context are both suspended, and entered again on the same thread."""

    def run(self, plugin: WithoutHook | WithHook | WithBind) -> list[str]:
        with invocation(plugin) as invoked, worker() as on_worker:
            on_worker(lambda: suspend(invoked, "outer", "inner"))
            seen: list[str] = on_worker(lambda: resume(invoked, "outer", "inner"))
        return seen

    def test_without_the_hook_the_end_of_the_inner_one_restores_the_abandoned_outer_one(self) -> None:
        assert self.run(WithoutHook()) == ["inner#2", "outer#1", NOTHING]

    @with_hook
    def test_with_the_hook_the_end_of_the_inner_one_restores_the_outer_one_that_runs(
        self, plugin_class: type[WithHook | WithBind]
    ) -> None:
        assert self.run(plugin_class()) == ["inner#2", "outer#2", NOTHING]


class Test3ResumeOnAnotherWorker:
    """The resumed branch lands on another thread of the pool."""

    def run(self, plugin: WithoutHook | WithHook | WithBind) -> str:
        with invocation(plugin) as invoked, worker() as on_first, worker() as on_second:
            on_first(lambda: suspend(invoked, "branch"))
            on_second(lambda: invoked.run(lambda: None, "branch"))
            assert on_second(CURRENT.get) == NOTHING
            left: str = on_first(CURRENT.get)
        return left

    def test_without_the_hook_the_first_worker_keeps_the_abandoned_run(self) -> None:
        assert self.run(WithoutHook()) == "branch#1"

    @with_hook
    def test_with_the_hook_the_first_worker_is_released(
        self, plugin_class: type[WithHook | WithBind]
    ) -> None:
        assert self.run(plugin_class()) == NOTHING


class Test4OrphanedBranches:
    """A branch is abandoned with its operation, which nobody will enter again."""

    def run(self, plugin: WithoutHook | WithHook | WithBind) -> str:
        with invocation(plugin) as invoked, worker() as on_worker:
            orphaned = OrphanedChildException("parent has completed", operation_id="step")
            on_worker(lambda: attempt_to(lambda: invoked.run(leaves_by(orphaned), "branch")))
            left: str = on_worker(CURRENT.get)
        return left

    def test_without_the_hook_the_worker_keeps_the_orphan(self) -> None:
        assert self.run(WithoutHook()) == "branch#1"

    @with_hook
    def test_with_the_hook_the_worker_is_released(self, plugin_class: type[WithHook | WithBind]) -> None:
        assert self.run(plugin_class()) == NOTHING


def test_the_leaks_are_of_the_thread_and_not_of_the_test() -> None:
    """Each case above starts on a fresh worker; the thread that runs the tests is untouched."""
    assert copy_context().run(CURRENT.get) == NOTHING
