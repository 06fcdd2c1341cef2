"""Puts the operation that runs on every log line, and takes it off when the function ends or is suspended."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import TYPE_CHECKING

from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration
from durable_runtime.plugin import CompletionPlugin, as_plugins

if TYPE_CHECKING:
    from aws_durable_execution_sdk_python.plugin import UserFunctionStartInfo

OPERATION: ContextVar[str] = ContextVar("operation", default="-")

logger = logging.getLogger("orders")


class LogFields(CompletionPlugin):
    """`bind` sets the variable on the thread that runs the function, and resets it there."""

    def on_user_function_start(self, info: UserFunctionStartInfo) -> None:
        super().on_user_function_start(info)
        self.bind(info, OPERATION, info.name or info.operation_id)


def add_operation(record: logging.LogRecord) -> bool:
    """A filter that gives every record the field `operation`."""
    record.operation = OPERATION.get()
    return True


def pack(order: DurableContext) -> str:
    logger.info("packing")
    order.wait(Duration.from_seconds(1), name="dry")
    logger.info("packed")
    return "packed"


@durable_execution(plugins=as_plugins(LogFields))  # type: ignore[call-arg] # the decorator's own types
def handler(event: dict[str, str], context: DurableContext) -> str:
    packed = context.run_in_child_context(pack, name="pack")
    logger.info("order %s is %s", event["id"], packed)
    return packed
