"""Random programs of nested user functions, plugins and exits, against a model of two lines.

For a function that starts, each plugin is told of one end or one completion, and what was current before it
is current after it.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_durable_execution_sdk_python.exceptions import (
    BackgroundThreadError,
    OrphanedChildException,
    SuspendExecution,
    TimedSuspendExecution,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime.plugin.choke_point import Invocation, attempt_to, invocation
from tests.runtime.plugin.plugins import Recording

if TYPE_CHECKING:
    from aws_durable_execution_sdk_python.plugin import UserFunctionEndInfo, UserFunctionStartInfo
    from durable_runtime.plugin import UserFunctionCompleteInfo

SHARED: ContextVar[str] = ContextVar("shared", default="outside")

EXITS: dict[str, type[BaseException] | None] = {
    "returns": None,
    "FAILED": ValueError,
    "SUSPENDED": SuspendExecution,
    "SUSPENDED_UNTIL": TimedSuspendExecution,
    "ORPHANED": OrphanedChildException,
    "CHECKPOINT_FAILED": BackgroundThreadError,
    "INTERRUPTED": SystemExit,
}


@dataclass(frozen=True)
class Function:
    """A user function: those that it runs, whether it survives what leaves them, and how it is left."""

    inner: tuple[Function, ...]
    survives: bool
    exit: str
    entered_again: bool


functions = st.recursive(
    st.builds(Function, st.just(()), st.booleans(), st.sampled_from(list(EXITS)), st.booleans()),
    lambda inner: st.builds(
        Function,
        st.lists(inner, max_size=3).map(tuple),
        st.booleans(),
        st.sampled_from(list(EXITS)),
        st.booleans(),
    ),
    max_leaves=8,
)


class Faulty(Recording):
    """Binds a variable that all plugins bind, and fails where it is told to."""

    def __init__(self, name: str, fails_in: frozenset[str]) -> None:
        super().__init__()
        self.name = name
        self.fails_in = fails_in

    def on_user_function_start(self, info: UserFunctionStartInfo) -> None:
        super().on_user_function_start(info)
        self.bind(info, SHARED, f"{self.name} in {info.operation_id}")
        self.fail("start")

    def on_user_function_end(self, info: UserFunctionEndInfo) -> None:
        super().on_user_function_end(info)
        self.fail("end")

    def on_user_function_complete(self, info: UserFunctionCompleteInfo) -> None:
        super().on_user_function_complete(info)
        self.fail("complete")

    def fail(self, hook: str) -> None:
        if hook in self.fails_in:
            raise LookupError(hook)


def left_by(function: Function) -> BaseException | None:
    match function.exit:
        case "returns":
            return None
        case "SUSPENDED_UNTIL":
            return TimedSuspendExecution("waits", 5.0)
        case "ORPHANED":
            return OrphanedChildException("gone", operation_id="x")
        case "CHECKPOINT_FAILED":
            return BackgroundThreadError("failed", ValueError())
        case name:
            error = EXITS[name]
            assert error is not None
            return error("left")


def model(function: Function, path: str) -> tuple[list[tuple[str, str]], str]:
    """What a plugin is told of `function`, and how it is left."""
    told = [("start", path)]
    left = function.exit
    for index, inner in enumerate(function.inner):
        for _ in range(1 + inner.entered_again):
            of_inner, how = model(inner, f"{path}.{index}")
            told += of_inner
            if how != "returns" and not function.survives:
                return [*told, (how, path)], how
    told.append(("SUCCEEDED" if left == "returns" else left, path))
    return told, left


def play(invoked: Invocation, function: Function, path: str) -> None:
    def body() -> None:
        here = SHARED.get()
        for index, inner in enumerate(function.inner):
            for _ in range(1 + inner.entered_again):
                if function.survives:
                    attempt_to(lambda inner=inner, index=index: play(invoked, inner, f"{path}.{index}"))  # type: ignore[misc]
                else:
                    play(invoked, inner, f"{path}.{index}")
                assert SHARED.get() == here
        error = left_by(function)
        if error is not None:
            raise error

    invoked.run(body, path)


@settings(max_examples=150, deadline=None)
@given(
    functions, st.lists(st.frozensets(st.sampled_from(["start", "end", "complete"])), min_size=1, max_size=3)
)
def test_each_start_has_one_answer_and_leaves_nothing_behind(
    function: Function, faults: list[frozenset[str]]
) -> None:
    plugins = [Faulty(f"plugin {index}", fails_in) for index, fails_in in enumerate(faults)]
    with invocation(*plugins) as invoked:
        attempt_to(lambda: play(invoked, function, "f"))
        assert SHARED.get() == "outside"
    expected, _ = model(function, "f")
    for plugin in plugins:
        assert plugin.told == expected
