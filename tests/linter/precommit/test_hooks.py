"""The hooks in a real git repository: a commit with a hazard is refused, a clean one passes, fixes apply."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.linter.cli.project import CLEAN, HAZARD, write

CHECKOUT = Path(__file__).parents[3]
PACKAGED = (
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "linter",
    "docs/rules",
    ".pre-commit-hooks.yaml",
)


def git(*arguments: str, where: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", *arguments], cwd=where, capture_output=True, text=True, check=False, timeout=600
    )


def new_repository(where: Path) -> None:
    where.mkdir(parents=True)
    git("init", "-q", "-b", "main", where=where)
    for key, value in (
        ("user.name", "Someone"),
        ("user.email", "someone@example.com"),
        ("commit.gpgsign", "false"),
    ):
        git("config", key, value, where=where)


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository that offers the hooks: what the checkout holds now, committed."""
    where = tmp_path_factory.mktemp("hooks") / "durable-lint"
    new_repository(where)
    for name in PACKAGED:
        source, target = CHECKOUT / name, where / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, target)
    git("add", "-A", where=where)
    git("commit", "-q", "-m", "hooks", where=where)
    return where


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pre-commit")


@pytest.fixture
def repository(tmp_path: Path, hooks: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the current directory a repository that uses the hooks."""
    for variable in [name for name in os.environ if name.startswith(("GIT_", "PRE_COMMIT"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("PRE_COMMIT_HOME", str(cache))
    where = tmp_path / "app"
    new_repository(where)
    monkeypatch.chdir(where)
    revision = git("rev-parse", "HEAD", where=hooks).stdout.strip()
    configure(hooks, revision, "durable-lint")
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "install"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return where


def configure(hooks: Path, revision: str, hook: str) -> None:
    write(
        ".pre-commit-config.yaml",
        f"repos:\n  - repo: {hooks.as_uri()}\n    rev: {revision}\n    hooks:\n      - id: {hook}\n",
    )
    git("add", ".pre-commit-config.yaml")


def commit(*files: str) -> subprocess.CompletedProcess[str]:
    git("add", *files)
    return git("commit", "-m", "change")


def test_a_commit_with_a_hazard_is_refused_and_one_without_passes(repository: Path) -> None:
    write("review.py")
    refused = commit("review.py")
    assert refused.returncode == 1
    assert "review.py:16:5: LDC101" in refused.stdout + refused.stderr
    assert git("log", "--oneline").stdout == ""
    write("review.py", CLEAN)
    passed = commit("review.py")
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert len(git("log", "--oneline").stdout.splitlines()) == 1
    assert repository.name == "app"


def test_only_the_changed_files_are_given_but_calls_into_the_others_are_followed(repository: Path) -> None:
    write("pauses.py", "def pause(c):\n    c.wait(1)\n")
    assert commit("pauses.py").returncode == 0
    text = HAZARD.replace("context.wait(", "pause(context) or (")
    write("review.py", f"from pauses import pause\n{text}")
    refused = commit("review.py")
    assert refused.returncode == 1
    assert "review.py:17:5: LDC101" in refused.stdout + refused.stderr
    assert "pause" in refused.stdout + refused.stderr
    assert repository.name == "app"


def test_what_the_configuration_excludes_is_excluded_though_it_is_given_by_name(repository: Path) -> None:
    write("pyproject.toml", '[tool.durable-lint]\nextend-exclude = ["legacy"]\n')
    write("legacy/review.py")
    passed = commit("pyproject.toml", "legacy/review.py")
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert repository.name == "app"


def test_the_fixing_hook_refuses_once_and_passes_with_its_change(repository: Path, hooks: Path) -> None:
    configure(hooks, git("rev-parse", "HEAD", where=hooks).stdout.strip(), "durable-lint-fix")
    write("review.py")
    refused = commit("review.py")
    assert refused.returncode == 1
    assert "files were modified by this hook" in refused.stdout + refused.stderr
    assert "terminal_scope(context" in Path("review.py").read_text()
    passed = commit("review.py")
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert repository.name == "app"
