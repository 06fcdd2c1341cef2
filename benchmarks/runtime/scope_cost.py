"""What a terminal scope costs, beside hand-written cleanup that does the same, and beside no cleanup at all.

Usage: python benchmarks/runtime/scope_cost.py [--actions 1,3,10] [--repeat 20] [--write FILE]

Each execution makes three steps, waits once (so it is replayed once), and ends by a value or an error.
Counted are the checkpoint requests, the operations and their size as the service sends them to an invocation,
and the time spent inside the function, over all its invocations (median of `--repeat` runs; the test runner's
own time is not in it). The service is the SDK's in-process test runner, so the time has no network in it: a
request to the real service takes milliseconds, which is why the requests are counted.
"""

from __future__ import annotations

import argparse
import json
import logging
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any  # what the SDK's handlers take and give is any JSON

from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration, StepConfig
from aws_durable_execution_sdk_python.lambda_service import OperationType
from aws_durable_execution_sdk_python.retries import RetryDecision
from aws_durable_execution_sdk_python_testing.runner import DurableFunctionTestRunner
from durable_runtime import DurableTerminalActions, terminal_scope

Handler = Callable[[Any, Any], Any]
ONCE = StepConfig(retry_strategy=lambda _error, _attempt: RetryDecision.no_retry())


class Declined(Exception):
    """What the failing executions fail with."""


@dataclass(frozen=True)
class Cost:
    """One execution: `seconds` is the time inside the function, over all its invocations."""

    requests: int
    operations: int
    bytes: int
    seconds: float


def _body(context: DurableContext, fails: bool) -> str:
    for number in range(3):
        context.step(lambda _: "worked", name=f"work-{number}", config=ONCE)
    context.wait(Duration.from_seconds(1), name="pause")
    if fails:
        raise Declined("declined")
    return "done"


def no_cleanup(_actions: int, fails: bool) -> Handler:
    @durable_execution
    def handler(_event: object, context: DurableContext) -> str:
        return _body(context, fails)

    return handler


def by_hand(actions: int, fails: bool) -> Handler:
    """The same as a scope: newest first, all are attempted, the body's error stays primary."""

    @durable_execution
    def handler(_event: object, context: DurableContext) -> str:
        def clean_up() -> list[Exception]:
            failures = []
            for number in reversed(range(actions)):
                try:
                    context.step(lambda _: None, name=f"cleanup-{number}", config=ONCE)
                except Exception as failure:
                    failures.append(failure)
            return failures

        try:
            result = _body(context, fails)
        except Exception as error:
            for failure in clean_up():
                error.add_note(str(failure))
            raise
        if failures := clean_up():
            raise failures[0]
        return result

    return handler


def in_place(actions: int, fails: bool) -> Handler:
    @durable_execution
    def handler(_event: object, context: DurableContext) -> str:
        with terminal_scope(context, name="scope") as terminal:
            for number in range(actions):
                terminal.cleanup(lambda _: None, name=f"{number}", config=ONCE)
            return _body(context, fails)

    return handler


def isolated(actions: int, fails: bool) -> Handler:
    @durable_execution
    def handler(_event: object, context: DurableContext) -> str:
        def body(scope_context: DurableContext, terminal: DurableTerminalActions) -> str:
            for number in range(actions):
                terminal.cleanup(lambda _: None, name=f"{number}", config=ONCE)
            return _body(scope_context, fails)

        return terminal_scope(context, body, name="scope")

    return handler


VARIANTS: dict[str, Callable[[int, bool], Handler]] = {
    "no cleanup": no_cleanup,
    "by hand": by_hand,
    "in place": in_place,
    "isolated": isolated,
}


def measure(handler: Handler) -> Cost:
    """Run one execution to its end and count."""
    requests, seconds = 0, 0.0

    def timed(event: object, lambda_context: object) -> object:
        nonlocal seconds
        start = time.perf_counter()
        try:
            return handler(event, lambda_context)
        finally:
            seconds += time.perf_counter() - start

    with DurableFunctionTestRunner(timed, poll_interval=0.01) as runner:
        deliver = runner._service_client.checkpoint

        def counted(**request: Any) -> Any:
            nonlocal requests
            requests += 1
            return deliver(**request)

        vars(runner._service_client)["checkpoint"] = counted
        arn = runner.run_async(input="{}")
        runner.wait_for_result(arn)
        recorded = [
            operation
            for operation in runner._store.load(arn).operations
            if operation.operation_type is not OperationType.EXECUTION
        ]
    runner._scheduler._loop.close()  # the runner leaves it open
    size = sum(len(json.dumps(operation.to_dict(), default=str)) for operation in recorded)
    return Cost(requests, len(recorded), size, seconds)


def compare(actions: Sequence[int], repeat: int) -> list[tuple[int, bool, str, Cost]]:
    """The median cost of each variant, for each number of actions and both endings; variants take turns."""
    rows: list[tuple[int, bool, str, Cost]] = []
    for count in actions:
        for fails in (False, True):
            runs: dict[str, list[Cost]] = {name: [] for name in VARIANTS}
            for _ in range(repeat):
                for name, variant in VARIANTS.items():
                    runs[name].append(measure(variant(count, fails)))
            rows.extend((count, fails, name, _median(costs)) for name, costs in runs.items())
    return rows


def _median(costs: list[Cost]) -> Cost:
    return Cost(
        requests=int(statistics.median(cost.requests for cost in costs)),
        operations=int(statistics.median(cost.operations for cost in costs)),
        bytes=int(statistics.median(cost.bytes for cost in costs)),
        seconds=statistics.median(cost.seconds for cost in costs),
    )


def table(rows: list[tuple[int, bool, str, Cost]]) -> str:
    """The rows as Markdown."""
    lines = [
        "| actions | ends by | variant | operations | requests | history, bytes | time in the function, ms |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for actions, fails, name, cost in rows:
        cells = [
            str(actions),
            "an error" if fails else "a value",
            name,
            str(cost.operations),
            str(cost.requests),
            str(cost.bytes),
            f"{cost.seconds * 1000:.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--actions", default="1,3,10", help="numbers of cleanups, separated by commas")
    parser.add_argument("--repeat", type=int, default=20, help="runs of each variant; the median is taken")
    parser.add_argument("--write", type=Path, help="put the table between the markers of this Markdown file")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    measured = table(compare([int(count) for count in options.actions.split(",")], options.repeat))
    machine = (
        f"Python {platform.python_version()}, SDK {version('aws-durable-execution-sdk-python')}, "
        f"median of {options.repeat} runs:"
    )
    text = f"{machine}\n\n{measured}\n"
    sys.stdout.write(text)
    if options.write:
        head, _, rest = options.write.read_text(encoding="utf-8").partition("<!-- measured: begin -->")
        _, _, tail = rest.partition("<!-- measured: end -->")
        page = f"{head}<!-- measured: begin -->\n\n{text}\n<!-- measured: end -->{tail}"
        options.write.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
