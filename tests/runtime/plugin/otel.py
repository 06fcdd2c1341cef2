"""The SDK's own OpenTelemetry plugins, of the release that is installed.

Releases 0.2.0 (made for SDK 1.6) and 0.3.0 (for SDK 1.7) have one class. 1.0.0 and later, for SDK 2.0 and
later, have an Invocation and an Execution plugin.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

import aws_durable_execution_sdk_python_otel as sdk_otel
from durable_runtime.plugin import CompletionPlugin
from opentelemetry.context import get_current
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

if TYPE_CHECKING:
    from aws_durable_execution_sdk_python.plugin import DurableInstrumentationPlugin, UserFunctionStartInfo

RELEASE = tuple(int(part) for part in version("aws-durable-execution-sdk-python-otel").split(".")[:2])

_NAMES = {(0, 2): ["DurableExecutionOtelPlugin"], (0, 3): ["OtelPlugin"]}.get(
    cast("tuple[int, int]", RELEASE), ["InvocationOtelPlugin", "ExecutionOtelPlugin"]
)

PLUGINS: list[type[DurableInstrumentationPlugin]] = [getattr(sdk_otel, name) for name in _NAMES]

RELEASES_A_SUSPENDED_SCOPE = RELEASE >= (1,)
"""Releases 1.0.0 and later detach on INCOMPLETE. 0.2.0 and 0.3.0 throw the token away, and never detach."""


def with_hook(plugin: type[DurableInstrumentationPlugin]) -> type[DurableInstrumentationPlugin]:
    """`plugin` with the completion hook in front, which restores what was current before it."""

    class Released(CompletionPlugin, plugin):  # type: ignore[misc, valid-type] # a class known when it runs
        def on_user_function_start(self, info: UserFunctionStartInfo) -> None:
            self.bind(info, get_current())
            super().on_user_function_start(info)

    return Released


def make(
    plugin: type[DurableInstrumentationPlugin],
) -> tuple[DurableInstrumentationPlugin, InMemorySpanExporter]:
    """A plugin of this class with an exporter of its own."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    arguments: dict[str, Any] = (
        {"config": sdk_otel.OtelPluginConfig(tracer_provider=provider, enrich_logger=False)}
        if RELEASE >= (1,)
        else {"trace_provider": provider, **({"enrich_logger": False} if RELEASE >= (0, 3) else {})}
    )
    construct: Any = plugin
    return construct(**arguments), exporter
