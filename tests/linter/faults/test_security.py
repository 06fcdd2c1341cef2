"""Linting a project runs nothing of it, and its configuration leads nowhere else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from durable_lint.cli import main

from tests.linter.faults.test_faults import OLD

PROGRAMS = Path(sys.executable).parent
NAMES = (
    "ast",
    "json",
    "re",
    "typing",
    "dataclasses",
    "pathlib",
    "tomllib",
    "argparse",
    "libcst",
    "durable_runtime",
)


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A project in which running or importing anything leaves a file behind."""
    body = f"open({str(tmp_path / 'sprung')!r}, 'a').write(__name__ + ' ' + __file__ + '\\n')\n"
    root = tmp_path / "project"
    root.mkdir()
    for name in (*NAMES, "sitecustomize", "conftest", "setup", "helper"):
        (root / f"{name}.py").write_text(body)
    package = root / "aws_durable_execution_sdk_python"
    package.mkdir()
    (package / "__init__.py").write_text(body)
    (root / "handler.py").write_bytes(OLD + b"\n\nimport helper\nhelper.run()\n" + body.encode())
    (root / "pyproject.toml").write_text("[tool.durable-lint]\n")
    (root / "setup.cfg").write_text("[flake8]\nselect = LDC\n")
    return root


@pytest.mark.parametrize(
    "command",
    [
        [PROGRAMS / "durable-lint", "."],
        [PROGRAMS / "durable-lint", "--fix", "--unsafe-fixes", "."],
        [PROGRAMS / "durable-lint", "--jobs", "2", "."],
        [PROGRAMS / "durable-lint", "--output-format", "sarif", "handler.py"],
        [sys.executable, "-m", "durable_lint", "."],
        [PROGRAMS / "flake8", "."],
    ],
    ids=lambda command: " ".join(getattr(part, "name", str(part)) for part in command),
)
def test_nothing_of_the_project_is_imported_or_run(trap: Path, command: list[str | Path]) -> None:
    done = subprocess.run(command, cwd=trap, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr
    sprung = trap.parent / "sprung"
    assert not sprung.exists(), sprung.read_text()


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('cache-dir = "../elsewhere"', "cache-dir"),
        ('cache-dir = "/var/tmp/elsewhere"', "cache-dir"),
        ('cache-dir = "~/elsewhere"', "cache-dir"),
        ('cache-dir = "link/elsewhere"', "cache-dir"),
        ('src = ["src", "../elsewhere"]', "src"),
        ('src = ["$HOME"]', "src"),
    ],
)
def test_a_configuration_that_leads_out_of_the_project_is_an_error(
    tmp_path: Path, line: str, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    (root / "handler.py").write_bytes(OLD)
    (root / "pyproject.toml").write_text(f"[tool.durable-lint]\n{line}\n")
    assert main([str(root)]) == 2
    assert f"`{key}` leads out of the project" in capsys.readouterr().err
    assert not (tmp_path / "elsewhere").exists()


def test_import_roots_may_be_elsewhere_in_the_same_repository(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs" / "helper.py").write_text("def work(c):\n    c.wait_for_callback(print)\n")
    root = tmp_path / "service"
    root.mkdir()
    (root / "pyproject.toml").write_text('[tool.durable-lint]\nsrc = ["../libs"]\n')
    text = OLD.decode().replace("context.wait(Duration.from_hours(1))", "helper.work(context)")
    (root / "handler.py").write_text(text.replace("\n\n\n", "\nimport helper\n\n\n", 1))
    assert main(["--output-format", "json", "--no-cache", str(root)]) == 1
    assert [item["code"] for item in json.loads(capsys.readouterr().out)] == ["LDC101"]


def test_an_import_that_leads_out_of_the_project_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("x = 1\n")
    root = tmp_path / "project"
    root.mkdir()
    (root / "pyproject.toml").write_text("")
    (root / "handler.py").write_bytes(b"from ..secret import x\nfrom .. import secret\nimport secret\n" + OLD)
    read: list[str] = []
    sys.addaudithook(lambda event, arguments: read.append(str(arguments[0])) if event == "open" else None)
    main([str(root)])
    capsys.readouterr()
    assert str(root / "handler.py") in read
    assert str(secret) not in read
    monkeypatch.undo()


def test_files_are_made_only_in_the_cache_of_the_project_and_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    root = tmp_path / "project"
    root.mkdir()
    (root / "pyproject.toml").write_text("")
    (root / "handler.py").write_bytes(OLD)
    assert main([str(root)]) == 1
    capsys.readouterr()
    made = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert made == [
        "home/durable-lint/key",
        "project/.durable_lint_cache/.gitignore",
        "project/.durable_lint_cache/results.json",
        "project/handler.py",
        "project/pyproject.toml",
    ]
    for private in (home / "durable-lint", home / "durable-lint" / "key", root / ".durable_lint_cache"):
        assert private.stat().st_mode & 0o022 == 0
    assert (home / "durable-lint" / "key").stat().st_mode & 0o077 == 0
    assert [path.name for path in home.iterdir()] == ["durable-lint"]
