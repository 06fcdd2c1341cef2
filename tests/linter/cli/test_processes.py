"""Several processes say and write what one does, in the same order."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from durable_lint import running, workers
from durable_lint.linter import Linter

from tests.linter.cli.project import CLEAN, HAZARD, Capture, run, write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest
    from durable_lint.linter import FileResult
    from durable_lint.running import Total


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


def test_a_second_process_is_used_only_where_there_is_much_to_judge(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    files(6)
    monkeypatch.setattr(running, "_processors", lambda: 2)
    used: list[int] = []
    together = workers.lint_in_processes

    def counted(linter: Linter, files: Sequence[tuple[Path, int]], total: Total, jobs: int) -> None:
        used.append(jobs)
        together(linter, files, total, jobs)

    monkeypatch.setattr(workers, "lint_in_processes", counted)
    alone = run(capsys, "--no-cache", ".")
    assert used == []
    monkeypatch.setattr(running, "_WORTH_A_PROCESS", 100)
    assert run(capsys, "--no-cache", ".") == alone
    assert used == [2]


def test_a_file_that_kills_its_process_is_a_failure_and_the_others_are_judged(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    lint = Linter.lint

    def deadly(self: Linter, path: Path, raw: bytes | None = None, *, passed: bool = False) -> FileResult:
        if path.name == "handler_1.py":
            os._exit(9)
        return lint(self, path, raw, passed=passed)

    files(6)
    monkeypatch.setattr(Linter, "lint", deadly)
    outcome = run(capsys, "--no-cache", "--jobs", "2", ".")
    assert outcome.status == 2
    assert outcome.out.count("LDC101") == 3
    assert outcome.err == (
        "durable-lint: handler_1.py: the process that judged it died (killed, or out of memory);"
        " lint it alone with --jobs 1\n"
    )


def test_where_threads_run_processes_are_not_forked_and_report_the_same(capsys: Capture) -> None:
    files(3)
    alone = run(capsys, "--no-cache", "--jobs", "1", ".")
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        assert run(capsys, "--no-cache", "--jobs", "2", ".") == alone
    finally:
        over.set()
        thread.join()
