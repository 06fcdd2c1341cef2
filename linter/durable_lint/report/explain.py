"""The pages of the rules (docs/rules), for `--explain`, hover texts and SARIF help."""

from __future__ import annotations

import re
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.report.style import Style

_PACKAGE = Path(__file__).resolve().parent.parent
_FOLDERS = (_PACKAGE / "docs" / "rules", _PACKAGE.parent.parent / "docs" / "rules")
_COMMENT = re.compile(r"^<!--.*?-->\n?", re.MULTILINE | re.DOTALL)
_PRINTS = re.compile(r"^<!-- example: prints.*?-->\n", re.MULTILINE)
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;;[^\x1b]*\x1b\\\\")
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
    """Yield a page's lines as a terminal shows them.

    Headings are bold, code is coloured, links can be clicked, tables are aligned; comments are left out.
    """
    in_code = False
    table: list[str] = []
    for line in _COMMENT.sub("", _PRINTS.sub("It prints:\n\n", text)).splitlines():
        if line.startswith("|") and not in_code:
            table.append(line)
            continue
        yield from _table(table, style)
        table.clear()
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif in_code:
            yield f"    {style.paint(line, 'cyan')}".rstrip() + "\n"
        elif line.startswith("#"):
            level = len(line) - len(line.lstrip("#"))
            looks = ("bold", "blue") if level == 1 else ("bold",)
            yield (style.paint(line[level:].strip(), *looks) if style.color else line) + "\n"
        else:
            yield _INLINE.sub(lambda match: _inline(match, style), line) + "\n"
    yield from _table(table, style)


def _table(lines: list[str], style: Style) -> Iterator[str]:
    """Yield a table's rows with aligned columns, without an empty head and the line below it."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    rows = [row for row in rows if any(cell.strip("-: ") for cell in row)]
    cells = [[_INLINE.sub(lambda match: _inline(match, style), cell) for cell in row] for row in rows]
    shown = [[len(_ESCAPE.sub("", cell)) for cell in row] for row in cells]
    widths = [max(column) for column in zip_longest(*shown, fillvalue=0)]
    for row, lengths in zip(cells, shown, strict=True):
        padded = (
            cell + " " * (width - length) for cell, width, length in zip(row, widths, lengths, strict=False)
        )
        yield "  " + "  ".join(padded).rstrip() + "\n"


def _inline(match: re.Match[str], style: Style) -> str:
    if match["code"]:
        return style.paint(match["code"], "cyan") if style.color else match[0]
    if match["bold"]:
        return style.paint(match["bold"], "bold") if style.color else match["bold"]
    text, url = match["text"], match["url"]
    if "://" not in url:
        return text
    return style.link(text, url) if style.links else f"{text} ({url})"
