"""The handlers of docs/examples/hazards have the findings that their page lists, and do what it says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any  # an example's module is known at run time only

import pytest

from tests.linter.truth.execution import SUSPENDED, Ending, play

HAZARDS = Path(__file__).parents[2] / "docs" / "examples" / "hazards"
NAMES = sorted(path.stem for path in HAZARDS.glob("*.py"))


@dataclass(frozen=True)
class Service:
    """A client of AWS that works, and writes each request into the log."""

    log: list[str]

    def __getattr__(self, operation: str) -> Any:
        def request(**arguments: object) -> dict[str, Any]:
            table = arguments.get("TableName")
            self.log.append(f"{operation} {table}" if table else operation)
            return {"Instances": [{"InstanceId": f"i-{len(self.log)}"}]}

        return request


def run(name: str, event: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Ending:
    log: list[str] = []
    monkeypatch.setattr("boto3.client", lambda _service: Service(log))
    path = HAZARDS / f"{name}.py"
    module: dict[str, Any] = {"__name__": path.stem}
    exec(compile(path.read_text("utf-8"), str(path), "exec", dont_inherit=True), module)
    return play(module["handler"], log, event)


@pytest.mark.parametrize(
    ("name", "event", "hazard", "repaired"),
    [
        (
            "ledger",
            {"account": "a-17", "entry": {}},
            [
                *("put_item leases", "delete_item leases", SUSPENDED),
                *("put_item leases", "update_item ledger", "delete_item leases"),
            ],
            ["put_item leases", SUSPENDED, "update_item ledger", "delete_item leases"],
        ),
        (
            "cluster",
            {"nodes": 2, "image": "ami-1", "job": "sum"},
            [
                *("run_instances", "run_instances", "terminate_instances", "terminate_instances", SUSPENDED),
                *("send_command", "terminate_instances", "terminate_instances"),
            ],
            [
                *("run_instances", "run_instances", SUSPENDED),
                *("send_command", "terminate_instances", "terminate_instances"),
            ],
        ),
        ("subscription", {"charges": "q", "customer": "ada"}, [], [SUSPENDED, "send_message"]),
        (
            "newsletter",
            {"subscribers": ["ada", "bob"]},
            [],
            [SUSPENDED, SUSPENDED, "send_email", SUSPENDED, "send_email"],
        ),
        ("payout", {"bank": "q", "seller": "ada"}, [], [SUSPENDED, "send_message"]),
        (
            "tickets",
            {"seat": {}},
            ["put_item reservations", "delete_item reservations", SUSPENDED, "put_item tickets"],
            ["put_item reservations", SUSPENDED, "put_item tickets"],
        ),
    ],
)
def test_a_hazard_happens_and_its_repaired_twin_does_the_same_work_without_it(
    name: str, event: dict[str, Any], hazard: list[str], repaired: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(name, event, monkeypatch).log == hazard
    assert run(f"repaired/{name}", event, monkeypatch).log == repaired


def test_a_sandbox_is_terminated_under_the_reviewer_and_in_the_repaired_twin_after_the_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    event = {"image": "ami-1", "reviewers": "topic"}
    hazard = run("review", event, monkeypatch)
    repaired = run("repaired/review", event, monkeypatch)
    asked = ["run_instances", "publish"]
    assert hazard.log == [*asked, "terminate_instances", SUSPENDED, "terminate_instances"]
    assert repaired.log == [*asked, SUSPENDED, "terminate_instances"]


def test_every_hazard_has_a_repaired_twin_and_a_row_in_the_table() -> None:
    page = (HAZARDS / "README.md").read_text("utf-8")
    assert sorted(path.stem for path in (HAZARDS / "repaired").glob("*.py")) == NAMES
    assert sorted(re.findall(r"^\| `(\w+)\.py`", page, re.MULTILINE)) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_linter_finds_what_the_table_lists_and_nothing_in_the_repaired_twin(name: str) -> None:
    from durable_lint import lint

    page = (HAZARDS / "README.md").read_text("utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| `{name}.py`"))
    codes = {path: [f.code for f in lint(path.read_bytes(), path)] for path in HAZARDS.rglob(f"{name}.py")}
    assert sorted(set(codes[HAZARDS / f"{name}.py"])) == re.findall(r"\[(LDC\d+)\]", row)
    assert codes[HAZARDS / "repaired" / f"{name}.py"] == []
