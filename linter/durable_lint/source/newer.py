"""Lowers syntax that is newer than the running Python, so that its `ast` can read the file.

A scanner over the text that knows tokens, not grammar; `ast` judges the result. Every construct is replaced
in its own bytes, so rows and columns stay what they are. Linear in the text, and it needs no other parser.

Lowered: type parameters and `type` statements (PEP 695, 696), f-strings with newer insides (PEP 701) and
t-strings (PEP 750) to a tuple of their expressions, `except A, B` (PEP 758), `lazy import` (PEP 810), and
unpacking in comprehensions (PEP 798).
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import NamedTuple

_DEEPEST_STRING = 20
_DEEPEST_BRACKETS = 200
"""As deep as Python itself goes."""

_TOKEN = re.compile(
    rb"""
    (?P<space>[ \t\f]+|\\\n|\#[^\n]*)
    |(?P<newline>\n)
    |(?P<string>(?:[bB][rR]?|[rR][bB]?|[uU]|(?P<formatted>[fFtT][rR]?|[rR][fFtT]))?(?P<quote>'''|\"\"\"|'|\"))
    |(?P<name>[A-Za-z_\x80-\xff][\w\x80-\xff]*)
    |(?P<number>\.?[0-9](?:[eE][+-]|[\w.])*)
    |(?P<open>[([{])
    |(?P<close>[)\]}])
    |(?P<op>\*\*|:=|[=!<>]=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_LITERAL = re.compile(rb"[^'\"\\{}\n]+")


class _Unreadable(Exception):
    """The text is no Python, of any version."""


class _Token(NamedTuple):
    kind: str
    text: bytes
    start: int
    end: int
    depth: int
    lower: bool = False
    """For a string: that the running Python cannot read it."""


def lowered(text: str) -> str | None:
    """The text with newer constructs replaced in place, None where its brackets or strings are broken.

    Line ends come back as `\\n`. `restore` gives the tree of the result the meaning of the original.
    """
    source = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "surrogatepass")
    scanner = _Scanner(source)
    try:
        scanner.scan(0, nesting=0)
    except _Unreadable:
        return None
    return scanner.out.decode("utf-8", "surrogatepass")


def restore(tree: ast.Module) -> ast.Module:
    """Turn what `lowered` had to write as `except A | B` back into a tuple of exceptions, in place."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.BinOp):
            elements: list[ast.expr] = []
            rest: ast.expr = node.type
            while isinstance(rest, ast.BinOp) and isinstance(rest.op, ast.BitOr):
                elements.append(rest.right)
                rest = rest.left
            elements.append(rest)
            node.type = ast.copy_location(ast.Tuple(elements[::-1], ast.Load()), node.type)
    return tree


class _Scanner:
    """Walks the text once. It has state because constructs are rewritten where they are found, in `out`."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.out = bytearray(source)
        self.insides: dict[int, bytes] = {}
        """For each f- and t-string its expressions, lowered, at their places."""

    def scan(self, at: int, *, nesting: int, in_field: bool = False) -> int:
        """Lower what stands up to the end, or to what ends a replacement field. Return where that is."""
        tokens: list[_Token] = []
        depth = 0
        while at < len(self.source):
            match = _TOKEN.match(self.source, at)
            assert match is not None
            kind = match.lastgroup or ""
            text = match[0]
            if in_field and depth == 0 and self._ends_field(kind, text, match.end()):
                self._lower(tokens)
                return at
            end = match.end()
            depth -= kind == "close"
            if not 0 <= depth <= _DEEPEST_BRACKETS:
                raise _Unreadable
            if kind in ("string", "quote", "formatted"):
                lower = False
                if match["formatted"] is not None:
                    end, lower = self._formatted(at, match, nesting)
                else:
                    end = self._plain_end(match.end(), match["quote"])
                tokens.append(_Token("string", self.source[at:end], at, end, depth, lower))
            elif kind == "newline":
                if depth == 0 and not in_field:
                    tokens.append(_Token(kind, text, at, end, depth))
            elif kind != "space":
                tokens.append(_Token(kind, text, at, end, depth))
            if kind == "open":
                depth += 1
            at = end
        if in_field or depth:
            raise _Unreadable
        self._lower(tokens)
        return at

    def _ends_field(self, kind: str, text: bytes, end: int) -> bool:
        if kind == "close" or text in (b":", b":=") or (text == b"!" and kind == "op"):
            return True
        if text != b"=":
            return False
        rest = self.source[end : end + 200].lstrip(b" \t\f\n")
        return rest.startswith((b"}", b":")) or (rest.startswith(b"!") and not rest.startswith(b"!="))

    # ---------------------------------------------------------------- strings

    def _plain_end(self, at: int, quote: bytes) -> int:
        stop = re.compile(rb"\\.|" + quote + (rb"" if len(quote) == 3 else rb"|\n"), re.DOTALL)
        for match in stop.finditer(self.source, at):
            if match[0] == quote:
                return match.end()
            if match[0] == b"\n":
                break
        raise _Unreadable

    def _formatted(self, start: int, match: re.Match[bytes], nesting: int) -> tuple[int, bool]:
        """Read an f- or t-string: where it ends, and whether it must be lowered (its inside is already)."""
        if nesting > _DEEPEST_STRING:
            raise _Unreadable
        quote = match["quote"]
        raw = b"r" in match["formatted"].lower()
        kept: list[tuple[int, int]] = []
        commas: list[int] = []
        end = self._literal(match.end(), quote, raw, nesting, kept, commas, in_spec=False)
        end += len(quote)
        inside = self._blank(start, end)
        for first, last in kept:
            inside[first - start : last - start] = self.out[first:last]
        for comma in commas:
            inside[comma - start : comma - start + 1] = b","
        self.insides[start] = bytes(inside)
        readable = _is_readable(self.source[start:end])
        self.out[start:end] = self.source[start:end] if readable else inside
        return end, not readable

    def _literal(
        self,
        at: int,
        quote: bytes,
        raw: bool,
        nesting: int,
        kept: list[tuple[int, int]],
        commas: list[int],
        *,
        in_spec: bool,
    ) -> int:
        """Read to the closing quote, or in a format spec to its brace; note the expressions on the way."""
        source = self.source
        while at < len(source):
            plain = _LITERAL.match(source, at)
            if plain:
                at = plain.end()
                continue
            if source.startswith(quote, at):
                if in_spec:
                    break
                return at
            character = source[at : at + 1]
            if character == b"\n" and len(quote) == 1:
                break
            if character == b"\\":
                if not raw and source.startswith(b"\\N{", at):
                    at = source.find(b"}", at) + 1 or len(source)
                else:
                    at += 1 if source[at + 1 : at + 2] in (b"{", b"}") else 2
            elif not in_spec and source.startswith((b"{{", b"}}"), at):
                at += 2
            elif character == b"{":
                at = self._field(at + 1, quote, raw, nesting, kept, commas)
            elif character == b"}":
                if not in_spec:
                    break
                return at
            else:
                at += 1
        raise _Unreadable

    def _field(
        self, at: int, quote: bytes, raw: bool, nesting: int, kept: list[tuple[int, int]], commas: list[int]
    ) -> int:
        """Read one replacement field from behind its `{` to behind its `}`."""
        if nesting > _DEEPEST_STRING:
            raise _Unreadable
        source = self.source
        end = self.scan(at, nesting=nesting + 1, in_field=True)
        if not source[at:end].strip():
            raise _Unreadable
        kept.append((at, end))
        commas.append(end)
        at = end
        if source.startswith(b"=", at):
            at += 1
            while source[at : at + 1].isspace():
                at += 1
        if source.startswith(b"!", at):
            while at < len(source) and source[at] not in b":}":
                at += 1
        if source.startswith(b":", at):
            at = self._literal(at + 1, quote, raw, nesting + 1, kept, commas, in_spec=True)
        if not source.startswith(b"}", at):
            raise _Unreadable
        return at + 1

    def _blank(self, start: int, end: int) -> bytearray:
        return bytearray(re.sub(rb"[^\n]", b" ", self.source[start:end]))

    # ---------------------------------------------------------------- constructs

    def _lower(self, tokens: list[_Token]) -> None:
        self._lower_strings(tokens)
        begins = True
        for number, token in enumerate(tokens):
            if begins and token.text in (b"type", b"lazy"):
                self._lower_type_or_lazy(tokens, number)
            elif token.text in (b"def", b"class"):
                self._lower_parameters(tokens, number)
            elif begins and token.text == b"except":
                self._lower_except(tokens, number)
            elif (
                token.kind == "open" and number + 1 < len(tokens) and tokens[number + 1].text in (b"*", b"**")
            ):
                self._lower_unpacking(tokens, number)
            begins = token.depth == 0 and (token.kind == "newline" or token.text in (b";", b":"))

    def _lower_strings(self, tokens: list[_Token]) -> None:
        """Write a run of adjacent strings that holds an unreadable one as a tuple of their expressions."""
        number = 0
        while number < len(tokens):
            end = number
            while end < len(tokens) and tokens[end].kind == "string":
                end += 1
            run = tokens[number:end]
            if any(token.lower for token in run):
                for token in run:
                    inside = self.insides.get(token.start) or self._blank(token.start, token.end)
                    self.out[token.start : token.end] = inside
                self.out[run[0].start : run[0].start + 1] = b"("
                self.out[run[-1].end - 1 : run[-1].end] = b")"
            number = max(end, number + 1)

    def _lower_type_or_lazy(self, tokens: list[_Token], number: int) -> None:
        following = tokens[number + 1 : number + 3]
        if len(following) < 2 or following[0].kind != "name":
            return
        word, name, after = tokens[number], *following
        if word.text == b"lazy":
            if name.text in (b"import", b"from"):
                self._move(name, word.start)
            return
        if after.text == b"=":
            self._move(name, word.start)
        elif after.text == b"[":
            close = self._closing(tokens, number + 2)
            inside = self.source[after.start : tokens[close].end]
            equals = tokens[close + 1] if close + 1 < len(tokens) else None
            if equals is None or equals.text != b"=":
                return
            self._move(name, word.start)
            self.out[after.start : tokens[close].end] = self._blank(after.start, tokens[close].end)
            if b"\n" in inside:
                self.out[after.start - 1 : after.start + 1] = b"=("
                self.out[tokens[close].start : tokens[close].end] = b")"
                self.out[equals.start : equals.end] = b"|"

    def _move(self, name: _Token, to: int) -> None:
        self.out[to : name.end] = name.text + self._blank(to + len(name.text), name.end)

    def _lower_parameters(self, tokens: list[_Token], number: int) -> None:
        if number + 2 >= len(tokens) or tokens[number + 2].text != b"[":
            return
        opening, close = tokens[number + 2], self._closing(tokens, number + 2)
        end = tokens[close].end
        followed = close + 1 < len(tokens) and tokens[close + 1].text == b"("
        if followed:
            end = tokens[close + 1].end
        self.out[opening.start : end] = self._blank(opening.start, end)
        self.out[opening.start : opening.end] = b"("
        if not followed:
            self.out[end - 1 : end] = b")"

    def _lower_except(self, tokens: list[_Token], number: int) -> None:
        commas: list[_Token] = []
        for other in range(number + 1, len(tokens)):
            token = tokens[other]
            if token.depth == 0 and token.text == b",":
                commas.append(token)
            elif token.depth == 0 and token.text == b":":
                for comma in commas:
                    self.out[comma.start : comma.end] = b"|"
                return
            elif token.text == b"as" or token.kind == "newline":
                return

    def _lower_unpacking(self, tokens: list[_Token], number: int) -> None:
        star = tokens[number + 1]
        for other in range(number + 2, len(tokens)):
            token = tokens[other]
            if token.depth == star.depth and token.text == b"for" and token.kind == "name":
                self.out[star.start : star.end] = b" " * (star.end - star.start)
                return
            if token.depth < star.depth or (token.depth == star.depth and token.text == b","):
                return

    def _closing(self, tokens: list[_Token], number: int) -> int:
        for other in range(number + 1, len(tokens)):
            if tokens[other].kind == "close" and tokens[other].depth == tokens[number].depth:
                return other
        raise _Unreadable


def _is_readable(string: bytes) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(b"(" + string + b")")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True
