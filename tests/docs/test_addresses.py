"""No page, report or package sends its reader to an address that nobody has: see docs/releases.md, *Addresses*."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from durable_lint.report import addresses

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("[!.]*/README.md"), *sorted((ROOT / "docs").rglob("*.md"))]
FILES = [
    *PAGES,
    *ROOT.glob("*.toml"),
    *ROOT.glob("*/*.toml"),
    *ROOT.glob("*.y*ml"),
    *ROOT.glob(".pre-commit-*"),
]
REPOSITORY = re.compile(
    r"https?://github\.com/([\w.-]+)/durable-(?:lint|runtime)|uses: ([\w.-]+)/durable-lint"
)
SITE = re.compile(r"https?://[\w.-]*durable-?(?:lint|runtime)[\w.-]*")
OUTSIDE = {"https://github.com/aws/aws-durable-execution-sdk-python"}


def test_every_address_of_ours_is_the_one_that_is_published_or_the_placeholder() -> None:
    for file in FILES:
        text = file.read_text("utf-8")
        owners = {one or other for one, other in REPOSITORY.findall(text)}
        assert len(owners) <= 1 and owners <= {"OWNER"}, f"{file.relative_to(ROOT)}: {owners}"
        for found in SITE.findall(text):
            assert addresses.DOCS_URL and addresses.DOCS_URL.startswith(found), file.relative_to(ROOT)


def test_a_page_that_shows_the_placeholder_says_what_it_stands_for() -> None:
    shown = [page for page in PAGES if "OWNER/" in page.read_text("utf-8")]
    assert ROOT / "README.md" in shown
    for page in shown:
        text = page.read_text("utf-8")
        assert "`OWNER`" in text and "releases.md#addresses" in text, page.relative_to(ROOT)


def test_the_packages_and_the_site_have_the_address_that_reports_link_to() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]
    assert site.get("site_url") == addresses.DOCS_URL
    for folder in (ROOT, ROOT / "runtime"):
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
        assert project.get("urls", {}).get("Documentation") == addresses.DOCS_URL


def test_links_to_other_sites_are_few_and_known() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((https?://[^)\s]+)\)", page.read_text("utf-8")):
            assert target in OUTSIDE, f"{page.relative_to(ROOT)}: {target}"
