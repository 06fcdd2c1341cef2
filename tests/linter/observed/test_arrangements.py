"""What is recorded of every arrangement of try and with is what the arrangement's own log says ran."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.linter.observed.arranged import Seen, watched
from tests.linter.truth.arrangements import PREAMBLE, arrangements, write
from tests.linter.truth.execution import expected

if TYPE_CHECKING:
    from pathlib import Path

GROUP = 200
ALL = [write(arrangement, f"arrangement_{number}") for number, arrangement in enumerate(arrangements())]
GROUPS = [ALL[start : start + GROUP] for start in range(0, len(ALL), GROUP)]
_SAYS = re.compile(r"\s*log\.info\((?P<said>.*)\)")
_COMMON = PREAMBLE.splitlines()


def logged(seen: Seen) -> list[str]:
    """The parts that said, while a suspension was in flight, that they had been entered."""
    return [part for part, effect, suspending in seen.trace.entries if suspending and not effect]


def recorded_logging(seen: Seen) -> list[str]:
    """The same from the lines that were recorded. A manager says the part that it was made with."""
    parts = []
    for suspension in seen.suspensions:
        left: list[str] = []
        for ran in suspension.ran:
            if ran.path.name != "arranged_module.py":
                continue
            row = ran.row - seen.first - 1
            line = seen.written.lines[row] if row >= 0 else _COMMON[ran.row - 1]
            if row >= 0 and line.lstrip().startswith("with "):
                left += re.findall(r"'(\d\.exit)'", line)[:1]
            said = _SAYS.match(line)
            if said:
                parts.append(left[-1] if said["said"] == "self.part" else said["said"].strip("'"))
    return parts


def effects(seen: Seen) -> Counter[str]:
    return Counter(
        part.split(".")[0] for part, effect, suspending in seen.trace.entries if effect and suspending
    )


@pytest.mark.parametrize("group", GROUPS, ids=[f"from-{start}" for start in range(0, len(ALL), GROUP)])
def test_what_is_recorded_is_what_the_instrumented_code_says_ran(group: list, tmp_path: Path) -> None:
    wrong = []
    for seen in watched(group, tmp_path):
        name = seen.written.arrangement.name
        if recorded_logging(seen) != logged(seen):
            wrong.append(f"{name}: lines {recorded_logging(seen)}, not {logged(seen)}")
        count = sum(len(part.effects) for suspension in seen.suspensions for part in suspension.parts)
        if count != effects(seen).total():
            wrong.append(f"{name}: {count} effects, not {effects(seen)}")
        if seen.left != seen.trace.suspended:
            wrong.append(f"{name}: left: {seen.left}, and the caller saw it leave: {seen.trace.suspended}")
        found = Counter((one.start.row - seen.first, one.code) for one in seen.findings)
        asked = Counter(expected(seen.written, seen.trace))
        if found != asked:
            wrong.append(f"{name}: missed {asked - found}, extra {found - asked}")
    assert wrong == []


def test_every_arrangement_was_watched(tmp_path: Path) -> None:
    sample = ALL[::7]
    unseen = [one.written.arrangement.name for one in watched(sample, tmp_path) if not one.suspensions]
    reached = [one for one in unseen if "else" not in one]
    assert reached == []
