"""Writes every arrangement of try, except, else, finally and with, up to two deep, around one durable call.

Each arrangement is a function of a generated module. It says by a log line which part it has entered, and has
an effect in each part, so that a run tells what a suspension really runs. Knows neither the SDK's runner nor
the linter.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PREAMBLE = """\
import logging
import threading
from contextlib import ExitStack, contextmanager, suppress

from aws_durable_execution_sdk_python import DurableContext
from aws_durable_execution_sdk_python.config import Duration
from outside import effect, fail

log = logging.getLogger("arrangements")
lock = threading.RLock()


class Held:
    def __init__(self, part):
        self.part = part

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        effect(self.part)


class Deaf:
    def __init__(self, part):
        self.part = part

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        log.info(self.part)
        return True


@contextmanager
def lent(part):
    try:
        yield
    finally:
        effect(part)

"""
"""What all arrangements use. `outside` cannot be seen by the linter: what it does is an effect."""

HANDLERS = {
    "": "",
    "exception": "except Exception:",
    "base-raise": "except BaseException:",
    "base-swallow": "except BaseException:",
    "bare-raise": "except:",
    "bare-swallow": "except:",
}
ENDINGS = ("", "effect", "return")
MANAGERS = {
    "lock": "with lock:",
    "class": "with Held({part!r}):",
    "generator": "with lent({part!r}):",
    "deaf": "with Deaf({part!r}):",
    "suppress": "with suppress(BaseException):",
    "stack": "with ExitStack() as stack:",
}


@dataclass(frozen=True)
class Block:
    """One `try` or `with` and the part of it that holds what is inside: another block, or the durable call.

    `ending` is the `finally`: none, one that goes on, or one that ends in `return`.
    """

    inside: str
    handler: str = ""
    ending: str = ""
    manager: str = ""
    orelse: bool = False

    @property
    def name(self) -> str:
        kind = self.manager or "+".join(
            filter(
                None, ["try", self.handler, "else" * self.orelse, self.ending and f"finally-{self.ending}"]
            )
        )
        return f"{kind}[{self.inside}]"


@dataclass(frozen=True)
class Arrangement:
    """Blocks from the outermost to the innermost, and the parts (`0.body`, `1.finally`) with an effect."""

    blocks: tuple[Block, ...]
    effects: frozenset[str]

    @property
    def name(self) -> str:
        return " > ".join(block.name for block in self.blocks) + f" {{{','.join(sorted(self.effects))}}}"


@dataclass(frozen=True)
class Written:
    """An arrangement as text. `rows` are the places of findings about a part, counted from the first line."""

    name: str
    arrangement: Arrangement
    lines: tuple[str, ...]
    rows: dict[str, int] = field(hash=False)


def blocks() -> Iterator[Block]:
    for manager in MANAGERS:
        yield Block("body", manager=manager)
    for handler, ending in itertools.product(HANDLERS, ENDINGS):
        if not handler and not ending:
            continue
        block = Block("body", handler, ending)
        yield block
        if handler:
            yield replace(block, inside="handler")
            yield replace(block, inside="else", orelse=True)
        if ending:
            yield replace(block, inside="finally")


def parts(block: Block, depth: int) -> list[str]:
    """The parts of a block that can have an effect."""
    if block.manager:
        return [f"{depth}.body"]
    names = [
        "body",
        "handler" if block.handler else "",
        "else" if block.orelse else "",
        "finally" if block.ending else "",
    ]
    return [f"{depth}.{name}" for name in names if name]


def arrangements() -> Iterator[Arrangement]:
    """One block with each choice of effects; two blocks with an effect in each part."""
    for block in blocks():
        names = parts(block, 0)
        for count in range(len(names) + 1):
            for chosen in itertools.combinations(names, count):
                yield Arrangement((block,), frozenset(chosen))
    for outer, inner in itertools.product(blocks(), blocks()):
        yield Arrangement((outer, inner), frozenset([*parts(outer, 0), *parts(inner, 1)]))


def write(arrangement: Arrangement, name: str) -> Written:
    lines = [f"def {name}(context: DurableContext):"]
    rows: dict[str, int] = {}
    _write_block(arrangement, 0, 1, lines, rows)
    return Written(name, arrangement, tuple(lines), rows)


def _write_block(
    arrangement: Arrangement, depth: int, indent: int, lines: list[str], rows: dict[str, int]
) -> None:
    def say(text: str, more: int = 0) -> None:
        lines.append("    " * (indent + more) + text)

    def part(name: str) -> None:
        say(f"log.info({f'{depth}.{name}'!r})", 1)
        if f"{depth}.{name}" in arrangement.effects:
            say(f"effect({f'{depth}.{name}'!r})", 1)
        if name == block.inside:
            if depth + 1 < len(arrangement.blocks):
                _write_block(arrangement, depth + 1, indent + 1, lines, rows)
            else:
                say("context.wait(Duration.from_hours(1))", 1)
        if name == "body" and block.inside == "handler":
            say("fail()", 1)
        if name == "handler" and block.handler.endswith("raise"):
            say("raise", 1)

    block = arrangement.blocks[depth]
    if block.manager:
        say(MANAGERS[block.manager].format(part=f"{depth}.exit"))
        rows[f"{depth}.exit"] = len(lines)
        if block.manager == "stack":
            say(f"stack.callback(effect, {f'{depth}.exit'!r})", 1)
        part("body")
        say(f"log.info({f'{depth}.done'!r})", 1)
        say(f"log.info({f'{depth}.after'!r})")
        return
    say("try:")
    part("body")
    if block.handler:
        say(HANDLERS[block.handler])
        rows[f"{depth}.handler"] = len(lines)
        part("handler")
    if block.orelse:
        say("else:")
        part("else")
    if block.ending:
        say("finally:")
        rows[f"{depth}.finally"] = len(lines)
        part("finally")
        if block.ending == "return":
            say("return None", 1)
            rows[f"{depth}.return"] = len(lines)
