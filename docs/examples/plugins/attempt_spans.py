"""A span for each user function. One that is only suspended goes on with its span, and is no success."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from durable_runtime.plugin import CompletionPlugin
from opentelemetry.trace import Status, StatusCode, Tracer, use_span

if TYPE_CHECKING:
    from aws_durable_execution_sdk_python.plugin import (
        InvocationEndInfo,
        UserFunctionEndInfo,
        UserFunctionStartInfo,
    )
    from durable_runtime.plugin import UserFunctionCompleteInfo
    from opentelemetry.trace import Span


class AttemptSpans(CompletionPlugin):
    """Ends a span when its function has ended, and the spans that are left when the invocation ends."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._spans: dict[str, Span] = {}
        self._lock = threading.Lock()

    def on_user_function_start(self, info: UserFunctionStartInfo) -> None:
        super().on_user_function_start(info)
        with self._lock:
            span = self._spans.get(info.operation_id)
            if span is None:  # an operation that resumes in the same invocation goes on with its span
                span = self._tracer.start_span(info.name or info.operation_id)
                self._spans[info.operation_id] = span
        self.bind(info, use_span(span))  # which leaves the span open

    def on_user_function_end(self, info: UserFunctionEndInfo) -> None:
        with self._lock:
            span = self._spans.pop(info.operation_id)
        if info.outcome.name == "FAILED":
            span.set_status(Status(StatusCode.ERROR, info.error.message if info.error else None))
        span.end()
        super().on_user_function_end(info)

    def on_user_function_complete(self, info: UserFunctionCompleteInfo) -> None:
        with self._lock:
            span = self._spans[info.operation_id]
        until = f" until {info.resume_at.isoformat()}" if info.resume_at else ""
        span.add_event(f"{info.reason.value.lower().replace('_until', '')}{until}")

    def on_invocation_end(self, info: InvocationEndInfo) -> None:
        super().on_invocation_end(info)
        with self._lock:
            left, self._spans = self._spans, {}
        for span in left.values():
            span.set_attribute("durable.incomplete", True)
            span.end()
