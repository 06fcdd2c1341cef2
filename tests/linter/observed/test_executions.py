"""Suspensions are seen wherever they come from: branches on their threads, child contexts, retries, revoked
tokens.
"""

from __future__ import annotations

import importlib.util
import json
import linecache
import sys
import textwrap
import threading
import time
from typing import TYPE_CHECKING, Any  # a handler's module is known at run time only

import pytest
from aws_durable_execution_sdk_python_testing.runner import DurableFunctionTestRunner
from durable_lint.observed import UnsafeSuspensions, transport, watch_suspensions
from durable_lint.observed.model import Cause, Kind
from durable_lint.observed.suspensions import Suspensions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HEADER = """\
from contextlib import ExitStack, closing, contextmanager, suppress
import logging
import threading

from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import (
    CompletionConfig, Duration, MapConfig, ParallelConfig, StepConfig
)
from aws_durable_execution_sdk_python.retries import RetryStrategyConfig, create_retry_strategy
from remote import release

logger = logging.getLogger(__name__)
"""
FIRST = HEADER.count("\n") + 1


REMOTE = """\
import functools

def release(*_):
    pass

def keeping(function):
    @functools.wraps(function)
    def kept(*arguments):
        try:
            return function(*arguments)
        except BaseException:
            return None
    return kept

class Lease:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass
"""


class Project:
    """A handler's module in a folder, next to an installed package `remote` that nobody can look into."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "flows.py"
        packages = folder / "site-packages"
        packages.mkdir()
        (packages / "remote.py").write_text(REMOTE, "utf-8")
        sys.path.insert(0, str(packages))

    def handler(self, source: str, name: str = "handler") -> Any:
        self.path.write_text(HEADER + textwrap.dedent(source).lstrip("\n"), "utf-8")
        linecache.checkcache(str(self.path))
        spec = importlib.util.spec_from_file_location("flows", self.path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules["flows"] = module
        spec.loader.exec_module(module)
        return getattr(module, name)

    def row(self, text: str) -> int:
        lines = self.path.read_text("utf-8").splitlines()
        return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path)
    yield made
    sys.path.remove(str(tmp_path / "site-packages"))
    sys.modules.pop("flows", None)
    sys.modules.pop("remote", None)


def run(
    handler: Any,
    *,
    skip_time: bool = True,
    act: Callable[[DurableFunctionTestRunner, str], None] = lambda *_: None,
    watch: dict[str, Any] | None = None,
) -> Suspensions:
    with (
        watch_suspensions(**(watch or {})) as seen,
        DurableFunctionTestRunner(
            handler, poll_interval=0.01, execution_timeout=30, skip_time=skip_time
        ) as runner,
    ):
        arn = runner.run_async(input=json.dumps({}))
        act(runner, arn)
        runner.wait_for_result(arn, 30)
    return seen


def codes(seen: Suspensions) -> list[tuple[int, str]]:
    return [(finding.start.row, finding.code) for finding in seen.findings]


def lines(seen: Suspensions) -> set[tuple[int, str, Kind]]:
    return {(ran.row, ran.function, ran.kind) for suspension in seen.seen for ran in suspension.ran}


# ---------------------------------------------------------------- map and parallel

BRANCHES = """
def work(branch: DurableContext, item, index, items):
    try:
        branch.wait(Duration.from_seconds(1), name=f"pause-{index}")
        return item
    finally:
        release(item)


@durable_execution
def handler(event, context: DurableContext):
    return context.map([1, 2, 3], work, name="work").get_results()
"""


def test_each_branch_of_a_map_is_seen_on_its_own_thread(project: Project) -> None:
    seen = run(project.handler(BRANCHES))
    waits = [one for one in seen.seen if one.call.operation == "wait"]
    assert {one.call.name for one in waits} == {"pause-0", "pause-1", "pause-2"}
    assert len({one.thread for one in waits}) > 1
    assert codes(seen) == [(project.row("finally:"), "LDC101")]
    assert all(one.thread != threading.current_thread().name for one in waits)


def test_a_map_that_suspends_because_its_branches_did_is_a_suspension_of_its_own(project: Project) -> None:
    handler = project.handler(BRANCHES + "    # unreached\n")
    seen = run(handler)
    outer = [one for one in seen.seen if one.call.operation == "map"]
    assert outer
    assert not any(one.swallowed for one in outer)
    assert {one.call.text for one in outer} == {"context.map"}


RESUMED = """
def short(branch: DurableContext):
    with ExitStack() as stack:
        stack.callback(release, "short")
        branch.wait(Duration.from_seconds(1), name="short")
        branch.wait(Duration.from_seconds(1), name="short-again")

def busy(branch: DurableContext):
    branch.step(lambda _: __import__("time").sleep(3.5), name="busy")

@durable_execution
def handler(event, context: DurableContext):
    context.parallel([short, busy], name="both")
