"""What a file's bytes say without a parse: whether it mentions the SDK, and what it imports.

Every answer may say too much and never too little: a word in a comment counts, an import in a string counts.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import NamedTuple

from durable_lint.source.text import SourceError, declared_encoding

SDK_WORDS = (
    b"aws_durable_execution_sdk_python",
    b"durable_runtime",
    b"run_in_child_context",
    b"wait_for_callback",
    b"wait_for_condition",
    b"create_callback",
)
"""Names of the SDK, of the runtime, and of the methods that only a durable context has."""

_SAME_AS_ASCII = re.compile(
    r"utf-?8.*|us-?ascii|ascii|latin-?1|l1|iso-?8859-?\d+|cp125\d|windows-?125\d", re.I
)


class Import(NamedTuple):
    """One import statement: `module` as written (`.pkg.mod` is relative), `names` as `from` takes them."""

    module: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Words:
    """The words that make a file one of durable code: the SDK's, and the ones that the configuration adds."""

    words: tuple[bytes, ...] = SDK_WORDS

    @classmethod
    def with_names(cls, names: tuple[str, ...]) -> Words:
        """The SDK's words and those of qualified names or globs (`suspending`, `context-types`)."""
        more = {word for name in names for word in _literal(name)}
        return cls(SDK_WORDS + tuple(sorted(more - set(SDK_WORDS))))

    def in_bytes(self, raw: bytes) -> bool:
        """Whether one of the words stands anywhere in `raw`."""
        return any(word in raw for word in self.words)


def _literal(name: str) -> tuple[bytes, ...]:
    # The last part must be written where it is used; of a glob, its longest piece without a wildcard.
    pieces = [piece for part in reversed(name.split(".")) for piece in re.split(r"[*?\[\]!]", part) if piece]
    return (pieces[0].encode(),) if pieces else ()


def searchable(raw: bytes) -> bytes:
    """`raw` with ASCII characters as ASCII bytes, whatever encoding it declares (UTF-7 hides them)."""
    if b"coding" not in raw[:4096]:
        return raw
    try:
        encoding = declared_encoding(raw)
        if _SAME_AS_ASCII.fullmatch(encoding):
            return raw
        return raw.decode(encoding).encode("utf-8", "surrogatepass")
    except (SourceError, ValueError, LookupError):
        return raw


_LONGEST_HEAD = 2_000
_FROM = re.compile(rb"(?:lazy[\s\\]+)?from(?P<module>.*)", re.DOTALL)
_REST = re.compile(rb"[^\n;#\\]*(?:\\\n[^\n;#\\]*)*")
_INSIDE = re.compile(rb"[\s\\]*\((?P<inside>[^()#]*(?:#[^\n]*\n[^()#]*)*)\)")
_COMMENT = re.compile(rb"#[^\n]*")
_WHITE = re.compile(rb"[\s\\]+")
_AS = re.compile(rb"\s+as\s.*", re.DOTALL)
_PART_OF_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") | frozenset(
    range(128, 256)
)


def imports(raw: bytes) -> tuple[Import, ...]:
    """The import statements of a file, in order, each once; also those inside functions and blocks."""
    text = searchable(raw)
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    found: dict[Import, None] = {}
    done = at = 0
    while (word := text.find(b"import", at)) >= 0:
        at = word + len(b"import")
        if at < len(text) and text[at] in _PART_OF_WORD:
            continue
        head = _statement_head(text, done, word)
        if head in (b"", b"lazy"):
            rest = _REST.match(text, at)
            assert rest is not None
            for module in rest[0].split(b","):
                found[Import(_name(_AS.sub(b"", module)), ())] = None
        elif head is not None and (match := _FROM.fullmatch(head)):
            inside = _INSIDE.match(text, at)
            rest = inside or _REST.match(text, at)
            assert rest is not None
            names = _COMMENT.sub(b"", inside["inside"]) if inside else rest[0]
            parts = tuple(name for part in names.split(b",") if (name := _name(_AS.sub(b"", part.strip()))))
            found[Import(_name(match["module"]), parts)] = None
        else:
            continue
        done = at = rest.end()
    return tuple(item for item in found if item.module)


def _statement_head(text: bytes, done: int, word: int) -> bytes | None:
    """What stands before `word` in its statement, or None where that cannot be told."""
    lowest = max(done, word - _LONGEST_HEAD)
    start = text.rfind(b"\n", lowest, word) + 1
    while start > lowest and text.endswith(b"\\", lowest, start - 1):
        start = text.rfind(b"\n", lowest, start - 1) + 1
    starts_here = start > 0 or lowest == done
    start = max(start, lowest)
    separator = max(text.rfind(b";", start, word), text.rfind(b":", start, word))
    if separator >= 0:
        return text[separator + 1 : word].strip(b" \t\f\\\n")
    return text[start:word].strip(b" \t\f\\\n") if starts_here else None


def _name(raw: bytes) -> str:
    name = _WHITE.sub(b"", raw).decode("utf-8", "replace")
    return name if name.isascii() else unicodedata.normalize("NFKC", name)
