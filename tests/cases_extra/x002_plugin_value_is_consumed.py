# silent: the generator replaces a value that `use_ids` has set and takes back; nothing is attached
from contextlib import contextmanager
from contextvars import ContextVar

from aws_durable_execution_sdk_python.plugin import DurableInstrumentationPlugin


class Ids:
    def __init__(self) -> None:
        self._override: ContextVar = ContextVar("override", default=None)

    @contextmanager
    def use_ids(self, span_id):
        token = self._override.set(span_id)
        try:
            yield
        finally:
            self._override.reset(token)

    def generate_span_id(self):
        override = self._override.get()
        if override is not None:
            self._override.set(None)
            return override
        return 7


class Placeholders(DurableInstrumentationPlugin):
    def __init__(self) -> None:
        self._ids = Ids()
        self._spans = {}

    def on_user_function_start(self, info) -> None:
        self._spans[info.operation_id] = self._ids.generate_span_id()

    def on_user_function_end(self, info) -> None:
        self._spans.pop(info.operation_id, None)
