"""Plugins under test. Each attaches a value to the thread of a user function, and exports what has ended."""

from __future__ import annotations

import threading
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING

from aws_durable_execution_sdk_python.plugin import DurableInstrumentationPlugin
from durable_runtime.plugin import CompletionPlugin, UserFunctionCompleteInfo

if TYPE_CHECKING:
    from aws_durable_execution_sdk_python.plugin import UserFunctionEndInfo, UserFunctionStartInfo

NOTHING = "nothing"
CURRENT: ContextVar[str] = ContextVar("current", default=NOTHING)
"""What a span is for OpenTelemetry: the n-th run of an operation, as `operation#n`."""


class Attachments:
    """Attached runs by operation. Attaching releases a previous run of the operation, on its own thread only.

    That guard is the mitigation that the SDK's OpenTelemetry plugins got first.
    """

    def __init__(self) -> None:
        self._runs: dict[str, int] = {}
        self._tokens: dict[str, tuple[int, Token[str]]] = {}

    def attach(self, operation: str) -> None:
        self.detach(operation)
        self._tokens[operation] = threading.get_ident(), CURRENT.set(self.next_run(operation))

    def next_run(self, operation: str) -> str:
        self._runs[operation] = self._runs.get(operation, 0) + 1
        return f"{operation}#{self._runs[operation]}"

    def detach(self, operation: str) -> None:
        thread, token = self._tokens.pop(operation, (None, None))
        if token is not None and thread == threading.get_ident():
            CURRENT.reset(token)


class WithoutHook(DurableInstrumentationPlugin):
    """Knows two outcomes, like every plugin that was written when there were two."""

    def __init__(self) -> None:
        self.attachments = Attachments()
        self.exported: list[tuple[str, str]] = []

    def on_user_function_start(self, info: UserFunctionStartInfo) -> None:
        self.attachments.attach(info.operation_id)

    def on_user_function_end(self, info: UserFunctionEndInfo) -> None:
        if info.outcome.name in ("SUCCEEDED", "FAILED"):
            self.exported.append((info.operation_id, info.outcome.name))
            self.attachments.detach(info.operation_id)


class WithHook(CompletionPlugin):
    """The same plugin, which releases in the completion hook too."""

    def __init__(self) -> None:
        self.attachments = Attachments()
        self.exported: list[tuple[str, str]] = []

    def on_user_function_start(self, info: UserFunctionStartInfo) -> None:
        super().on_user_function_start(info)
        self.attachments.attach(info.operation_id)

    def on_user_function_end(self, info: UserFunctionEndInfo) -> None:
        self.exported.append((info.operation_id, info.outcome.name))
        self.attachments.detach(info.operation_id)
        super().on_user_function_end(info)

    def on_user_function_complete(self, info: UserFunctionCompleteInfo) -> None:
        self.attachments.detach(info.operation_id)


class WithBind(CompletionPlugin):
    """The same plugin, which lets `bind` release."""

    def __init__(self) -> None:
        self.attachments = Attachments()
        self.exported: list[tuple[str, str]] = []

    def on_user_function_start(self, info: UserFunctionStartInfo) -> None:
        super().on_user_function_start(info)
        self.bind(info, CURRENT, self.attachments.next_run(info.operation_id))

    def on_user_function_end(self, info: UserFunctionEndInfo) -> None:
        super().on_user_function_end(info)
        self.exported.append((info.operation_id, info.outcome.name))


class Recording(CompletionPlugin):
    """Writes down what it is told, and on which thread."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.threads: list[int] = []
        self.completed: list[UserFunctionCompleteInfo] = []

    def on_user_function_start(self, info: UserFunctionStartInfo) -> None:
        super().on_user_function_start(info)
        self.record("start", info.operation_id)

    def on_user_function_end(self, info: UserFunctionEndInfo) -> None:
        super().on_user_function_end(info)
        self.record(info.outcome.name, info.operation_id)

    def on_user_function_complete(self, info: UserFunctionCompleteInfo) -> None:
        super().on_user_function_complete(info)
        self.record(info.reason.name, info.operation_id)
        self.completed.append(info)

    def record(self, event: str, operation: str) -> None:
        self.told.append((event, operation))
        self.threads.append(threading.get_ident())
