"""What goes wrong around the linter: disks, permissions, other programs, signals, dying processes.

Each test runs the real command. A file is always the old one or the new one, and no temporary file stays.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OLD = b"""\
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration


@durable_execution
def handler(event: dict, context: DurableContext) -> None:
    try:
        context.wait(Duration.from_hours(1))
    finally:
        context.step(lambda _: terminate(event), name="terminate")
"""


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What `--fix` makes of a handler."""
    path = tmp_path_factory.mktemp("alone") / "handler.py"
    path.write_bytes(OLD)
    subprocess.run([*COMMAND, "--fix", "--quiet", path], check=True, capture_output=True)
    fixed = path.read_bytes()
    assert b"terminal_scope" in fixed
    return fixed


COMMAND = [sys.executable, "-m", "durable_lint", "--no-cache"]


def handlers(root: Path, count: int) -> list[Path]:
    (root / "pyproject.toml").write_text('[project]\nname = "p"\nversion = "0"\n')
    paths = [root / f"handler_{number:03}.py" for number in range(count)]
    for path in paths:
        path.write_bytes(OLD)
    return paths


def run(
    *arguments: str | Path, preexec: Callable[[], None] | None = None, hook: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command(hook), *arguments],
        check=False,
        capture_output=True,
        text=True,
        preexec_fn=preexec,
        timeout=300,
    )


def command(hook: str) -> list[str]:
    """The command, after `hook` has changed something in its process."""
    if not hook:
        return COMMAND
    return [
        sys.executable,
        "-c",
        f"{hook}\nfrom durable_lint.cli import main\nsys.exit(main())",
        "--no-cache",
    ]


def start(*arguments: str | Path, hook: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*command(hook), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
        # What a shell starts in the background ignores interrupts, and so would what it starts itself.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def strays(root: Path) -> list[str]:
    return [path.name for path in root.iterdir() if path.suffix not in (".py", ".toml")]


def test_a_disk_that_is_full_is_one_line_a_file_and_changes_nothing(tmp_path: Path) -> None:
    paths = handlers(tmp_path, 3)

    def small_files_only() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    done = run("--fix", tmp_path, preexec=small_files_only)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if "can't be written" in line]
    assert [path.name in line for path, line in zip(paths, lines, strict=True)] == [True] * 3
    assert "Traceback" not in done.stderr
    assert {path.read_bytes() for path in paths} == {OLD}
    assert strays(tmp_path) == []


def test_a_read_only_file_is_reported_and_the_others_are_fixed(tmp_path: Path, new: bytes) -> None:
    paths = handlers(tmp_path, 3)
    paths[1].chmod(0o444)
    done = run("--fix", tmp_path)
    assert done.returncode == 2
    assert [line for line in done.stderr.splitlines() if "handler_001.py" in line and "read-only" in line]
    assert [path.read_bytes() for path in paths] == [new, OLD, new]
    assert strays(tmp_path) == []


CHANGE_MEANWHILE = """
import sys
from pathlib import Path
from durable_lint import running

write_all = running.write_all

def change_and_write(rewrites):
    path = sorted(rewrites.after)[1]
    {change}
    return write_all(rewrites)

running.write_all = change_and_write
"""


@pytest.mark.parametrize(
    ("change", "left"), [("path.write_bytes(b'edited = 1\\n')", b"edited = 1\n"), ("path.unlink()", None)]
)
def test_a_file_that_changed_or_went_between_reading_and_writing_is_left_alone(
    tmp_path: Path, new: bytes, change: str, left: bytes | None
) -> None:
    paths = handlers(tmp_path, 3)
    done = run("--fix", tmp_path, hook=CHANGE_MEANWHILE.format(change=change))
    assert done.returncode == 2
    assert [line for line in done.stderr.splitlines() if "handler_001.py" in line and "changed" in line]
    assert [path.read_bytes() if path.exists() else None for path in paths] == [new, left, new]
    assert strays(tmp_path) == []


