"""Results that are kept between runs: the same as fresh ones, or not used."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from durable_lint import cache as cache_module
from durable_lint.analysis import Analysis
from durable_lint.cli import main

if TYPE_CHECKING:
    from pathlib import Path

HANDLER = """\
from aws_durable_execution_sdk_python import durable_execution
from helper import work


@durable_execution
def handler(event, context):
    try:
        work(context)
    finally:
        terminate(event)
"""
WAITS = "def work(c):\n    c.wait_for_callback(print)\n"
HARMLESS = "def work(c):\n    return 1\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    root = tmp_path / "project"
    root.mkdir()
    (root / "pyproject.toml").write_text('[project]\nname = "p"\nversion = "0"\n')
    (root / "handler.py").write_text(HANDLER)
    (root / "helper.py").write_text(WAITS)
    (root / "apart.py").write_text("import json\n")
    return root


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were judged and not taken from the cache."""
    names: list[str] = []
    original = Analysis.could_hold_finding

    def could_hold_finding(self: Analysis, path: Path, *arguments: object) -> bool:
        names.append(path.name)
        return original(self, path, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Analysis, "could_hold_finding", could_hold_finding)
    return names


def lint(root: Path, capsys: pytest.CaptureFixture[str], *options: str) -> list[tuple[str, int]]:
    capsys.readouterr()
    assert main(["--output-format", "json", *options, str(root)]) in (0, 1)
    return [(item["code"], item["location"]["row"]) for item in json.loads(capsys.readouterr().out)]


def kept(root: Path) -> Path:
    return root / ".durable_lint_cache" / "results.json"


