"""How `CompletionPlugin` works together with the classes it is combined with."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from aws_durable_execution_sdk_python.exceptions import SuspendExecution, TimedSuspendExecution
from aws_durable_execution_sdk_python.plugin import (
    DurableInstrumentationPlugin,
    UserFunctionEndInfo,
    UserFunctionStartInfo,
)
from durable_runtime.plugin import CompletionPlugin, UserFunctionCompleteInfo

from tests.runtime.plugin.choke_point import attempt_to, invocation, leaves_by
from tests.runtime.plugin.plugins import Recording
from tests.runtime.support.versions import SDK

if TYPE_CHECKING:
    from collections.abc import Callable

DEPTH: ContextVar[str] = ContextVar("depth", default="")


class ThirdParty(DurableInstrumentationPlugin):
    """Somebody else's plugin: it attaches, and lets go at whatever end it is told of."""

    def __init__(self) -> None:
        self.ends: list[str] = []
        self.found_at_end: list[str] = []

    def on_user_function_start(self, info: UserFunctionStartInfo) -> None:  # noqa: ARG002
        self.token = DEPTH.set(DEPTH.get() + "t")

    def on_user_function_end(self, info: UserFunctionEndInfo) -> None:
        self.ends.append(info.outcome.name)
        self.found_at_end.append(DEPTH.get())
        DEPTH.reset(self.token)


class Mixed(CompletionPlugin, ThirdParty):
    """Binds around the other plugin's attachment, and inside of it."""

    def __init__(self) -> None:
        super().__init__()
        self.own_ends: list[str] = []
        self.found_on_completion: list[str] = []

    def on_user_function_start(self, info: UserFunctionStartInfo) -> None:
        self.bind(info, DEPTH, DEPTH.get() + "o")
        super().on_user_function_start(info)
        self.bind(info, DEPTH, DEPTH.get() + "i")

    def on_user_function_end(self, info: UserFunctionEndInfo) -> None:
        self.own_ends.append(info.outcome.name)
        super().on_user_function_end(info)

    def on_user_function_complete(self, info: UserFunctionCompleteInfo) -> None:
        self.found_on_completion.append(f"{info.reason.name} {DEPTH.get()}")


def end_of_a_base(error: BaseException) -> list[str]:
    """How the SDK in use reports `error` to a plugin class behind the mixin."""
    if SDK >= (2,):
        return ["INCOMPLETE"]
    if SDK >= (1, 7):
        return []
    return ["FAILED" if isinstance(error, TimedSuspendExecution) else "PENDING"]


@pytest.mark.parametrize(
    "error", [SuspendExecution("waits"), TimedSuspendExecution("waits", 1.0)], ids=["suspended", "timed"]
)
def test_a_class_behind_the_mixin_is_told_what_the_sdk_says_and_the_class_before_it_two_values(
    error: BaseException,
) -> None:
    plugin = Mixed()
    with invocation(plugin) as invoked:
        invoked.run(lambda: None)
        attempt_to(lambda: invoked.run(leaves_by(ValueError("no stock"))))
        attempt_to(lambda: invoked.run(leaves_by(error)))

    assert plugin.own_ends == ["SUCCEEDED", "FAILED"]
    assert plugin.ends == ["SUCCEEDED", "FAILED", *end_of_a_base(error)]


def test_what_is_bound_around_and_inside_a_base_class_is_released_around_and_inside_its_end() -> None:
    plugin = Mixed()
    seen: list[str] = []
    with invocation(plugin) as invoked:
        invoked.run(lambda: seen.append(DEPTH.get()))
        attempt_to(lambda: invoked.run(leaves_by(SuspendExecution("waits"))))

    assert seen == ["oti"]
    assert plugin.found_on_completion == ["SUSPENDED oti"]
    assert set(plugin.found_at_end) == {"ot"}
    assert DEPTH.get() == ""


def test_a_later_plugin_on_the_same_variable_does_not_come_between_a_base_class_and_its_own_release() -> None:
    class Later(CompletionPlugin):
        def on_user_function_start(self, info: UserFunctionStartInfo) -> None:
            super().on_user_function_start(info)
            self.bind(info, DEPTH, DEPTH.get() + "l")

    seen: list[str] = []
    with invocation(Mixed(), Later()) as invoked:
        invoked.run(lambda: seen.append(DEPTH.get()))
        attempt_to(lambda: invoked.run(leaves_by(SuspendExecution("waits"))))
    assert seen == ["otil"]
    assert DEPTH.get() == ""


def test_a_hook_that_fails_keeps_no_base_class_from_its_end() -> None:
    class Broken(Mixed):
        def on_user_function_complete(self, info: UserFunctionCompleteInfo) -> None:  # noqa: ARG002
            raise LookupError("plugin is broken")

    plugin = Broken()
    error = SuspendExecution("waits")
    with invocation(plugin) as invoked:
        attempt_to(lambda: invoked.run(leaves_by(error)))
    assert plugin.ends == end_of_a_base(error)
    assert DEPTH.get() == ""


