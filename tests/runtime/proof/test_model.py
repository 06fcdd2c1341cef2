"""Random programs against the model, as many as fit in a minute, each killed at a few places.

`python -m tests.runtime.proof.long` takes more programs and kills each at every checkpoint in both ways.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.runtime.proof.judge import judge
from tests.runtime.proof.model import foretell
from tests.runtime.proof.play import answers, builder
from tests.runtime.proof.programs import programs
from tests.runtime.support.crash import EVERY_WAY, Kill, execute

if TYPE_CHECKING:
    from tests.runtime.proof.programs import Block

SECONDS = float(os.environ.get("PROOF_SECONDS", "60"))
"""How long the test may draw programs. The same programs come in the same order on every run."""


@st.composite
def kills(draw: st.DrawFn) -> tuple[Kill, ...]:
    """One kill, or two in a row."""
    count = draw(st.sampled_from([1, 1, 2]))
    requests = draw(st.lists(st.integers(1, 20), min_size=count, max_size=count, unique=True))
    return tuple(Kill(request, *draw(st.sampled_from(EVERY_WAY))) for request in sorted(requests))


def test_random_programs_lose_nothing_and_repeat_nothing() -> None:
    end = time.monotonic() + SECONDS
    seen = 0

    @settings(
        max_examples=100_000,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(programs(), st.lists(kills(), min_size=1, max_size=4), st.booleans(), st.booleans())
    def check(program: Block, deaths: list[tuple[Kill, ...]], early: bool, one_by_one: bool) -> None:
        nonlocal seen
        if time.monotonic() > end:
            return
        fate = foretell(program)
        for death in ((), *deaths):
            run = execute(
                builder(program),
                kills=death,
                answers=answers(program),
                answer_early=early,
                one_update_per_request=one_by_one,
            )
            judge(program, run, fate)
        seen += 1

    check()
    assert seen >= 1
