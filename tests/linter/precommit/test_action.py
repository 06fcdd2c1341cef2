"""The steps of the GitHub Action, run as a runner runs them: installed apart, annotations, status, SARIF."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.linter.cli.project import CLEAN, write

CHECKOUT = Path(__file__).parents[3]
STEPS = yaml.safe_load((CHECKOUT / "action.yml").read_text("utf-8"))["runs"]["steps"]


def step(name: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a step's script as a runner does (`shell: bash`)."""
    (script,) = [step["run"] for step in STEPS if step.get("name") == name]
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a runner's directory with the tool installed in it by the action's own step."""
    directory = str(tmp_path_factory.mktemp("runner"))
    done = step(
        "Install durable-lint", PYTHON=sys.executable, ACTION=str(CHECKOUT), VERSION="", RUNNER_TEMP=directory
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return directory


def lint(runner: str, paths: str, args: str = "", sarif: str = "") -> subprocess.CompletedProcess[str]:
    return step(
        "Run durable-lint",
        RUNNER_TEMP=runner,
        PATHS=paths,
        ARGS=args,
        SARIF=sarif,
        GITHUB_WORKSPACE=str(Path.cwd()),
    )


def test_findings_are_annotated_and_fail_the_job(
    runner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write("app/review.py")
    write("lib/other.py", CLEAN)
    done = lint(runner, "app lib", sarif="out.sarif")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::error title=durable-lint (LDC101),file=app/review.py,line=16,")
    log = json.loads(Path("out.sarif").read_text("utf-8"))
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == ["LDC101"]
    help_text = log["runs"][0]["tool"]["driver"]["rules"][0]["help"]["markdown"]
    assert len(help_text.splitlines()) > 10, "the installed package has no pages of the rules"


def test_a_clean_project_and_more_options_pass(
    runner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write("app/review.py")
    assert lint(runner, ".", args="--ignore LDC1").returncode == 0
    assert lint(runner, "nowhere").returncode == 2
