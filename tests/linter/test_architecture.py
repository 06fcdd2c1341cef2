"""The house is easy to walk through: data flows one way, and heavy things are imported where they are needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINTER = ROOT / "linter" / "durable_lint"

MAY_IMPORT: dict[str, set[str]] = {
    "source": set(),
    "sdk": set(),
    "gate": {"source"},
    "facts": {"source", "sdk"},
    "project": {"source", "gate", "facts", "sdk"},
    "rules": {"source", "facts", "project", "sdk"},
    # The settings know the rules' codes and names; nothing that is judged or evaluated knows the settings.
    "config": {"source", "rules"},
    "fixes": {"source", "facts", "project", "rules", "sdk", "config"},
    "report": {"source", "rules", "config"},
}


def modules(folder: str) -> list[Path]:
    return sorted((LINTER / folder).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Return every module that a file imports, inside functions and for type checking too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_a_folder_imports_only_what_stands_before_it(folder: str) -> None:
    names = {path.name for path in LINTER.iterdir() if path.is_dir()}
    for path in modules(folder):
        parts = {name.split(".")[1] for name in imported(path) if name.startswith("durable_lint.")}
        beyond = (parts & names) - MAY_IMPORT[folder] - {folder}
        assert not beyond, f"{path.relative_to(ROOT)} imports {sorted(beyond)}"


def test_no_folder_of_the_house_knows_the_fronts() -> None:
    fronts = {"cli", "server", "flake8_plugin", "linter", "analysis", "pytest_plugin", "running"}
    for folder in MAY_IMPORT:
        for path in modules(folder):
            parts = {name.split(".")[1] for name in imported(path) if name.startswith("durable_lint.")}
            assert not parts & fronts, path.relative_to(ROOT)


@pytest.mark.parametrize("folder", ["sdk", "config", "project", "rules"])
def test_what_judges_touches_no_syntax_tree(folder: str) -> None:
    for path in modules(folder):
        if path.name == "ldc205.py":
            continue  # it compares two cleanups as texts, for which it reads them again
        names = imported(path)
        assert "libcst" not in {name.partition(".")[0] for name in names}, path.relative_to(ROOT)
        assert "ast" not in names or "ast.Module" in path.read_text(), path.relative_to(
            ROOT
        )  # handed through


def test_only_the_fixes_and_the_reader_of_newer_syntax_use_libcst() -> None:
    users = {path.relative_to(LINTER).parts[0] for path in LINTER.rglob("*.py") if "libcst" in imported(path)}
    assert users <= {"fixes", "source"}


def test_the_two_packages_do_not_know_each_other() -> None:
    runtime = sorted((ROOT / "runtime" / "durable_runtime").rglob("*.py"))
    for path in runtime:
        assert "durable_lint" not in {name.partition(".")[0] for name in imported(path)}
    for path in sorted(LINTER.rglob("*.py")):
        assert "durable_runtime" not in {name.partition(".")[0] for name in imported(path)}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["clean.py"], ["durable.py"]])
def test_a_clean_run_loads_no_libcst(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "clean.py").write_text("try:\n    x = 1\nfinally:\n    print(x)\n")
    (tmp_path / "durable.py").write_text(
        "from aws_durable_execution_sdk_python import durable_execution\n"
        "@durable_execution\n"
        "def handler(event, context):\n"
        "    try:\n"
        "        return context.step(lambda _: 1)\n"
        "    finally:\n"
        "        print('over')\n"
    )
    script = (
        "import sys\n"
        "from durable_lint.cli import main\n"
        "try:\n"
        "    status = main(sys.argv[1:])\n"
        "except SystemExit as leaving:\n"
        "    status = leaving.code\n"
        "assert not status, status\n"
        "assert not [name for name in sys.modules if name.partition('.')[0] == 'libcst']\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
