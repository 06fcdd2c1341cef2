"""When a file is let through to the rules, and that nothing heavy is needed to decide it."""

from __future__ import annotations

import ast
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from durable_lint.gate import ImportIndex, could_hold_finding, passes_bytes

if TYPE_CHECKING:
    from pathlib import Path

HANDLER = "from aws_durable_execution_sdk_python import durable_execution\n"


def passes(root: Path, text: str, **options: bool) -> bool:
    path = root / "case.py"
    path.write_text(HANDLER + text)
    raw = path.read_bytes()
    return could_hold_finding(ImportIndex(root), path, raw, ast.parse(raw), **options)


@pytest.mark.parametrize(
    "text",
    [
        "try:\n  f()\nfinally:\n  g()\n",
        "def f():\n  while x:\n    try: g()\n    finally: h()\n",
        "match x:\n  case 1:\n    try: g()\n    finally: h()\n",
        "try:\n  f()\nexcept:\n  g()\n",
        "try:\n  f()\nexcept BaseException:\n  g()\n",
        "try:\n  f()\nexcept (ValueError, BaseException):\n  g()\n",
        "import builtins\ntry:\n  f()\nexcept builtins.BaseException:\n  g()\n",
        "try:\n  f()\nexcept* BaseException:\n  g()\n",
        "ANY = BaseException\ntry:\n  f()\nexcept ANY:\n  g()\n",
        "def f(errors):\n  try: g()\n  except errors: h()\n",
        "ValueError = BaseException\ntry: g()\nexcept ValueError: h()\n",
        "from errors import *\ntry: g()\nexcept ValueError: h()\n",
        "from .errors import Fatal\ntry: g()\nexcept Fatal: h()\n",
        "from project_errors import Fatal\ntry: g()\nexcept Fatal: h()\n",
        (
            "from aws_durable_execution_sdk_python.exceptions import SuspendExecution\n"
            "try: g()\nexcept SuspendExecution: h()\n"
        ),
        "from other import SuspendExecution as S\ntry: g()\nexcept S: h()\n",
        "try: g()\nexcept kinds[0]: h()\n",
        "with lease(): g()\n",
        "with open: g()\n",
        "def open(p): ...\nwith open(p): g()\n",
        "async def f():\n  async with lease(): g()\n",
        "from contextlib import suppress\nwith suppress(BaseException): g()\n",
        "@lock.held()\ndef f(): g()\n",
        "@locked\ndef f(): g()\n",
        "class P:\n  def on_user_function_start(self, info): ...\n",
        "class P(DurableInstrumentationPlugin):\n  x = 1\n",
        "def h(event, context):\n  context.map(xs, lambda c, x, i, n: context.step(f))\n",
        "def h(event, context):\n  def body(c): context.step(f)\n  context.run_in_child_context(body)\n",
        "def register(terminal, vm):\n  terminal.cleanup(lambda s: vm)\n",
    ],
)
def test_a_file_that_could_hold_a_finding_is_let_through(tmp_path: Path, text: str) -> None:
    (tmp_path / "project_errors.py").write_text("Fatal = BaseException\n")
    assert passes(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "@durable_execution\ndef handler(event, context):\n  return context.step(f(event))\n",
        "try:\n  f()\nexcept Exception:\n  g()\n",
        "try:\n  f()\nexcept (ValueError, KeyError) as error:\n  g()\n",
        "import boto3.exceptions\ntry: f()\nexcept boto3.exceptions.Boto3Error: g()\n",
        "from botocore.exceptions import ClientError as E\ntry: f()\nexcept E: g()\n",
        "class Stop(Exception): ...\ntry: f()\nexcept Stop: g()\n",
        "with open(p) as stream:\n  f(stream)\n",
        "from contextlib import suppress\nwith suppress(KeyError): g()\n",
        "import contextlib\nwith contextlib.nullcontext(): g()\n",
        (
            "import functools\nclass A:\n  @property\n  def x(self): ...\n  @x.setter\n"
            "  def x(self, v): ...\n  @functools.cache\n  def y(self): ...\n"
        ),
    ],
)
def test_a_file_that_cannot_hold_a_finding_is_stopped(tmp_path: Path, text: str) -> None:
    assert not passes(tmp_path, text)


def test_strict_counts_process_local_managers(tmp_path: Path) -> None:
    assert passes(tmp_path, "with open(p) as stream:\n  f(stream)\n", strict=True)


def test_the_rule_about_repeated_cleanup_wants_every_handler(tmp_path: Path) -> None:
    text = "try:\n  f()\nexcept Exception:\n  g()\n  raise\ng()\n"
    assert passes(tmp_path, text, repeated=True)
    assert not passes(tmp_path, text)


def test_a_file_without_a_word_is_let_through_only_where_imports_lead_to_it(tmp_path: Path) -> None:
    raw = b"def outer(c):\n  try: inner(c)\n  finally: g()\n"
    (tmp_path / "handler.py").write_text(HANDLER + "import helper\n")
    for name in ("helper.py", "apart.py"):
        (tmp_path / name).write_bytes(raw)
    index = ImportIndex(tmp_path)
    assert passes_bytes(index, tmp_path / "helper.py", raw)
    assert not passes_bytes(index, tmp_path / "apart.py", raw)


def test_a_helper_of_a_plugin_is_let_through(tmp_path: Path) -> None:
    plugin = HANDLER + "import tracing\nclass P:\n  def on_user_function_start(self, info): tracing.enter()\n"
    (tmp_path / "plugin.py").write_text(plugin)
    raw = b"def enter():\n  attach()\n"
    (tmp_path / "tracing.py").write_bytes(raw)
    assert could_hold_finding(ImportIndex(tmp_path), tmp_path / "tracing.py", raw, ast.parse(raw))


def test_deciding_needs_no_libcst_and_no_rules(tmp_path: Path) -> None:
    (tmp_path / "handler.py").write_text(HANDLER + "with lease(): g()\n")
    script = (
        "import sys; from pathlib import Path; from durable_lint.gate import *\n"
        f"root = Path({str(tmp_path)!r}); path = root / 'handler.py'\n"
        "assert passes_bytes(ImportIndex(root), path, path.read_bytes())\n"
        "heavy = ('libcst', 'durable_lint.rules', 'durable_lint.facts', 'durable_lint.project')\n"
        "assert not [name for name in sys.modules if name.startswith(heavy)]\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
