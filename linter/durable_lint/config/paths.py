"""How paths are shown to people."""

from __future__ import annotations

from pathlib import Path


def shown(path: Path) -> str:
    """Return a path as people write it: relative to the current directory where it lies in it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
