"""What the site and the README show is what there is: every page, every dependency, what the tool says."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import durable_lint
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES_WITH_FIRST_FINDING = ["README.md", "linter/README.md", "docs/quickstart.md"]


def pages_in(navigation: object) -> Iterator[str]:
    if isinstance(navigation, str):
        yield navigation
    elif isinstance(navigation, dict):
        yield from pages_in(list(navigation.values()))
    elif isinstance(navigation, list):
        for entry in navigation:
            yield from pages_in(entry)


def test_a_reader_finds_every_page_in_the_navigation_of_the_site() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]
    listed = list(pages_in(site["nav"]))
    written = [str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")]
    assert sorted(listed) == sorted(written), "docs/ and `nav` in zensical.toml differ"


def test_no_page_links_out_of_the_folder_that_becomes_the_site() -> None:
    for page in DOCS.rglob("*.md"):
        for target in re.findall(r"\]\((\.\.?/[^)#\s]+)", page.read_text("utf-8")):
            assert (page.parent / target).resolve().is_relative_to(DOCS), (
                f"{page.relative_to(ROOT)}: {target}"
            )


def declared() -> set[str]:
    """The names of all distributions that the two packages, their builds and the sessions of nox ask for."""
    wanted: list[str] = []
    for file in ("pyproject.toml", "runtime/pyproject.toml"):
        content = tomllib.loads((ROOT / file).read_text("utf-8"))
        wanted += content["build-system"]["requires"] + content["project"]["dependencies"]
        groups = [*content["project"].get("optional-dependencies", {}).values()]
        groups += content.get("dependency-groups", {}).values()
        wanted += [requirement for group in groups for requirement in group]
    noxfile = (ROOT / "noxfile.py").read_text("utf-8")
    wanted += re.findall(r'session\.install\("(\w[^"]*)"', noxfile) + re.findall(
        r'"(\w[\w-]*>=[^"]*)"', noxfile
    )
    names = {match[0] for requirement in wanted if (match := re.match(r"[\w-]+", requirement))}
    return names - {"durable-lint"}


def test_every_dependency_is_named_with_its_reason() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \|.*\w.* \|$", (DOCS / "dependencies.md").read_text("utf-8"), re.M)
    assert declared() | {"nox", "build", "twine"} == set(rows)


@pytest.mark.parametrize("page", PAGES_WITH_FIRST_FINDING)
def test_the_first_finding_looks_as_the_page_shows_it(page: str, tmp_path: Path) -> None:
    text = (ROOT / page).read_text("utf-8")
    code = re.findall(r"lint=LDC101.*?```python\n(.*?)```", text, re.DOTALL)[0]
    shown = re.findall(r"```text\n(review\.py.*?)```", text, re.DOTALL)[0]
    assert said(tmp_path, code, "--output-format", "full") == shown


def test_the_readme_shows_what_fix_writes(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    before, after = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[:2]
    said(tmp_path, before, "--fix")
    assert (tmp_path / "review.py").read_text("utf-8") == after


def test_the_quick_start_shows_what_diff_prints(tmp_path: Path) -> None:
    text = (DOCS / "quickstart.md").read_text("utf-8")
    code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]
    [shown] = re.findall(r"```diff\n(.*?)```", text, re.DOTALL)
    assert said(tmp_path, code, "--diff") == shown


def said(folder: Path, code: str, *options: str) -> str:
    """What the tool prints for a project of one file, `review.py`."""
    (folder / "pyproject.toml").touch()
    (folder / "review.py").write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "durable_lint", "--no-cache", *options, "review.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


def test_versions_are_in_step() -> None:
    packages = [
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text("utf-8")) for folder in (".", "runtime")
    ]
    [version] = {package["project"]["version"] for package in packages}
    assert durable_lint.__version__ == version
    assert re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)[0] == version
    shown = re.compile(r"(?:rev: |durable-lint@)v(\S+)")
    for page in [ROOT / "README.md", *(DOCS / "integrations").glob("*.md")]:
        assert set(shown.findall(page.read_text("utf-8"))) <= {version}, page.name
