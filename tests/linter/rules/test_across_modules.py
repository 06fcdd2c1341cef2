"""Contexts, helpers and managers in other modules, however they are imported."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from durable_lint.config.settings import Settings
from durable_lint.linter import Linter

from tests.linter.rules.checking import check

HANDLER = """
    from aws_durable_execution_sdk_python import durable_execution
    {imports}
    from world import release
    @durable_execution
    def handler(event, context):
        try:
            {call}
        finally:  # expect: LDC101
            release()
"""
HELPER = "def pause(c, n=1):\n    c.wait(n)\n"

UNREADABLE = ("def (:\n", "# coding: klingon\ndef pause(c): c.wait(1)\n")
IMPORTS = {
    "a module": ({"flow.py": HELPER}, "import flow", "flow.pause(context)"),
    "a module under another name": ({"flow.py": HELPER}, "import flow as f", "f.pause(context)"),
    "a name": ({"flow.py": HELPER}, "from flow import pause", "pause(context)"),
    "a name under another name": ({"flow.py": HELPER}, "from flow import pause as p", "p(context)"),
    "a package's submodule": (
        {"pkg/__init__.py": "", "pkg/flow.py": HELPER},
        "import pkg.flow",
        "pkg.flow.pause(context)",
    ),
    "a submodule from its package": (
        {"pkg/__init__.py": "", "pkg/flow.py": HELPER},
        "from pkg import flow",
        "flow.pause(context)",
    ),
    "a re-export": (
        {"pkg/__init__.py": "from .flow import pause\n", "pkg/flow.py": HELPER},
        "from pkg import pause",
        "pause(context)",
    ),
    "a re-export of a re-export": (
        {
            "pkg/__init__.py": "from .sub import pause\n",
            "pkg/sub/__init__.py": "from ..flow import pause as pause\n",
            "pkg/flow.py": HELPER,
        },
        "import pkg",
        "pkg.pause(context)",
    ),
    "a star import": (
        {"pkg/__init__.py": "from .flow import *\n", "pkg/flow.py": HELPER},
        "from pkg import *",
        "pause(context)",
    ),
    "a namespace package": ({"ns/flow.py": HELPER}, "from ns.flow import pause", "pause(context)"),
    "a src layout": ({"src/flow.py": HELPER}, "from flow import pause", "pause(context)"),
    "inside the function, with a fallback": (
        {"flow.py": HELPER},
        "",
        "from flow import pause; pause(context)",
    ),
    "a class": (
        {
            "flow.py": "class Flow:\n    def __init__(self, c):\n        self.c = c\n    def run(self):\n        self.c.wait(1)\n"
        },
        "from flow import Flow",
        "Flow(context).run()",
    ),
    "an instance made elsewhere": (
        {"flow.py": "class Flow:\n    def run(self, c):\n        c.wait(1)\nflow = Flow()\n"},
        "from flow import flow",
        "flow.run(context)",
    ),
    "through three modules": (
        {
            "a.py": "from b import two\ndef one(c):\n    two(c)\n",
            "b.py": "import c as third\ndef two(x):\n    third.three(x)\n",
            "c.py": "def three(y):\n    y.wait(1)\n",
        },
        "from a import one",
        "one(context)",
    ),
    "modules that import each other": (
        {
            "a.py": "import b\ndef one(c, n):\n    return b.two(c, n)\n",
            "b.py": "import a\ndef two(c, n):\n    if n:\n        return a.one(c, n - 1)\n    c.wait(1)\n",
        },
        "import a",
        "a.one(context, 3)",
    ),
    "a base class": (
        {
            "base.py": "class Base:\n    def __init__(self, c):\n        self.c = c\n    def run(self):\n        self.c.wait(1)\n"
        },
        "from base import Base\n    class Mine(Base):\n        pass",
        "Mine(context).run()",
    ),
    "a module without source is assumed": ({}, "from vendor import pause", "pause(context)"),
    "a module that does not parse is assumed": (
        {"flow.py": UNREADABLE[0]},
        "from flow import pause",
        "pause(context)",
    ),
    "a module that cannot be decoded is assumed": (
        {"flow.py": UNREADABLE[1]},
        "from flow import pause",
        "pause(context)",
    ),
    "two ways to the same module": (
        {
            "flow.py": HELPER,
            "left.py": "from flow import pause\ndef left(c):\n    pause(c)\n",
            "right.py": "import left\nfrom flow import pause\ndef right(c):\n    left.left(c)\n    pause(c)\n",
        },
        "import right",
        "right.right(context)",
    ),
}


@pytest.mark.parametrize(("files", "imports", "call"), IMPORTS.values(), ids=IMPORTS.keys())
def test_a_helper_is_followed(files: dict[str, str], imports: str, call: str) -> None:
    text = dedent(HANDLER).format(imports=dedent("    " + imports), call=call)
    parsed = {name: body for name, body in files.items() if body not in UNREADABLE}
    broken = {name: body for name, body in files.items() if body in UNREADABLE}
    check({"handler.py": text, **parsed}, extra_files=broken)


PROJECTS = {
    "the finally is in the helper's module": {
        "handler.py": """
            from aws_durable_execution_sdk_python import durable_execution
            from flow import outer
            @durable_execution
            def handler(event, context):
                outer(context)
        """,
        "flow.py": """
            from world import release
            from inner import pause
            def outer(c):
                try:
                    pause(c)
                finally:  # expect: LDC101
                    release()
        """,
        "inner.py": """
            def pause(c):
                c.wait(1)
        """,
    },
    "a manager in another module is judged by its code": {
        "handler.py": """
            from aws_durable_execution_sdk_python import durable_execution
            from managers import held, quiet
            @durable_execution
            def handler(event, context):
                with quiet():
                    context.wait(1)
                with held():  # expect: LDC102
                    context.wait(1)
        """,
        "managers.py": """
            from contextlib import contextmanager
            from world import release
            @contextmanager
            def held():
                try:
                    yield
                finally:
                    release()
            @contextmanager
            def quiet():
                try:
                    yield
                finally:
                    print("x")
        """,
    },
    "a cleanup function in another module is judged by its code": {
        "handler.py": """
            from aws_durable_execution_sdk_python import durable_execution
            from cleanup import note, drop
            @durable_execution
            def handler(event, context):
                try:
                    context.wait(1)
                finally:
                    note()
                try:
                    context.wait(1)
                finally:  # expect: LDC101
                    drop()
        """,
        "cleanup.py": """
            import logging, shutil
            log = logging.getLogger(__name__)
            def note():
                log.info("over")
            def drop():
                shutil.rmtree("/tmp/x")
        """,
    },
    "a decorator in another module": {
        "handler.py": """
            from aws_durable_execution_sdk_python import durable_execution
            from deco import cleaned
            @durable_execution
            @cleaned
            def handler(event, context):
                context.wait(1)
        """,
        "deco.py": """
            import functools
            from world import release
            def cleaned(f):
                @functools.wraps(f)
                def inner(*args, **kwargs):
                    try:
                        return f(*args, **kwargs)
                    finally:  # expect: LDC101
                        release()
                return inner
        """,
    },
    "a function that only steps call, elsewhere": {
        "handler.py": """
            from aws_durable_execution_sdk_python import durable_execution
            from steps import body
            @durable_execution
            def handler(event, context):
                context.step(body)
                context.step(lambda c: body(c))
        """,
        "steps.py": """
            from aws_durable_execution_sdk_python import DurableContext
            from world import release
            def body(context: DurableContext):
                try:
                    context.step(1)
                finally:
                    release()
        """,
    },
    "a look-alike of the project's own": {
        "handler.py": """
            from aws_durable_execution_sdk_python import durable_execution
            from engine import Engine
            from world import release
            @durable_execution
            def handler(event, context):
                engine = Engine()
                try:
                    engine.wait(1)
                    engine.step(2)
                finally:
                    release()
        """,
        "engine.py": """
            class Engine:
                def wait(self, n): return n
                def step(self, n): return n
        """,
    },
    "a handler made by a factory in another module": {
        "app.py": """
            from factory import make
            from world import release
            def body(event, c):
                try:
                    c.wait(1)
                finally:  # expect: LDC101
                    release()
            handler = make(body)
        """,
        "factory.py": """
            from aws_durable_execution_sdk_python import durable_execution
            def make(f):
                @durable_execution
                def handler(event, context):
                    return f(event, context)
                return handler
        """,
    },
    "a protocol": {
        "app.py": """
            from typing import Protocol
            from aws_durable_execution_sdk_python import durable_execution
            from world import release
            class Pauses(Protocol):
                def pause(self): ...
            class Real:
                def __init__(self, c): self.c = c
                def pause(self): self.c.wait(1)
            def run(p: Pauses):
                try:
                    p.pause()
                finally:  # expect: LDC101
                    release()
            @durable_execution
            def handler(event, context):
                run(Real(context))
        """,
    },
}


@pytest.mark.parametrize("files", PROJECTS.values(), ids=PROJECTS.keys())
def test_projects(files: dict[str, str]) -> None:
    check(files)


def test_one_file_given_alone_is_judged_as_in_a_whole_run(tmp_path: Path) -> None:
    for files in PROJECTS.values():
        root = tmp_path / str(id(files))
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(dedent(text))
        whole = Linter(Settings(root=root))
        for name in files:
            alone = Linter(Settings(root=root)).lint(root / name)
            assert alone.findings == whole.lint(root / name).findings


def test_five_hundred_modules_in_a_circle_are_followed() -> None:
    files = {
        f"m{i}.py": f"from m{(i + 1) % 500} import f as g\ndef f(c, n):\n    return g(c, n - 1) if n else c.wait(1)\n"
        for i in range(500)
    }
    files["handler.py"] = """
        from aws_durable_execution_sdk_python import durable_execution
        from m0 import f
        from world import release
        @durable_execution
        def handler(event, context):
            try:
                f(context, 3)
            finally:  # expect: LDC101
                release()
    """
    check(files)


def test_a_result_comes_back_through_more_calls_than_are_evaluated_inside_each_other() -> None:
    # Each helper is defined before the one that it calls, and hands back what it was given.
    helpers = "".join(f"def h{i}(c):\n    return h{i + 1}(c)\n" for i in range(40))
    check(
        {
            "helpers.py": helpers + "def h40(c):\n    return c\n",
            "handler.py": """
                from aws_durable_execution_sdk_python import durable_execution
                from helpers import h0
                from world import release
                @durable_execution
                def handler(event, context):
                    same = h0(context)
                    try:
                        same.wait(1)
                    finally:  # expect: LDC101
                        release()
            """,
        }
    )


def test_names_that_modules_import_from_each_other_are_found() -> None:
    check(
        {
            "a.py": "from b import pause, later\ndef early(c):\n    pause(c)\n",
            "b.py": "from a import early as later\ndef pause(c):\n    c.wait(1)\n",
            "handler.py": """
                from aws_durable_execution_sdk_python import durable_execution
                from a import later
                from world import release
                @durable_execution
                def handler(event, context):
                    try:
                        later(context)
                    finally:  # expect: LDC101
                        release()
            """,
        }
    )


def test_a_call_stays_unresolved_when_another_caller_hands_over_no_context(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    handler = tmp_path / "handler.py"
    handler.write_text(
        "from aws_durable_execution_sdk_python import durable_execution\n"
        "from vendor import track, release\n"
        "def helper(c):\n"
        "    track(c)\n"
        "@durable_execution\n"
        "def handler(event, context):\n"
        "    try:\n"
        "        helper(context)\n"
        "        helper(release)\n"
        "    finally:\n"
        "        release()\n"
    )
    notes = Linter(Settings(root=tmp_path, src=(tmp_path,))).lint(handler).notes
    assert [note.message.partition(" could")[0] for note in notes] == ["line 4: `track`"]


def test_what_could_not_be_resolved_is_told_and_counted(tmp_path: Path) -> None:
    import json
    import subprocess
    import sys

    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "helper.py").write_text("def note(c):\n    print(c)\n")
    (tmp_path / "handler.py").write_text(
        "from aws_durable_execution_sdk_python import durable_execution\n"
        "from vendor import track, release\n"
        "from helper import note\n"
        "@durable_execution\n"
        "def handler(event, context):\n"
        "    try:\n"
        "        note(context)\n"
        "        track(context)\n"
        "    finally:\n"
        "        release()\n"
    )

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "durable_lint", "--no-cache", *options, "handler.py"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert "1 call could not be resolved" in run().stdout
    assert "line 8: `track`" in run("--verbose").stderr
    (finding,) = json.loads(run("--output-format", "json").stdout)
    assert any("track" in message for message in finding["unresolved"])
    assert "2 modules parsed" in run("--statistics").stdout


def test_a_project_that_is_reached_through_a_link_is_one_project(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "pyproject.toml").touch()
    (real / "helper.py").write_text(
        "def pause(c):\n    try:\n        c.wait(1)\n    finally:\n        release()\n"
    )
    (real / "handler.py").write_text(
        "from aws_durable_execution_sdk_python import durable_execution\n"
        "from helper import pause\n"
        "@durable_execution\n"
        "def handler(event, context):\n"
        "    pause(context)\n"
    )
    link = tmp_path / "link"
    link.symlink_to(real)
    linter = Linter(Settings(root=link))
    assert linter.lint(link / "handler.py").findings == ()
    (finding,) = linter.lint(link / "helper.py").findings
    assert (finding.code, finding.path) == ("LDC101", link / "helper.py")