def test_a_class_between_passes_both_values_on_and_is_passed_over_for_an_incomplete_function() -> None:
    class Counting(Recording):
        def __init__(self) -> None:
            super().__init__()
            self.counted: list[str] = []

        def on_user_function_start(self, info: UserFunctionStartInfo) -> None:
            self.counted.append("start")
            super().on_user_function_start(info)

        def on_user_function_end(self, info: UserFunctionEndInfo) -> None:
            self.counted.append(info.outcome.name)
            super().on_user_function_end(info)

    plugin = Counting()
    with invocation(plugin) as invoked:
        invoked.run(lambda: None, "returns")
        attempt_to(lambda: invoked.run(leaves_by(SuspendExecution("waits")), "waits"))
    assert plugin.counted == ["start", "SUCCEEDED", "start"]
    assert plugin.told == [
        ("start", "returns"),
        ("SUCCEEDED", "returns"),
        ("start", "waits"),
        ("SUSPENDED", "waits"),
    ]


def test_a_plugin_that_forgets_super_is_still_told_and_released() -> None:
    class Forgetful(CompletionPlugin):
        def __init__(self) -> None:
            self.told: list[str] = []

        def on_user_function_start(self, info: UserFunctionStartInfo) -> None:
            self.bind(info, DEPTH, "bound")

        def on_user_function_end(self, info: UserFunctionEndInfo) -> None:
            self.told.append(info.outcome.name)

        def on_user_function_complete(self, info: UserFunctionCompleteInfo) -> None:
            self.told.append(info.reason.name)

    plugin = Forgetful()
    with invocation(plugin) as invoked:
        invoked.run(lambda: None)
        assert DEPTH.get() == ""
        attempt_to(lambda: invoked.run(leaves_by(SuspendExecution("waits"))))
        assert DEPTH.get() == ""
    assert plugin.told == ["SUCCEEDED", "SUSPENDED"]


def test_a_plugin_with_only_the_completion_hook_works() -> None:
    class OnlyCompletion(CompletionPlugin):
        def __init__(self) -> None:
            self.told: list[str] = []

        def on_user_function_complete(self, info: UserFunctionCompleteInfo) -> None:
            self.told.append(f"{info.operation_id} {info.reason.name}")

    plugin = OnlyCompletion()
    with invocation(plugin) as invoked:
        attempt_to(
            lambda: invoked.run(lambda: invoked.run(leaves_by(SuspendExecution("waits")), "inner"), "outer")
        )
        invoked.run(lambda: None, "outer")
    assert plugin.told == ["inner SUSPENDED", "outer SUSPENDED"]


def test_the_hook_does_nothing_by_default() -> None:
    with invocation(CompletionPlugin()) as invoked:
        error = attempt_to(lambda: invoked.run(leaves_by(SuspendExecution("waits"))))
    assert isinstance(error, SuspendExecution)


def test_hooks_may_be_anything_that_a_class_can_hold() -> None:
    told: list[str] = []

    def tell(prefix: str) -> Callable[[UserFunctionEndInfo], None]:
        return lambda info: told.append(f"{prefix} {info.outcome.name}")

    class Odd(CompletionPlugin):
        on_user_function_end = staticmethod(tell("static"))  # type: ignore[assignment]

        @classmethod
        def on_user_function_start(cls, info: UserFunctionStartInfo) -> None:
            told.append(f"{cls.__name__} {info.operation_id}")

    with invocation(Odd()) as invoked:
        invoked.run(lambda: None)
        attempt_to(lambda: invoked.run(leaves_by(SuspendExecution("waits"))))
    assert told == ["Odd operation", "static SUCCEEDED", "Odd operation"]


def test_a_dataclass_with_slots_is_told_once() -> None:
    @dataclass(slots=True)
    class Slotted(CompletionPlugin):
        told: list[str] = field(default_factory=list)

        def on_user_function_end(self, info: UserFunctionEndInfo) -> None:
            self.told.append(info.outcome.name)

        def on_user_function_complete(self, info: UserFunctionCompleteInfo) -> None:
            self.told.append(info.reason.name)

    plugin = Slotted()
    with invocation(plugin) as invoked:
        invoked.run(lambda: None)
        attempt_to(lambda: invoked.run(leaves_by(SuspendExecution("waits"))))
    assert plugin.told == ["SUCCEEDED", "SUSPENDED"]


def test_standing_behind_a_class_with_hooks_is_refused_when_the_class_is_defined() -> None:
    with pytest.raises(
        TypeError, match="Wrong: put CompletionPlugin before ThirdParty in the list of base classes"
    ):

        class Wrong(ThirdParty, CompletionPlugin):
            pass


def test_standing_behind_a_class_without_hooks_is_fine() -> None:
    class Configured:
        option = "x"

    class Right(Configured, Recording):
        pass

    plugin = Right()
    with invocation(plugin) as invoked:
        attempt_to(lambda: invoked.run(leaves_by(SuspendExecution("waits"))))
    assert plugin.told == [("start", "operation"), ("SUSPENDED", "operation")]


def test_an_end_without_a_start_is_passed_on_as_it_is() -> None:
    """As in a plugin's own unit test, which calls its hooks directly."""
    told = Recording()
    with invocation(told) as invoked:
        invoked.run(lambda: None)
    plugin = Recording()
    info: list[UserFunctionEndInfo] = []

    class Keeping(CompletionPlugin):
        def on_user_function_end(self, end: UserFunctionEndInfo) -> None:
            info.append(end)

    with invocation(Keeping()) as invoked:
        invoked.run(lambda: None)
    plugin.on_user_function_end(info[0])
    assert plugin.told == [("SUCCEEDED", "operation")]
