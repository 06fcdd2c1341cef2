"""The SDK's own OpenTelemetry plugin, with what was current before each user function restored after it.

Releases 0.2.0 and 0.3.0 (whose class has another name) need it, because they never detach. Later ones need it
for a function that outlives its invocation: their end hook raises or returns before it detaches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_durable_execution_sdk_python_otel import InvocationOtelPlugin
from durable_runtime.plugin import CompletionPlugin, as_plugins
from opentelemetry.context import get_current

if TYPE_CHECKING:
    from aws_durable_execution_sdk_python.plugin import UserFunctionStartInfo


class ReleasedOtelPlugin(CompletionPlugin, InvocationOtelPlugin):
    """Binds what is current already, around everything that the base class attaches."""

    def on_user_function_start(self, info: UserFunctionStartInfo) -> None:
        self.bind(info, get_current())
        super().on_user_function_start(info)


PLUGINS = as_plugins(ReleasedOtelPlugin)
