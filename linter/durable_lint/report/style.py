"""How text looks on a terminal: colours and links where they work, plain text everywhere else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

_COLOURS = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36", "bold": "1", "dim": "2"}


class Style(NamedTuple):
    """Whether to colour, whether to link, and how wide a line may be, in columns."""

    color: bool = False
    links: bool = False
    width: int = 110

    def plain(self) -> Style:
        """Return the style for what goes into a file."""
        return Style()

    def paint(self, text: str, *looks: str) -> str:
        """Return the text in the given looks, or as it is."""
        if not self.color or not text:
            return text
        return f"\x1b[{';'.join(_COLOURS[look] for look in looks)}m{text}\x1b[0m"

    def link(self, text: str, url: str | None) -> str:
        """Return the text as a link (OSC 8) that a terminal makes clickable, or as it is."""
        return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\" if self.links and url else text


def style_for(stream: TextIO, choice: str, environment: Mapping[str, str]) -> Style:
    """Return the style for a stream. `choice` is `auto`, `always` or `never`; `auto` respects NO_COLOR and
    FORCE_COLOR.
    """
    terminal = is_terminal(stream)
    if choice == "auto":
        if environment.get("NO_COLOR"):
            color = False
        elif environment.get("FORCE_COLOR", "0") not in {"", "0"}:
            color = True
        else:
            color = terminal and environment.get("TERM") != "dumb"
    else:
        color = choice == "always"
    return Style(color=color, links=color and terminal, width=terminal_width(stream) if terminal else 110)


def is_terminal(stream: TextIO) -> bool:
    """Return whether a person watches this stream."""
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def terminal_width(stream: TextIO) -> int:
    """Return how many columns the terminal has, at least 40."""
    try:
        return max(40, os.get_terminal_size(stream.fileno()).columns)
    except (OSError, ValueError):
        return 110
