"""What rewriting changes, as a unified diff that `git apply` and `patch` take."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from durable_lint.config.paths import shown
from durable_lint.source.text import SourceText

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from durable_lint.report.style import Style

_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")


def diff(before: Mapping[Path, bytes], after: Mapping[Path, bytes], style: Style) -> Iterator[str]:
    """Yield the lines of the difference, file by file. Line ends are those of the files."""
    for path in sorted(after):
        old, new = (
            _LINE.findall(SourceText.from_bytes(path, contents[path]).text) for contents in (before, after)
        )
        name = shown(path)
        for line in difflib.unified_diff(old, new, name, name):
            yield _painted(line, style)
            if not line.endswith("\n"):
                yield "\n\\ No newline at end of file\n"


def _painted(line: str, style: Style) -> str:
    body = line.rstrip("\r\n")
    end = line[len(body) :]
    if line.startswith(("---", "+++")):
        return style.paint(body, "bold") + end
    look = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return (style.paint(body, look) if look else body) + end
