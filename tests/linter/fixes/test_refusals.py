"""What is not rewritten says why, in one clause that is true, and is left as it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from textwrap import dedent, indent
from typing import TYPE_CHECKING

import pytest
from durable_lint.config.settings import Settings
from durable_lint.linter import Linter
from durable_lint.rewrite import Rewriter

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """\
import asyncio
import contextlib
import functools
import sys
from contextlib import ExitStack, closing, suppress

import boto3
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.exceptions import SuspendExecution, TimedSuspendExecution
from durable_runtime import terminal_scope

ec2 = boto3.client("ec2")


def release(*given, **named):
    ec2.terminate_instances(InstanceIds=list(given))


class Lease:
    def close(self):
        release()


class Waiting:
    def __init__(self, stage: DurableContext):
        self.stage = stage

    def close(self):
        self.stage.step(lambda _: release(), name="release")


"""


@dataclass(frozen=True)
class Left:
    """A handler's body, what stands before the handler, and the reason that some finding must give."""

    name: str
    why: str
    body: str
    before: str = ""
    code: str = "LDC1"
    head: str = "def handler(event, context: DurableContext):"
    form: str = "in-place"


def left(name: str, why: str, body: str, before: str = "", **more: str) -> Left:
    return Left(name, why, body, before, **more)  # type: ignore[arg-type]


