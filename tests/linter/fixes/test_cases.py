"""Each case of `cases.py`: fixed or refused as it must be, and the same before and after when it runs."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import pytest
from durable_lint.config.settings import Settings
from durable_lint.linter import Linter
from durable_lint.rewrite import Rewriter

from tests.linter.fixes import cases, grammar, trial

if TYPE_CHECKING:
    from pathlib import Path

    from durable_lint.rules.finding import Finding

    from tests.linter.fixes.cases import Case

HELPERS = """
from aws_durable_execution_sdk_python import durable_step
from outside import note_step


@durable_step
def release_step(step_context, name, vm):
    note(name, f"release {vm}")


def drain_in_steps(stage, name, event):
    stage.step(lambda _: note(name, "drain"), name="drain")
    if event["pause"]:
        stage.wait(Duration.from_seconds(1), name="drained")
    stage.step(lambda _: note(name, "delete"), name="delete")


def pause_if(stage, event):
    if event["pause"]:
        stage.wait(Duration.from_seconds(1), name="pause")


"""


_AT_ONCE = 10
"""Branches of one execution: more of them are not faster."""


@dataclass(frozen=True)
class Result:
    source: str
    left: tuple[Finding, ...]


@cache
def fix(source: str, folder: Path, *, unsafe: bool = True, form: str = "in-place") -> Result:
    """Return what fixing a module makes of it, and the findings that are left."""
    path = folder / "module.py"
    linter = Linter(Settings(root=folder, src=(folder,), fix_form=form), with_fixes=True)
    done = Rewriter(linter, unsafe_fixes=unsafe, only=path).rewrite(path, source.encode())
    assert not done.result.failures
    return Result(done.contents.get(path, source.encode()).decode(), done.result.findings)


def source_of(*written: Case) -> str:
    return grammar.HEADER + HELPERS + "\n\n".join(case.source for case in written)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_a_block_is_rewritten_or_refused_with_its_reason(case: Case, folder: Path) -> None:
    before = source_of(case)
    after = fix(before, folder)
    if case.why is None:
        assert not after.left, [f"{f.code} {f.no_fix}" for f in after.left]
        assert after.source != before
        for text in case.expected:
            assert text in after.source, after.source
        compile(after.source, "fixed", "exec")
    else:
        assert after.source == before, "a refusal changes nothing"
        assert after.left
        reasons = [f.no_fix for f in after.left]
        assert any(re.search(case.why, reason) for reason in reasons), reasons


@pytest.mark.parametrize("case", [c for c in cases.CASES if c.why is None], ids=lambda case: case.name)
def test_fixing_twice_changes_nothing(case: Case, folder: Path) -> None:
    once = fix(source_of(case), folder).source
    assert fix(once, folder).source == once


@pytest.fixture(scope="module")
def runs(folder: Path) -> dict[str, dict[str, trial.Outcome]]:
    """All cases, before and after, on runs that fail and do not, that suspend and do not."""
    fixable = [case for case in cases.CASES if case.why is None]
    before = source_of(*fixable)
    after = fix(before, folder).source
    found: dict[str, dict[str, trial.Outcome]] = {}
    for start in range(0, len(fixable), _AT_ONCE):
        names = [case.name for case in fixable[start : start + _AT_ONCE]]
        for fails in (False, True):
            for label, source, pauses in (
                ("before", before, False),
                ("after", after, False),
                ("paused", after, True),
            ):
                played = trial.play_all(source, names, {"pause": pauses, "fail": fails})
                found.setdefault(f"{label} {fails}", {}).update(played)
    return found


@pytest.mark.parametrize("fails", [False, True], ids=["succeeds", "fails"])
@pytest.mark.parametrize("case", [c for c in cases.CASES if c.why is None], ids=lambda case: case.name)
def test_it_runs_the_same_without_a_suspension(
    case: Case, fails: bool, runs: dict[str, dict[str, trial.Outcome]]
) -> None:
    assert runs[f"after {fails}"][case.name] == runs[f"before {fails}"][case.name]


@pytest.mark.parametrize("fails", [False, True], ids=["succeeds", "fails"])
@pytest.mark.parametrize("case", [c for c in cases.CASES if c.why is None], ids=lambda case: case.name)
def test_with_suspensions_the_cleanup_runs_once_at_the_true_end(
    case: Case, fails: bool, runs: dict[str, dict[str, trial.Outcome]]
) -> None:
    paused, straight = runs[f"paused {fails}"][case.name], runs[f"before {fails}"][case.name]
    assert paused.effects == straight.log
    assert (paused.result, paused.error) == (straight.result, straight.error)
    assert trial.SUSPENDED in paused.log


def test_every_case_has_its_own_name() -> None:
    names = [case.name for case in cases.CASES]
    assert len(set(names)) == len(names)
    for case in cases.CASES:
        ast.parse(source_of(case))


def test_the_isolated_form_runs_the_same_where_it_is_written(folder: Path) -> None:
    """Its errors cross a checkpoint, so only that there is one is compared."""
    written = [c for c in cases.CASES if _is_isolated(c, folder)]
    assert len(written) > 20
    before = source_of(*written)
    after = fix(before, folder, unsafe=False, form="callable").source
    for start in range(0, len(written), _AT_ONCE):
        names = [case.name for case in written[start : start + _AT_ONCE]]
        for fails in (False, True):
            old = trial.play_all(before, names, {"pause": False, "fail": fails})
            for pauses in (False, True):
                new = trial.play_all(after, names, {"pause": pauses, "fail": fails})
                for name in names:
                    was, now = old[name], new[name]
                    assert now.effects == was.log, name
                    assert (now.result, bool(now.error)) == (was.result, bool(was.error)), name


def _is_isolated(case: Case, folder: Path) -> bool:
    """Whether a case comes out whole in the isolated form."""
    after = fix(source_of(case), folder, unsafe=False, form="callable")
    return not after.left and after.source != source_of(case)
