"""The plugin as its users meet it: real pytest processes over a small repository with a test suite."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from pathlib import Path

HANDLER = """\
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration

from shop import stock


@durable_execution
def handler(event: dict, context: DurableContext) -> str:
    hold = context.step(lambda _: stock.client.hold("book"), name="hold")
    try:
        context.wait(Duration.from_hours(1), name="decide")
        return hold
    finally:
        stock.client.release(hold)


@durable_execution
def clean(event: dict, context: DurableContext) -> str:
    context.wait(Duration.from_hours(1), name="decide")
    return "ok"
"""
STOCK = """\
import remote

client = remote.Client()
"""
REMOTE = """\
class Client:
    def hold(self, item):
        return item

    def release(self, hold):
        pass
"""
CONFTEST = """\
import pytest
from aws_durable_execution_sdk_python_testing.runner import DurableFunctionTestRunner


@pytest.fixture
def run():
    def run(handler):
        with DurableFunctionTestRunner(handler, poll_interval=0.01) as runner:
            assert runner.run(input="{}").status.value == "SUCCEEDED"

    return run
"""
TESTS = """\
from shop import order


def test_clean(run):
    run(order.clean)


def test_order(run):
    run(order.handler)


def test_nothing_durable():
    pass
"""


class Ran(NamedTuple):
    status: int
    out: str


class Shop:
    """A repository with one handler that is not clean, one that is, and a test for each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("shop/__init__.py", "")
        self.write("shop/order.py", HANDLER)
        self.write("shop/stock.py", STOCK)
        self.write("site-packages/remote.py", REMOTE)
        self.write("tests/conftest.py", CONFTEST)
        self.write("tests/test_order.py", TESTS)
        self.configure()

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def configure(self, *lines: str) -> None:
        text = '[tool.pytest.ini_options]\npythonpath = [".", "site-packages"]\n' + "\n".join(lines)
        self.write("pyproject.toml", text + "\n")

    def pytest(self, *options: str) -> Ran:
        process = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", *options],
            cwd=self.folder,
            env={
                key: value
                for key, value in os.environ.items()
                if not key.startswith(("COV_", "PYTEST_")) and key != "COVERAGE_FILE"  # which it would erase
            },
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        return Ran(process.returncode, process.stdout + process.stderr)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    folder = tmp_path / "repository"
    return Shop(folder)


PLACE = (
    "shop/order.py:13:5: LDC101 `finally` ran `stock.client.release` while the execution was only suspended"
)


def test_a_suite_without_the_option_is_not_touched(shop: Shop) -> None:
    ran = shop.pytest()
    assert ran.status == 0
    assert "3 passed" in ran.out


def test_one_option_fails_the_test_whose_suspension_ran_a_cleanup_and_no_other(shop: Shop) -> None:
    ran = shop.pytest("--durable-strict")
    assert ran.status == 1
    assert "1 failed, 2 passed" in ran.out
    assert "FAILED tests/test_order.py::test_order" in ran.out
    assert PLACE in ran.out
    assert "at `context.wait` (line 11)" in ran.out


def test_the_option_can_stand_in_the_configuration(shop: Shop) -> None:
    shop.configure("durable_strict = true")
    assert "1 failed, 2 passed" in shop.pytest().out


@pytest.mark.parametrize("pattern", ["shop/order.py", "order.handler", "shop/*"])
def test_what_is_ignored_in_the_configuration_may_run(shop: Shop, pattern: str) -> None:
    shop.configure("durable_strict = true", f'durable_ignore = ["{pattern}"]')
    assert "3 passed" in shop.pytest().out


def test_what_is_ignored_on_the_command_line_may_run(shop: Shop) -> None:
    assert "3 passed" in shop.pytest("--durable-strict", "--durable-ignore", "handler").out


def test_a_mark_lets_one_test_go(shop: Shop) -> None:
    marked = TESTS.replace("def test_order", "import pytest\n\n@pytest.mark.durable_ignore\ndef test_order")
    shop.write("tests/test_order.py", marked)
    assert "3 passed" in shop.pytest("--durable-strict", "--strict-markers").out
    shop.write("tests/test_order.py", marked.replace("durable_ignore", "durable_ignore('*.clean')"))
    assert "1 failed, 2 passed" in shop.pytest("--durable-strict", "--strict-markers").out


