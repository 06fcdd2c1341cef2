"""Every fault that is put into clean code is found, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

from tests.linter.seeded.seeding import KINDS, play

ROOT = Path(__file__).resolve().parents[3]


def test_every_seeded_fault_in_the_examples_is_found() -> None:
    folder = ROOT / "docs" / "examples" / "runtime"
    seeded = [one for path in sorted(folder.glob("*.py")) for one in play(folder, path)]
    assert len(seeded) > 5 * len(KINDS)
    assert [one for one in seeded if one.outcome != "found"] == []


def test_every_seeded_fault_in_the_silent_cases_is_found() -> None:
    folder = ROOT / "tests" / "cases" / "lint"
    kinds = ("finally", "with", "except BaseException")
    paths = [path for path in sorted(folder.glob("s1*.py")) if "plugin" not in path.name]
    seeded = [one for path in paths for one in play(path.parent, path, kinds)]
    assert len(seeded) > 30 * len(kinds)
    assert [one for one in seeded if one.outcome != "found"] == []
