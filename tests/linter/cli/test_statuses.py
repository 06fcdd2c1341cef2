"""Exit status 0, 1, 2 and 130, and one clear line for whatever is wrong, while the rest is still linted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from durable_lint.cli import main

from tests.linter.cli.project import CLEAN, HAZARD, PLACE, Capture, process, run, write


def test_a_clean_tree_exits_with_0_and_says_how_many_files_were_judged(
    capsys: Capture,
) -> None:
    write("a.py", CLEAN)
    write("pkg/b.pyi", "")
    outcome = run(capsys)
    assert (outcome.status, outcome.out, outcome.err) == (0, "No findings in 2 files.\n", "")


def test_findings_exit_with_1_and_with_0_when_asked(capsys: Capture) -> None:
    write("review.py")
    assert run(capsys, ".").status == 1
    assert PLACE in run(capsys, "review.py").out
    assert run(capsys, "--exit-zero").status == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nope.py"], "nope.py: does not exist"),
        (["--selct", "LDC1"], "unrecognized arguments: --selct; did you mean `--select`?"),
        (["--select", "LDC999"], "command line: `select` names an unknown rule `LDC999`"),
        (["--ignore", "finally-around-suspensoin"], "did you mean `finally-around-suspension`?"),
        (["--output-format", "jsn"], "--output-format: unknown format `jsn`; did you mean `json`?"),
        (["--output-format", "json,sarif"], "json can't share standard output with another format"),
        (["--color", "blue"], "argument --color: invalid choice: 'blue'"),
        (["--jobs", "0"], "argument --jobs: must be a number of at least 1, not '0'"),
        (["--jobs", "many"], "argument --jobs: must be a number of at least 1, not 'many'"),
        (["--explain", "LDC999"], "--explain: unknown rule `LDC999`"),
        (["--explain", "LDC10"], "--explain: `LDC10` is not one rule: LDC101, LDC102,"),
        (["--config", "gone.toml"], "gone.toml: no such configuration file"),
        (["--config", "a.toml", "--isolated"], "--config and --isolated can't be used together"),
        (["--add-noqa", "--fix"], "--add-noqa and --fix can't be used together"),
        (["--baseline", "gone.json"], "gone.json: no such baseline; make one with --write-baseline"),
        (["--stdin-filename", "a.py"], "--stdin-filename needs - as the path"),
        (["-", "a.py"], "- (standard input) can't be given together with other paths"),
        (["-", "--add-noqa"], "--watch and --add-noqa need files, not standard input"),
        (["--list-rules", "--output-format", "sarif"], "this can be printed as text or as json only"),
        (["--output-file", "no/such/dir/out.txt"], "no/such/dir/out.txt: can't be written: "),
        (["--output-format", "sarif", "--statistics"], "--statistics can be printed as text or as json only"),
    ],
)
def test_a_bad_command_line_is_one_line_and_2(capsys: Capture, arguments: list[str], said: str) -> None:
    write("a.py", CLEAN)
    outcome = run(capsys, *arguments)
    assert outcome.status == 2
    assert said in outcome.err
    assert outcome.err.startswith("durable-lint: ")
    assert len(outcome.err.splitlines()) == 1


def test_a_missing_path_does_not_keep_others_from_being_linted(
    capsys: Capture,
) -> None:
    write("review.py")
    outcome = run(capsys, "nope.py", "review.py", "gone/")
    assert outcome.status == 2
    assert PLACE in outcome.out
    assert outcome.err.splitlines() == [
        "durable-lint: nope.py: does not exist",
        "durable-lint: gone: does not exist",
    ]


@pytest.mark.parametrize("option", ["--show-files", "--fix", "--diff"])
def test_a_missing_path_is_said_whatever_is_done_with_the_others(capsys: Capture, option: str) -> None:
    write("a.py")
    outcome = run(capsys, option, "nope.py", "a.py")
    assert outcome.status == 2
    assert "durable-lint: nope.py: does not exist\n" in outcome.err
    assert "a.py" in outcome.out or "Fixed 1 finding." in outcome.out


def test_a_wrong_configuration_does_not_keep_other_projects_from_being_fixed(capsys: Capture) -> None:
    write("one/durable-lint.toml", "selct = []\n")
    left = write("one/a.py")
    write("two/b.py")
    outcome = run(capsys, "--fix", "one/a.py", "two/b.py")
    assert outcome.status == 2
    assert "one/durable-lint.toml: unknown key `selct`" in outcome.err
    assert "Fixed 1 finding." in outcome.out
    assert left.read_text() == HAZARD


def test_a_file_is_judged_once_by_whatever_names_it_is_given(capsys: Capture) -> None:
    write("review.py")
    Path("link.py").symlink_to("review.py")
    outcome = run(capsys, "review.py", "./review.py", "link.py", ".")
    assert outcome.out.count("LDC101") == 1
    assert "in 1 file." in outcome.out


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"x = '\xe9'\n", "cannot be decoded as utf-8: byte 0xe9 on line 1"),
        (b"# coding: klingon\n", "declares an encoding that Python does not know: klingon"),
        (b"\xff\xfex\x00", "cannot be decoded as utf-8"),
    ],
)
def test_a_file_that_cannot_be_decoded_is_one_line_and_the_others_are_linted(
    capsys: Capture, raw: bytes, said: str
) -> None:
    write("bad.py", raw)
    write("review.py")
    outcome = run(capsys)
    assert outcome.status == 2
    assert outcome.err.startswith(f"durable-lint: bad.py: {said}")
    assert len(outcome.err.splitlines()) == 1
    assert PLACE in outcome.out


def test_an_unknown_key_is_one_line_and_other_projects_are_linted(
    capsys: Capture,
) -> None:
    write("one/durable-lint.toml", "selct = []\n")
    write("one/a.py")
    write("one/b.py")
    write("two/review.py")
    outcome = run(capsys, ".")
    assert outcome.status == 2
    assert outcome.err == (
        "durable-lint: one/durable-lint.toml: unknown key `selct` in this file; did you mean `select`?\n"
    )
    assert f"two/{PLACE}" in outcome.out


def test_a_crash_in_one_files_analysis_is_said_with_the_file_and_the_rest_goes_on(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from durable_lint.analysis import Analysis

    findings = Analysis.findings

    def crashing(self: Analysis, source: object, *arguments: object, **named: object) -> object:
        if getattr(source, "path", Path()).name == "bad.py":
            raise RuntimeError("boom\nsecond line")
        return findings(self, source, *arguments, **named)  # type: ignore[arg-type]  # handed through

    monkeypatch.setattr(Analysis, "findings", crashing)
    write("bad.py")
    write("review.py")
    outcome = run(capsys)
    assert outcome.status == 2
    assert PLACE in outcome.out
    (line,) = outcome.err.splitlines()
    assert line.startswith(
        "durable-lint: bad.py: analysis failed (RuntimeError: boom second line at test_statuses.py:"
    )


def test_a_syntax_error_in_a_durable_file_is_a_finding(capsys: Capture) -> None:
    write("bad.py", "import aws_durable_execution_sdk_python\n\nwith x(:\n")
    outcome = run(capsys)
    assert outcome.status == 1
    assert outcome.out.startswith("bad.py:3:8: LDC900 can't be parsed: ")


def test_a_file_over_the_limit_is_skipped_with_a_note_that_the_summary_counts(
    capsys: Capture,
) -> None:
    write("durable-lint.toml", "max-file-size = 300\n")
    write("review.py")
    write("a.py", CLEAN)
    outcome = run(capsys)
    assert outcome.status == 0
    assert outcome.out == "No findings in 1 file.\n1 file skipped as too large (see `max-file-size`).\n"
    assert outcome.err.startswith("durable-lint: review.py: skipped: it has ")


def test_whoever_closes_the_pipe_early_gets_no_traceback_and_the_status_stays() -> None:
    for number in range(200):
        write(f"review{number}.py")
    command = [sys.executable, "-m", "durable_lint", "--output-format", "json"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.read(10)
    running.stdout.close()
    err = running.stderr.read()
    running.stderr.close()
    assert (running.wait(60), err) == (1, b"")


def test_a_pipe_that_nobody_reads_leaves_the_status_and_says_nothing(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("review.py")
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "w") as nobody:
        monkeypatch.setattr(sys, "stdout", nobody)
        status = main(["--no-cache", "review.py"])
    monkeypatch.undo()
    assert (status, capsys.readouterr().err) == (1, "")


def test_an_interrupt_ends_with_130_and_no_traceback() -> None:
    write("review.py")
    command = [sys.executable, "-m", "durable_lint", "--watch"]
    running = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # What a shell runs in the background ignores interrupts, and hands that down to these tests.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert running.stderr is not None
    assert "watching" in running.stderr.readline()
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert err == "durable-lint: interrupted\n"


def test_a_name_that_is_no_text_can_be_linted_and_printed() -> None:
    name = b"caf\xe9.py"
    try:
        Path(os.fsdecode(name)).write_text(HAZARD)
    except OSError:
        return  # this file system takes Unicode names only
    done = process(".")
    assert done.returncode == 1
    assert done.stdout.startswith(b"caf\\udce9.py:16:5: LDC101")
    assert done.stderr == b""


def test_output_survives_a_terminal_that_knows_only_ascii() -> None:
    write("grüße.py")
    done = process("--output-format", "full", PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    assert b"gr\\xfc\\xdfe.py:16:5: LDC101" in done.stdout


def test_a_watch_lints_again_when_a_file_or_the_configuration_changes() -> None:
    file = write("review.py")
    command = [sys.executable, "-m", "durable_lint", "--watch", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        try:
            assert "review.py:16:5: LDC101" in running.stdout.readline()
            assert "watching for changes" in running.stderr.readline()
            file.write_text(f"\n{HAZARD}")
            assert "review.py:17:5: LDC101" in running.stdout.readline()
            assert "watching for changes" in running.stderr.readline()
            write("durable-lint.toml", "selct = []\n")
            assert "unknown key `selct`" in running.stderr.readline()
        finally:
            running.kill()