def test_the_fixture_watches_one_test(shop: Shop) -> None:
    shop.write(
        "tests/test_order.py",
        """\
from shop import order


def test_order(run, suspensions):
    run(order.handler)
    [suspension] = suspensions.seen
    assert suspension.call.name == "decide"
    assert [(line.row, line.kind) for line in suspension.ran] == [(14, "finally")]
    assert [finding.code for finding in suspensions.findings] == ["LDC101"]
    suspensions.assert_clean()
""",
    )
    ran = shop.pytest()
    assert ran.status == 1
    assert PLACE in ran.out
    assert "UnsafeSuspensions" in ran.out


def test_a_test_that_fails_by_itself_keeps_its_failure_and_gets_the_report(shop: Shop) -> None:
    failing = TESTS.replace("    run(order.handler)", "    run(order.handler)\n    assert 1 == 2")
    shop.write("tests/test_order.py", failing)
    ran = shop.pytest("--durable-strict")
    assert "assert 1 == 2" in ran.out
    assert PLACE in ran.out
    assert "1 failed, 2 passed" in ran.out


def test_an_execution_in_a_fixture_is_held_to_it_too(shop: Shop) -> None:
    shop.write(
        "tests/test_order.py",
        """\
import pytest
from shop import order


@pytest.fixture
def ordered(run):
    run(order.handler)


def test_order(ordered):
    pass
""",
    )
    ran = shop.pytest("--durable-strict")
    assert ran.status == 1
    assert PLACE in ran.out


def test_the_workers_of_xdist_compare_together(shop: Shop) -> None:
    pytest.importorskip("xdist")
    ran = shop.pytest("--durable-strict", "--durable-compare", "-n", "2")
    assert "1 failed, 2 passed" in ran.out
    assert PLACE in ran.out
    assert "seen at run time and by the linter: 1 finding\n" in ran.out
    assert "only seen at run time: 0 findings" in ran.out


def test_the_comparison_says_why_only_the_linter_sees_a_finding(shop: Shop) -> None:
    ran = shop.pytest("--durable-compare", "-k", "clean")
    assert ran.status == 0
    assert "seen at run time and by the linter: 0 findings" in ran.out
    assert "only seen by the linter: 1 finding" in ran.out
    assert "no test suspended inside it" in ran.out


def coverage_of(shop: Shop, *options: str) -> str:
    ran = shop.pytest("--cov=shop", "--cov-branch", "--cov-report=term-missing", *options)
    return next(line for line in ran.out.splitlines() if line.startswith("shop/order.py "))


def test_coverage_counts_the_same_lines_beside_it(shop: Shop) -> None:
    pytest.importorskip("pytest_cov")
    assert coverage_of(shop, "--durable-strict") == coverage_of(shop)
    assert "100%" in coverage_of(shop, "--durable-strict")


DEBUGGED = """\
import sys
import threading

from shop import order

seen = set()


def trace(frame, event, argument):
    if frame.f_code.co_filename.endswith("order.py"):
        seen.add((frame.f_lineno, event))
        return trace
    return None


def test_order(run):
    threading.settrace(trace)
    try:
        run(order.handler)
    finally:
        threading.settrace(None)
    assert (14, "line") in seen
    assert (11, "exception") in seen
    assert {event for _, event in seen} == {"call", "line", "return", "exception"}
    print("TRACED", sorted(seen))
"""


def test_a_debugger_is_told_the_same_beside_it(shop: Shop) -> None:
    shop.write("tests/test_order.py", DEBUGGED)
    told = {
        next(line for line in shop.pytest("-rP", *options).out.splitlines() if "TRACED" in line)
        for options in ((), ("--durable-strict", "--durable-ignore=handler"))
    }
    assert len(told) == 1


def test_without_the_sdk_the_option_says_what_is_missing(shop: Shop) -> None:
    blocked = "import sys\nsys.modules['aws_durable_execution_sdk_python'] = None\n"
    shop.write("tests/conftest.py", blocked)
    shop.write("tests/test_order.py", "def test_nothing():\n    pass\n")
    ran = shop.pytest("--durable-strict")
    assert "watching suspensions needs aws-durable-execution-sdk-python" in ran.out
    assert shop.pytest().status == 0


def test_a_run_that_does_not_use_it_imports_nothing_of_it(shop: Shop) -> None:
    shop.write("tests/conftest.py", "")
    shop.write(
        "tests/test_order.py",
        """\
import sys


def test_nothing():
    loaded = [name for name in sys.modules if name.startswith("durable_lint.")]
    assert loaded == ["durable_lint.pytest_plugin"]
""",
    )
    assert shop.pytest().status == 0
