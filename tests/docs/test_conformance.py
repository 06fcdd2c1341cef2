"""The conformance cases of docs/rfc/terminal-scope.md hold for `durable_runtime`, in both forms."""

from __future__ import annotations

import json
import re
from typing import Any  # cases are JSON

import pytest
from conformance import CASES, FORMS, cases, effects, history, perform
from stage import unordered

RFC = CASES.with_name("terminal-scope.md")
RUNS = [(case, form) for case in cases() for form in case.get("forms", FORMS)]


@pytest.mark.parametrize(("case", "form"), RUNS, ids=[f"{form}: {case['name']}" for case, form in RUNS])
def test_a_conformance_case_has_its_documented_effects_and_history(case: dict[str, Any], form: str) -> None:
    run, played = perform(case, form)
    if case.get("unordered"):
        assert unordered(effects(run), "‖") == unordered(case["effects"], "‖")
        assert sorted(history(played)) == sorted(case["history"])
    else:
        assert effects(run) == case["effects"]
        assert history(played) == case["history"]
    records = [op.result for op in played.operations if op.path[-1] == "S.outcome"]
    if records and records[0]:
        assert json.loads(records[0])["outcome"] == case["outcome"]
    fails = (
        case["outcome"] != "SUCCEEDED"
        or (case.get("failures") and not case.get("tolerated"))
        or case.get("error")
    )
    assert played.status == ("FAILED" if fails else "SUCCEEDED")
    if "error" in case:
        assert type(run.error).__name__ == case["error"]
    if "failures" in case:
        failures = vars(run.error)["terminal_failures"]
        listed = [f"{f.kind} {f.name}" + (" skipped" if f.skipped else "") for f in failures]
        assert listed == case["failures"]


@pytest.mark.parametrize("form", FORMS)
def test_the_outcome_record_is_the_one_that_the_rfc_shows(form: str) -> None:
    [block] = re.findall(r"```json\n(.*?)```", RFC.read_text(encoding="utf-8"), flags=re.DOTALL)
    shown = json.loads(block)
    program = [*shown["registered"], ["raise", "declined"]]
    _, played = perform({"program": program}, form)
    [record] = [json.loads(op.result or "") for op in played.operations if op.path[-1] == "S.outcome"]
    assert record.keys() == shown.keys()
    assert record["error"].keys() == shown["error"].keys()
    assert (record["outcome"], record["registered"]) == (shown["outcome"], shown["registered"])
    assert (record["error"]["message"], record["failsExecution"]) == ("declined", False)
