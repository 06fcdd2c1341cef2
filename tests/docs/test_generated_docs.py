"""What scripts write into docs/ is what they would write now, and the pages' links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
LINK = re.compile(r"(?<!`)\[[^\]]+\]\((?!https?:|mailto:)([^)\s]+)\)")


@pytest.mark.parametrize("script", sorted(path.name for path in (DOCS / "tools").glob("make_*.py")))
def test_a_generated_page_or_picture_is_up_to_date(script: str) -> None:
    checked = subprocess.run(
        [sys.executable, str(DOCS / "tools" / script), "--check"], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


@pytest.mark.parametrize("picture", sorted(path.name for path in (DOCS / "pictures").glob("*.svg")))
def test_a_picture_is_shown_on_a_page_and_says_what_it_shows(picture: str) -> None:
    root = ElementTree.parse(DOCS / "pictures" / picture).getroot()
    assert [child.tag.rpartition("}")[2] for child in root][:2] == ["title", "desc"]
    assert any(f"pictures/{picture}" in page.read_text(encoding="utf-8") for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    broken = [target for target in LINK.findall(prose(page)) if not leads_somewhere(page, target)]
    assert broken == []


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return re.sub(
        r"^ *(`{3,}).*?^ *\1$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )


def leads_somewhere(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.exists() or not file.is_relative_to(ROOT):
        return False
    return not anchor or file.suffix != ".md" or anchor in anchors(file)


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}
