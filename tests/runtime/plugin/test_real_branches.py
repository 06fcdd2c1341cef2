"""Real executions on the SDK's test runner: a parallel branch that waits while its sibling works."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from aws_durable_execution_sdk_python.config import CompletionConfig, Duration, ParallelConfig
from durable_runtime.plugin import CompletionPlugin, UserFunctionCompleteInfo, as_plugins
from opentelemetry.trace import INVALID_SPAN, get_current_span

from tests.runtime.plugin import otel
from tests.runtime.plugin.executions import execute
from tests.runtime.plugin.plugins import CURRENT, NOTHING
from tests.runtime.support.versions import HAS_TIMERS_DURING_INVOCATION, SDK

if TYPE_CHECKING:
    from aws_durable_execution_sdk_python import DurableContext
    from aws_durable_execution_sdk_python.plugin import (
        DurableInstrumentationPlugin,
        InvocationStartInfo,
        UserFunctionEndInfo,
        UserFunctionStartInfo,
    )


@dataclass
class Diary:
    """What happened in an execution, in order, over all its invocations and plugin instances."""

    entries: list[tuple[str, str | None, int]] = field(default_factory=list)
    invocations: int = 0

    def note(self, event: str, name: str | None) -> None:
        self.entries.append((event, name, threading.get_ident()))

    def of(self, name: str) -> list[str]:
        return [event for event, of, _ in self.entries if of == name]

    def threads_of(self, name: str) -> list[int]:
        return [thread for _, of, thread in self.entries if of == name]


class Diarist(CompletionPlugin):
    """Binds the name of the function that runs, and writes down what it hears."""

    def __init__(self, diary: Diary) -> None:
        self.diary = diary

    def on_invocation_start(self, info: InvocationStartInfo) -> None:
        super().on_invocation_start(info)
        self.diary.invocations += 1

    def on_user_function_start(self, info: UserFunctionStartInfo) -> None:
        super().on_user_function_start(info)
        self.diary.note(f"start {self.diary.invocations} on {CURRENT.get()}", info.name)
        self.bind(info, CURRENT, info.name or "")

    def on_user_function_end(self, info: UserFunctionEndInfo) -> None:
        self.diary.note(f"{info.outcome.name} as {CURRENT.get()}", info.name)
        super().on_user_function_end(info)

    def on_user_function_complete(self, info: UserFunctionCompleteInfo) -> None:
        self.diary.note(f"{info.reason.name} as {CURRENT.get()}", info.name)


def waits_while_its_sibling_works(context: DurableContext) -> None:
    """Two branches: one waits a second in a child context, the other works for a while longer."""

    def nap(child: DurableContext) -> None:
        child.wait(Duration.from_seconds(1), name="a second")

    def waiting(branch: DurableContext) -> str:
        branch.run_in_child_context(nap, name="nap")
        return "rested"

    def working(branch: DurableContext) -> str:
        branch.step(lambda _: time.sleep(2.5), name="work")
        return "worked"

    context.parallel([waiting, working], name="both").throw_if_error()


WAITING, WORKING = "parallel-branch-0", "parallel-branch-1"


@pytest.fixture(scope="module")
def diary() -> Diary:
    written = Diary()
    execute(lambda _, context: waits_while_its_sibling_works(context), as_plugins(Diarist, written))
    return written


class TestABranchThatWaitsWhileItsSiblingWorks:
    """The whole way: the coordinator of the SDK, its pool, and its resume within the invocation."""

    def test_it_completes_while_the_sibling_is_still_working(self, diary: Diary) -> None:
        events = [(event.split()[0], name) for event, name, _ in diary.entries]
        assert events.index(("SUSPENDED_UNTIL", WAITING)) < events.index(("SUCCEEDED", "work"))

    def test_it_is_told_on_its_own_thread_not_the_siblings_nor_the_handlers(self, diary: Diary) -> None:
        suspended = diary.of(WAITING).index(f"SUSPENDED_UNTIL as {WAITING}")
        started, told = diary.threads_of(WAITING)[suspended - 1 : suspended + 1]
        assert started == told
        assert told not in (diary.threads_of(WORKING)[0], diary.threads_of("both")[0])

    def test_the_inner_function_is_told_before_the_outer_one_with_what_it_bound(self, diary: Diary) -> None:
        first = [entry for entry in diary.entries if entry[1] in (WAITING, "nap")][:4]
        assert [(event.split()[0], name) for event, name, _ in first] == [
            ("start", WAITING),
            ("start", "nap"),
            ("SUSPENDED_UNTIL", "nap"),
            ("SUSPENDED_UNTIL", WAITING),
        ]
        assert [event.split(" as ")[1] for event, _, _ in first[2:]] == ["nap", WAITING]
        assert len({thread for _, _, thread in first}) == 1

    def test_it_is_entered_again_in_the_same_invocation_from_a_clean_thread(self, diary: Diary) -> None:
        # From SDK 2.1 on, each admission of a branch runs in a copy of the coordinator's context.
        clean = "both" if SDK >= (2, 1) else NOTHING
        starts = [event for event in diary.of(WAITING) if event.startswith("start")]
        assert len(starts) >= 2
        assert starts[:2] == [f"start 1 on {clean}"] * 2
        if HAS_TIMERS_DURING_INVOCATION:
            assert diary.invocations == 1

    def test_every_start_has_one_answer(self, diary: Diary) -> None:
        for name in {name for _, name, _ in diary.entries if name}:
            kinds = ["start" if event.startswith("start") else "answer" for event in diary.of(name)]
            assert kinds == ["start", "answer"] * (len(kinds) // 2), name

    def test_all_of_them_succeed_in_the_end(self, diary: Diary) -> None:
        for name in ("both", WAITING, WORKING, "nap", "work"):
            assert diary.of(name)[-1] == f"SUCCEEDED as {name}"


def test_a_branch_that_its_parallel_abandoned_is_told_on_its_own_thread() -> None:
    """It goes on while the parallel completes without it, until its child context cannot be checkpointed."""
    diary, completed = Diary(), threading.Event()
    clean_afterwards: list[str] = []

    def child(_: DurableContext) -> None:
        assert completed.wait(10)

    def slow(branch: DurableContext) -> None:
        try:
            branch.run_in_child_context(child, name="child")
        finally:
            clean_afterwards.append(CURRENT.get())

    def handler(_: Any, context: DurableContext) -> None:
        first = ParallelConfig(completion_config=CompletionConfig(min_successful=1))
        context.parallel([slow, lambda _: "fast"], name="race", config=first)
        completed.set()
        context.step(lambda _: time.sleep(1.5), name="afterwards")

    execute(handler, as_plugins(Diarist, diary))

    assert diary.of(WAITING)[-1] == f"ORPHANED as {WAITING}"
    assert len(set(diary.threads_of(WAITING))) == 1
    assert diary.threads_of(WAITING)[0] != diary.threads_of("race")[0]
    assert clean_afterwards == [WAITING], "the child has let go, the branch has not yet"


@pytest.mark.parametrize("plugin_class", otel.PLUGINS, ids=lambda plugin: plugin.__name__)
class TestOpenTelemetryInARealBranch:
    """What is current when the branch that waited is entered again, on the worker that it had left."""

    def current_at_each_start(
        self, plugin_class: type[DurableInstrumentationPlugin], hooked: type[DurableInstrumentationPlugin]
    ) -> tuple[list[object], list[object]]:
        at_start: list[object] = []
        in_handler: list[object] = []

        class Watched(hooked):  # type: ignore[misc, valid-type] # a class known when it runs
            def on_user_function_start(self, info: UserFunctionStartInfo) -> None:
                if info.name == WAITING:
                    at_start.append(get_current_span())
                super().on_user_function_start(info)

        def handler(_: Any, context: DurableContext) -> None:
            in_handler.append(get_current_span())
            waits_while_its_sibling_works(context)
            in_handler.append(get_current_span())

        assert issubclass(hooked, plugin_class)
        execute(handler, as_plugins(lambda: otel.make(Watched)[0]))
        return at_start, in_handler[-2:]

    def test_before(self, plugin_class: type[DurableInstrumentationPlugin]) -> None:
        (first, again, *_), (before, after) = self.current_at_each_start(plugin_class, plugin_class)
        if otel.RELEASES_A_SUSPENDED_SCOPE:
            assert again is first
            assert after is before
        else:
            assert first is INVALID_SPAN
            assert again is not INVALID_SPAN
            assert after is not before

    def test_after(self, plugin_class: type[DurableInstrumentationPlugin]) -> None:
        (first, again, *_), (before, after) = self.current_at_each_start(
            plugin_class, otel.with_hook(plugin_class)
        )
        assert again is first
        assert after is before
