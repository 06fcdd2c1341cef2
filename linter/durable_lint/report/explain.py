"""The pages of the rules (docs/rules), for `--explain`, hover texts and SARIF help."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.report.style import Style

_PACKAGE = Path(__file__).resolve().parent.parent
_FOLDERS = (_PACKAGE / "docs" / "rules", _PACKAGE.parent.parent / "docs" / "rules")
_INLINE = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<bold>[^*]+)\*\*|(?<!!)\[(?P<text>[^\]]+)\]\((?P<url>[^)\s]+)\)"
)


def page(code: str) -> str | None:
    """Return a rule's page as Markdown: from the installed package, or from a checkout. None when there is
    none.
    """
    for folder in _FOLDERS:
        try:
            return strip_front_matter((folder / f"{code}.md").read_text("utf-8"))
        except OSError:
            continue
    return None


def strip_front_matter(text: str) -> str:
    """Return a page without the block between `---` lines that a site generator may want at its start."""
    if not text.startswith("---\n"):
        return text
    end = text.find("\n---\n", 3)
    return text if end < 0 else text[end + 5 :].lstrip("\n")


def paragraph(text: str) -> str:
    """Return the first paragraph of a page that is not a heading, as plain text on one line."""
    for block in text.split("\n\n"):
        lines = block.strip().splitlines()
        if lines and not lines[0].startswith(("#", "|", "```", "!", "<", ">", "- ")):
            return _INLINE.sub(lambda match: match["code"] or match["bold"] or match["text"], " ".join(lines))
    return ""


def render(text: str, style: Style) -> Iterator[str]:
    """Yield a page's lines as a terminal shows them: headings bold, code coloured, links clickable where they
    can be.
    """
    in_code = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            in_code = not in_code
            continue
        if in_code:
            yield f"    {style.paint(line, 'cyan')}".rstrip() + "\n"
        elif line.startswith("#"):
            level = len(line) - len(line.lstrip("#"))
            title = line[level:].strip()
            looks = ("bold", "blue") if level == 1 else ("bold",)
            yield (style.paint(title, *looks) if style.color else line) + "\n"
        else:
            yield _INLINE.sub(lambda match: _inline(match, style), line) + "\n"


def _inline(match: re.Match[str], style: Style) -> str:
    if match["code"]:
        return style.paint(match["code"], "cyan") if style.color else match[0]
    if match["bold"]:
        return style.paint(match["bold"], "bold") if style.color else match["bold"]
    text, url = match["text"], match["url"]
    if "://" not in url:
        return text
    return style.link(text, url) if style.links else f"{text} ({url})"