def test_a_file_that_goes_between_the_walk_and_the_reading_is_one_line(tmp_path: Path) -> None:
    handlers(tmp_path, 2)
    hook = (
        "import sys\nfrom durable_lint.linter import Linter\nlint = Linter.lint\n"
        "def gone(self, path, *rest, **options):\n"
        "    if path.name == 'handler_000.py': path.unlink(missing_ok=True)\n"
        "    return lint(self, path, *rest, **options)\n"
        "Linter.lint = gone\n"
    )
    done = run(tmp_path, hook=hook)
    assert done.returncode == 2
    assert "handler_000.py: cannot be read: No such file or directory" in done.stderr
    assert "handler_001.py" in done.stdout
    assert "Traceback" not in done.stderr


SLOW_WRITES = """
import sys, time
from durable_lint.source import write

replace = write._replace

def slow(*arguments):
    replace(*arguments)
    print("written", flush=True)
    time.sleep(0.05)

write._replace = slow
"""


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_ended_while_fixing_leaves_each_file_old_or_new(
    tmp_path: Path, new: bytes, sent: signal.Signals
) -> None:
    paths = handlers(tmp_path, 12)
    process = start("--fix", tmp_path, hook=SLOW_WRITES)
    assert process.stdout is not None
    for _ in range(3):
        assert process.stdout.readline() == "written\n"
    process.send_signal(sent)
    _, errors = process.communicate(timeout=60)
    contents = [path.read_bytes() for path in paths]
    assert set(contents) == {OLD, new}
    assert contents.count(new) < len(paths)
    assert "Traceback" not in errors
    if sent is signal.SIGINT:
        assert process.returncode == 130
        assert strays(tmp_path) == []
    again = run("--fix", "--quiet", tmp_path)
    assert again.returncode == 0, again.stderr
    assert {path.read_bytes() for path in paths} == {new}


def test_two_runs_at_once_fix_everything_and_tear_nothing(tmp_path: Path, new: bytes) -> None:
    paths = handlers(tmp_path, 8)
    processes = [start("--fix", tmp_path) for _ in range(2)]
    for process in processes:
        _, errors = process.communicate(timeout=300)
        assert "Traceback" not in errors
        # One that came to a file between the other's reading and writing reports it as left.
        assert process.returncode in (0, 1, 2), errors
    assert {path.read_bytes() for path in paths} == {new}
    assert strays(tmp_path) == []


def test_an_interrupt_while_waiting_for_input_is_status_130_and_no_traceback(tmp_path: Path) -> None:
    hook = (
        "import sys\nfrom durable_lint.cli import Command\nrun = Command.run\n"
        "def ready(self):\n    print('ready', flush=True)\n    run(self)\nCommand.run = ready\n"
    )
    process = start("--stdin-filename", tmp_path / "a.py", "-", hook=hook)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == "durable-lint: interrupted\n"


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_while_linting_is_status_130_and_no_traceback(tmp_path: Path, jobs: str) -> None:
    handlers(tmp_path, 30)
    hook = (
        # One system call a line: two workers that are unbuffered would mix theirs otherwise.
        "import os, sys, time\nfrom durable_lint.linter import Linter\nlint = Linter.lint\n"
        "def slow(self, *arguments, **options):\n"
        "    os.write(1, b'judging\\n')\n    time.sleep(0.1)\n"
        "    return lint(self, *arguments, **options)\nLinter.lint = slow\n"
    )
    process = start("--jobs", jobs, tmp_path, hook=hook)
    assert process.stdout is not None
    assert process.stdout.readline() == "judging\n"
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == "durable-lint: interrupted\n"
    assert strays(tmp_path) == []


DYING_WORKER = """
import os, sys
from durable_lint.linter import Linter
lint = Linter.lint
parent = os.getpid()

def dies(self, path, *rest, **options):
    if path.name in {names} and os.getpid() != parent:
        os.kill(os.getpid(), 9)
    return lint(self, path, *rest, **options)

Linter.lint = dies
"""


