"""`as_plugins` gives what `durable_execution(plugins=...)` of the SDK in use takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from aws_durable_execution_sdk_python.config import Duration
from durable_runtime.plugin import CompletionPlugin, as_plugins

from tests.runtime.plugin.executions import execute
from tests.runtime.plugin.plugins import Recording
from tests.runtime.support.versions import SDK

if TYPE_CHECKING:
    from aws_durable_execution_sdk_python import DurableContext
    from aws_durable_execution_sdk_python.plugin import InvocationStartInfo


class Sink(CompletionPlugin):
    """Counts its instances and the invocations that they see."""

    made: list[tuple[str, int]] = []  # noqa: RUF012 - shared on purpose

    def __init__(self, name: str, *, level: int = 1) -> None:
        self.made.append((name, level))
        self.invocations: list[InvocationStartInfo] = []

    def on_invocation_start(self, info: InvocationStartInfo) -> None:
        super().on_invocation_start(info)
        self.invocations.append(info)


@pytest.fixture(autouse=True)
def none_made() -> None:
    Sink.made.clear()


def test_it_is_a_factory_from_sdk_3_on_and_a_plugin_before() -> None:
    [plugin] = as_plugins(Sink, "audit", level=3)
    if SDK >= (3,):
        assert Sink.made == [], "the SDK asks for one when an invocation starts"
        plugin = plugin.create_plugin(None)
    assert isinstance(plugin, Sink)
    assert Sink.made == [("audit", 3)]


def test_several_plugins_are_listed_one_after_the_other_and_run() -> None:
    told: list[str] = []

    class Telling(Recording):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def record(self, event: str, operation: str) -> None:  # noqa: ARG002
            told.append(f"{self.name} {event}")

    def handler(_: Any, context: DurableContext) -> str:
        reserved: str = context.step(lambda _: "seat", name="reserve")
        return reserved

    result = execute(handler, [*as_plugins(Telling, "first"), *as_plugins(Telling, "second")])
    assert result == '"seat"'
    assert told == ["first start", "second start", "first SUCCEEDED", "second SUCCEEDED"]


def test_it_makes_one_plugin_an_invocation_from_sdk_3_on_and_one_for_all_before() -> None:
    def handler(_: Any, context: DurableContext) -> None:
        for _ in range(2):
            context.wait(Duration.from_seconds(1), name="a second")

    execute(handler, as_plugins(Sink, "audit"))
    assert Sink.made == [("audit", 1)] * (3 if SDK >= (3,) else 1)


@pytest.mark.parametrize(("arguments", "keywords"), [((), {}), (("audit", 2), {}), (("audit",), {"lvl": 2})])
def test_arguments_that_the_plugin_does_not_take_are_refused_at_once(
    arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    """The SDK would log the failure in each invocation, and run without the plugin."""
    listed: Any = as_plugins
    with pytest.raises(TypeError):
        listed(Sink, *arguments, **keywords)
    assert Sink.made == []


def test_a_callable_whose_signature_cannot_be_read_is_taken_as_it_is() -> None:
    class Opaque:
        @property
        def __signature__(self) -> object:
            raise ValueError("no signature found, as for some callables written in C")

        def __call__(self) -> Sink:
            return Sink("opaque")

    [plugin] = as_plugins(Opaque())
    assert isinstance(plugin.create_plugin(None) if SDK >= (3,) else plugin, Sink)
