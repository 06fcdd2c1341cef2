"""Measures what watching costs, in processor time: `python tests/linter/observed/cost.py`.

Two handlers: one makes durable calls that do not suspend, one suspends again and again through a `finally`.
"""

from __future__ import annotations

import logging
import platform
import statistics
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any  # the handlers' module is known at run time only

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.linter.observed.test_executions import Project

STEPS, WAITS, ROUNDS = 200, 40, 5
HANDLERS = f"""
@durable_execution
def steps(event, context: DurableContext):
    for number in range({STEPS}):
        context.step(lambda _: number, name=f"step-{{number}}")

@durable_execution
def waits(event, context: DurableContext):
    try:
        for number in range({WAITS}):
            context.wait(Duration.from_seconds(1), name=f"wait-{{number}}")
    finally:
        logger.debug("invocation ends")
"""


def spent(handler: Any, *, watched: bool) -> tuple[float, float]:
    """Seconds of processor time for one execution, and for asking what was seen."""
    from aws_durable_execution_sdk_python_testing.runner import DurableFunctionTestRunner
    from durable_lint.observed import watch_suspensions

    start = time.process_time()
    with watch_suspensions() if watched else nullcontext() as seen:
        with DurableFunctionTestRunner(handler, poll_interval=0.05) as runner:
            runner.run(input="{}")
        ran = time.process_time()
        if seen is not None:
            seen.assert_clean()
    return ran - start, time.process_time() - ran


def main() -> None:
    logging.disable(logging.CRITICAL)
    project = Project(Path(tempfile.mkdtemp()))
    project.handler(HANDLERS, "steps")
    module = sys.modules["flows"]
    print(f"Python {platform.python_version()}")
    for name, count, what in (("steps", STEPS, "durable call"), ("waits", WAITS, "suspension")):
        handler = getattr(module, name)
        spent(handler, watched=True)
        bare = [spent(handler, watched=False)[0] for _ in range(ROUNDS)]
        watched = [spent(handler, watched=True) for _ in range(ROUNDS)]
        one, other = statistics.median(bare), statistics.median(run for run, _ in watched)
        asked = statistics.median(after for _, after in watched)
        print(
            f"{name}: {one:.3f} s, watched {other:.3f} s: {(other - one) / count * 1e6:.0f} us for each {what};"
            f" judging {asked:.3f} s"
        )


if __name__ == "__main__":
    main()
