"""A fix touches the block that it rewrites and the imports; every other byte of the file stays."""

from __future__ import annotations

import io
import tokenize
from collections import Counter
from textwrap import indent
from typing import TYPE_CHECKING

import pytest
from durable_lint.config.settings import Settings
from durable_lint.linter import Linter
from durable_lint.rewrite import Rewriter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

IMPORT = "from durable_runtime import terminal_scope"

BLOCKS = {
    "plain": """\
try:
    context.wait(1)
{comment}
    return vm
finally:
    terminate(vm)
""",
    "handlers": """\
try:
    context.wait(1)
    {comment}
except ValueError:
    return '{word}'
else:
    vm = "{word}"
finally:
    {comment}
    context.step(lambda _: terminate("{word}"), name='end')  {comment}
    terminate(vm)
""",
    "string": """\
try:
    context.wait(1)
    text = '''{word}
{comment}
        of several lines
'''
finally:
    logger.info('''{word}
  last''')
    terminate(vm)
""",
    "swallow": """\
try:
    context.wait(1)
except:  {comment}
    terminate(vm)
""",
}

MODULE = """\
{cookie}'''{word}: a module.'''
import logging
import boto3
from aws_durable_execution_sdk_python import durable_execution, DurableContext
logger = logging.getLogger(__name__)
{comment}
def terminate(vm):
\tboto3.client("ec2").terminate_instances(InstanceIds=[vm])  {comment}


@durable_execution
def handler(event, context: DurableContext):
{unit}vm = "{word}"   {comment}
{block}
def after():
{unit}return '''{word}'''
{comment}{end}"""

ENCODINGS = ["utf-8", "latin-1", "cp1251", "utf-8-sig", "shift_jis"]
WORDS = {"utf-8": "grün 猫 𝒳", "latin-1": "grün", "cp1251": "зелёный", "utf-8-sig": "é 猫", "shift_jis": "猫"}


def fixed(raw: bytes, folder: Path) -> bytes:
    path = folder / "module.py"
    linter = Linter(Settings(root=folder, src=(folder,)), with_fixes=True)
    done = Rewriter(linter, unsafe_fixes=True, only=path).rewrite(path, raw)
    assert not done.result.failures, done.result.failures
    assert done.fixed, [finding.no_fix for finding in done.result.findings]
    return done.contents[path]


def comments(raw: bytes, encoding: str) -> Counter[str]:
    lines = io.StringIO(raw.decode(encoding), newline="").readline
    return Counter(
        token.string for token in tokenize.generate_tokens(lines) if token.type == tokenize.COMMENT
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    encoding=st.sampled_from(ENCODINGS),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    unit=st.sampled_from(["    ", "\t", "  ", " \t"]),
    block=st.sampled_from(sorted(BLOCKS)),
    words=st.text("abc xyz", max_size=8),
    end=st.sampled_from(["", "\n", "\n\n\n"]),
)
def test_bytes_outside_the_block_are_the_same(
    encoding: str, newline: str, unit: str, block: str, words: str, end: str, folder: Path
) -> None:
    word = WORDS[encoding]
    comment = f"# {words.strip()}{word}"
    cookie = "" if encoding.startswith("utf-8") else f"# -*- coding: {encoding} -*-\n"
    written = BLOCKS[block].format(word=word, comment=comment)
    written = "\n".join(
        line if line.startswith(("#", "        of", "  last", "'''")) else line.replace("    ", unit)
        for line in written.split("\n")
    )
    inside = "\n".join(
        line if line.startswith(("  last", "'''", "        of")) else indent(line, unit)
        for line in written.split("\n")
    )
    text = MODULE.format(cookie=cookie, word=word, comment=comment, unit=unit, block=inside, end=end)
    raw = text.replace("\n", newline).encode(encoding)
    after = fixed(raw, folder)
    start = raw.index(b"vm = ") + len(b"vm = ")
    tail = raw[raw.index(b"def after()") :]
    assert after.endswith(tail)
    line = (IMPORT + newline).encode(encoding.removesuffix("-sig"))
    head = raw[:start]
    assert after.replace(line, b"", 1).startswith(head)
    assert comments(after, encoding) == comments(raw, encoding)
    if newline != "\r":
        ends = after.replace(b"\r\n", b"") if newline == "\r\n" else after
        assert b"\r" not in ends
        assert newline == "\n" or b"\n" not in ends
    assert after.count(line) == (0 if block == "swallow" else 1)
    path = folder / "module.py"
    linter = Linter(Settings(root=folder, src=(folder,)), with_fixes=True)
    assert not Rewriter(linter, unsafe_fixes=True, only=path).rewrite(path, after).contents


