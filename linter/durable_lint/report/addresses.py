"""Where the documentation is published: the one place in the code that holds an address of this project.

Nothing is published yet, so there is none, and reports, links and editors do without: a rule's page comes
with the package, in the terminal (`--explain`), in SARIF and in the editor. docs/releases.md says what a
first release fills in; `tests/docs/test_addresses.py` holds the other places to it.
"""

from __future__ import annotations

import re

DOCS_URL: str | None = None
"""The address of the site, with a slash at its end."""

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")


def rule_url(code: str) -> str | None:
    """Return the address of a rule's page, None while no page is published."""
    return None if DOCS_URL is None else f"{DOCS_URL}rules/{code}/"


def portable(page: str) -> str:
    """Return a rule's page with links that work wherever it is shown: those to other pages become links to
    the site, or plain words.
    """
    return _LINK.sub(_portable_link, page)


def _portable_link(link: re.Match[str]) -> str:
    text, target = link[1], link[2]
    if "://" in target:
        return link[0]
    if DOCS_URL is None:
        return text
    path, _, anchor = target.partition("#")
    name = path[3:] if path.startswith("../") else f"rules/{path}"
    name = f"{name[:-3]}/" if name.endswith(".md") else name
    return f"[{text}]({DOCS_URL}{name}{'#' + anchor if anchor else ''})"
