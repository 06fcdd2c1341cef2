"""Makes sources from the labelled cases and from nothing, by chance. Knows nothing of the linter."""

from __future__ import annotations

import ast
import io
import tokenize
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

DURABLE = "from aws_durable_execution_sdk_python import *\n"
"""A line that makes any source durable code."""

CASES = Path(__file__).parents[2] / "cases"


@cache
def seeds() -> tuple[bytes, ...]:
    """The sources of all cases."""
    paths = [*CASES.glob("lint/**/*.py"), *CASES.glob("fixes/**/*.py")]
    return tuple(raw for path in sorted(paths) if ast.parse(raw := path.read_bytes()).body)


@cache
def _tokens(raw: bytes) -> tuple[tokenize.TokenInfo, ...]:
    return tuple(tokenize.tokenize(io.BytesIO(raw).readline))


def tokens(chance: random.Random) -> bytes:
    """A case in which some tokens are gone, doubled, swapped, or come from elsewhere."""
    raw = chance.choice(seeds())
    lines = raw.decode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    pieces = [
        (starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1])
        for token in _tokens(raw)
        if token.string.strip() and token.type != tokenize.ENCODING
    ]
    text = raw.decode()
    for _ in range(chance.randint(1, 6)):
        start, end = chance.choice(pieces)
        other = chance.choice(pieces)
        elsewhere = text[other[0] : other[1]]
        word = chance.choice(WORDS)
        replacement = chance.choice(["", text[start:end] * 2, elsewhere, word, f" {word} "])
        # Later pieces keep their places: the length stays.
        text = text[:start] + replacement[: end - start].ljust(end - start) + text[end:]
    return text.encode()


WORDS = [
    *"try: finally: except: with lambda yield await async return raise * ** := context".split(),
    *"context.wait(1) () [ ] { } , ; \\ # ' \"\"\" f'{ t'{x}' BaseException ExitStack()".split(),
    *"self None 0 é type lazy match _".split(),
    *("\x0c", "\t", "\u2028"),
]


def statements(chance: random.Random) -> bytes:
    """A case whose statements stand in other places, in other blocks, or twice; it always parses."""
    tree = ast.parse(chance.choice(seeds()))
    donor = ast.parse(chance.choice(seeds()))
    bodies = [body for part in (tree, donor) for body in _bodies(part)]
    targets = list(_bodies(tree))
    for _ in range(chance.randint(1, 5)):
        body = chance.choice(targets)
        moved = chance.choice(chance.choice(bodies))
        wrapped = chance.choice([_as_it_is, _in_try, _in_finally, _in_with, _in_handler, _in_loop])(moved)
        body.insert(chance.randint(0, len(body)), wrapped)
        if len(body) > 2 and chance.random() < 0.5:
            body.pop(chance.randrange(len(body)))
    try:
        return ast.unparse(ast.fix_missing_locations(tree)).encode() + b"\n"
    except (RecursionError, ValueError):
        return statements(chance)


def _bodies(tree: ast.AST) -> list[list[ast.stmt]]:
    return [
        body
        for node in ast.walk(tree)
        for name in ("body", "orelse", "finalbody")
        if isinstance(body := getattr(node, name, None), list) and body
    ]


def _as_it_is(statement: ast.stmt) -> ast.stmt:
    return statement


def _statement(text: str, inside: ast.stmt) -> ast.stmt:
    block = ast.parse(text).body[0]
    for body in _bodies(block):
        for at, child in enumerate(body):
            if isinstance(child, ast.Pass):
                body[at] = inside
    return block


def _in_try(statement: ast.stmt) -> ast.stmt:
    return _statement("try:\n  pass\nfinally:\n  terminate(1)", statement)


def _in_finally(statement: ast.stmt) -> ast.stmt:
    return _statement("try:\n  context.wait(1)\nfinally:\n  pass", statement)


def _in_with(statement: ast.stmt) -> ast.stmt:
    return _statement("with lease(1) as held, ExitStack() as stack:\n  pass", statement)


def _in_handler(statement: ast.stmt) -> ast.stmt:
    return _statement("try:\n  context.step(f)\nexcept BaseException as error:\n  pass", statement)


def _in_loop(statement: ast.stmt) -> ast.stmt:
    return _statement("for each in items:\n  pass\nelse:\n  done()", statement)


def some_bytes(chance: random.Random) -> bytes:
    """A case in which some bytes are others, are gone, or come again."""
    raw = bytearray(chance.choice(seeds()))
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(raw))
        kind = chance.random()
        if kind < 0.4:
            raw[at] = chance.randrange(256)
        elif kind < 0.6:
            del raw[at : at + chance.randint(1, 40)]
        elif kind < 0.8:
            raw[at:at] = raw[at : at + chance.randint(1, 200)]
        else:
            inserted = [b"\r", b"\r\n", b"\0", b"\xef\xbb\xbf", b"# coding: latin-1\n", b"\\\n", b"\t"]
            raw[at:at] = chance.choice(inserted)
        if not raw:
            break
    return bytes(raw)


def noise(chance: random.Random) -> bytes:
    """Bytes of no meaning after a line that makes them durable code, so that they are read at all."""
    odd = "éü\u2028\x0c\r\n'\"".encode()
    alphabet = chance.choice([bytes(range(256)), b"()[]{}:,.\n\t '\"#\\@=*abc", odd])
    body = bytes(chance.choice(alphabet) for _ in range(chance.randint(0, 400)))
    return DURABLE.encode() + body


def joined(chance: random.Random) -> bytes:
    """Several cases one after the other, with other line ends."""
    text = b"\n".join(chance.choice(seeds()) for _ in range(chance.randint(2, 4)))
    text = text.replace(b"\r\n", b"\n").replace(b"\n", chance.choice([b"\n", b"\r\n", b"\r"]))
    return chance.choice([b"", b"\xef\xbb\xbf"]) + text