IMPORTS = {
    "no import at all": ("{d}", "from durable_runtime import terminal_scope\n\n{d}"),
    "a comment at the top": (
        "#!/usr/bin/env python\n# Licence.\n\n{d}",
        "#!/usr/bin/env python\n# Licence.\n\nfrom durable_runtime import terminal_scope\n\n{d}",
    ),
    "docstring": ('"""Doc."""\n\n\n{d}', '"""Doc."""\n\nfrom durable_runtime import terminal_scope\n\n\n{d}'),
    "docstring and future": (
        '"""Doc."""\nfrom __future__ import annotations\n\n{d}',
        '"""Doc."""\nfrom __future__ import annotations\n\nfrom durable_runtime import terminal_scope\n\n{d}',
    ),
    "standard library only": (
        "import os\nimport sys\n\n\n{d}",
        "import os\nimport sys\n\nfrom durable_runtime import terminal_scope\n\n\n{d}",
    ),
    "between its neighbours": (
        "import boto3\nfrom aws_durable_execution_sdk_python import DurableContext\nfrom requests import get\n\n\n{d}",
        "import boto3\nfrom aws_durable_execution_sdk_python import DurableContext\n"
        "from durable_runtime import terminal_scope\nfrom requests import get\n\n\n{d}",
    ),
    "before later ones": (
        "import boto3\nfrom requests import get\n\n\n{d}",
        "import boto3\nfrom durable_runtime import terminal_scope\nfrom requests import get\n\n\n{d}",
    ),
    "never for the type checker alone": (
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from durable_runtime import terminal_scope\n\n\n{d}",
        None,
    ),
    "beside another name of the runtime": (
        "from durable_runtime import TerminalScopeConfig\n\n\n{d}",
        "from durable_runtime import TerminalScopeConfig, terminal_scope\n\n\n{d}",
    ),
    "already there under another name": (
        "from durable_runtime import terminal_scope as scoped\n\n\n{d}",
        "from durable_runtime import terminal_scope as scoped\n\n\n{d}",
    ),
    "module imported": ("import durable_runtime\n\n\n{d}", "import durable_runtime\n\n\n{d}"),
    "relative imports": (
        "from . import things\n\n\n{d}",
        "from durable_runtime import terminal_scope\n\nfrom . import things\n\n\n{d}",
    ),
}
DEFINITION = """\
def helper(context):
    from aws_durable_execution_sdk_python import DurableContext  # noqa: F401

    try:
        context.run_in_child_context(work)
    finally:
        release()
"""


@pytest.mark.parametrize("name", sorted(IMPORTS))
def test_the_import_stands_where_isort_would_put_it(name: str, folder: Path) -> None:
    before, after = IMPORTS[name]
    text = fixed(before.format(d=DEFINITION).encode(), folder).decode()
    head = text[: text.index("def helper")]
    if after is None:
        assert "    from durable_runtime import terminal_scope\n" in head
        assert "\nfrom durable_runtime import terminal_scope" in "\n" + head.replace("    from", "    ")
    else:
        assert head == after.format(d="")


def test_an_import_that_nothing_needs_any_more_goes(folder: Path) -> None:
    raw = b"""import contextlib
from contextlib import ExitStack, suppress

import boto3
from aws_durable_execution_sdk_python import DurableContext, durable_execution


@durable_execution
def handler(event, context: DurableContext):
    with ExitStack() as stack, suppress(KeyError):
        stack.callback(boto3.client("ec2").terminate_instances, InstanceIds=["vm"])
        context.wait(1)
"""
    text = fixed(raw, folder).decode()
    assert "import contextlib\nfrom contextlib import suppress\n" in text
