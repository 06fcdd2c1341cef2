"""Several processes say and write what one does, in the same order."""

from __future__ import annotations

from tests.linter.cli.project import CLEAN, HAZARD, Capture, run, write


def files(count: int) -> None:
    for number in range(count):
        write(f"handler_{number}.py", CLEAN if number % 3 == 2 else HAZARD)


def test_several_processes_report_what_one_does(capsys: Capture) -> None:
    files(8)
    outcomes = [run(capsys, "--no-cache", "--jobs", jobs, ".") for jobs in ("1", "2", "3")]
    assert outcomes[0].out.count("LDC101") == 6
    assert [outcome.status for outcome in outcomes] == [1, 1, 1]
    assert outcomes[1].out == outcomes[0].out
    assert outcomes[2].out == outcomes[0].out


def test_a_file_that_does_not_parse_and_one_that_is_not_there_are_told_by_several_processes_too(
    capsys: Capture,
) -> None:
    files(3)
    write("broken.py", "from aws_durable_execution_sdk_python import (\n")
    outcomes = [run(capsys, "--no-cache", "--jobs", jobs, ".", "gone.py") for jobs in ("1", "2")]
    assert outcomes[0].status == 2
    assert outcomes[1] == outcomes[0]


def test_several_processes_use_and_leave_a_cache(capsys: Capture) -> None:
    files(4)
    first = run(capsys, "--jobs", "2", ".")
    assert run(capsys, "--jobs", "2", ".") == first
