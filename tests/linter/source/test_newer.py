"""Syntax newer than the running Python: what is read, at which place, and what is still an error.

Tests hold on every Python: where the running one reads a construct by itself, places are the same.
"""

from __future__ import annotations

import ast
import time
from pathlib import Path

import pytest
from durable_lint.source.newer import lowered
from durable_lint.source.text import SourceSyntaxError, SourceText, parse


def tree_of(text: str) -> ast.Module:
    return parse(SourceText.from_bytes(Path("newer.py"), text.encode()))


def places(tree: ast.Module, name: str) -> list[tuple[int, int]]:
    return sorted(
        (node.lineno, node.col_offset)
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == name
    )


def written(text: str, name: str) -> list[tuple[int, int]]:
    return [
        (row, len(line[:at].encode()))
        for row, line in enumerate(text.splitlines(), 1)
        for at in range(len(line))
        if line.startswith(name, at)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "def f[T](a: T) -> T: return ZZ()\n",
        "def f[T: (int, str), *Ts, **P](a: T): ZZ()\nZZ()\n",
        "def f[\n  T, # ( [\n\n  U\n](a):\n  ZZ()\n",
        "class A[T](Base): x = ZZ()\n",
        "class A[T]: x = ZZ()\n",
        "class A[\nT\n]:\n  x = ZZ()\n",
        "type X = int\nZZ()\n",
        "type X[T] = list[ZZ]\n",
        "type X[\n  T,\n] = list[ZZ]\nZZ()\n",
        "if a: type X = ZZ\n",
        "class A[T = int, *Ts = *tuple[int]]: x = ZZ()\n",
        "x = f'{ZZ['a']}'; ZZ()\n",
        "x = f'{f'{f'{ZZ}'}'}'; ZZ()\n",
        "x = f'''{\n  ZZ['''a''']  # a } comment\n}'''\nZZ()\n",
        "x = f'{\n  ZZ # b\n}'\n",
        "x = f\"{'\\n'.join(ZZ)}\"; ZZ()\n",
        "x = f'{a['b']!r:>{ZZ}.{ZZ['c']}}{ZZ=}'; ZZ()\n",
        "x = f'{ZZ != a['b']:%H:%M}' + rf'\\d{ZZ['c']}\\{ZZ}'\n",
        "x = ('a' f'{ZZ['b']}' 'c'\n     f'{ZZ}' # d\n     'e'); ZZ()\n",
        "x = f'\\N{BULLET}{{{ZZ['a']}}}'\n",
        "é = f'ü{ZZ['é']}'; ZZ()\n",
        "x = t'hello {ZZ!r:>{ZZ}}'; ZZ()\n",
        "x = t'' t'{ZZ}'\n",
        "x = rt'\\{ZZ}'\n",
        "try: ZZ()\nexcept A, B: ZZ()\n",
        "try: ZZ()\nexcept A, b.C, d[0, 1]: ZZ()\n",
        "try: ZZ()\nexcept* A, B:\n  ZZ()\n",
        "lazy import a.b as c; ZZ()\n",
        "lazy from a import b; ZZ()\n",
        "x = [*ZZ for y in z]; ZZ()\n",
        "x = {*ZZ for y in z}; ZZ()\n",
        "async def f(): return {*ZZ async for y in z}\n",
        "x = {**ZZ for y in z}; ZZ()\n",
        "f(*ZZ for y in z); ZZ()\n",
        "x = f'{[*ZZ for y in z]}' f'{a['b']}'\n",
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_names_stand_where_they_are_written(text: str, newline: str) -> None:
    assert places(tree_of(text.replace("\n", newline)), "ZZ") == written(text, "ZZ")


def test_every_exception_of_an_except_without_parentheses_is_there() -> None:
    handlers = [
        node
        for node in ast.walk(tree_of("try: f()\nexcept A, b.C, D: g()\n"))
        if isinstance(node, ast.ExceptHandler)
    ]
    assert [ast.unparse(handler.type) for handler in handlers if handler.type] == ["(A, b.C, D)"]


def test_a_lazy_import_imports() -> None:
    tree = tree_of("lazy from a.b import c as d\nlazy import e\n")
    assert ast.unparse(tree) == "from a.b import c as d\nimport e"


def test_strings_that_the_running_python_can_read_stay_strings() -> None:
    tree = tree_of("type X = int\nname = f'step-{number}'\nlazy import a\n")
    assert isinstance(tree.body[1], ast.Assign)
    assert isinstance(tree.body[1].value, ast.JoinedStr)


@pytest.mark.parametrize(
    "text",
    [
        "x = [*a, *b]\nf(*a, **b)\ny = [x for x in (lambda *a: a)(*z)]\n",
        "type(x)\ntype = 5\ntype[0] = 1\nx: type = int\nlazy = 1\nlazy(1)\n",
        "try: f()\nexcept (A, B) as e: g(e, 1)\n",
        "x = 'lazy import a' # type X = int\n",
        "match x:\n  case [a, *b]: pass\n",
        "print(f'{a!r:>{b}}' 'c')\n",
        "def f(a, *, b): return a[1:2, 3]\n",
    ],
)
def test_what_is_not_new_is_not_touched(text: str) -> None:
    assert lowered(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "def f[T](x: T) -> T: return )\n",
        "x = f'{a['b']'\n",
        "x = f'{'\n",
        "x = f'{}{a['b']}'\n",
        "x = f'}'\n",
        "type X[T = int\n",
        "try: f()\nexcept A, B as e: pass\n",
        "try: f()\nexcept A, as B: pass\n",
        "lazy import\n",
        "lazy x = 1\n",
        "print 'a', type X = int\n",
        "x = t'unfinished\n",
        "x = [*y for]\n",
    ],
)
def test_what_no_python_reads_is_an_error(text: str) -> None:
    with pytest.raises(SourceSyntaxError):
        tree_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "except a, " * 50_000,
        "def f" * 50_000,
        "def f[" * 100 + "]" * 100 + "(" * 50_000,
        "f'{a:" * 5_000,
        "f'{" * 5_000,
        "type X[" * 150 + "]" * 150,
        "(*a " * 150 + "b " * 50_000,
        "x = 'a' " * 50_000,
        "lazy " * 100_000,
        "\\\n" * 100_000,
        "'" * 100_001,
        '"""' + '\\"' * 100_000,
    ],
)
def test_hostile_text_takes_linear_time(text: str) -> None:
    started = time.process_time()
    lowered(text)
    lowered("lazy import x\n" + text)
    assert time.process_time() - started < 10


def test_lowering_keeps_every_line_as_long_as_it_was_in_bytes() -> None:
    text = "type Ü = 'é'\nx = f'é{ü['é']}'\ntry: f()\nexcept A, Ö: g()\nlazy import ä\n"
    result = lowered(text)
    assert result is not None
    assert [len(line.encode()) for line in result.split("\n")] == [
        len(line.encode()) for line in text.split("\n")
    ]
