"""Follows every link of the built site that stays on it: pages, files and anchors.

The generator checks links between pages; this looks at what a browser will get, so that links to files and folders
count too, and nothing may be loaded from another host.

Usage: python docs/tools/check_site.py FOLDER
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("img", "src"), ("script", "src"), ("iframe", "src"), ("source", "src")}
LOADED_LINKS = {"stylesheet", "icon", "preload", "preconnect", "modulepreload"}


class Page(HTMLParser):
    """The anchors of one page, where its links lead, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what one tag defines, links to or loads."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        self.loads += [given[name] for wanted, name in LOADED if wanted == tag and name in given]
        if tag == "link" and LOADED_LINKS & set(given.get("rel", "").split()):
            self.loads.append(given.get("href", ""))


def main() -> int:
    site = Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    faults = [
        f"{path.relative_to(site)}: {fault}"
        for path, page in pages.items()
        if path.name != "404.html"
        for fault in faults_of(path, page, pages, site)
    ]
    sys.stdout.write("".join(f"{fault}\n" for fault in faults))
    sys.stdout.write(f"{len(pages)} pages, {len(faults)} faults\n")
    return 1 if faults or not pages else 0


def faults_of(path: Path, page: Page, pages: dict[Path, Page], site: Path) -> list[str]:
    outside = [f"loads {url}" for url in page.loads if urlsplit(url).netloc]
    inside = [url for url in page.links + page.loads if not urlsplit(url).scheme and not urlsplit(url).netloc]
    return outside + [f"dead link {url}" for url in inside if not leads_somewhere(path, url, pages, site)]


def leads_somewhere(path: Path, url: str, pages: dict[Path, Page], site: Path) -> bool:
    parts = urlsplit(url)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_file() or not target.is_relative_to(site):
        return False
    anchor = unquote(parts.fragment)
    return not anchor or target not in pages or anchor in pages[target].anchors


if __name__ == "__main__":
    sys.exit(main())
