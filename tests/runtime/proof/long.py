"""The long mode of the model-based test: random programs, each killed at every checkpoint in both ways.

    python -m tests.runtime.proof.long --programs 2000 [--seed 1]

Prints a line every 50 programs, and a summary. On a difference from the model it prints the smallest program
that shows it, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
import traceback
from collections import Counter
from importlib.metadata import version
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.runtime.proof.judge import judge
from tests.runtime.proof.model import foretell
from tests.runtime.proof.play import answers, builder
from tests.runtime.proof.programs import programs, walk
from tests.runtime.support.crash import Death, Loss, execute, killed_everywhere

if TYPE_CHECKING:
    from tests.runtime.proof.programs import Block


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.runtime.proof.long", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--programs", type=int, default=2000, help="how many programs to draw (2000)")
    parser.add_argument("--seed", type=int, default=1, help="draw others (1)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop drawing after this time")
    options = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    counts: Counter[str] = Counter()
    start = time.monotonic()
    failed = False
    try:
        _check(options.programs, options.seed, start + options.seconds, counts)
    except AssertionError:
        traceback.print_exc()
        failed = True
    _report(counts, options.seed, time.monotonic() - start)
    return 1 if failed else 0


def _check(number: int, start_seed: int, end: float, counts: Counter[str]) -> None:
    @seed(start_seed)
    @settings(
        max_examples=number,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(programs(), st.sampled_from(Death), st.booleans(), st.booleans())
    def check(program: Block, death: Death, early: bool, one_by_one: bool) -> None:
        if time.monotonic() > end:
            return
        fate = foretell(program)
        options = {
            "answers": answers(program),
            "answer_early": early,
            "one_update_per_request": one_by_one,
        }
        run = execute(builder(program), **options)  # type: ignore[arg-type]
        judge(program, run, fate)
        ways = [(Loss.UPDATE, death), (Loss.RESPONSE, death)]
        for _, run in killed_everywhere(builder(program), ways=ways, **options):
            judge(program, run, fate)
            counts["executions killed"] += 1
        counts["programs"] += 1
        counts["scopes"] += len(fate.scopes)
        counts["actions"] += sum(len(scope.actions) for scope in fate.scopes.values())
        counts["nodes"] += sum(1 for _ in walk(program))
        if counts["programs"] % 50 == 0:
            _say(f"{counts['programs']} programs, {counts['executions killed']} executions killed")

    check()


def _report(counts: Counter[str], start_seed: int, seconds: float) -> None:
    sdk = version("aws-durable-execution-sdk-python")
    testing = version("aws-durable-execution-sdk-python-testing")
    lines = [
        f"SDK {sdk}, testing SDK {testing}, Python {sys.version.split()[0]}",
        f"seed {start_seed}, {seconds:.0f} s",
        *(f"{number:6} {what}" for what, number in counts.items()),
    ]
    _say("\n".join(lines))


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