@pytest.mark.parametrize(
    "names", [["handler_000.py"], ["handler_002.py", "handler_005.py"], ["handler_007.py"]]
)
def test_a_worker_process_that_dies_costs_one_file(tmp_path: Path, names: list[str]) -> None:
    paths = handlers(tmp_path, 8)
    done = run("--jobs", "2", "--output-format", "concise", tmp_path, hook=DYING_WORKER.format(names=names))
    assert done.returncode == 2
    died = [
        path.name
        for path in paths
        if any(path.name in line and "died" in line for line in done.stderr.splitlines())
    ]
    assert died == names
    reported = [path.name for path in paths if f"{path.name}:9:5: LDC101" in done.stdout]
    assert reported == [path.name for path in paths if path.name not in names]
    assert "Traceback" not in done.stderr


def test_several_processes_find_what_one_does(tmp_path: Path) -> None:
    handlers(tmp_path, 6)
    (tmp_path / "broken.py").write_bytes(OLD + b"\n(\n")
    (tmp_path / "latin.py").write_bytes(OLD + b"# \xff\n")
    outputs = [run("--jobs", jobs, "--output-format", "json", tmp_path) for jobs in ("1", "3")]
    assert outputs[0].stdout == outputs[1].stdout
    assert sorted(outputs[0].stderr.splitlines()) == sorted(outputs[1].stderr.splitlines())
    assert [done.returncode for done in outputs] == [2, 2]


def test_a_closed_pipe_ends_the_run_without_a_word(tmp_path: Path) -> None:
    handlers(tmp_path, 30)
    process = start(tmp_path)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    process.wait(60)


def test_a_file_of_5_megabytes_is_skipped_with_one_note(tmp_path: Path) -> None:
    handlers(tmp_path, 1)
    (tmp_path / "huge.py").write_bytes(OLD + b"x = [1, 2, 3]\n" * 360_000)
    done = run("--output-format", "concise", tmp_path)
    assert done.returncode == 1
    assert [
        line for line in (done.stdout + done.stderr).splitlines() if "huge.py" in line and "skipped" in line
    ]
    assert "handler_000.py:9:5: LDC101" in done.stdout


@pytest.mark.parametrize(
    "body",
    [
        b"x = " + b"(" * 3_000 + b")" * 3_000,
        b"x = " + b"[" * 10_000 + b"]" * 10_000,
        b"x = 1\0",
        b"".join(b" " * level + b"if x:\n" for level in range(500)) + b" " * 500 + b"x\n",
    ],
    ids=["parentheses", "brackets", "null byte", "indentation"],
)
def test_source_that_python_refuses_is_one_finding_and_the_others_go_on(tmp_path: Path, body: bytes) -> None:
    handlers(tmp_path, 1)
    (tmp_path / "hostile.py").write_bytes(OLD + body + b"\n")
    done = run("--output-format", "concise", tmp_path)
    assert done.returncode == 1
    assert len([line for line in done.stdout.splitlines() if "hostile.py" in line and "LDC900" in line]) == 1
    assert "handler_000.py:9:5: LDC101" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("terms", [1_500, 5_000])
def test_a_sum_of_thousands_of_terms_hides_no_finding(tmp_path: Path, terms: int) -> None:
    handlers(tmp_path, 1)
    total = b" + ".join([b"event['n']"] * terms)
    text = OLD.replace(b"    try:\n", b"    total = " + total + b"\n    try:\n")
    (tmp_path / "sum.py").write_bytes(text)
    for options in ((), ("--diff",)):
        done = run(*options, "--output-format", "concise", tmp_path / "sum.py")
        assert done.returncode in (0, 1)
        assert "Traceback" not in done.stderr
        assert "RecursionError" not in done.stderr
    assert "sum.py:10:5: LDC101" in run("--output-format", "concise", tmp_path / "sum.py").stdout