"""


def test_a_branch_that_is_resumed_within_the_invocation_is_seen_each_time(project: Project) -> None:
    seen = run(project.handler(RESUMED), skip_time=False)
    names = [one.call.name for one in seen.seen if one.call.operation == "wait"]
    assert names == ["short", "short-again"]
    assert codes(seen) == [(project.row("with ExitStack"), "LDC103")]
    assert len([one for one in seen.seen for part in one.parts if part.effects]) == 2


# ---------------------------------------------------------------- child contexts, retries, callbacks

CHILD = """
def child(inner: DurableContext):
    try:
        inner.wait(Duration.from_hours(1), name="inside")
    finally:
        release("inner")

@durable_execution
def handler(event, context: DurableContext):
    try:
        context.run_in_child_context(child, name="child")
    finally:
        release("outer")
"""


def test_one_suspension_is_followed_through_a_child_context_and_out_of_it(project: Project) -> None:
    seen = run(project.handler(CHILD))
    [suspension] = seen.seen
    assert suspension.call.name == "inside"
    assert [place.function for place in suspension.passed] == ["child", "handler"]
    assert [finding.code for finding in seen.findings] == ["LDC101", "LDC101"]


RETRIED = """
tries = []

def flaky(_):
    tries.append(1)
    if len(tries) < 2:
        raise ValueError("not yet")

@durable_execution
def handler(event, context: DurableContext):
    retries = RetryStrategyConfig(max_attempts=3, initial_delay=Duration.from_seconds(5))
    strategy = create_retry_strategy(retries)
    try:
        context.step(flaky, name="flaky", config=StepConfig(retry_strategy=strategy))
    finally:
        release("x")
"""


def test_a_step_that_waits_for_its_retry_suspends(project: Project) -> None:
    seen = run(project.handler(RETRIED))
    [suspension] = seen.seen
    assert (suspension.call.operation, suspension.call.name) == ("step", "flaky")
    assert codes(seen) == [(project.row("finally:"), "LDC101")]


CALLBACK = """
@durable_execution
def handler(event, context: DurableContext):
    answer = context.create_callback(name="answer")
    try:
        return answer.result()
    except BaseException:
        release("x")
        raise
"""


def _answer(runner: DurableFunctionTestRunner, arn: str) -> None:
    callback = runner.wait_for_callback(arn, "answer")
    time.sleep(0.3)
    runner.send_callback_success(callback, b"yes")


def test_waiting_for_a_callback_suspends(project: Project) -> None:
    seen = run(project.handler(CALLBACK), act=_answer)
    [suspension] = seen.seen
    assert (suspension.call.operation, suspension.call.text) == ("result", "answer.result")
    assert codes(seen) == [(project.row("except BaseException"), "LDC204")]


NESTED = """
@durable_execution
def handler(event, context: DurableContext):
    try:
        context.wait(Duration.from_seconds(1), name="work")
    finally:
        context.wait(Duration.from_seconds(1), name="cleanup")
        release("x")
"""


def test_a_cleanup_that_suspends_itself_is_a_second_suspension(project: Project) -> None:
    seen = run(project.handler(NESTED))
    first, second = seen.seen[:2]
    assert [call.name for call in first.durable_calls] == ["cleanup"]
    assert (first.call.name, second.call.name) == ("work", "cleanup")
    assert not first.swallowed
    assert not second.swallowed
    assert codes(seen) == [(project.row("finally:"), "LDC101")]


# ---------------------------------------------------------------- revoked tokens, orphaned branches

REVOKED = """
reached = threading.Event()
paused = threading.Event()

@durable_execution
def handler(event, context: DurableContext):
    try:
        reached.set()
        paused.wait(10)
        return context.step(lambda _: "done", name="after")
    finally:
        release("x")
"""


def test_a_call_whose_token_was_revoked_suspends(project: Project) -> None:
    handler = project.handler(REVOKED)
    module = sys.modules["flows"]

    def pause(runner: DurableFunctionTestRunner, arn: str) -> None:
        assert module.reached.wait(10)
        runner.pause_execution(arn)
        module.paused.set()
        time.sleep(0.5)
        runner.resume_execution(arn)

    seen = run(handler, act=pause)
    assert [one.call.name for one in seen.seen][:1] == ["after"]
    assert codes(seen) == [(project.row("finally:"), "LDC101")]


ORPHANED = """
started = threading.Event()
done = threading.Event()

def quick(branch: DurableContext):
    started.wait(10)
    return "quick"

def outlast(_):
    started.set()
    done.wait(10)
    __import__("time").sleep(0.3)

def slow(branch: DurableContext):
    try:
        branch.step(outlast, name="too-late")
    finally:
        release("slow")

def both(inner: DurableContext):
    config = ParallelConfig(completion_config=CompletionConfig.first_successful())
    inner.parallel([quick, slow], name="race", config=config)

