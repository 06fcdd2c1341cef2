"""How the tests of LDC301 to LDC305 write plugins: what the class holds, after imports that they share."""

from __future__ import annotations

from textwrap import dedent, indent
from typing import TYPE_CHECKING

from tests.linter.rules.checking import check

if TYPE_CHECKING:
    from durable_lint.rules.finding import Finding

IMPORTS = """\
import logging
import threading
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
import sentry_sdk
import structlog
from aws_durable_execution_sdk_python.plugin import DurableInstrumentationPlugin, OperationType
from aws_durable_execution_sdk_python.plugin import UserFunctionOutcome
from aws_lambda_powertools import Logger
from aws_xray_sdk.core import xray_recorder
from ddtrace import tracer as dd_tracer
from durable_runtime.plugin import CompletionPlugin
from opentelemetry import context as otel_context
from opentelemetry import trace

OPERATION: ContextVar[str] = ContextVar("operation", default="-")
TENANT: ContextVar[str] = ContextVar("tenant", default="-")
tracer = trace.get_tracer(__name__)
powertools = Logger()
local = threading.local()


"""


def check_plugin(
    body: str,
    *,
    base: str = "DurableInstrumentationPlugin",
    before: str = "",
    sdk_version: str = "3.0.0",
) -> list[Finding]:
    """Lint a module with one plugin class and compare with the `# expect:` comments in it."""
    return check({"plugin.py": source(body, base=base, before=before)}, sdk_version=sdk_version)


def source(body: str, *, base: str = "DurableInstrumentationPlugin", before: str = "") -> str:
    """The module of a plugin class."""
    return f"{IMPORTS}{dedent(before)}\n\nclass Plugin({base}):\n{indent(dedent(body), '    ')}"


ATTACHES = """\
def __init__(self):
    self._tokens = {}

def on_user_function_start(self, info):
    self._tokens[info.operation_id] = OPERATION.set(info.name)
"""
"""The start of a plugin that keeps a token for each operation."""
