"""The SDK version comes from the project's own files: the lowest that all of them allow."""

from __future__ import annotations

from pathlib import Path

import pytest
from durable_lint.config.load import Resolver
from durable_lint.config.sdk_version import allows, detect, forget

SDK = "aws-durable-execution-sdk-python"


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    forget()


def found(path: str = "a.py") -> tuple[str, str]:
    version = detect(Path(path).absolute(), Resolver().for_path(Path(path)))
    return version.version, version.origin


def write(path: str, text: str) -> None:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")


def test_nothing_says_so_the_newest_known_release_is_meant() -> None:
    assert found() == ("3.0.0", "the newest known release")


@pytest.mark.parametrize(
    ("file", "text", "version"),
    [
        ("requirements.txt", f"boto3\n{SDK}==1.7.0  # pinned\n", "1.7.0"),
        ("requirements-dev.txt", f"{SDK}[extra]~=2.0 ; python_version > '3.8'\n", "2.0.0"),
        ("requirements/prod.txt", f"{SDK}>=1.6,<2 --hash=sha256:00\n", "1.6.0"),
        ("constraints.txt", f"{SDK.replace('-', '_')}>2.0.0\n", "2.0.1"),
        ("pyproject.toml", f'[project]\ndependencies = ["{SDK} >=1.7,<4"]\n', "1.7.0"),
        ("pyproject.toml", f'[project.optional-dependencies]\naws = ["{SDK}!=1.*"]\n', "2.0.0"),
        ("pyproject.toml", f'[dependency-groups]\ndev = ["{SDK}>=2.1", {{include-group = "x"}}]\n', "2.1.0"),
        ("pyproject.toml", f'[tool.poetry.dependencies]\n{SDK} = "^2.0.1"\n', "2.0.1"),
        (
            "pyproject.toml",
            f'[tool.poetry.dependencies]\n{SDK} = {{version = "~1.6", optional = true}}\n',
            "1.6.0",
        ),
        ("pyproject.toml", f'[tool.pdm.dev-dependencies]\ntest = ["{SDK}>=2.1"]\n', "2.1.0"),
        (
            "pyproject.toml",
            f'[tool.poetry.dependencies]\npython = "^3.11"\n{SDK} = [{{path = "x"}}, {{version = "2.0.1"}}]\n',
            "2.0.1",
        ),
        (
            "uv.lock",
            f'[[package]]\nname = "boto3"\nversion = "1.0"\n[[package]]\nname = "{SDK}"\nversion = "2.0.1"\n',
            "2.0.1",
        ),
        ("uv.lock", f'[[package]]\nname = "{SDK}"\nversion = "2.1.0"\n', "2.1.0"),
        ("pylock.toml", f'[[packages]]\nname = "{SDK}"\nversion = "2.0.1"\n', "2.0.1"),
        ("Pipfile", f'[packages]\n{SDK} = ">=2"\n', "2.0.0"),
        ("Pipfile.lock", f'{{"default": {{"{SDK}": {{"version": "==1.7.0"}}}}}}', "1.7.0"),
        ("setup.cfg", f"[options]\ninstall_requires =\n    {SDK}>=2.1\n", "2.1.0"),
    ],
)
def test_each_kind_of_dependency_file_is_read(file: str, text: str, version: str) -> None:
    write(file, text)
    assert found() == (version, file)


def test_the_lowest_version_that_every_file_allows_counts() -> None:
    write("pyproject.toml", f'[project]\ndependencies = ["{SDK}>=1.7"]\n')
    write("uv.lock", f'[[package]]\nname = "{SDK}"\nversion = "2.1.0"\n')
    assert found() == ("2.1.0", "uv.lock")


def test_files_that_contradict_each_other_give_the_lowest_of_any() -> None:
    write("requirements-old.txt", f"{SDK}==1.7.0\n")
    write("requirements-new.txt", f"{SDK}==3.0.0\n")
    assert found()[0] == "1.7.0"


def test_the_nearest_directory_that_names_the_sdk_decides() -> None:
    write("requirements.txt", f"{SDK}==1.7.0\n")
    write("services/new/requirements.txt", f"{SDK}==3.0.0\n")
    assert found("services/new/app/a.py")[0] == "3.0.0"
    assert found("services/old/a.py")[0] == "1.7.0"


def test_nothing_above_the_project_is_read() -> None:
    write("requirements.txt", f"{SDK}==1.7.0\n")
    write("inner/pyproject.toml", "[tool.durable-lint]\n")
    assert found("inner/a.py")[0] == "3.0.0"


@pytest.mark.parametrize(
    "line", [SDK, f"{SDK}<4", f"{SDK}>=1.0", f"# {SDK}==1.7.0", f"{SDK} @ https://x/y.whl", "boto3"]
)
def test_a_requirement_that_allows_everything_says_nothing(line: str) -> None:
    write("requirements.txt", line + "\n")
    assert found() == ("3.0.0", "the newest known release")


def test_a_configured_version_is_taken_as_it_is() -> None:
    write("requirements.txt", f"{SDK}==1.7.0\n")
    write("durable-lint.toml", 'sdk-version = "2.0"\n')
    assert found() == ("2.0", "durable-lint.toml")


def test_a_dependency_file_that_is_no_text_says_nothing() -> None:
    Path("requirements.txt").write_bytes(f"{SDK}==1.7.0 # \xe9\n".encode("latin-1"))
    forget()
    assert detect(Path("a.py").absolute(), Resolver(isolated=True).for_path(Path("a.py"))).version == "3.0.0"


@pytest.mark.parametrize(
    "text", ["[project\n", "\udcff".encode("utf-8", "surrogateescape").decode("latin-1"), "[" * 5000]
)
def test_a_broken_dependency_file_says_nothing(text: str) -> None:
    write("pyproject.toml", f"# {SDK}\n{text}")
    write("uv.lock", f"# {SDK}\n{text}")
    forget()
    assert detect(Path("a.py").absolute(), Resolver(isolated=True).for_path(Path("a.py"))).version == "3.0.0"


@pytest.mark.parametrize(
    ("constraint", "yes", "no"),
    [
        ("~=2.0", "2.1.0", "3.0.0"),
        ("~=2.0.0", "2.0.1", "2.1.0"),
        ("^0.1", "0.1.5", "0.2.0"),
        ("^1", "1.7.0", "2.0.0"),
        ("~2", "2.1.0", "3.0.0"),
        ("~1.6", "1.6.0", "1.7.0"),
        ("==2.*", "2.1.0", "3.0.0"),
        ("==1.0.0", "1.0.0", "1.0.0.post1"),
        (">1.0.0,<=1.7", "1.7.0", "2.0.0"),
        ("!=2.0.0", "2.0.1", "2.0.0"),
    ],
)
def test_constraints_mean_what_pep_440_and_poetry_say(constraint: str, yes: str, no: str) -> None:
    assert allows(constraint, yes)
    assert not allows(constraint, no)
