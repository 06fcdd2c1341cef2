"""What is recorded of the executed cases is what their own log says ran, and the linter says the same."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any  # a case's expectation is plain JSON

import pytest

CASES = Path(__file__).parents[2] / "cases" / "fixes"
NAMES = sorted(path.stem for path in CASES.glob("*.py"))
SUSPENDED = "-- suspended --"


def played(name: str, folder: Path) -> tuple[Any, Any]:
    """The case's expectation, and what a process that watched it says."""
    handlers = folder / "handlers"
    handlers.mkdir()
    path = handlers / f"{name}.py"
    shutil.copy(CASES / path.name, path)
    process = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("played.py")), str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ORACLE":
            return ast.literal_eval(node.value), json.loads(process.stdout.splitlines()[-1])
    raise AssertionError(f"{name} has no ORACLE")


def by_invocation(log: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for entry in log:
        parts.append([]) if entry == SUSPENDED else parts[-1].append(entry)
    return [sorted(part) for part in parts]


@pytest.mark.parametrize("name", NAMES)
def test_the_watch_records_what_a_case_ran_and_agrees_with_the_linter(name: str, tmp_path: Path) -> None:
    oracle, seen = played(name, tmp_path)
    runs = (oracle, *oracle.get("runs", ()))
    assert [by_invocation(log) for log in seen["logs"]] == [by_invocation(run["hazard"]) for run in runs]
    assert seen["ran"] == seen["told"]
    assert seen["codes"] == sorted(oracle["codes"])
    assert (seen["only_seen"], seen["only_linted"]) == ([], [])


def test_there_are_cases() -> None:
    assert len(NAMES) > 20