@durable_execution
def handler(event, context: DurableContext):
    context.run_in_child_context(both, name="both")
    done.set()
    context.wait(Duration.from_seconds(1), name="rest")
"""


def test_an_abandoned_branch_is_seen_and_its_cleanup_is_its_end(project: Project) -> None:
    seen = run(project.handler(ORPHANED), skip_time=False)
    orphans = [one for one in seen.seen if one.cause is Cause.ORPHANED]
    assert [one.call.name for one in orphans][:1] == ["too-late"]
    assert (project.row('release("slow")'), "slow", Kind.FINALLY) in lines(seen)
    assert codes(seen) == []


# ---------------------------------------------------------------- what only a run can see


def test_the_finally_of_a_generator_that_is_dropped_is_seen(project: Project) -> None:
    seen = run(
        project.handler("""
        def pages():
            try:
                yield 1
                yield 2
            finally:
                release("cursor")

        @durable_execution
        def handler(event, context: DurableContext):
            for page in pages():
                context.wait(Duration.from_seconds(1), name=f"page-{page}")
        """)
    )
    assert (project.row('release("cursor")'), "pages", Kind.CLOSING) in lines(seen)
    assert codes(seen) == [(project.row("finally:"), "LDC101")]


def test_a_generator_in_a_local_name_is_closed_with_the_frame(project: Project) -> None:
    seen = run(
        project.handler("""
        def pages():
            try:
                yield 1
            finally:
                release("cursor")

        @durable_execution
        def handler(event, context: DurableContext):
            open_pages = pages()
            next(open_pages)
            context.wait(Duration.from_seconds(1))
        """)
    )
    assert (project.row('release("cursor")'), "pages", Kind.CLOSING) in lines(seen)


def test_a_library_that_swallows_the_suspension_is_reported_where_it_was_called(project: Project) -> None:
    seen = run(
        project.handler("""
        from remote import keeping

        @keeping
        def work(context):
            context.wait(Duration.from_seconds(1))

        @durable_execution
        def handler(event, context: DurableContext):
            work(context)
        """)
    )
    assert seen.seen[0].swallowed
    assert codes(seen) == [(project.row("    work(context)"), "LDC201")]


MANAGED = """
import remote

def lease():
    return remote.Lease()

@durable_execution
def handler(event, context: DurableContext):
    with lease():
        context.wait(Duration.from_seconds(1))
"""


def test_the_manager_of_a_library_is_reported_and_can_be_called_process_local(project: Project) -> None:
    assert codes(run(project.handler(MANAGED))) == [(project.row("with lease()"), "LDC102")]
    (project.path.parent / "durable-lint.toml").write_text('process-local = ["remote.Lease"]\n', "utf-8")
    assert codes(run(project.handler(MANAGED))) == []


def test_a_callable_that_arrives_at_run_time_is_judged_by_what_it_is(project: Project) -> None:
    seen = run(
        project.handler("""
        def in_memory():
            seen.append(1)

        seen = []
        actions = {"quiet": in_memory, "loud": release}

        @durable_execution
        def handler(event, context: DurableContext):
            try:
                context.wait(Duration.from_seconds(1))
            finally:
                actions["quiet"]()
            try:
                context.wait(Duration.from_seconds(1))
            finally:
                actions["loud"]()
        """)
    )
    assert codes(seen) == [(project.row('actions["loud"]()') - 1, "LDC101")]


STACK = """
import remote

kept = []

def undo():
    release(1)

@contextmanager
def lease():
    try:
        yield
    finally:
        release(1)

@contextmanager
def quiet():
    yield

pause = lambda context: context.wait(Duration.from_seconds(1))

@durable_execution
def handler(event, context: DurableContext):
    with ExitStack() as stack:
        REGISTERED
        pause(context)