LEFT = [
    # ------------------------------------------------ the cleanup
    left(
        "only_local",
        "belongs to this process",
        """
        try:
            context.wait(1)
        except BaseException:
            print("waited")
            raise
        """,
        code="",
    ),
    left(
        "yields",
        "block has a `yield`",
        """
        try:
            context.wait(1)
            yield 1
        finally:
            release()
        """,
    ),
    left(
        "locals",
        r"`locals\(\)` means something else",
        """
        try:
            context.wait(1)
        finally:
            release(locals())
        """,
    ),
    left(
        "exc_info_keyword",
        "exception in flight",
        """
        try:
            context.wait(1)
        finally:
            release(exc_info=True)
        """,
    ),
    left(
        "bound_by_a_function",
        "rebinds|not its own",
        """
        kept = None
        def show():
            nonlocal kept
            kept = 1
        try:
            context.wait(1)
        finally:
            kept = release()
        show()
        """,
    ),
    left(
        "changed_parameter",
        "changes `event` in memory",
        """
        try:
            context.wait(1)
        finally:
            release()
            event["done"] = True
            release()
        """,
    ),
    left(
        "value_of_a_plain_call_around_a_wait",
        "uses what a call returns",
        """
        try:
            context.wait(1)
        finally:
            kept = release(1)
            context.wait(2)
            release(kept)
        """,
    ),
    left(
        "errors_told_apart_around_a_wait",
        "tells the errors of a call apart",
        """
        try:
            context.wait(1)
        finally:
            try:
                release(1)
            except ValueError:
                release(2)
            context.wait(2)
        """,
    ),
    left(
        "unstable_name",
        "may be another one at the end",
        """
        n = 1
        try:
            context.wait(1)
            n += 1
        finally:
            context.step(lambda _: release(), name="x" if -n < 2 and n or n + 1 else event["items"][n])
        """,
    ),
    left(
        "unknown_call_in_the_name",
        "may be another one at the end",
        """
        try:
            context.wait(1)
        finally:
            context.step(lambda _: release(), name=asyncio.current_task().get_name())
        """,
    ),
    left(
        "attribute_in_the_name",
        "may be another one at the end",
        """
        event.name = "x"
        try:
            context.wait(1)
        finally:
            context.step(lambda _: release(), name=event.name)
        """,
    ),
    # ------------------------------------------------ the place
    left(
        "coroutine",
        "awaits",
        """
        try:
            context.wait(1)
            await asyncio.sleep(1)
        finally:
            release()
        """,
        head="async def handler(event, context: DurableContext):",
    ),
    left(
        "comprehension_that_awaits",
        "awaits",
        """
        try:
            context.wait(1)
            print([x async for x in event])
        finally:
            release()
        """,
        head="async def handler(event, context: DurableContext):",
    ),
    left(
        "also_a_step",
        "also runs inside a step",
        """
        work(context)
        context.step(lambda _: work(context), name="work")
        """,
        """
        def work(stage: DurableContext):
            try:
                stage.wait(1)
            finally:
                release()
        """,
    ),
    left(
        "helper_that_reaches_by_itself",
        "reaches a durable context other than by",
        """
        def end(stage):
            context.wait(1)
        try:
            context.wait(1)
        finally:
            end(context)
        """,
    ),
    left(
        "helper_that_calls_one_that_reaches_by_itself",
        "reaches a durable context other than by",
        """
        def inner(stage):
            context.wait(1)
        def end(stage):
            stage.wait(1)
            inner(stage)
        try:
            context.wait(1)
        finally:
            end(context)
        """,
    ),
    # ------------------------------------------------ the isolated form
    left(
        "isolated_evaluates",
        r"calls `eval\(\)`",
        """
        try:
            context.wait(1)
            eval("event")
        finally:
            release()
        """,
        form="callable",
    ),
    left(
        "isolated_function_that_rebinds",
        "a function in the block rebinds",
        """
        n = 1
        try:
            def count():
                nonlocal n
                n += 1
            context.wait(1)
        finally:
            release()
        """,
        form="callable",
    ),
    left(
        "isolated_counts",
        "changes `n` from its old value",
        """
        n = 1
        try:
            n += 1
            context.wait(1)
        finally:
            release()
        """,
        form="callable",
    ),
    left(
        "isolated_without_a_type",
        "the type of `kept`",
        """
        try:
            kept = context.wait(1)
        finally:
            release()
        print(kept)
        """,
        head="def handler(event: int, context: DurableContext) -> None:",
        form="callable",
    ),
    left(
        "isolated_name_that_is_taken",
        "means something else in this module",
        """
        DurableTerminalActions = 1
        try:
            context.wait(1)
        finally:
            release(DurableTerminalActions)
        """,
        form="callable",
    ),
    # ------------------------------------------------ managers
    left(
        "decorator",
        "it is a decorator",
        "context.wait(1)",
        """
        class Held(contextlib.ContextDecorator):
            def __enter__(self):
                return self

            def __exit__(self, *error):
                release()


        @Held()
        def work(stage: DurableContext):
            stage.wait(1)


        @durable_execution
        def other(event, context: DurableContext):
            work(context)
        """,
    ),
    left(
        "aclosing",
        "has to be awaited|cannot be seen",
        """
        async with contextlib.aclosing(event) as it:
            context.wait(1)
        """,
        head="async def handler(event, context: DurableContext):",
    ),
    left(
        "two_places",
        "releases in more than one place",
        """
        with held(context):
            context.wait(1)
        """,
        """
        @contextlib.contextmanager
        def held(stage: DurableContext):
            with closing(Lease()):
                try:
                    yield
                finally:
                    release()
        """,
    ),
    left(
        "inner_class_manager",
        "Lock.__exit__",
        """
        with held(context):
            context.wait(1)
        """,
        """
        class Lock:
            def __enter__(self):
                return self

            def __exit__(self, *error):
                release()


        @contextlib.contextmanager
        def held(stage: DurableContext):
            with Lock():
                yield
        """,
    ),
    left(
        "no_parameter_at_all",
        "no durable context",
        """
        with held():
            context.wait(1)
        """,
        """
        @contextlib.contextmanager
        def held():
            try:
                yield
            finally:
                release()
        """,
    ),
    left(
        "closing_by_a_star",
        "what it closes cannot be seen",
        """
        with closing(*event):
            context.wait(1)
        """,
    ),
    left(
        "close_that_waits",
        "its `close` makes durable calls",
        """
        with closing(Waiting(context)):
            context.wait(1)
        """,
    ),
    left(
        "closing_with_its_body_on_the_line",
        "body stands on the line",
        "with closing(Lease()) as lease, contextlib.nullcontext(): context.wait(1)",
    ),
    # ------------------------------------------------ what swallows
    left(
        "suppress_only_the_suspension",
        "nothing would be left to suppress",
        """
        with suppress(SuspendExecution):
            context.wait(1)
        """,
    ),
    left(
        "suppress_with_comments",
        "comments stand among",
        """
        with suppress(
            BaseException,  # all
        ):
            context.wait(1)
        """,
    ),
    left(
        "suppress_a_tuple_by_a_star",
        "cannot be told apart",
        """
        with suppress(*[BaseException], BaseException):
            context.wait(1)
        """,
    ),
    left(
        "class_that_swallows",
        "written elsewhere",
        """
        with Quiet():
            context.wait(1)
        """,
        """
        class Quiet:
            def __enter__(self):
                return self

            def __exit__(self, *error):
                return True
        """,
    ),
    left(
        "exception_means_something_else",
        "`Exception` means something else",
        """
        try:
            context.wait(1)
        except BaseException:
            return 1
        """,
        "Exception = ValueError",
        code="LDC201",
    ),
    left(
        "return_where_exception_means_something_else",
        "`Exception` means something else",
        """
        try:
            context.wait(1)
        finally:
            return 1
        """,
        "Exception = ValueError",
    ),
    left(
        "break_of_the_body_that_the_finally_overrides",
        "exits of its own",
        """
        for turn in range(2):
            try:
                context.wait(1)
                break
            finally:
                continue
        """,
    ),
    left(
        "two_exits_of_a_finally",
        "only its author",
        """
        try:
            context.wait(1)
        finally:
            if event:
                raise ValueError
            return 1
        """,
    ),
    left(
        "return_on_the_line_of_the_cleanup",
        "only its author",
        """
        try:
            context.wait(1)
        finally:
            release(); return 1
        """,
        code="LDC104",
    ),
    left(
        "raise_in_the_finally",
        "only its author",
        """
        try:
            context.wait(1)
        finally:
            raise ValueError
        """,
    ),
    # ------------------------------------------------ control flow
    left(
        "alias_of_several",
        "other classes under the same name|cannot be told apart",
        """
        try:
            context.wait(1)
        except CONTROL:
            release()
        """,
        "CONTROL = (SuspendExecution, ValueError)",
        code="LDC203",
    ),
    left(
        "computed_class",
        "cannot be told apart",
        """
        try:
            context.wait(1)
        except (SuspendExecution if event else TimedSuspendExecution):
            release()
        """,
        code="LDC203",
    ),
    left(
        "comments_among_classes",
        "comments stand among",
        """
        try:
            context.wait(1)
        except (
            SuspendExecution,  # never
            ValueError,
        ):
            return 1
        """,
        code="LDC203",
    ),
    left(
        "else_without_another_handler",
        "`else` has no other handler",
        """
        try:
            context.wait(1)
        except SuspendExecution:
            release()
        else:
            return 1
        """,
        code="LDC203",
    ),
    left(
        "else_and_finally_without_another_handler",
        "`else` has no other handler",
        """
        try:
            context.wait(1)
        except SuspendExecution:
            release()
        else:
            return 1
        finally:
            print()
        """,
        code="LDC203",
    ),
    left(
        "body_on_the_line_of_try",
        "stands on the line of `try`",
        """
        try: context.wait(1)
        except SuspendExecution: release()
        """,
        code="LDC203",
    ),
    left(
        "handler_after_exception",
        "above it catches `Exception`",
        """
        try:
            context.wait(1)
        except (Exception, ValueError):
            return 1
        except:
            release()
            raise
        """,
        code="LDC204",
    ),
    # ------------------------------------------------ stacks
    left(
        "asynchronous_stack",
        "asynchronous",
        """
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(release)
            context.wait(1)
        """,
        head="async def handler(event, context: DurableContext):",
    ),
    left(
        "asynchronous_stack_in_a_finally",
        "asynchronous",
        """
        stack = contextlib.AsyncExitStack()
        try:
            stack.callback(release)
            context.wait(1)
        finally:
            await stack.aclose()
        """,
        head="async def handler(event, context: DurableContext):",
    ),
    left(
        "stack_beside_another_manager",
        "not entered alone",
        """
        stack = ExitStack()
        with stack, contextlib.nullcontext():
            stack.callback(release)
            context.wait(1)
        """,
    ),
    left(
        "stack_of_a_class",
        "not a plain `ExitStack`",
        """
        with Stack() as stack:
            stack.callback(release)
            context.wait(1)
        """,
        """
        class Stack(ExitStack):
            pass
        """,
    ),
    left(
        "stack_of_a_class_in_a_finally",
        "not a plain `ExitStack`",
        """
        stack = contextlib.AsyncExitStack()
        with stack:
            stack.callback(release)
            context.wait(1)
        """,
    ),
    left(
        "stack_bound_twice",
        "bound more than once",
        """
        stack = ExitStack()
        with stack:
            stack.callback(release)
            context.wait(1)
        stack = None
        """,
    ),
    left(
        "stack_bound_again_inside",
        "is bound again inside|used outside",
        """
        with ExitStack() as stack:
            stack.callback(release)
            context.wait(1)
            stack = None
        """,
    ),
    left(
        "stack_used_after",
        "used outside the block",
        """
        with ExitStack() as stack:
            stack.callback(release)
            context.wait(1)
        print(stack)
        """,
    ),
    left(
        "stack_made_by_somebody",
        "made elsewhere|other code stands between",
        """
        if event:
            stack = ExitStack()
        else:
            stack = ExitStack()
        with stack:
            stack.callback(release)
            context.wait(1)
        """,
    ),
    left(
        "stack_of_both",
        "mend the managers first",
        """
        with ExitStack() as stack:
            stack.enter_context(held(context))
            stack.callback(release)
            context.wait(1)
        """,
        """
        @contextlib.contextmanager
        def held(stage: DurableContext):
            try:
                yield
            finally:
                release()
        """,
    ),
    left(
        "kept_registration",
        "returns is kept",
        """
        with ExitStack() as stack:
            kept = stack.callback(release)
            context.wait(1)
        """,
    ),
    left(
        "starred_registration",
        "cannot be seen",
        """
        with ExitStack() as stack:
            stack.callback(release, *event)
            context.wait(1)
        """,
    ),
    left(
        "decorated_with_parameters",
        "other decorators, or parameters",
        """
        with ExitStack() as stack:
            stack.callback(release)
            @stack.callback
            def end(vm=1):
                release(vm)
            context.wait(1)
        """,
    ),
    left(
        "decorated_that_uses_the_context",
        "uses the context",
        """
        with ExitStack() as stack:
            stack.callback(release)
            @stack.callback
            def end():
                context.step(lambda _: release())
            context.wait(1)
        """,
    ),
    left(
        "decorated_with_a_comment",
        "comments stand beside the decorator",
        """
        with ExitStack() as stack:
            stack.callback(release)
            @stack.callback  # last
            def end():
                release()
            context.wait(1)
        """,
    ),
    left(
        "comments_in_a_header",
        "comments stand inside its header",
        """
        with (
            ExitStack()  # all
            as stack
        ):
            stack.callback(release)
            context.wait(1)
        """,
    ),
    left(
        "comments_in_a_registration",
        "comments stand inside the registration",
        """
        with ExitStack() as stack:
            stack.callback(
                release,  # it
            )
            context.wait(1)
        """,
    ),
    left(
        "stack_on_the_line_of_other_code",
        "other code stands on the line",
        """
        stack = ExitStack(); stack.callback(release)
        with stack: context.wait(1)
        """,
    ),
    left(
        "alternating",
        "alternate on the stack",
        """
        with ExitStack() as stack:
            stack.callback(release)
            stack.enter_context(open("x"))
            stack.callback(release)
            context.wait(1)
        """,
    ),
    left(
        "durable_call_of_another_context",
        "another context",
        """
        def inner(child):
            with ExitStack() as stack:
                stack.callback(context.step, lambda _: release(), "end")
                child.wait(1)
        context.run_in_child_context(inner)
        """,
    ),
    left(
        "durable_callback_without_the_context",
        "not given the context",
        """
        def end():
            context.wait(1)
        with ExitStack() as stack:
            stack.callback(end)
            context.wait(1)
        """,
    ),
    left(
        "durable_callback_by_itself",
        "reaches a durable context by itself",
        """
        def end(_):
            context.wait(1)
        with ExitStack() as stack:
            stack.callback(end, context)
            context.wait(1)
        """,
    ),
    left(
        "registration_of_several_lines",
        "several lines",
        """
        with ExitStack() as stack:
            stack.callback(release, vm={
                "a": 1,
            })
            context.wait(1)
        """,
    ),
    left(
        "pushed_with_more",
        "cannot be seen",
        """
        with ExitStack() as stack:
            stack.push(release, 1)
            context.wait(1)
        """,
    ),
    left(
        "pushed_that_waits",
        "makes durable calls",
        """
        def end(*error):
            context.wait(1)
        with ExitStack() as stack:
            stack.push(end)
            context.wait(1)
        """,
    ),
    left(
        "pushed_that_looks",
        "told of the exception",
        """
        with ExitStack() as stack:
            stack.push(lambda kind, *error: release(kind))
            context.wait(1)
        """,
    ),
    left(
        "pushed_that_returns",
        "can swallow it",
        """
        def end(*error):
            if event:
                return release()
        with ExitStack() as stack:
            stack.push(end)
            context.wait(1)
        """,
    ),
    left(
        "entered_class",
        "Lock.__exit__",
        """
        with ExitStack() as stack:
            stack.enter_context(Lock())
            context.wait(1)
        """,
        """
        class Lock:
            def __enter__(self):
                return self

            def __exit__(self, *error):
                release()
        """,
    ),
    left(
        "entered_under_two_names",
        "no name of its own",
        """
        with ExitStack() as stack:
            a = b = stack.enter_context(closing(Lease()))
            context.wait(1)
        """,
    ),
    left(
        "entered_under_an_attribute",
        "no name of its own",
        """
        with ExitStack() as stack:
            event.lease: Lease = stack.enter_context(closing(Lease()))
            context.wait(1)
        """,
    ),
    left(
        "entered_on_the_line_of_other_code",
        "other code stands on line",
        """
        with ExitStack() as stack:
            x = 1; stack.enter_context(closing(Lease()))
            context.wait(1)
        """,
    ),
    # ------------------------------------------------ code that uses scopes
    left(
        "operation_without_a_parameter",
        "no parameter for its own context",
        """
        terminal_scope(context, body, name="x")
        """,
        """
        def outer(context: DurableContext):
            def body():
                context.wait(1)
            terminal_scope(context, body, name="x")


        @durable_execution
        def other(event, context: DurableContext):
            outer(context)


        def body(child, terminal):
            child.wait(1)
        """,
        code="LDC401",
    ),
    left(
        "own_name_hidden",
        "means something else where the call stands",
        """
        def body(child, terminal):
            def inner(child):
                context.wait(1)
            inner(1)
        terminal_scope(context, body, name="x")
        """,
        code="LDC401",
    ),
    left(
        "no_room_for_a_default",
        "no room for a default",
        """
        with terminal_scope(context, name="x") as terminal:
            for vm in event:
                terminal.cleanup(lambda *_: release(vm), name="end")
            context.wait(1)
        """,
        code="LDC403",
    ),
    left(
        "bound_behind_the_registration",
        "binds it behind the registration",
        """
        with terminal_scope(context, name="x") as terminal:
            for turn in event:
                terminal.cleanup(lambda _: release(vm), name="end")
                vm = turn
            context.wait(1)
        """,
        code="LDC403",
    ),
    left(
        "scope_in_a_branch",
        "only its author",
        """
        def branch(child, item, index, items):
            with terminal_scope(child, name="x") as terminal:
                terminal.cleanup(lambda _: release(), name="end")
                child.wait(1)
        context.map(event, branch)
        """,
        code="LDC405",
    ),
]


