"""The SDK's OpenTelemetry plugins, before and after with the completion hook.

The two tripwires are those of the request: they pinned what was wrong, and assert here what is right.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING

import pytest
from aws_durable_execution_sdk_python.exceptions import OrphanedChildException, SuspendExecution
from opentelemetry.trace import INVALID_SPAN, Span, get_current_span

from tests.runtime.plugin import otel
from tests.runtime.plugin.choke_point import Invocation, attempt_to, invocation, leaves_by, worker

if TYPE_CHECKING:
    from aws_durable_execution_sdk_python.plugin import DurableInstrumentationPlugin

each_plugin = pytest.mark.parametrize("plugin_class", otel.PLUGINS, ids=lambda plugin: plugin.__name__)


def suspend_nested(invoked: Invocation) -> None:
    inner = leaves_by(SuspendExecution("waits for a callback"))
    attempt_to(lambda: invoked.run(lambda: invoked.run(inner, "inner", parent="outer"), "outer"))


def resume_nested(invoked: Invocation) -> list[Span]:
    """Both run to their end. What is current in the outer one, in the inner one, after it, and after both."""
    seen: list[Span] = []

    def outer() -> None:
        seen.append(get_current_span())
        invoked.run(lambda: seen.append(get_current_span()), "inner", parent="outer")
        seen.append(get_current_span())

    invoked.run(outer, "outer")
    seen.append(get_current_span())
    return seen


class TestSuspendedScope:
    """One user function that suspends on a worker."""

    def left_on_the_worker(self, plugin_class: type[DurableInstrumentationPlugin]) -> Span:
        plugin, _ = otel.make(plugin_class)
        with invocation(plugin) as invoked, worker() as on_worker:
            on_worker(lambda: attempt_to(lambda: invoked.run(leaves_by(SuspendExecution("waits")), "branch")))
            left: Span = on_worker(get_current_span)
            invoked.end()
        return left

    @each_plugin
    def test_before(self, plugin_class: type[DurableInstrumentationPlugin]) -> None:
        left = self.left_on_the_worker(plugin_class)
        assert (left is INVALID_SPAN) is otel.RELEASES_A_SUSPENDED_SCOPE

    @each_plugin
    def test_after(self, plugin_class: type[DurableInstrumentationPlugin]) -> None:
        assert self.left_on_the_worker(otel.with_hook(plugin_class)) is INVALID_SPAN


class TestOrphanedScope:
    """One user function of a branch that was abandoned."""

    def left_on_the_worker(self, plugin_class: type[DurableInstrumentationPlugin]) -> Span:
        plugin, _ = otel.make(plugin_class)
        orphaned = OrphanedChildException("parent has completed", operation_id="branch")
        with invocation(plugin) as invoked, worker() as on_worker:
            on_worker(lambda: attempt_to(lambda: invoked.run(leaves_by(orphaned), "branch")))
            left: Span = on_worker(get_current_span)
            invoked.end()
        return left

    @each_plugin
    def test_before(self, plugin_class: type[DurableInstrumentationPlugin]) -> None:
        left = self.left_on_the_worker(plugin_class)
        assert (left is INVALID_SPAN) is otel.RELEASES_A_SUSPENDED_SCOPE

    @each_plugin
    def test_after(self, plugin_class: type[DurableInstrumentationPlugin]) -> None:
        assert self.left_on_the_worker(otel.with_hook(plugin_class)) is INVALID_SPAN


class TestEndedScope:
    """One user function that succeeds. Releases before 1.0.0 do not restore what was current before it."""

    def left_on_the_worker(self, plugin_class: type[DurableInstrumentationPlugin]) -> Span:
        plugin, _ = otel.make(plugin_class)
        with invocation(plugin) as invoked, worker() as on_worker:
            on_worker(lambda: invoked.run(lambda: None, "branch"))
            left: Span = on_worker(get_current_span)
            invoked.end()
        return left

    @each_plugin
    def test_before(self, plugin_class: type[DurableInstrumentationPlugin]) -> None:
        left = self.left_on_the_worker(plugin_class)
        assert (left is INVALID_SPAN) is otel.RELEASES_A_SUSPENDED_SCOPE

    @each_plugin
    def test_after(self, plugin_class: type[DurableInstrumentationPlugin]) -> None:
        assert self.left_on_the_worker(otel.with_hook(plugin_class)) is INVALID_SPAN


class TestStragglerWhoseInvocationHasEnded:
    """A user function that is still running when its invocation ends, and suspends afterwards.

    The plugin has dropped its tokens by then, which it can't use on the handler's thread, and its end hook
    returns or raises: no release of the OpenTelemetry plugins lets go of it.
    """

    def left_on_the_worker(self, plugin_class: type[DurableInstrumentationPlugin]) -> Span:
        plugin, _ = otel.make(plugin_class)
        started, ended = threading.Event(), threading.Event()

        def straggle() -> None:
            started.set()
            assert ended.wait(10)
            raise SuspendExecution("waits")

        with invocation(plugin) as invoked, ThreadPoolExecutor(max_workers=1) as pool:
            branch = pool.submit(attempt_to, lambda: invoked.run(straggle, "branch"))
            assert started.wait(10)
            invoked.end()
            ended.set()
            assert isinstance(branch.result(), SuspendExecution)
            return pool.submit(get_current_span).result()

    @each_plugin
    def test_before(self, plugin_class: type[DurableInstrumentationPlugin]) -> None:
        assert self.left_on_the_worker(plugin_class) is not INVALID_SPAN

    @each_plugin
    def test_after(self, plugin_class: type[DurableInstrumentationPlugin]) -> None:
        assert self.left_on_the_worker(otel.with_hook(plugin_class)) is INVALID_SPAN


class TestEndHookThatRaisesBeforeItDetaches:
    """A user function whose span the plugin has lost, here because its operation ended in the meantime."""

    def left_on_the_worker(self, plugin_class: type[DurableInstrumentationPlugin]) -> Span:
        plugin, _ = otel.make(plugin_class)

        def function() -> None:
            invoked.end_operation("branch")
            raise SuspendExecution("waits")

        with invocation(plugin) as invoked, worker() as on_worker:
            on_worker(lambda: attempt_to(lambda: invoked.run(function, "branch")))
            left: Span = on_worker(get_current_span)
            invoked.end()
        return left

    @each_plugin
    def test_before(self, plugin_class: type[DurableInstrumentationPlugin]) -> None:
        assert self.left_on_the_worker(plugin_class) is not INVALID_SPAN

    @each_plugin
    def test_after(self, plugin_class: type[DurableInstrumentationPlugin]) -> None:
        assert self.left_on_the_worker(otel.with_hook(plugin_class)) is INVALID_SPAN


class TestTripwires:
    """The two tests that pinned the leaks, with the right behaviour asserted."""

    @each_plugin
    def test_nested_reentry_restores_the_outer_scope_that_runs(
        self, plugin_class: type[DurableInstrumentationPlugin]
    ) -> None:
        plugin, _ = otel.make(otel.with_hook(plugin_class))
        with invocation(plugin) as invoked, worker() as on_worker:
            on_worker(lambda: suspend_nested(invoked))
            in_outer, in_inner, after_inner, after_outer = on_worker(lambda: resume_nested(invoked))
            invoked.end()

        assert in_inner is not in_outer
        assert after_inner is in_outer
        assert after_outer is INVALID_SPAN

    @each_plugin
    def test_reentry_on_another_thread_leaves_the_originating_worker_clean(
        self, plugin_class: type[DurableInstrumentationPlugin]
    ) -> None:
        plugin, _ = otel.make(otel.with_hook(plugin_class))
        with invocation(plugin) as invoked, worker() as on_first, worker() as on_second:
            on_first(lambda: suspend_nested(invoked))
            assert on_first(get_current_span) is INVALID_SPAN
            on_second(lambda: resume_nested(invoked))
            assert on_second(get_current_span) is INVALID_SPAN
            assert on_first(get_current_span) is INVALID_SPAN
            invoked.end()


@each_plugin
def test_the_same_spans_are_exported_as_without_the_hook(
    plugin_class: type[DurableInstrumentationPlugin],
) -> None:
    """The hook ends nothing: what is exported, how it ended and what its parent is stay the same."""

    def exported(variant: type[DurableInstrumentationPlugin]) -> list[tuple[str, object, object]]:
        plugin, exporter = otel.make(variant)
        with invocation(plugin) as invoked:
            suspend_nested(invoked)
            attempt_to(lambda: invoked.run(leaves_by(ValueError("no stock")), "reserve", attempt=1))
            invoked.run(lambda: None, "reserve", attempt=2)
            resume_nested(invoked)
            invoked.end()
        spans = exporter.get_finished_spans()
        names = {span.context.span_id: span.name for span in spans if span.context is not None}
        return [
            (
                span.name,
                span.status.status_code,
                span.parent and names.get(span.parent.span_id, "not exported"),
            )
            for span in spans
        ]

    # Each in a context of its own: what one leaves attached would become the parent of the other's spans.
    before = copy_context().run(exported, plugin_class)
    assert sum(name.startswith("reserve") for name, _, _ in before) == 2
    assert copy_context().run(exported, otel.with_hook(plugin_class)) == before
