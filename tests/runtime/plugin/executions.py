"""Runs handlers on the SDK's test runner, whatever release it is."""

from __future__ import annotations

import gc
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from aws_durable_execution_sdk_python import durable_execution
from aws_durable_execution_sdk_python_testing.runner import DurableFunctionTestRunner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aws_durable_execution_sdk_python import DurableContext


def execute(handler: Callable[[Any, DurableContext], Any], plugins: list[Any]) -> object:
    """The serialized result of the handler, which has to succeed."""
    with provisional():
        durable = durable_execution(handler, plugins=plugins)
    return execute_durable(durable, "{}")


def execute_durable(durable: Callable[..., Any], event: str) -> object:
    """The serialized result of a decorated handler, which has to succeed."""
    with DurableFunctionTestRunner(handler=durable) as runner:
        result = runner.run(input=event)
    # The runner leaves its event loop to the garbage collector, whose complaint must not come while pytest
    # parses a module: Python 3.11 can't stand a traceback that is formatted in the middle of `ast.parse`.
    del runner
    gc.collect()
    assert result.status.name == "SUCCEEDED", result
    return result.result


@contextmanager
def provisional() -> Iterator[None]:
    """SDK 1.6 and 1.7 warn of every use of plugins."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The 'plugins' parameter is provisional", FutureWarning)
        yield
