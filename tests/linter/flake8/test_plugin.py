"""The plugin under a real flake8: the findings of the command line, flake8's selection and suppression."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.linter.cli.project import CLEAN, HAZARD, write

CASES = Path(__file__).parents[2] / "cases" / "lint"


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)


def flake8(*arguments: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "flake8", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=300,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def found(*arguments: str, stdin: bytes | None = None) -> list[str]:
    """Return place and code of what flake8 reports of ours."""
    lines = flake8("--select", "LDC", *arguments, stdin=stdin).stdout.splitlines()
    return [" ".join(line.split()[:2]) for line in lines]


def test_flake8_lists_the_plugin_and_reports_its_findings() -> None:
    write("review.py")
    assert "durable-lint" in flake8("--version").stdout
    done = flake8("--select", "LDC", "review.py")
    assert done.returncode == 1
    assert done.stdout.startswith("review.py:16:5: LDC101 `finally` would run `terminate-microvm`")
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        ([], True),
        (["--ignore=D"], True),
        (["--ignore=D,E,W,F"], True),
        (["--extend-ignore=LDC2"], True),
        (["--select=LDC101"], True),
        (["--select=LDC1"], True),
        (["--extend-select=LDC1"], True),
        (["--ignore=LDC1"], False),
        (["--select=E"], False),
        (["--per-file-ignores=review.py:LDC101"], False),
    ],
)
def test_flake8_alone_selects_and_ignores(arguments: list[str], reported: bool) -> None:
    write("review.py")
    assert ("LDC101" in flake8(*arguments, "review.py").stdout) is reported


def commented(comment: str) -> str:
    return HAZARD.replace("    finally:", f"    finally:  {comment}")


@pytest.mark.parametrize("comment", ["# noqa", "# noqa: LDC101", "# noqa: LDC1"])
def test_a_noqa_is_flake8s_and_can_be_disabled(comment: str) -> None:
    write("review.py", commented(comment))
    assert found("review.py") == []
    assert found("--disable-noqa", "review.py") == ["review.py:16:5: LDC101"]


def test_a_noqa_for_another_rule_suppresses_nothing() -> None:
    write("review.py", commented("# noqa: LDC2"))
    assert found("review.py") == ["review.py:16:5: LDC101"]


def test_our_file_level_comment_holds_under_flake8_too() -> None:
    write("review.py", f"# durable-lint: noqa: LDC101\n{HAZARD}")
    assert found("review.py") == []


def test_rules_that_are_off_by_default_are_on_only_when_they_are_named() -> None:
    write("review.py", "x = 1  # noqa: LDC101\n")
    assert "LDC901" not in flake8("review.py").stdout
    assert "LDC901" not in flake8("--ignore=D", "review.py").stdout
    assert "LDC901" in flake8("--disable-noqa", "--extend-select=LDC901", "review.py").stdout


PLAIN = HAZARD.replace('context.step(lambda _: terminate(vm), name="terminate-microvm")', "terminate(vm)")


def test_options_stand_in_flake8s_own_configuration() -> None:
    write("review.py", PLAIN)
    write(".flake8", "[flake8]\nselect = LDC\nldc-process-local = review.terminate, x.*\n")
    assert found("review.py") == []
    write("setup.cfg", "[flake8]\nselect = LDC\nldc-suspending =\n    other.thing\n    x.*\n")
    Path(".flake8").unlink()
    assert found("review.py") == ["review.py:16:5: LDC101"]


def test_options_can_be_given_on_the_command_line() -> None:
    write("local.py", PLAIN.replace("terminate(vm)", "print(vm)"))
    assert found("local.py") == []
    assert found("--ldc-strict", "local.py") == ["local.py:16:5: LDC101"]


def test_the_projects_own_configuration_holds_as_on_the_command_line() -> None:
    write("pyproject.toml", '[tool.durable-lint]\nprocess-local = ["review.terminate"]\n')
    write("review.py", PLAIN)
    assert found("review.py") == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--ldc-config", "gone.toml"], "gone.toml: no such configuration file"),
        (["--ldc-sdk-version", "new"], "`sdk-version` must be a version of the SDK"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_said_without_a_traceback(
    arguments: list[str], said: str
) -> None:
    write("review.py")
    done = flake8(*arguments, "review.py")
    assert done.returncode == 1
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_mistake_in_the_projects_configuration_is_said_without_a_traceback() -> None:
    write("pyproject.toml", "[tool.durable-lint]\nselct = 1\n")
    done = flake8("review.py")
    assert done.returncode == 1
    assert "did you mean `select`?" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_standard_input_is_linted_under_its_display_name() -> None:
    write("review.py", CLEAN)
    reported = found("--stdin-display-name", "review.py", "-", stdin=HAZARD.encode())
    assert reported == ["review.py:16:5: LDC101"]
    assert found("-", stdin=HAZARD.encode()) == ["stdin:16:5: LDC101"]


@pytest.mark.parametrize(
    "raw",
    [
        b"\xef\xbb\xbf" + HAZARD.encode(),
        HAZARD.replace("\n", "\r\n").encode(),
        b"# coding: latin-1\n" + HAZARD.replace("vm =", 'a = "\xe9"; vm =').encode("latin-1"),
        HAZARD.replace("    finally:", "    finally:  # \N{SNOWMAN}").encode(),
        b"\x0c" + HAZARD.encode(),
    ],
    ids=["byte order mark", "line ends", "latin-1", "snowman", "form feed"],
)
def test_odd_files_are_judged_as_by_the_command_line(raw: bytes) -> None:
    write("review.py", raw)
    assert found("review.py") == [f"review.py:{17 if raw.startswith(b'#') else 16}:5: LDC101"]


def test_columns_count_characters_also_after_wide_ones() -> None:
    write("review.py", HAZARD.replace("    try:", '    if "\N{SNOWMAN}\N{SNOWMAN}": pass\n    try:'))
    assert found("review.py") == ["review.py:17:5: LDC101"]
    text = HAZARD.replace(
        "    try:\n        context.wait(Duration.from_minutes(5))\n    finally:\n"
        '        context.step(lambda _: terminate(vm), name="terminate-microvm")\n',
        '    with open("\N{SNOWMAN}"), lease("x"):\n        context.wait(event)\n',
    ).replace("from aws", "from leases import lease\nfrom aws", 1)
    write("review.py", text)
    assert found("review.py") == ["review.py:15:21: LDC102"]


def test_a_file_that_does_not_parse_is_left_to_flake8() -> None:
    write("review.py", "import aws_durable_execution_sdk_python\nwith x(:\n")
    text = flake8("review.py").stdout
    assert "E999" in text
    assert "LDC" not in text


def test_several_processes_find_the_same() -> None:
    for number in range(20):
        write(f"pkg/review{number}.py")
    assert sorted(found("--jobs", "2", "pkg")) == sorted(found("--jobs", "1", "pkg"))
    assert len(found("--jobs", "2", "pkg")) == 20


def test_calls_into_other_modules_are_followed_as_on_the_command_line() -> None:
    write("pauses.py", "def pause(c):\n    c.wait(1)\n")
    text = HAZARD.replace("context.wait(", "pause(context) or (")
    write("review.py", f"from pauses import pause\n{text}")
    assert found("review.py") == ["review.py:17:5: LDC101"]


def test_every_case_gives_the_findings_of_the_command_line(tmp_path: Path) -> None:
    shutil.copytree(CASES, tmp_path / "lint")
    command = [sys.executable, "-m", "durable_lint", "--output-format", "json", "lint"]
    ours = json.loads(subprocess.run(command, capture_output=True, check=False, timeout=300).stdout)
    expected = sorted(
        "{}:{row}:{column}: {}".format(
            Path(item["filename"]).relative_to(tmp_path), item["code"], **item["location"]
        )
        for item in ours
        if item["code"] != "LDC900"
    )
    assert len(expected) > 50
    assert sorted(line.removeprefix("./") for line in found("lint")) == expected
