"""Programs: small durable functions as data, so that they can be drawn at random, run, and reasoned about.

A program is a block of nodes. The names of all nodes are unique in a program, so that a name finds the
operation in the history and the effect in the journal. This module knows nothing about how a program runs.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator

ATTEMPTS = 3
"""How often a step or an action of a program is tried before it has failed."""


@dataclass(frozen=True)
class Step:
    """A step that fails `failures` times; for good from `ATTEMPTS` on."""

    failures: int = 0
    name: str = ""


@dataclass(frozen=True)
class Wait:
    """A wait: the plainest suspension."""

    name: str = ""


@dataclass(frozen=True)
class Callback:
    """A callback that is created, and waited for at once."""

    fails: bool = False
    name: str = ""


@dataclass(frozen=True)
class Child:
    """A child context; a virtual one has no operation of its own."""

    body: Block = ()
    virtual: bool = False
    name: str = ""


@dataclass(frozen=True)
class Branches:
    """A map or a parallel over its blocks, one branch at a time if `in_turn`.

    Every branch is completed, then the first failure is raised unless `tolerant`.
    """

    blocks: tuple[Block, ...] = ()
    flat: bool = False
    mapped: bool = False
    tolerant: bool = False
    in_turn: bool = False
    name: str = ""


@dataclass(frozen=True)
class Guard:
    """`try: body` / `except Exception`: what a handler does that goes on after a failure."""

    body: Block = ()
    name: str = ""


@dataclass(frozen=True)
class Hide:
    """`try: body` / `except BaseException`, in the body of a scope: code that hides suspensions."""

    body: Block = ()
    name: str = ""


@dataclass(frozen=True)
class Fail:
    """The program's own exception."""

    name: str = ""


@dataclass(frozen=True)
class Cancel:
    """`raise ScopeCancelled`."""

    name: str = ""


@dataclass(frozen=True)
class Register:
    """The registration of a terminal action.

    A step action (`body` is None) fails `failures` times; one in a context runs `body`, and then fails if
    `failures` is not 0.
    """

    compensation: bool = False
    failures: int = 0
    body: Block | None = None
    name: str = ""


@dataclass(frozen=True)
class Acquire:
    """`terminal.acquire`: a step, which fails as `Step` does, and the registration of its release."""

    failures: int = 0
    release_failures: int = 0
    name: str = ""


@dataclass(frozen=True)
class Scope:
    """A terminal scope in one of its two forms."""

    body: Block = ()
    isolated: bool = False
    compensate_on_cancellation: bool = True
    cleanup_on_cancellation: bool = True
    stop_on_compensation_failure: bool = False
    fail_on_cleanup_failure: bool = True
    name: str = ""


Node: TypeAlias = (
    Step | Wait | Callback | Child | Branches | Guard | Hide | Fail | Cancel | Register | Acquire | Scope
)
Block: TypeAlias = tuple[Node, ...]

_PREFIXES: dict[type, str] = {Acquire: "res", Branches: "fan", Callback: "call", Register: "act"}


