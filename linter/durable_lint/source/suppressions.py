"""Comments that switch findings off: `# noqa`, `# noqa: LDC101`, and `# durable-lint: noqa` for a whole file.

Reads comments only, never strings that look like one. It knows nothing of rules but their codes and names,
which are handed in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from durable_lint.source.text import SourceText

_WORD = r"[A-Za-z][A-Za-z0-9-]*"
_CODE = re.compile(r"[A-Za-z]+[0-9]+|LDC", re.IGNORECASE)
_INLINE = re.compile(r"#\s*noqa(?![\w-])", re.IGNORECASE)
_WHOLE = re.compile(r"#\s*durable-lint\s*:\s*noqa(?![\w-])", re.IGNORECASE)
_CODES = re.compile(rf"\s*:\s*(?=[A-Za-z])(?P<codes>{_WORD}(?:[,\s]+{_WORD})*)")
_SEPARATOR = re.compile(r"[,\s]+")


class Suppressible(Protocol):
    """What a suppression has to know of a finding."""

    @property
    def code(self) -> str:
        """The rule's code."""

    @property
    def noqa_rows(self) -> frozenset[int]:
        """The rows on which a suppression counts, from 1."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One code of a suppression: as it is written, the prefix of codes that it means, and where it stands."""

    written: str
    prefix: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment's suppression. Columns count characters from 1; `start` to `end` is the part that
    suppresses.

    `entries` is empty for one that names no code and so suppresses every rule.
    """

    row: int
    start: int
    end: int
    entries: tuple[Entry, ...]
    whole_file: bool

    def covers(self, code: str) -> bool:
        """Return whether a finding with this code is suppressed."""
        return not self.entries or any(code.startswith(entry.prefix) for entry in self.entries)


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment with the row (from 1) and the column (in characters, from 1) at which it starts."""

    row: int
    column: int
    text: str


class Suppressions:
    """The suppressions of one file. `names` maps names of rules to codes, so that both can be written."""

    def __init__(self, source: SourceText, names: Mapping[str, str]) -> None:
        self.all: tuple[Suppression, ...] = ()
        if re.search("noqa", source.text, re.IGNORECASE):
            self.all = tuple(found for comment in comments(source) for found in read(comment, names))

    def covering(self, finding: Suppressible) -> list[Suppression]:
        """Return every suppression that switches this finding off."""
        return [
            suppression
            for suppression in self.all
            if (suppression.whole_file or suppression.row in finding.noqa_rows)
            and suppression.covers(finding.code)
        ]


def read(comment: Comment, names: Mapping[str, str]) -> Iterator[Suppression]:
    """Yield the suppressions of one comment. After the codes a reason may follow; it is left alone."""
    for pattern in (_WHOLE, _INLINE):
        match = pattern.search(comment.text)
        if match is None:
            continue
        start = comment.column + match.start()
        codes = _CODES.match(comment.text, match.end())
        entries = (
            ()
            if codes is None
            else tuple(_entries(codes["codes"], comment.column + codes.start("codes"), names))
        )
        end = entries[-1].end if entries else comment.column + match.end()
        yield Suppression(comment.row, start, end, entries, pattern is _WHOLE)
        return


def _entries(text: str, column: int, names: Mapping[str, str]) -> Iterator[Entry]:
    at = 0
    while at < len(text):
        separator = _SEPARATOR.search(text, at)
        end = separator.start() if separator else len(text)
        word = text[at:end]
        if word.lower() in names:
            prefix = names[word.lower()]
        elif _CODE.fullmatch(word):
            prefix = word.upper()
        else:
            return
        yield Entry(word, prefix, column + at, column + end)
        at = separator.end() if separator else len(text)


def comments(source: SourceText) -> Iterator[Comment]:
    """Yield every comment. Where the tokenizer gives up, the rest is read line by line."""
    import tokenize

    lines = source.lines
    ended_lines = iter([f"{line}\n" for line in lines])
    row = 0
    try:
        for token in tokenize.generate_tokens(lambda: next(ended_lines, "")):
            if token.type == tokenize.COMMENT:
                row = token.start[0]
                yield Comment(row, token.start[1] + 1, token.string)
    except (tokenize.TokenError, SyntaxError):
        yield from _plain_comments(lines, row)


_STRING_OR_COMMENT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|(?P<comment>#.*)")


def _plain_comments(lines: tuple[str, ...], after: int) -> Iterator[Comment]:
    for row, line in enumerate(lines[after:], start=after + 1):
        for match in _STRING_OR_COMMENT.finditer(line):
            if match["comment"]:
                yield Comment(row, match.start() + 1, match["comment"])


def rows_inside_strings(source: SourceText) -> frozenset[int]:
    """Return the rows that end inside a string, where a comment would be part of it."""
    import tokenize

    ended_lines = iter([f"{line}\n" for line in source.lines])
    start = getattr(tokenize, "FSTRING_START", -1)
    end = getattr(tokenize, "FSTRING_END", -1)
    rows: set[int] = set()
    opened: list[int] = []
    try:
        for token in tokenize.generate_tokens(lambda: next(ended_lines, "")):
            if token.type == tokenize.STRING:
                rows.update(range(token.start[0], token.end[0]))
            elif token.type == start:
                opened.append(token.start[0])
            elif token.type == end and opened:
                rows.update(range(opened.pop(), token.end[0]))
    except (tokenize.TokenError, SyntaxError):
        pass
    return frozenset(rows)