def test_a_second_run_reports_the_same_and_judges_nothing(
    root: Path, judged: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = []
    for _ in range(2):
        for output_format in ("json", "full", "sarif"):
            main(["--output-format", output_format, "--verbose", str(root)])
            outputs.append(capsys.readouterr())
    assert outputs[:3] == outputs[3:]
    assert "LDC101" in outputs[0].out
    judged.clear()
    assert lint(root, capsys) == [("LDC101", 9)]
    assert judged == []


def test_without_a_cache_every_file_is_judged_and_nothing_is_written(
    root: Path, judged: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        judged.clear()
        lint(root, capsys, "--no-cache")
        assert sorted(judged) == ["apart.py", "handler.py", "helper.py"]
    assert not kept(root).exists()


def test_a_project_without_durable_code_leaves_no_cache(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "handler.py").unlink()
    (root / "helper.py").unlink()
    assert lint(root, capsys) == []
    assert not kept(root).parent.exists()


def test_a_change_in_another_module_counts_for_every_file_that_imports_join_to_it(
    root: Path, judged: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert lint(root, capsys) == [("LDC101", 9)]
    judged.clear()
    (root / "helper.py").write_text(HARMLESS)
    assert lint(root, capsys) == []
    assert sorted(judged) == ["handler.py", "helper.py"]
    (root / "helper.py").write_text(WAITS)
    assert lint(root, capsys) == [("LDC101", 9)]


def test_a_file_that_comes_or_goes_counts(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint(root, capsys) == [("LDC101", 9)]
    (root / "helper.py").rename(root / "work.py")
    (root / "helper").mkdir()
    (root / "helper" / "__init__.py").write_text(HARMLESS)
    assert lint(root, capsys) == []


@pytest.mark.parametrize("options", [("--ignore", "LDC101"), ("--select", "LDC2")])
def test_other_options_have_other_results(
    root: Path, options: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert lint(root, capsys) == [("LDC101", 9)]
    assert lint(root, capsys, *options) == []
    assert lint(root, capsys) == [("LDC101", 9)]


def test_another_configuration_has_other_results(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint(root, capsys) == [("LDC101", 9)]
    with (root / "pyproject.toml").open("a") as stream:
        stream.write('[tool.durable-lint]\nprocess-local = ["handler.terminate", "terminate"]\n')
    assert lint(root, capsys) == lint(root, capsys, "--no-cache") == []


def test_another_version_of_the_sdk_has_other_results(
    root: Path, judged: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    lint(root, capsys)
    judged.clear()
    (root / "requirements.txt").write_text("aws-durable-execution-sdk-python==1.7.0\n")
    from durable_lint.config import sdk_version

    sdk_version._detect.cache_clear()
    lint(root, capsys)
    assert "handler.py" in judged
    sdk_version._detect.cache_clear()


def test_another_version_of_this_program_has_other_results(
    root: Path, judged: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lint(root, capsys)
    judged.clear()
    monkeypatch.setattr(cache_module, "_own_version", lambda: ["another"])
    lint(root, capsys)
    assert "handler.py" in judged


def forge(root: Path) -> None:
    """Say of every file that it is clean."""
    data = json.loads(kept(root).read_bytes())
    data["results"] = {key: {} for key in data["results"]}
    kept(root).write_text(json.dumps(data))


def test_a_cache_that_another_user_made_fits_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lint(root, capsys)
    forge(root)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another_home"))
    assert lint(root, capsys) == [("LDC101", 9)]


@pytest.mark.parametrize("loose", ["directory", "file", "linked directory", "linked file"])
def test_a_cache_that_others_could_write_is_not_read(
    root: Path, loose: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lint(root, capsys)
    forge(root)
    if loose == "directory":
        kept(root).parent.chmod(0o777)
    elif loose == "file":
        kept(root).chmod(0o666)
    elif loose == "linked directory":
        moved = kept(root).parent.rename(tmp_path / "moved")
        kept(root).parent.symlink_to(moved)
    else:
        moved = kept(root).rename(tmp_path / "moved.json")
        kept(root).symlink_to(moved)
    assert lint(root, capsys) == [("LDC101", 9)]


def test_a_cache_that_belongs_to_another_user_is_not_read(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lint(root, capsys)
    forge(root)
    another = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: another)
    assert lint(root, capsys) == [("LDC101", 9)]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"format": 1}',
        b'{"format": 1, "project": 1, "keys": 3, "results": 4}',
        b"[" * 100_000,
        b'{"format": 1, "results": {"a": {"findings": [{}]}}, "keys": {}, "project": ""}',
    ],
)
def test_a_broken_cache_is_no_cache(root: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    lint(root, capsys)
    kept(root).write_bytes(content)
    assert lint(root, capsys) == [("LDC101", 9)]


def test_kept_results_of_the_wrong_shape_are_judged_again(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lint(root, capsys)
    shapes: list[object] = [
        {"findings": [1]},
        {"findings": 3},
        {"notes": [[]]},
        {"suppressed": [{"code": 1}]},
        [],
        3,
        None,
    ]
    for wrong in shapes:
        data = json.loads(kept(root).read_bytes())
        data["results"] = dict.fromkeys(data["results"], wrong)
        kept(root).write_text(json.dumps(data))
        assert lint(root, capsys) == [("LDC101", 9)]


def test_a_project_that_cannot_be_written_to_is_linted_all_the_same(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept(root).parent.write_text("a file stands where the directory would")
    assert lint(root, capsys) == [("LDC101", 9)]


def test_without_a_place_for_the_key_nothing_is_kept(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "home").write_text("not a directory")
    assert lint(root, capsys) == [("LDC101", 9)]
    assert not kept(root).exists()
    monkeypatch.delenv("XDG_CACHE_HOME")


def test_a_file_that_changes_during_the_run_keeps_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    original = Analysis.could_hold_finding

    def edited_meanwhile(self: Analysis, path: Path, *arguments: object) -> bool:
        (root / "helper.py").write_text(HARMLESS)
        return original(self, path, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Analysis, "could_hold_finding", edited_meanwhile)
    lint(root, capsys)
    monkeypatch.undo()
    assert not kept(root).exists()


def test_the_cache_is_ignored_by_git(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lint(root, capsys)
    assert (kept(root).parent / ".gitignore").read_text() == "*\n"
