"""A plugin that SDK 1.7 does not tell of a suspension."""

from contextvars import ContextVar, Token

from aws_durable_execution_sdk_python.plugin import (
    DurableInstrumentationPlugin,
    UserFunctionEndInfo,
    UserFunctionStartInfo,
)

OPERATION: ContextVar[str] = ContextVar("operation", default="-")


class OperationName(DurableInstrumentationPlugin):
    """Puts the operation's name where the log formatter finds it."""

    def __init__(self) -> None:
        self._tokens: dict[str, Token[str]] = {}

    def on_user_function_start(self, info: UserFunctionStartInfo) -> None:
        self._tokens[info.operation_id] = OPERATION.set(info.name or info.operation_id)

    def on_user_function_end(self, info: UserFunctionEndInfo) -> None:
        OPERATION.reset(self._tokens.pop(info.operation_id))
