"""A baseline hides what was there, reports what is new, survives moved code, and shrinks by itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.linter.cli.project import CLEAN, HAZARD, PLACE, Capture, run, write

TRY = (
    "    try:\n        context.wait(Duration.from_minutes(5))\n    finally:\n"
    '        context.step(lambda _: terminate(vm), name="terminate-microvm")\n'
)


@pytest.fixture
def baseline(capsys: Capture) -> Path:
    write("review.py")
    outcome = run(capsys, "--write-baseline", "ci/baseline.json")
    assert outcome.status == 2
    Path("ci").mkdir()
    outcome = run(capsys, "--write-baseline", "ci/baseline.json")
    assert (outcome.status, outcome.out) == (0, "Wrote 1 finding to ci/baseline.json.\n")
    return Path("ci/baseline.json")


def check(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    outcome = run(capsys, "--baseline", "ci/baseline.json", *arguments)
    return outcome.status, outcome.out, outcome.err


HIDDEN = (0, "No findings in 1 file.\n1 finding hidden by the baseline.\n", "")


def test_what_was_there_is_hidden_and_the_run_says_so(capsys: Capture, baseline: Path) -> None:
    before = baseline.read_bytes()
    assert check(capsys) == HIDDEN
    status, out, err = check(capsys, "--output-format", "json")
    assert (status, json.loads(out)) == (0, [])
    assert err == "durable-lint: 1 finding hidden by the baseline.\n"
    assert check(capsys, "--quiet") == (0, "", "")
    assert baseline.read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        f'"""Moved down."""\n\n\n{HAZARD}',
        HAZARD.replace("    try:", "    try:  # a comment").replace(
            '"terminate-microvm"', "'terminate-microvm'"
        ),
        HAZARD.replace(
            'context.step(lambda _: terminate(vm), name="terminate-microvm")',
            'context.step(\n            (lambda _: terminate(vm)), name="terminate-microvm",\n        )',
        ),
        HAZARD.replace("def handler", "def renamed_handler"),
        HAZARD.replace("from_minutes(5)", "from_minutes(10)"),
        HAZARD.replace("\n", "\r\n"),
    ],
    ids=[
        "moved",
        "comment and quotes",
        "reformatted",
        "renamed function",
        "other code in the block",
        "line ends",
    ],
)
def test_moved_reformatted_and_renamed_code_stays_hidden(capsys: Capture, baseline: Path, text: str) -> None:
    assert baseline.exists()
    write("review.py", text)
    assert check(capsys)[:2] == HIDDEN[:2]


def test_code_that_moves_to_another_file_stays_hidden_there(capsys: Capture, baseline: Path) -> None:
    Path("orders").mkdir()
    Path("review.py").rename("orders/approve.py")
    assert check(capsys)[0] == 0
    assert json.loads(baseline.read_text())["findings"][0]["path"] == "../orders/approve.py"


def test_a_copy_of_old_code_is_new(capsys: Capture, baseline: Path) -> None:
    assert baseline.exists()
    write("copy.py")
    status, out, _ = check(capsys)
    assert status == 1
    assert out.startswith("copy.py:16:5: LDC101")
    assert "1 finding hidden" in out


def test_a_second_hazard_in_the_same_function_is_new(capsys: Capture, baseline: Path) -> None:
    assert baseline.exists()
    write("review.py", HAZARD + TRY)
    status, out, _ = check(capsys)
    assert status == 1
    assert out.startswith(("review.py:20:5: LDC101", PLACE))
    assert out.count("LDC101") == 1
    write("review.py", HAZARD + TRY.replace("terminate(vm)", "terminate(other)"))
    assert check(capsys)[1].startswith("review.py:20:5: LDC101")


def test_cleanup_that_does_something_else_now_is_new(capsys: Capture, baseline: Path) -> None:
    assert baseline.exists()
    write("review.py", HAZARD.replace("terminate(vm), name", "terminate(vm, force=True), name"))
    assert check(capsys)[0] == 1


def test_what_was_mended_leaves_the_baseline_by_itself_and_cannot_come_back(
    capsys: Capture, baseline: Path
) -> None:
    write("review.py", CLEAN)
    status, _, err = check(capsys)
    assert status == 0
    assert err == "durable-lint: 1 finding of ci/baseline.json no longer there, and taken out of it\n"
    assert json.loads(baseline.read_text())["findings"] == []
    write("review.py", HAZARD)
    assert check(capsys)[0] == 1


def test_only_what_was_judged_can_leave_the_baseline(capsys: Capture, baseline: Path) -> None:
    before = baseline.read_bytes()
    write("other.py", CLEAN)
    assert check(capsys, "other.py")[0] == 0
    assert check(capsys, "--select", "LDC2")[0] == 0
    write("durable-lint.toml", "selct = 1\n")
    assert check(capsys)[0] == 2
    assert baseline.read_bytes() == before


def test_a_deleted_file_leaves_the_baseline(capsys: Capture, baseline: Path) -> None:
    Path("review.py").unlink()
    write("other.py", CLEAN)
    check(capsys, "other.py")
    assert json.loads(baseline.read_text())["findings"] == []


def test_a_baseline_that_cannot_be_written_still_hides(capsys: Capture, baseline: Path) -> None:
    write("review.py", CLEAN)
    baseline.chmod(0o444)
    status, _, err = check(capsys)
    assert status == 0
    assert err == "durable-lint: ci/baseline.json: can't be written: it is read-only\n"


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"version": 1}', '{"version": 1, "findings": [{"path": "a"}]}', "[" * 9999]
)
def test_a_file_that_is_no_baseline_is_one_line(capsys: Capture, baseline: Path, text: str) -> None:
    baseline.write_text(text)
    assert check(capsys)[::2] == (
        2,
        "durable-lint: ci/baseline.json: is not a baseline; make one with --write-baseline\n",
    )


def test_a_baseline_of_a_newer_version_is_not_guessed_at(capsys: Capture, baseline: Path) -> None:
    baseline.write_text('{"version": 2, "findings": []}')
    assert "has version 2, and only 1 is understood" in check(capsys)[2]
