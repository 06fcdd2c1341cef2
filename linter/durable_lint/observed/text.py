"""Reads source lines by place. From `linecache`, because that has what runs, also where it is no file."""

from __future__ import annotations

import linecache
import re

from durable_lint.observed.source import Span

_LONGEST = 40


def characters(filename: str, row: int, column: int) -> int:
    """Return the column, from 1 and in characters, of a column from 0 in UTF-8 bytes."""
    line = linecache.getline(filename, row)
    return column + 1 if line.isascii() else len(line.encode()[:column].decode(errors="replace")) + 1


def text_at(filename: str, span: Span) -> str:
    """Return the source of a place on one line, shortened."""
    lines = [linecache.getline(filename, row).encode() for row in range(span.row, span.end_row + 1)]
    if not lines:
        return ""
    lines[-1] = lines[-1][: span.end_column]
    lines[0] = lines[0][span.column :]
    flat = " ".join(b" ".join(lines).decode(errors="replace").split())
    return flat if len(flat) <= _LONGEST else flat[: _LONGEST - 3] + "..."


def keyword_above(filename: str, body: Span, protected: Span, word: str) -> Span:
    """Return where the keyword stands that opens a block: between what it protects and the block."""
    pattern = re.compile(rf"\s*{word}\s*:".encode())
    for row in range(body.row, protected.end_row - 1, -1):
        found = pattern.match(linecache.getline(filename, row).encode())
        if found:
            column = found.group().index(word.encode())
            return Span(row, column, row, column + len(word))
    return Span(body.row, body.column, body.row, body.column + 1)
