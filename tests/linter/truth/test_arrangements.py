"""What the linter says about every arrangement of try and with is what a suspension does when it is run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.linter.truth.arrangements import PREAMBLE, Written, arrangements, write
from tests.linter.truth.execution import execute, expected, run_alone, shadowed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GROUP = 200
"""Arrangements a module: large enough to be quick, small enough that a failure names its group."""

ALL = [write(arrangement, f"arrangement_{number}") for number, arrangement in enumerate(arrangements())]
GROUPS = [ALL[start : start + GROUP] for start in range(0, len(ALL), GROUP)]


def module(group: list[Written]) -> str:
    return PREAMBLE + "\n\n".join("\n".join(written.lines) for written in group) + "\n"


def first_rows(group: list[Written]) -> Iterator[int]:
    row = PREAMBLE.count("\n")
    for written in group:
        yield row
        row += len(written.lines) + 1


@pytest.mark.parametrize("group", GROUPS, ids=[f"from-{start}" for start in range(0, len(ALL), GROUP)])
def test_the_linter_reports_what_a_suspension_really_runs_and_nothing_else(
    group: list[Written], tmp_path: Path
) -> None:
    from durable_lint.config.settings import Settings
    from durable_lint.linter import Linter

    source = module(group)
    traces = execute(source, [written.name for written in group])
    judged = Linter(Settings(root=tmp_path)).lint(tmp_path / "module.py", source.encode())
    assert judged.failures == ()
    found = Counter((finding.start.row, finding.code) for finding in judged.findings)
    wrong = []
    for written, first in zip(group, first_rows(group), strict=True):
        rows = range(first + 1, first + len(written.lines) + 1)
        reported = Counter({place: times for place, times in found.items() if place[0] in rows})
        needed = Counter((row + first, code) for row, code in expected(written, traces[written.name]))
        allowed = Counter((row + first, code) for row, code in shadowed(written, traces[written.name]))
        for place in (needed - reported) | ((reported - needed) - allowed):
            wrong.append(f"{written.arrangement.name}: {place} {'missed' if place in needed else 'extra'}")
    assert wrong == []


def test_the_arrangements_ask_for_every_rule_about_suspensions() -> None:
    sample = ALL[::7]
    traces = execute(module(sample), [written.name for written in sample])
    asked = {code for written in sample for _, code in expected(written, traces[written.name])}
    assert asked == {"LDC101", "LDC102", "LDC103", "LDC104", "LDC105", "LDC201", "LDC202", "LDC204"}


def test_a_run_of_its_own_ends_as_the_call_by_the_driver_did() -> None:
    sample = ALL[:: len(ALL) // 24]
    source = module(sample)
    traces = execute(source, [written.name for written in sample])
    alone = {written.name: run_alone(source, written.name) for written in sample}
    assert {name: trace.entries for name, trace in alone.items()} == {
        name: trace.entries for name, trace in traces.items()
    }
