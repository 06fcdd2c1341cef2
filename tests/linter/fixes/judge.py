"""Fixes handlers of the grammar, runs them before and after, and tells every difference.

As a program it does so for many handlers and prints what docs/validation/fixes.md reports:

    python -m tests.linter.fixes.judge 10000 [first seed] [processes]
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from durable_lint.config.settings import Settings
from durable_lint.linter import Linter
from durable_lint.rewrite import Rewriter

from tests.linter.fixes import grammar, trial

if TYPE_CHECKING:
    from tests.linter.fixes.grammar import Written

AT_ONCE = 10


@dataclass
class Report:
    """What came of handlers: how many, how many findings were fixed, why not, and what was wrong."""

    handlers: int = 0
    runs: int = 0
    fixed: Counter[str] = field(default_factory=Counter)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Report) -> None:
        """Take in what came of other handlers."""
        self.handlers += other.handlers
        self.runs += other.runs
        self.fixed += other.fixed
        self.refused += other.refused
        self.wrong += other.wrong

    def text(self) -> str:
        done, left = sum(self.fixed.values()), sum(self.refused.values())
        lines = [
            f"{self.handlers} handlers, {self.runs} runs, {len(self.wrong)} wrong",
            f"{done} of {done + left} findings fixed ({100 * done / max(done + left, 1):.1f} %)",
            *(f"  {code} {count}" for code, count in sorted(self.fixed.items())),
            "refused:",
            *(f"  {count:5} {code} {reason}" for (code, reason), count in self.refused.most_common()),
        ]
        return "\n".join([*lines, *self.wrong])


def judge(seeds: range, folder: Path, report: Report) -> None:
    """Judge the handlers of some seeds and add to the report."""
    written = [grammar.handler(seed) for seed in seeds]
    before = grammar.module(written)
    path = folder / "generated.py"
    linter = Linter(Settings(root=folder, src=(folder,)), with_fixes=True)
    done = Rewriter(linter, unsafe_fixes=True, only=path).rewrite(path, before.encode())
    if done.result.failures:
        report.wrong.append(f"seeds {seeds}: {done.result.failures[0].line()}")
        return
    after = done.contents.get(path, before.encode()).decode()
    report.handlers += len(written)
    owners = _owners(after)
    unclean = set()
    for finding in done.fixed:
        report.fixed[finding.code] += 1
    for finding in done.result.findings:
        unclean.add(owners[finding.start.row])
        report.refused[finding.code, _without_names(finding.no_fix)] += 1
        if not finding.no_fix:
            report.wrong.append(f"seeds {seeds}: {finding.code} is left without a reason")
    again = Rewriter(linter, unsafe_fixes=True, only=path).rewrite(path, after.encode())
    if again.contents:
        report.wrong.append(f"seeds {seeds}: a second fix changes something")
    for fails in (False, True):
        _compare(before, after, written, unclean, fails, report)


def _compare(
    before: str, after: str, written: list[Written], unclean: set[str], fails: bool, report: Report
) -> None:
    names = [each.name for each in written]
    clean = [name for name in names if name not in unclean]
    old = trial.play_all(before, names, {"pause": False, "fail": fails})
    new = trial.play_all(after, names, {"pause": False, "fail": fails})
    paused = trial.play_all(after, clean, {"pause": True, "fail": fails}) if clean else {}
    report.runs += len(names) * 2 + len(clean)
    for name in names:
        was, now = old[name], new[name]
        if was != now:
            report.wrong.append(f"{name} fails={fails}: was {was}, is {now}")
        elif name in paused:
            with_pauses = paused[name]
            same = (was.result, was.error) == (with_pauses.result, with_pauses.error)
            if not same or not _same_effects(was.log, with_pauses.effects):
                report.wrong.append(f"{name} fails={fails} paused: was {was}, is {with_pauses}")


def _same_effects(straight: list[str], paused: list[str]) -> bool:
    """Whether effects are the same. What a narrowed handler does in plain calls, each replay does again."""
    handled = {text for text in straight if text.startswith("undo-") or text.endswith("Error")}
    if not handled <= set(paused):
        return False
    return [text for text in straight if text not in handled] == [
        text for text in paused if text not in handled
    ]


def _owners(source: str) -> dict[int, str]:
    """Return for each row the handler that it belongs to."""
    owners: dict[int, str] = {}
    owner = ""
    for row, line in enumerate(source.split("\n"), 1):
        found = re.match(r"(?:def h|class Job|def held_h|@contextlib)(\d*)", line)
        if found and found[1]:
            owner = f"h{found[1]}"
        owners[row] = owner
    return owners


def _without_names(reason: str) -> str:
    return re.sub(r"line \d+", "line N", re.sub(r"`[^`]*`", "`...`", reason))


def judged(seeds: range) -> Report:
    """Return the report on the handlers of some seeds, judged a few at a time."""
    report = Report()
    with TemporaryDirectory() as folder:
        for start in range(seeds.start, seeds.stop, AT_ONCE):
            judge(range(start, min(start + AT_ONCE, seeds.stop)), Path(folder), report)
    return report


def main() -> None:
    count = int(sys.argv[1])
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    processes = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    started = time.monotonic()
    parts = [range(start, min(start + 100, first + count)) for start in range(first, first + count, 100)]
    report = Report()
    with ProcessPoolExecutor(processes) as pool:
        for part in pool.map(judged, parts):
            report.add(part)
            print(
                f"{report.handlers}: {time.monotonic() - started:.0f} s, {len(report.wrong)} wrong",
                flush=True,
            )
            print(*part.wrong, sep="\n", end="\n" if part.wrong else "", flush=True)
    print(report.text())


if __name__ == "__main__":
    main()