"""


@pytest.mark.parametrize(
    ("registered", "found"),
    [
        ("stack.callback(release, 1)", ["LDC103"]),
        ("stack.callback(undo)", ["LDC103"]),
        ("stack.push(lambda *_: release(1))", ["LDC103"]),
        ("stack.enter_context(lease())", ["LDC103"]),
        ("stack.enter_context(remote.Lease())", ["LDC103"]),
        ("stack.callback(kept.append, 1)", []),
        ("stack.push(lambda *_: None)", []),
        ("stack.enter_context(quiet())", []),
        ("stack.enter_context(suppress(ValueError))", []),
    ],
)
def test_what_is_on_a_stack_is_judged_by_what_it_is(
    project: Project, registered: str, found: list[str]
) -> None:
    seen = run(project.handler(STACK.replace("REGISTERED", registered)))
    assert codes(seen) == [(project.row("with ExitStack()"), code) for code in found]


@pytest.mark.parametrize(
    ("cleanup", "found"),
    [
        ("with remote.Lease():\n            kept.append(1)", ["LDC101"]),
        ("with threading.Lock():\n            kept.append(1)", []),
        ("(lambda: release(1))()", ["LDC101"]),
        ("kept.append(1)", []),
    ],
)
def test_cleanup_of_every_form_is_seen(project: Project, cleanup: str, found: list[str]) -> None:
    source = STACK.replace("with ExitStack() as stack:\n        REGISTERED\n", "try:\n")
    seen = run(project.handler(f"{source.rstrip()}\n    finally:\n        {cleanup}\n"))
    last = max(row for row, line in enumerate(project.path.read_text().splitlines(), 1) if "finally:" in line)
    assert codes(seen) == [(last, code) for code in found]


def test_what_another_process_saw_is_compared_as_if_it_had_been_seen_here(project: Project) -> None:
    seen = run(project.handler(STACK.replace("REGISTERED", "stack.callback(undo)")))
    here = transport.compared(seen, []).report()
    assert "seen at run time and by the linter: 1 finding\n" in here
    nothing = Suspensions()
    sent = json.loads(json.dumps(transport.packed(seen)))
    assert transport.compared(nothing, [sent]).report() == here


def test_what_belongs_to_the_process_is_clean(project: Project) -> None:
    seen = run(
        project.handler("""
        lock = threading.Lock()

        @durable_execution
        def handler(event, context: DurableContext):
            with lock, open(__file__) as source, suppress(ValueError):
                context.wait(Duration.from_seconds(1))
            try:
                context.wait(Duration.from_seconds(1))
            finally:
                logger.info("this invocation ends")
            with ExitStack() as stack:
                stack.enter_context(lock)
                stack.callback(logger.info, "left")
                context.wait(Duration.from_seconds(1))
        """)
    )
    seen.assert_clean()
    assert len(seen.seen) == 3
    assert len([ran for one in seen.seen for ran in one.ran]) >= 4


def test_strict_configuration_holds_at_run_time_too(project: Project) -> None:
    (project.path.parent / "durable-lint.toml").write_text("strict = true\n", "utf-8")
    seen = run(
        project.handler("""
        @durable_execution
        def handler(event, context: DurableContext):
            try:
                context.wait(Duration.from_seconds(1))
            finally:
                logger.info("this invocation ends")
        """)
    )
    assert codes(seen) == [(project.row("finally:"), "LDC101")]


def test_the_configuration_can_call_a_function_process_local(project: Project) -> None:
    (project.path.parent / "durable-lint.toml").write_text('process-local = ["remote.release"]\n', "utf-8")
    assert codes(run(project.handler(CALLBACK), act=_answer)) == []


def test_a_comment_that_suppresses_the_finding_suppresses_it_at_run_time(project: Project) -> None:
    source = CALLBACK.replace("except BaseException:", "except BaseException:  # noqa: LDC204")
    assert codes(run(project.handler(source), act=_answer)) == []


@pytest.mark.parametrize("pattern", ["flows.py", "*/flows.py", "handler", "flows.handler", "flows.*"])
def test_a_path_or_a_function_can_be_ignored(project: Project, pattern: str) -> None:
    assert codes(run(project.handler(CALLBACK), act=_answer, watch={"ignore": [pattern]})) == []


def test_the_report_shows_the_place_what_ran_and_what_to_do(project: Project) -> None:
    seen = run(project.handler(CALLBACK), act=_answer)
    with pytest.raises(UnsafeSuspensions) as raised:
        seen.assert_clean()
    report = str(raised.value)
    row = project.row("except BaseException")
    assert f"flows.py:{row}:5: LDC204 the handler ran `release`" in report
    assert "^^^^^^ runs on every suspension, not only at the end" in report
    assert "= help: register it as a compensation in a `terminal_scope`" in report
    assert "1 finding at 1 suspension." in report


def test_nothing_is_left_behind(project: Project) -> None:
    from aws_durable_execution_sdk_python.context import Callback, DurableContext

    before = (DurableContext.wait, Callback.result, sys.gettrace())
    run(project.handler(CHILD))
    assert (DurableContext.wait, Callback.result, sys.gettrace()) == before


def test_two_watches_at_once_see_the_same(project: Project) -> None:
    handler = project.handler(CHILD)
    with watch_suspensions() as outer:
        inner = run(handler)
    assert codes(outer) == codes(inner) != []


def test_a_terminal_scope_is_clean(project: Project) -> None:
    seen = run(
        project.handler("""
        from durable_runtime import terminal_scope

        @durable_execution
        def handler(event, context: DurableContext):
            with terminal_scope(context, name="work") as terminal:
                terminal.cleanup(lambda _: release("x"), name="release")
                context.wait(Duration.from_seconds(1))
        """)
    )
    assert len(seen.seen) == 1
    seen.assert_clean()
