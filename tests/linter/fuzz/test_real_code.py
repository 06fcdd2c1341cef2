"""Code that has nothing to do with durable functions: no crash, and no finding, also where the gate is away."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from durable_lint import gate
from durable_lint.config.settings import Settings
from durable_lint.linter import Linter

STANDARD_LIBRARY = Path(sysconfig.get_paths()["stdlib"])
INSTALLED = Path(sysconfig.get_paths()["purelib"])


@pytest.mark.parametrize(
    "tree", [STANDARD_LIBRARY, INSTALLED], ids=["standard library", "installed packages"]
)
def test_a_whole_tree_is_linted_without_a_crash_and_without_a_false_finding(tree: Path) -> None:
    command = [sys.executable, "-m", "durable_lint", "--no-cache", "--output-format", "concise", str(tree)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    assert "analysis failed" not in done.stderr
    assert "Traceback" not in done.stderr
    findings = [line for line in done.stdout.splitlines() if ": LDC" in line]
    assert [line for line in findings if "durable" not in line] == []


@pytest.mark.parametrize("package", ["asyncio", "concurrent", "email", "http", "logging", "unittest"])
def test_the_rules_find_nothing_in_ordinary_code_that_the_gate_would_stop(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "could_hold_finding", lambda *_, **__: True)
    monkeypatch.setattr(gate, "passes_tree", lambda *_, **__: True)
    linter = Linter(Settings(root=STANDARD_LIBRARY / package))
    results = [linter.lint(path) for path in sorted((STANDARD_LIBRARY / package).rglob("*.py"))]
    assert len(results) >= 3
    assert [result.failures for result in results if result.failures] == []
    assert [finding for result in results for finding in result.findings] == []
