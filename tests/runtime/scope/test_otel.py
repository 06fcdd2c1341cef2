"""The SDK's own OpenTelemetry plugins show the lifecycle of a scope, with nothing but its operation names."""

from __future__ import annotations

from typing import Any

import aws_durable_execution_sdk_python_otel as sdk_otel
import pytest
from durable_runtime.plugin import as_plugins
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from tests.runtime.scope.stage import ISOLATED, ONCE, SECOND, Inside, Oops, both_forms, play


def spans_of(form: str, plugin_class: Any) -> list[ReadableSpan]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    def body(s: Inside) -> None:
        s.terminal.cleanup(lambda _: None, name="terminate")
        s.terminal.compensate(s.failing("undo", Oops("stuck")), name="cancel", config=ONCE)
        s.terminal.cleanup_in_context(lambda c: c.wait(SECOND, name="drained"), name="drain")
        s.context.wait(SECOND, name="pause")
        raise Oops("broken")

    config = sdk_otel.OtelPluginConfig(tracer_provider=provider, enrich_logger=False)
    played = play(form, body, plugins=as_plugins(plugin_class, config=config))
    assert played.run.status == "FAILED"
    return list(exporter.get_finished_spans())


@both_forms
@pytest.mark.parametrize("plugin", ["InvocationOtelPlugin", "ExecutionOtelPlugin"])
def test_spans_show_outcome_and_actions_with_their_end(form: str, plugin: str) -> None:
    spans = spans_of(form, getattr(sdk_otel, plugin))
    ended = {span.name: span for span in spans}
    expected = {"s.outcome", "s.compensate.cancel", "s.cleanup.terminate", "s.cleanup.drain"}
    expected |= {"s"} if form == ISOLATED else set()
    assert expected <= set(ended)
    assert ended["s.compensate.cancel"].status.status_code is StatusCode.ERROR
    for name in ("s.outcome", "s.cleanup.terminate", "s.cleanup.drain"):
        assert ended[name].status.status_code is not StatusCode.ERROR
    order = sorted(
        expected - {"s"}, key=lambda name: max(i for i, span in enumerate(spans) if span.name == name)
    )
    assert order == ["s.outcome", "s.compensate.cancel", "s.cleanup.drain", "s.cleanup.terminate"]


@both_forms
def test_no_subtype_of_our_own_is_recorded(form: str) -> None:
    """Replay compares subtypes, so one of our own would strand executions when the SDK is upgraded."""

    def body(s: Inside) -> None:
        s.terminal.cleanup(lambda _: None, name="step")
        s.terminal.cleanup_in_context(lambda _: None, name="context")

    run = play(form, body).run
    own = [operation for operation in run.operations if (operation.name or "").startswith("s")]
    subtypes = {str(getattr(operation.sub_type, "value", operation.sub_type)) for operation in own}
    assert subtypes == {"Step", "RunInChildContext"}
