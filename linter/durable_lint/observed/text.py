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
    return _shortened(_flat(filename, span))


def called_text(filename: str, span: Span) -> str:
    """Return the source of what a call at a place calls: the call without its last arguments."""
    text = _flat(filename, span)
    depth = 0
    for index in range(len(text) - 1, -1, -1) if text.endswith(")") else ():
        depth += (text[index] in ")]}") - (text[index] in "([{")
        if depth == 0:
            return _shortened(text[:index].rstrip())
    return _shortened(text)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _flat(filename: str, span: Span) -> str:
    lines = [linecache.getline(filename, row).encode() for row in range(span.row, span.end_row + 1)]
    if not lines:
        return ""
    lines[-1] = lines[-1][: span.end_column]
    lines[0] = lines[0][span.column :]
    return " ".join(b" ".join(lines).decode(errors="replace").split())


def keyword_above(filename: str, body: Span, protected: Span, word: str) -> Span:
    """Return where the keyword stands that opens a block: between what it protects and the block."""
    pattern = re.compile(rf"\s*{word}\s*:".encode())
    for row in range(body.row, protected.end_row - 1, -1):
        found = pattern.match(linecache.getline(filename, row).encode())
        if found:
            column = found.group().index(word.encode())
            return Span(row, column, row, column + len(word))
    return Span(body.row, body.column, body.row, body.column + 1)
