"""The examples of the documentation under the watch: the hazards show what their linter says, the others are clean."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any  # an event is plain JSON

import pytest
from durable_lint.observed import watch_suspensions

from tests.linter.test_hazard_examples import HAZARDS, NAMES, run

ROOT = Path(__file__).parents[3]
EVENTS: dict[str, dict[str, Any]] = {
    "cluster": {"nodes": 2, "image": "ami-1", "job": "sum"},
    "ledger": {"account": "a-17", "entry": {}},
    "newsletter": {"subscribers": ["ada", "bob"]},
    "payout": {"bank": "q", "seller": "ada"},
    "review": {"image": "ami-1", "reviewers": "topic"},
    "subscription": {"charges": "q", "customer": "ada"},
    "tickets": {"seat": {}},
}


def test_every_hazard_has_an_event() -> None:
    assert sorted(EVENTS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_hazard_is_seen_where_the_linter_reports_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with watch_suspensions() as seen:
        run(name, EVENTS[name], monkeypatch)
    comparison = seen.compared()
    assert comparison.only_seen == ()
    assert comparison.only_linted == ()
    assert {finding.path for finding in comparison.both} == {HAZARDS / f"{name}.py"}


@pytest.mark.parametrize("name", NAMES)
def test_a_repaired_hazard_is_clean(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with watch_suspensions() as seen:
        run(f"repaired/{name}", EVENTS[name], monkeypatch)
    assert seen.seen != ()
    seen.assert_clean()


def test_the_examples_of_the_runtime_are_clean_under_the_strict_option() -> None:
    process = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durable-strict"),
            *("tests/docs/test_runtime_examples.py", "-k", "not mypy"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert process.returncode == 0, process.stdout
