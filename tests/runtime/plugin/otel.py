"""The SDK's own OpenTelemetry plugins, of the release that fits the SDK in use.

SDK 1.6 has the plugin of release 0.2.0 and SDK 1.7 that of 0.3.0, one class; later ones have an Invocation
and an Execution plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import aws_durable_execution_sdk_python_otel as sdk_otel
from durable_runtime.plugin import CompletionPlugin
from opentelemetry.context import get_current
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.runtime.support.versions import SDK

if TYPE_CHECKING:
    from aws_durable_execution_sdk_python.plugin import DurableInstrumentationPlugin, UserFunctionStartInfo

_NAMES = {(1, 6): ["DurableExecutionOtelPlugin"], (1, 7): ["OtelPlugin"]}.get(
    cast("tuple[int, int]", SDK[:2]), ["InvocationOtelPlugin", "ExecutionOtelPlugin"]
)

PLUGINS: list[type[DurableInstrumentationPlugin]] = [getattr(sdk_otel, name) for name in _NAMES]

RELEASES_A_SUSPENDED_SCOPE = SDK >= (2,)
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
        if SDK >= (2,)
        else {"trace_provider": provider, **({"enrich_logger": False} if SDK >= (1, 7) else {})}
    )
    construct: Any = plugin
    return construct(**arguments), exporter
