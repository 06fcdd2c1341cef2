"""Fixed code passes mypy --strict where the original did, and flake8 where it did."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from durable_lint.config.settings import Settings
from durable_lint.linter import Linter
from durable_lint.rewrite import Rewriter

SOURCE = '''\
"""Typed handlers."""

from __future__ import annotations

from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import boto3
from aws_durable_execution_sdk_python import durable_execution
from aws_durable_execution_sdk_python.config import Duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aws_durable_execution_sdk_python import DurableContext

CLIENT = boto3.client("ec2")


def launch() -> dict[str, str]:
    return {"id": "vm"}


def terminate(vm: str) -> None:
    CLIENT.terminate_instances(InstanceIds=[vm])


class Session:
    def close(self) -> None:
        terminate("session")


@contextmanager
def held(context: DurableContext, vm: str) -> Iterator[str]:
    try:
        yield vm
    finally:
        context.step(lambda _: terminate(vm), name="terminate")


@durable_execution
def handler(event: dict[str, str], context: DurableContext) -> str:
    vm = None
    try:
        vm = context.step(lambda _: launch(), name="launch")
        context.wait(Duration.from_seconds(1), name="pause")
        return "done"
    finally:
        if event:
            terminate(str(vm))
        terminate(event["vm"])


@durable_execution
def waiting(event: dict[str, str], context: DurableContext) -> None:
    try:
        context.wait(Duration.from_seconds(1), name="pause")
    finally:
        context.step(lambda _: terminate("one"), name="one")
        context.wait(Duration.from_seconds(1), name="drain")
        terminate("two")


@durable_execution
def stacked(event: list[str], context: DurableContext) -> int:
    with ExitStack() as stack:
        for vm in event:
            stack.callback(terminate, vm)
        stack.callback(partial(terminate, "last"))
        context.wait(Duration.from_seconds(1), name="pause")
        return 1


@durable_execution
def closed(event: str, context: DurableContext) -> None:
    with closing(Session()), held(context, event) as vm:
        context.wait(Duration.from_seconds(1), name=vm)


@durable_execution
def undone(event: str, context: DurableContext) -> str:
    try:
        context.wait(Duration.from_seconds(1), name="pause")
        return event
    except BaseException:
        terminate(event)
        raise
'''


def _run(*command: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("form", ["in-place", "callable"])
def test_fixed_code_passes_mypy_strict_and_flake8(form: str, tmp_path: Path) -> None:
    path = tmp_path / "typed.py"
    path.write_text(SOURCE)
    (tmp_path / "mypy.ini").write_text(
        "[mypy]\nstrict = true\n[mypy-boto3.*]\nignore_missing_imports = true\n"
    )
    assert "Success" in _run("mypy", "typed.py", folder=tmp_path)
    plain = ("flake8", "--isolated", "--extend-ignore=LDC", "typed.py")
    assert _run(*plain, folder=tmp_path) == ""
    linter = Linter(Settings(root=tmp_path, src=(tmp_path,), fix_form=form), with_fixes=True)
    done = Rewriter(linter, unsafe_fixes=True, only=path).rewrite(path)
    path.write_bytes(done.contents[path])
    if form == "in-place":
        assert not done.result.findings, [f.no_fix for f in done.result.findings]
        assert _run("flake8", "--isolated", "typed.py", folder=tmp_path) == ""
    else:
        assert all(
            re.search("only rewritten in place|only the in-place form", f.no_fix) or f.code == "LDC102"
            for f in done.result.findings
        )
        assert _run(*plain, folder=tmp_path) == ""
    assert "Success" in _run("mypy", "typed.py", folder=tmp_path), path.read_text()
