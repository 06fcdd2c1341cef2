"""Globs over paths, as configuration files write them: `*` and `?` stop at a slash, `**` does not."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def matches(path: Path, pattern: str, root: Path) -> bool:
    """Return whether a glob names the path. One without a slash is tried on the file's name, others from the
    root.
    """
    compiled = translate(pattern.rstrip("/"))
    if "/" not in pattern:
        return compiled.fullmatch(path.name) is not None
    if path.is_relative_to(root) and compiled.fullmatch(path.relative_to(root).as_posix()):
        return True
    return compiled.fullmatch(path.as_posix()) is not None


@lru_cache(maxsize=256)
def translate(pattern: str) -> re.Pattern[str]:
    """Return a regular expression for a whole path. A pattern that is no glob matches itself."""
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        rest = pattern[at:]
        if rest.startswith("**/"):
            parts.append("(?:.*/)?")
            at += 3
        elif rest.startswith("**"):
            parts.append(".*")
            at += 2
        elif rest[0] == "*":
            parts.append("[^/]*")
            at += 1
        elif rest[0] == "?":
            parts.append("[^/]")
            at += 1
        elif rest[0] == "[" and "]" in rest[2:]:
            end = rest.index("]", 2)
            inside = rest[1:end].replace("\\", "\\\\").replace("[", "\\[")
            parts.append(f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]")
            at += end + 1
        else:
            parts.append(re.escape(rest[0]))
            at += 1
    try:
        return re.compile("".join(parts))
    except re.error:
        return re.compile(re.escape(pattern))