@pytest.mark.parametrize("case", LEFT, ids=lambda case: case.name)
def test_it_is_left_and_says_why(case: Left, tmp_path: Path) -> None:
    body = indent(dedent(case.body).strip("\n"), "    ")
    source = f"{HEAD}{dedent(case.before)}\n\n@durable_execution\n{case.head}\n{body}\n"
    path = tmp_path / "module.py"
    settings = Settings(root=tmp_path, src=(tmp_path,), fix_form=case.form)
    done = Rewriter(Linter(settings, with_fixes=True), unsafe_fixes=True).rewrite(path, source.encode())
    assert not done.result.failures
    if not case.code:
        assert not done.result.findings, "no finding, so nothing to refuse"
        return
    reasons = [f.no_fix for f in done.result.findings if f.code.startswith(case.code)]
    assert any(re.search(case.why, reason) for reason in reasons), (reasons, [f.code for f in done.fixed])


def test_a_fault_of_a_rewrite_does_not_take_the_finding_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from durable_lint.fixes.dispatch import Proposer

    path = tmp_path / "module.py"
    source = f"{HEAD}@durable_execution\ndef handler(event, context: DurableContext):\n    try:\n"
    source += "        context.wait(1)\n    finally:\n        release()\n"
    for error, why in ((RecursionError(), "nested too deeply"), (KeyError("x"), "failed (KeyError)")):

        def fail(self: Proposer, finding: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr(Proposer, "fix", fail)
        linter = Linter(Settings(root=tmp_path, src=(tmp_path,)), with_fixes=True)
        (finding,) = linter.lint(path, source.encode()).findings
        assert finding.fix is None
        assert why in finding.no_fix
