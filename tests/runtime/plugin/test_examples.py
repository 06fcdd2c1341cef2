"""The examples of the plugin guide do what they say, on every SDK that they can run on."""

from __future__ import annotations

import logging
import runpy
from pathlib import Path
from typing import Any

import pytest
from aws_durable_execution_sdk_python.exceptions import SuspendExecution, TimedSuspendExecution
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import INVALID_SPAN, StatusCode, get_current_span

from tests.runtime.plugin import otel
from tests.runtime.plugin.choke_point import attempt_to, invocation, leaves_by
from tests.runtime.plugin.executions import execute_durable, provisional

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples" / "plugins"


def load(name: str) -> dict[str, Any]:
    with provisional():
        return runpy.run_path(str(EXAMPLES / name))


def test_log_fields_are_on_the_lines_of_the_function_and_on_no_other() -> None:
    example = load("log_fields.py")
    lines: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(f"{record.__dict__['operation']}: {record.getMessage()}")

    handler = Lines()
    handler.addFilter(example["add_operation"])
    logger = logging.getLogger("orders")
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        assert execute_durable(example["handler"], '{"id": "o-1"}') == '"packed"'
    finally:
        logger.removeHandler(handler)
    assert lines == ["pack: packing", "pack: packing", "pack: packed", "-: order o-1 is packed"]


def test_attempt_spans_stay_open_over_a_suspension_and_end_once() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    plugin = load("attempt_spans.py")["AttemptSpans"](provider.get_tracer("orders"))
    with invocation(plugin) as invoked:
        attempt_to(lambda: invoked.run(leaves_by(TimedSuspendExecution("waits", 0.0)), "resumed"))
        attempt_to(lambda: invoked.run(leaves_by(SuspendExecution("waits")), "suspended"))
        assert get_current_span() is INVALID_SPAN
        assert exporter.get_finished_spans() == ()
        invoked.run(lambda: None, "resumed")
        attempt_to(lambda: invoked.run(leaves_by(ValueError("no stock")), "failed"))
        invoked.end()

    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert list(spans) == ["resumed", "failed", "suspended"]
    assert [event.name for event in spans["resumed"].events] == ["suspended until 1970-01-01T00:00:00+00:00"]
    assert [event.name for event in spans["suspended"].events] == ["suspended"]
    assert spans["failed"].status.status_code is StatusCode.ERROR
    assert spans["suspended"].attributes == {"durable.incomplete": True}


if otel.RELEASE >= (1,):  # the example names the Invocation plugin, which earlier releases do not have

    def test_the_released_plugin_is_the_sdks_own_with_the_hook_before_it() -> None:
        example = load("released_otel.py")
        assert example["ReleasedOtelPlugin"].__mro__[1].__name__ == "CompletionPlugin"
        plugin, _ = otel.make(example["ReleasedOtelPlugin"])
        with invocation(plugin) as invoked:
            before = get_current_span()
            attempt_to(lambda: invoked.run(leaves_by(SuspendExecution("waits"))))
            assert get_current_span() is before
            invoked.end()

else:

    def test_the_released_plugin_needs_a_later_release_of_the_opentelemetry_plugin() -> None:
        with pytest.raises(ImportError, match="InvocationOtelPlugin"):
            load("released_otel.py")
