"""A run collects no garbage, so it must leave none: what is in a cycle would stay until the run is over."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from durable_lint.cli import main
from durable_lint.config.load import Resolver
from durable_lint.linter import Linter

if TYPE_CHECKING:
    from pathlib import Path

_HANDLER = """\
from aws_durable_execution_sdk_python import durable_execution


@durable_execution
def handler(event, context):
    client = event["client"]
    try:
        return context.wait_for_callback(name="approval")
    finally:
        client.terminate(event["id"])
"""


def test_a_proposed_fix_leaves_no_tree_for_the_garbage_collector(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    path = tmp_path / "handler.py"
    path.write_text(_HANDLER)
    linter = Linter(Resolver(), with_fixes=True)
    gc.collect()
    gc.disable()
    try:
        assert linter.lint(path).findings[0].fix is not None
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = {type(thing).__module__ for thing in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert "ast" not in left


def test_a_program_that_calls_the_command_line_collects_garbage_as_before(tmp_path: Path) -> None:
    (tmp_path / "clean.py").write_text("x = 1\n")
    assert main([str(tmp_path / "clean.py"), "--no-cache"]) == 0
    assert gc.isenabled()
