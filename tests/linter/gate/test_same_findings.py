"""The gate changes no result: every case is linted with it and without it, alone and with the others."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from durable_lint import gate
from durable_lint.config.settings import Settings
from durable_lint.gate import ImportIndex
from durable_lint.linter import Linter

from tests.linter.truth import arrangements

if TYPE_CHECKING:
    from collections.abc import Iterable

CASES = Path(__file__).parents[2] / "cases"
ROOTS = sorted(path for path in (CASES / "lint").iterdir() if path.suffix == ".py" or path.is_dir())

Found = set[tuple[str, str, int, int]]


def lint(root: Path, files: Iterable[Path], *, strict: bool = False) -> Found:
    settings = replace(Settings(root=root).with_every_rule(), strict=strict)
    linter = Linter(settings)
    return {
        (str(finding.path), finding.code, finding.start.row, finding.start.column)
        for path in files
        for finding in linter.lint(path).findings
    }


def without_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "could_hold_finding", lambda *_, **__: True)
    monkeypatch.setattr(gate, "passes_tree", lambda *_, **__: True)
    monkeypatch.setattr(ImportIndex, "is_connected", lambda *_: True)


def files_of(case: Path) -> list[Path]:
    return sorted(case.rglob("*.py")) if case.is_dir() else [case]


@pytest.mark.parametrize("strict", [False, True], ids=["default", "strict"])
def test_every_case_has_the_same_findings_without_the_gate(
    strict: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def all_findings() -> Found:
        return {
            found
            for case in ROOTS
            for found in lint(case if case.is_dir() else case.parent, files_of(case), strict=strict)
        }

    gated = all_findings()
    without_gate(monkeypatch)
    assert gated == all_findings()
    assert gated


def test_every_file_alone_has_the_findings_of_the_whole_run() -> None:
    root = CASES / "lint"
    files = sorted(root.rglob("*.py"))
    whole = lint(root, files)
    alone = {found for path in files for found in lint(root, [path])}
    assert alone == whole


def test_arrangements_have_the_same_findings_without_the_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = []
    for number, arrangement in enumerate(itertools.islice(arrangements.arrangements(), 0, None, 7)):
        path = tmp_path / f"arranged_{number}.py"
        lines = arrangements.write(arrangement, "arranged").lines
        path.write_text(arrangements.PREAMBLE + "\n\n" + "\n".join(lines) + "\n")
        files.append(path)
    gated = lint(tmp_path, files)
    without_gate(monkeypatch)
    assert gated == lint(tmp_path, files)
    assert gated
