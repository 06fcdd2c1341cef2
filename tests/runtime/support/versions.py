"""Which SDK and which testing SDK are installed, and what the older testing SDKs can't do."""

from __future__ import annotations

from importlib.metadata import version


def _parts(distribution: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version(distribution).split(".")[:3])


SDK = _parts("aws-durable-execution-sdk-python")
TESTING = _parts("aws-durable-execution-sdk-python-testing")

CAN_REVOKE_TOKENS = TESTING >= (1, 3, 0)
"""The testing SDK can answer a checkpoint without a token (`pause_execution`), and the SDK understands it."""

CAN_INVOKE_FUNCTIONS = TESTING >= (1, 3, 0)
"""The testing SDK runs functions that `context.invoke` names."""

HAS_TIMERS_DURING_INVOCATION = TESTING >= (1, 3, 0)
"""Waits end while an invocation runs. The event loop of testing 1.2.1 is blocked by the invocation itself."""
