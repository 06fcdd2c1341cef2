"""What the bytes of a file say: never less than its tree."""

from __future__ import annotations

import ast
import sysconfig
import time
from pathlib import Path

import pytest
from durable_lint.gate.scan import Import, Words, imports, searchable

STANDARD_LIBRARY = Path(sysconfig.get_paths()["stdlib"])


def of_tree(raw: bytes) -> set[Import]:
    found: set[Import] = set()
    for node in ast.walk(ast.parse(raw)):
        if isinstance(node, ast.Import):
            found |= {Import(alias.name, ()) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            found.add(Import(module, tuple(alias.name for alias in node.names)))
    return found


@pytest.mark.parametrize(
    "text",
    [
        "import a",
        "import a.b.c as d, e, f as g  # h",
        "from a.b import c, d as e",
        "from . import a",
        "from .a import b",
        "from.a import b",
        "from ... a . b import c",
        "from a import*",
        "from a import(b)",
        "from a import (  # (\n  b,  # ) c\n  d as e,\n\n)",
        "from a \\\n  import \\\n  b, \\\n  c",
        "import a; from b import c; import d",
        "try: import a\nexcept ImportError: from b import c",
        "if True:\n\timport a\n\tdef f():\n\t\tfrom b import c",
        "x = 'import'; import a",
        "important = 1\nfrom important import imports",
        "import a\r\nfrom b import (\r\n  c,\r\n  d)\r\n",
        "import a\rimport b\rfrom c import d",
        "\x0cimport a",
        "import é, \U0001d41a\nfrom ü import \ufb01",
        "def f(): import a",
        "class A: from a import b",
        "async def f():\n  if x: import a",
    ],
)
def test_every_import_statement_is_seen(text: str) -> None:
    assert of_tree(text.encode()) <= set(imports(text.encode()))


def test_lazy_imports_are_seen() -> None:
    assert imports(b"lazy import a.b\nlazy from c import d\n") == (Import("a.b", ()), Import("c", ("d",)))


def test_imports_are_seen_through_an_encoding_that_hides_ascii() -> None:
    raw = "# coding: utf-7\nimport secret_module\n".encode("utf-7").replace(b"secret", b"+AHMAZQBjAHIAZQB0-")
    assert Import("secret_module", ()) in imports(raw)
    assert b"secret_module" in searchable(raw)


@pytest.mark.parametrize(
    "package", ["asyncio", "ctypes", "email", "importlib", "json", "logging", "unittest"]
)
def test_nothing_that_the_standard_library_imports_is_missed(package: str) -> None:
    for path in (STANDARD_LIBRARY / package).rglob("*.py"):
        raw = path.read_bytes()
        assert of_tree(raw) <= set(imports(raw)), path


@pytest.mark.parametrize(
    "raw",
    [
        b"from a import (" + b"#x\n" * 200_000,
        b"import " * 200_000,
        b"x import " * 200_000,
        b"from a " * 200_000,
        b"from a \\\n" * 100_000 + b"import x",
        b"import\n" * 100_000,
        b"\\\n" * 500_000 + b"import",
        (b"\\\n" * 30 + b"import\n") * 20_000,
        b":" * 500_000 + b"import",
        b": from " * 200_000 + b"import (",
        b"from (" * 100_000 + b"import",
        b"from a import (" * 100_000,
    ],
)
def test_hostile_bytes_take_linear_time(raw: bytes) -> None:
    started = time.process_time()
    imports(raw)
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    "text",
    [
        "from aws_durable_execution_sdk_python.context import DurableContext",
        "def f(c: 'aws_durable_execution_sdk_python.DurableContext'): ...",
        "import durable_runtime.plugin",
        "def f(stage): stage.run_in_child_context(g)",
        "def f(stage): stage.wait_for_callback(g)",
        "def f(stage): stage.wait_for_condition(g, h)",
        "def f(stage): stage.create_callback()",
    ],
)
def test_names_of_the_sdk_make_durable_code(text: str) -> None:
    assert Words().in_bytes(text.encode())


def test_ordinary_code_is_no_durable_code() -> None:
    assert not Words().in_bytes(b"import boto3\nwith open(p) as f:\n    f.map(wait, step)\n")


@pytest.mark.parametrize(
    ("configured", "text"),
    [
        ("flows.engine.pause", "from flows.engine import pause"),
        ("flows.Stage", "def f(stage: Stage): ..."),
        ("flows.*.pause_*", "engine.pause_until(x)"),
        ("flows.*", "import flows"),
    ],
)
def test_configured_names_make_durable_code(configured: str, text: str) -> None:
    assert Words.with_names((configured,)).in_bytes(text.encode())
    assert not Words().in_bytes(text.encode())
