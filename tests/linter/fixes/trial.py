"""Runs handlers before and after a fix on the SDK's test runner, many at once, each in a branch of one execution."""

from __future__ import annotations

import json
import logging
import sys
import threading
import types
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any  # generated handlers have no types

from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import CompletionConfig, ParallelConfig
from aws_durable_execution_sdk_python.exceptions import SuspendExecution
from aws_durable_execution_sdk_python_testing.runner import DurableFunctionTestRunner

if TYPE_CHECKING:
    from collections.abc import Sequence

SUSPENDED = "-- suspended --"


@dataclass
class Outcome:
    """What one handler did: its log, and how it ended."""

    log: list[str] = field(default_factory=list)
    result: object = None
    error: str = ""

    @property
    def effects(self) -> list[str]:
        return [entry for entry in self.log if entry != SUSPENDED]


def play_all(source: str, names: Sequence[str], event: dict[str, bool]) -> dict[str, Outcome]:
    """Run the functions `names` of a module, each as `name(event, context)`, in one execution."""
    outcomes = {name: Outcome() for name in names}
    lock = threading.Lock()

    def note(name: str, text: str) -> str:
        with lock:
            outcomes[name].log.append(text)
        return text

    def touch(name: str, text: str) -> None:
        note(name, text)

    outside = types.ModuleType("outside")

    def note_step(context: DurableContext, name: str, text: str) -> None:
        context.step(lambda _: note(name, text), name=text)

    vars(outside).update(note=note, touch=touch, note_step=note_step)
    namespace: dict[str, Any] = {"__name__": "generated"}
    sys.modules["outside"] = outside
    logging.getLogger("generated").setLevel(logging.CRITICAL)
    logging.disable(logging.CRITICAL)
    try:
        exec(compile(source, "<generated>", "exec"), namespace)

        def branch(name: str) -> Any:
            def run(context: DurableContext) -> Any:
                try:
                    return {"result": namespace[name](dict(event), context)}
                except SuspendExecution:
                    note(name, SUSPENDED)
                    raise
                except Exception as error:
                    return {"error": type(error).__name__}

            return run

        @durable_execution
        def handler(_event: Any, context: DurableContext) -> Any:
            done = context.parallel(
                [branch(name) for name in names],
                name="all",
                config=ParallelConfig(completion_config=CompletionConfig(tolerated_failure_percentage=100)),
            )
            return done.get_results()

        with DurableFunctionTestRunner(handler, poll_interval=0.01, execution_timeout=60) as runner:
            runner._executor.RETRY_BACKOFF_SECONDS = 0
            runner.register_function("audit", lambda payload, _context: payload)
            ended = runner.run(input="{}")
    finally:
        del sys.modules["outside"]
        logging.disable(logging.NOTSET)
    if ended.error is not None or ended.result is None:
        raise RuntimeError(f"the handlers did not run: {ended.error}")
    for name, given in zip(names, json.loads(ended.result), strict=True):
        outcomes[name].result = given.get("result")
        outcomes[name].error = given.get("error", "")
    return outcomes
