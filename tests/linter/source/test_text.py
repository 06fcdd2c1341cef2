"""How source is read: encodings, line ends, columns, and files that no tree can be made of."""

from __future__ import annotations

import ast
import sys
import time
from pathlib import Path

import pytest
from durable_lint.source.text import SourceError, SourceSyntaxError, SourceText, parse, shallow

PATH = Path("handler.py")


def read(raw: bytes) -> SourceText:
    return SourceText.from_bytes(PATH, raw)


def tree_of(text: str) -> ast.Module:
    return parse(read(text.encode()))


def calls(tree: ast.Module) -> list[tuple[int, int]]:
    return sorted((node.lineno, node.col_offset) for node in ast.walk(tree) if isinstance(node, ast.Call))


def depth(tree: ast.AST) -> int:
    deepest, pending = 0, [(tree, 0)]
    while pending:
        node, level = pending.pop()
        deepest = max(deepest, level)
        pending.extend((child, level + 1) for child in ast.iter_child_nodes(node))
    return deepest


@pytest.mark.parametrize(
    ("raw", "encoding", "text"),
    [
        (b"x = 1\n", "utf-8", "x = 1\n"),
        (b"", "utf-8", ""),
        ("x = 'é'\n".encode(), "utf-8", "x = 'é'\n"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", "latin-1", "# -*- coding: latin-1 -*-\nx = 'é'\n"),
        (b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\nx = '\x80'\n", "cp1252", None),
        (b"\n# coding: latin-1\n'\xe9'\n", "latin-1", "\n# coding: latin-1\n'é'\n"),
        (b"\x0c# coding: latin-1\r\n'\xe9'\r\n", "latin-1", "\x0c# coding: latin-1\r\n'é'\r\n"),
        (b"# coding: utf8\nx = 1\n", "utf-8", "# coding: utf8\nx = 1\n"),
        (b"x = 1\n# coding: latin-1\n", "utf-8", "x = 1\n# coding: latin-1\n"),
        (b"\n\n# coding: latin-1\n", "utf-8", "\n\n# coding: latin-1\n"),
    ],
)
def test_a_file_is_decoded_as_python_would(raw: bytes, encoding: str, text: str | None) -> None:
    source = read(raw)
    assert source.encoding == encoding
    assert source.text == (text if text is not None else raw.decode(encoding))
    assert source.encode(source.text) == raw
    assert not source.bom


def test_a_byte_order_mark_is_no_part_of_the_text_and_is_written_back() -> None:
    source = read(b"\xef\xbb\xbfx = f()\n")
    assert source.bom
    assert source.text == "x = f()\n"
    assert source.encode("y = 1\n") == b"\xef\xbb\xbfy = 1\n"
    assert calls(parse(source)) == [(1, 4)]


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"x = 1\ny = '\xff'\n", "cannot be decoded as utf-8: byte 0xff on line 2"),
        (b"# coding: klingon\n", "declares an encoding that Python does not know: klingon"),
        (b"# coding: rot13\n", "declares an encoding that is not one of text: rot13"),
        (b"\xef\xbb\xbf# coding: latin-1\n", "has a UTF-8 byte order mark but declares latin-1"),
        (b"# coding: ascii\n'\xe9'\n", "cannot be decoded as ascii: byte 0xe9 on line 2"),
        ("x = 1\n".encode("utf-16"), "cannot be decoded as utf-8: byte 0xff on line 1"),
    ],
)
def test_what_cannot_be_decoded_says_why_in_one_line(raw: bytes, why: str) -> None:
    with pytest.raises(SourceError) as caught:
        read(raw)
    assert str(caught.value).startswith(why)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_says_why_in_one_line(tmp_path: Path) -> None:
    loop = tmp_path / "loop.py"
    loop.symlink_to(loop)
    for path in (tmp_path / "missing.py", tmp_path, loop, Path("nul\0.py")):
        with pytest.raises(SourceError, match=r"^cannot be read: [^\n]+$"):
            SourceText.read(path)


@pytest.mark.parametrize(
    ("text", "newline"),
    [
        ("", "\n"),
        ("a = 1", "\n"),
        ("a = 1\r\nb = 2\r\n", "\r\n"),
        ("a = 1\rb = 2\r", "\r"),
        ("a = 1\r\nb = 2\r\nc = 3\n", "\r\n"),
        ("a = 1\nb = 2\r\n", "\n"),
    ],
)
def test_the_line_end_used_most_often_is_known(text: str, newline: str) -> None:
    assert read(text.encode()).newline == newline


def test_lines_are_those_of_python_not_of_unicode() -> None:
    source = read("a = '\x0c\x1c\u2028'\r\nb = f()\rc = f()\n\x0cd = f()\n".encode())
    assert source.lines == ("a = '\x0c\x1c\u2028'", "b = f()", "c = f()", "\x0cd = f()", "")
    assert [row for row, _ in calls(parse(source))] == [2, 3, 4]
    for row, start in enumerate(source.line_starts, 1):
        assert source.text.startswith(source.lines[row - 1], start)


def test_columns_count_characters_from_one() -> None:
    source = read("é = 'ü🎉'; f()\nif x:\n\té = f()\n".encode())
    found = [(row, source.column(row, offset)) for row, offset in calls(parse(source))]
    assert found == [(1, 11), (3, 6)]
    assert [source.text[source.offset(row, column)] for row, column in found] == ["f", "f"]


def test_columns_of_latin_1_source_count_characters_too() -> None:
    source = read(b"# coding: latin-1\nx = '\xe9\xe9'; f()\n")
    ((row, offset),) = calls(parse(source))
    assert (row, source.column(row, offset)) == (2, 11)