def named(block: Block) -> Block:
    """The same block with a name for each node, given in the order in which they are written."""
    counter = itertools.count(1)

    def visit(node: Any) -> Any:
        prefix = _PREFIXES.get(type(node), type(node).__name__.lower())
        changes: dict[str, Any] = {"name": f"{prefix}{next(counter)}"}
        for member in fields(node):
            value = getattr(node, member.name)
            if member.name in ("body", "blocks") and value is not None:
                changes[member.name] = visit_block(value)
        return replace(node, **changes)

    def visit_block(value: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(visit_block(each) if isinstance(each, tuple) else visit(each) for each in value)

    return visit_block(block)


def walk(block: Block) -> Iterator[Node]:
    """Every node of a block, outer ones first."""
    for node in block:
        yield node
        for member in fields(node):
            value = getattr(node, member.name)
            if member.name == "body" and value is not None:
                yield from walk(value)
            elif member.name == "blocks":
                for each in value:
                    yield from walk(each)


def show(value: Any) -> str:
    """A program as the Python text that builds it, defaults left out."""
    if isinstance(value, tuple):
        inner = ", ".join(map(show, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if is_dataclass(value):
        parts = []
        for member in fields(value):
            given = getattr(value, member.name)
            if given != member.default and member.name != "name":
                parts.append(f"{member.name}={show(given)}")
        return f"{type(value).__name__}({', '.join(parts)})"
    return repr(value)


@dataclass
class _Budget:
    """What may still be drawn: a program is killed at each of its checkpoints, so it must stay small."""

    nodes: int
    scopes: int = field(default=3)
    virtual: bool = True


def programs(nodes: int = 16, *, virtual: bool = True) -> st.SearchStrategy[Block]:
    """Random programs of up to about `nodes` nodes, with a scope that registers something.

    `virtual` says whether their child contexts may be virtual.
    """
    return _programs(nodes, virtual).map(named)


@st.composite
def _programs(draw: st.DrawFn, nodes: int, virtual: bool) -> Block:
    budget = _Budget(nodes, virtual=virtual)
    before = draw(st.sampled_from(_BEFORE))
    scope: Node = _scope(draw, budget, depth=0)
    wrapping = draw(st.sampled_from(["none", "none", "child", "flat", "nested", "guard"]))
    if wrapping == "child":
        scope = Child(body=(scope,), virtual=budget.virtual and draw(_rarely))
    elif wrapping == "guard":
        scope = Guard(body=(scope,))
    elif wrapping in ("flat", "nested"):
        other = _block(draw, budget, depth=1, longest=3)
        scope = Branches(
            blocks=((scope,), other),
            flat=wrapping == "flat",
            mapped=draw(st.booleans()),
            tolerant=draw(st.booleans()),
        )
    return (*before, scope, *_block(draw, budget, depth=0, longest=2))


_BEFORE: tuple[Block, ...] = ((), (), (Step(),), (Wait(),), (Callback(),))


def _scope(draw: st.DrawFn, budget: _Budget, depth: int) -> Scope:
    budget.scopes -= 1
    budget.nodes -= 2
    body: list[Node] = [*_block(draw, budget, depth=depth + 1, longest=1, fails=False)]
    body.append(_registration(draw, budget, depth))
    body += _block(draw, budget, depth=depth + 1, longest=5, registers=True, fails=False)
    ending = draw(st.sampled_from(["value", "value", "step", "callback", "fail", "fail", "cancel"]))
    if ending != "value":
        body.append(_ENDINGS[ending])
    return Scope(
        body=tuple(body),
        isolated=draw(st.booleans()),
        compensate_on_cancellation=not draw(_rarely),
        cleanup_on_cancellation=not draw(_rarely),
        stop_on_compensation_failure=draw(_rarely),
        fail_on_cleanup_failure=not draw(_rarely),
    )


_ENDINGS: dict[str, Node] = {
    "step": Step(failures=ATTEMPTS),
    "callback": Callback(fails=True),
    "fail": Fail(),
    "cancel": Cancel(),
}


def _registration(draw: st.DrawFn, budget: _Budget, depth: int) -> Node:
    kind = draw(st.sampled_from(["cleanup", "compensate", "compensate", "acquire"]))
    if kind == "acquire":
        return Acquire(release_failures=draw(_few_failures))
    body = None
    if draw(_rarely):
        body = _block(draw, budget, depth=depth + 1, longest=2)
    return Register(compensation=kind == "compensate", failures=draw(_few_failures), body=body)


def _block(
    draw: st.DrawFn, budget: _Budget, *, depth: int, longest: int, registers: bool = False, fails: bool = True
) -> Block:
    """Up to `longest` nodes. With `registers` they stand in a scope; with `fails` they may fail for good."""
    nodes: list[Node] = []
    for _ in range(draw(st.integers(min_value=0, max_value=longest))):
        if budget.nodes <= 0:
            break
        budget.nodes -= 1
        nodes.append(_node(draw, budget, depth, registers, fails))
        if isinstance(nodes[-1], Fail):
            break
    return tuple(nodes)


def _node(draw: st.DrawFn, budget: _Budget, depth: int, registers: bool, fails: bool) -> Node:
    kinds = ["step", "wait", "callback"]
    if registers:
        kinds += ["register", "register", "register"]
    if fails:
        kinds += ["fail"]
    if depth < 3 and budget.nodes > 0:
        kinds += ["child", "guard", "branches"]
        kinds += ["hide"] if registers else []
        kinds += ["scope", "scope"] if budget.scopes > 0 else []
    kind = draw(st.sampled_from(kinds))
    if kind == "step":
        return Step(failures=draw(_few_failures) if fails else draw(st.sampled_from([0, 0, 1])))
    if kind == "wait":
        return Wait()
    if kind == "callback":
        return Callback(fails=fails and draw(_rarely))
    if kind == "fail":
        return Fail()
    if kind == "register":
        return _registration(draw, budget, depth)
    if kind == "child":
        body = _block(draw, budget, depth=depth + 1, longest=3, fails=fails)
        return Child(body=body, virtual=budget.virtual and draw(_rarely))
    if kind == "guard":
        return Guard(body=_block(draw, budget, depth=depth + 1, longest=3, registers=registers))
    if kind == "hide":
        return Hide(body=_block(draw, budget, depth=depth + 1, longest=3, registers=True))
    if kind == "branches":
        blocks = tuple(
            _block(draw, budget, depth=depth + 1, longest=2)
            for _ in range(draw(st.integers(min_value=1, max_value=3)))
        )
        return Branches(
            blocks=blocks,
            flat=draw(st.booleans()),
            mapped=draw(st.booleans()),
            tolerant=not fails or draw(st.booleans()),
            in_turn=draw(_rarely),
        )
    return _scope(draw, budget, depth)


_few_failures = st.sampled_from([0, 0, 0, 0, 1, ATTEMPTS])
_rarely = st.sampled_from([False, False, False, True])