@pytest.mark.parametrize(
    ("raw", "row", "column"),
    [
        (b"x = 1\ny = \n", 2, 5),
        (b"def f(:\n", 1, 7),
        ("é = 'ü' ]\n".encode(), 1, 9),
        (b"x = 1\nif x:\ny = 1\n", 3, 1),
        (b"x = 1\ny\0 = 1\n", 2, 2),
        (b"\0", 1, 1),
        (b"x = '''\n", 1, 5),
        (b"if x:\n        a\n    b\n", 3, 6),
    ],
)
def test_a_syntax_error_is_placed_where_python_stopped(raw: bytes, row: int, column: int) -> None:
    with pytest.raises(SourceSyntaxError) as caught:
        parse(read(raw))
    assert (caught.value.row, caught.value.column) == (row, column)
    assert caught.value.message
    assert "\n" not in caught.value.message


def test_a_warning_of_the_parser_is_neither_shown_nor_an_error() -> None:
    assert len(tree_of("x = '\\d'\ny = 1 is 1\n").body) == 2


def test_tabs_and_form_feeds_indent_as_in_python() -> None:
    assert len(tree_of("if x:\n\ty = 1\n\x0c\tz = 2\n").body) == 1


@pytest.mark.parametrize("terms", [1_000, 5_000])
def test_every_call_of_a_long_sum_keeps_its_place(terms: int) -> None:
    tree = shallow(tree_of("x = " + " + ".join(["f()"] * terms) + "\n"))
    assert calls(tree) == [(1, 4 + 6 * number) for number in range(terms)]
    assert depth(tree) < 250
    ast.dump(tree)


@pytest.mark.parametrize(
    "expression",
    [
        "a" + ".b" * 2_000 + "(f())",
        "f" + "(f())" * 1_500,
        "f() if a else " * 1_500 + "f()",
        "not " * 2_500 + "f()",
        " and ".join(["(f() or a)"] * 1_000),
        "-" * 2_500 + "f()",
        "a[" * 150 + "f()" + "]" * 150,
    ],
)
def test_deep_expressions_are_cut_and_their_calls_stay(expression: str) -> None:
    text = f"x = {expression}\ny = f()\n"
    tree = shallow(tree_of(text))
    assert depth(tree) < 250
    assert any(is_plain_call(node) for node in ast.walk(tree.body[0]))
    assert [row for row, _ in calls(tree)][-1] == 2


def is_plain_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def test_what_a_deep_lambda_calls_stays_inside_the_lambda() -> None:
    tree = shallow(tree_of("x = " + "lambda: " * 1_000 + "f()\n"))
    (assignment,) = tree.body
    assert isinstance(assignment, ast.Assign)
    value: ast.AST = assignment.value
    assert depth(tree) < 250
    while not isinstance(value, ast.Lambda):
        (value,) = ast.iter_child_nodes(value)
    assert any(is_plain_call(node) for node in ast.walk(value))


@pytest.mark.parametrize("branches", [400, 3_000])
def test_a_long_chain_of_elif_keeps_tests_and_bodies_in_order(branches: int) -> None:
    text = (
        "if a:\n  f()\n"
        + "".join(f"elif b{number}:\n  g()\n" for number in range(branches))
        + "else:\n  h()\n"
    )
    tree = shallow(tree_of(text))
    assert depth(tree) < 50
    (chain,) = tree.body
    assert isinstance(chain, ast.If)
    (match,) = chain.orelse
    assert isinstance(match, ast.Match)
    guards = [ast.unparse(case.guard) for case in match.cases if case.guard is not None]
    assert guards == [f"b{number}" for number in range(branches)]
    assert match.cases[-1].guard is None
    assert [row for row, _ in calls(tree)] == list(range(2, 2 * branches + 6, 2))
    compile(tree, "x", "exec")


def test_a_short_chain_of_elif_stays_as_it_is() -> None:
    text = "if a:\n  f()\n" + "elif b:\n  g()\n" * 30
    tree = tree_of(text)
    before = ast.dump(tree)
    assert ast.dump(shallow(tree)) == before


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "(" * 3_000 + ")" * 3_000 + "\n",
        "x = " + "[" * 10_000 + "]" * 10_000 + "\n",
        "x = " + "(" * 10_000,
        "".join(" " * level + "if a:\n" for level in range(10_000)) + " " * 10_000 + "f()\n",
        "x = " + "-" * 100_000 + "1\n",
        "x = " + "**".join(["1"] * 100_000) + "\n",
        "x = " + "f'{" * 10_000 + "1" + "}'" * 10_000 + "\n",
        'x = f"' + "{" * 10_000 + "\n",
        "def f[" * 10_000 + "\n",
        "except a, " * 100_000 + "\n",
    ],
)
def test_hostile_nesting_is_one_clear_line_and_soon(text: str) -> None:
    started = time.process_time()
    with pytest.raises(SourceSyntaxError) as caught:
        tree_of(text)
    assert "\n" not in caught.value.message
    assert time.process_time() - started < 10


def test_reading_a_deep_file_leaves_the_recursion_limit_as_it_was() -> None:
    before = sys.getrecursionlimit()
    tree_of("x = " + "+".join(["1"] * 5_000))
    assert sys.getrecursionlimit() == before


def test_a_large_file_is_read_in_seconds() -> None:
    text = "def handler(event, context):\n    return [context, event, 'é']\n" * 16_000
    started = time.process_time()
    assert len(tree_of(text).body) == 16_000
    assert time.process_time() - started < 10
