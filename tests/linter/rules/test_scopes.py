"""Misuse of terminal scopes (LDC401 to LDC407)."""

from __future__ import annotations

import pytest

from tests.linter.rules.checking import check

OUTER_CONTEXT = {
    "in every kind of operation": """
        from aws_durable_execution_sdk_python import ParallelBranch
        @durable_execution
        def handler(event, context):
            def body(c, terminal):
                context.wait(SECOND)  # expect: LDC401
                context.create_callback()  # expect: LDC401
                return c.step(work)
            terminal_scope(context, body, name="a")
            context.run_in_child_context(lambda c: context.step(work))  # expect: LDC401
            context.parallel([ParallelBranch(lambda c: context.step(work))])  # expect: LDC401
            with_retry(context, lambda c, n: context.step(work))  # expect: LDC401
            with terminal_scope(context, name="b") as t:
                t.cleanup_in_context(lambda c: context.wait(SECOND))  # expect: LDC401
                t.cleanup_in_context(lambda c: c.wait(SECOND))
    """,
    "through a helper that is handed it": """
        def pause(c):
            c.wait(SECOND)
        def log(c):
            c.logger.info("x")
        @durable_execution
        def handler(event, context):
            def body(c):
                pause(c)
                log(context)
                pause(context)  # expect: LDC401
            context.run_in_child_context(body)
            pause(context)
    """,
    "through self": """
        class Job:
            def __init__(self, c):
                self.c = c
            def run(self):
                return self.c.map([1], self.one, config=MapConfig(completion_config=CompletionConfig.all_completed()))
            def one(self, child, x, i, xs):
                child.step(work)
                return self.c.step(work)  # expect: LDC401
        @durable_execution
        def handler(event, context):
            Job(context).run()
    """,
    "in a nested helper of the body": """
        @durable_execution
        def handler(event, context):
            def body(c):
                def inner():
                    context.wait(SECOND)  # expect: LDC401
                inner()
            context.run_in_child_context(body)
    """,
    "one's own context under the same name": """
        @durable_execution
        def handler(event, context):
            def body(context):
                context.wait(SECOND)
                return context.run_in_child_context(lambda context: context.step(work))
            context.run_in_child_context(body)
    """,
    "in place, the context is the right one": """
        @durable_execution
        def handler(event, context):
            with terminal_scope(context, name="a") as terminal:
                context.wait(SECOND)
    """,
    "a helper used from both": """
        def pause(c):
            c.wait(SECOND)
        @durable_execution
        def handler(event, context):
            context.run_in_child_context(lambda c: pause(c))
            pause(context)
    """,
}

ACTIONS = {
    "a step's action that makes a durable call": """
        @durable_execution
        def handler(event, context):
            with terminal_scope(context, name="a") as terminal:
                terminal.cleanup(lambda _: context.invoke("f", {}))  # expect: LDC402
                terminal.compensate(lambda s: release())
                def undo(s):
                    if event:
                        context.wait(SECOND)  # expect: LDC402
                terminal.compensate(undo)
                terminal.acquire(lambda _: acquire(), release=lambda v, _: context.step(work))  # expect: LDC402
    """,
    "an action defined elsewhere": """
        from functools import partial
        CTX = None
        def undo(_, c=None):
            c.wait(SECOND)
        @durable_execution
        def handler(event, context):
            with terminal_scope(context, name="a") as terminal:
                terminal.cleanup(partial(undo, c=context))  # expect: LDC402
    """,
    "the form that gets a context": """
        @durable_execution
        def handler(event, context):
            with terminal_scope(context, name="a") as terminal:
                terminal.cleanup_in_context(lambda c: c.wait(SECOND))
                terminal.compensate_in_context(lambda c: c.invoke("f", {}))
    """,
    "a look-alike": """
        import subprocess
        @durable_execution
        def handler(event, context):
            process = subprocess.Popen("x")
            with terminal_scope(context, name="a") as terminal:
                terminal.cleanup(lambda _: process.wait())
    """,
}

LOOPS = {
    "a name that the loop rebinds": """
        @durable_execution
        def handler(event, context):
            with terminal_scope(context, name="a") as terminal:
                for x in event:
                    terminal.cleanup(lambda _: release(x))  # expect: LDC403
                    terminal.cleanup(lambda _, x=x: release(x))
                    terminal.cleanup(lambda _: release(event))
                while event:
                    y = acquire()
                    terminal.cleanup(lambda _: release(y))  # expect: LDC403
                for a, (b, *c) in event:
                    terminal.cleanup(lambda _: release(c))  # expect: LDC403
                for z in event:
                    def undo(_):  # expect: LDC403
                        release(z)
                    terminal.cleanup(undo)
    """,
    "a scope of its own in each round": """
        @durable_execution
        def handler(event, context):
            for x in event:
                with terminal_scope(context, name="a") as terminal:
                    terminal.cleanup(lambda _: release(x))
                    for y in event:
                        terminal.cleanup(lambda _: release(x))
                        terminal.cleanup(lambda _: release(x, y))  # expect: LDC403
    """,
    "arguments bound by partial": """
        from functools import partial
        @durable_execution
        def handler(event, context):
            with terminal_scope(context, name="a") as terminal:
                for x in event:
                    terminal.cleanup(partial(release, x))
    """,
    "a name of the lambda's own": """
        @durable_execution
        def handler(event, context):
            with terminal_scope(context, name="a") as terminal:
                for x in event:
                    terminal.cleanup(lambda x: release(x))
                    terminal.cleanup(lambda _: [x for x in event])
    """,
}

LATE = {
    "a durable call between": """
        @durable_execution
        def handler(event, context):
            with terminal_scope(context, name="a") as terminal:
                vm = context.step(lambda _: acquire())
                context.wait(SECOND)
                terminal.cleanup(lambda _: release(vm))  # expect: LDC404
    """,
    "nothing durable between": """
        @durable_execution
        def handler(event, context):
            with terminal_scope(context, name="a") as terminal:
                vm = context.step(lambda _: acquire())
                cb = context.create_callback()
                print(vm)
                terminal.cleanup(lambda _: release(vm))
                context.wait(SECOND)
                terminal.cleanup(lambda _: release("x"))
                terminal.acquire(lambda _: acquire(), release=lambda v, _: release(v))
    """,
    "the resource is acquired again": """
        @durable_execution
        def handler(event, context):
            with terminal_scope(context, name="a") as terminal:
                vm = context.step(lambda _: acquire())
                context.wait(SECOND)
                vm = context.step(lambda _: acquire())
                terminal.cleanup(lambda _, vm=vm: release(vm))
    """,
    "registered before": """
        @durable_execution
        def handler(event, context):
            with terminal_scope(context, name="a") as terminal:
                vm = None
                terminal.cleanup(lambda _: release(vm))
                vm = context.step(lambda _: acquire())
                context.wait(SECOND)
    """,
}

ABANDONED = {
    "configurations": """
        def body(c, terminal):
            return c.step(work)
        def branch(c, x, i, xs):
            return terminal_scope(c, body, name="a")  # expect: LDC405
        def complete(c, x, i, xs):
            return terminal_scope(c, body, name="a")
        @durable_execution
        def handler(event, context):
            context.map(event, branch)
            context.map(event, complete, config=MapConfig(completion_config=CompletionConfig.all_completed()))
            context.map(event, complete, config=event["config"])
            context.map(event, complete, config=MapConfig(
                completion_config=CompletionConfig(tolerated_failure_count=event["tolerated"])))
            context.map(event, branch, config=MapConfig(
                completion_config=CompletionConfig(1)))
            context.map(event, branch, config=MapConfig(
                completion_config=CompletionConfig(min_successful=None, tolerated_failure_count=3)))
            context.map(event, complete, config=MapConfig(
                completion_config=CompletionConfig(tolerated_failure_percentage=100)))
    """,
    "a scope's body that is partial": """
        from functools import partial
        def body(n, c, terminal):
            return c.step(work)
        def branch(c, x, i, xs):
            return terminal_scope(c, partial(body, 1), name="a")  # expect: LDC405
        @durable_execution
        def handler(event, context):
            context.map(event, branch)
            terminal_scope(context, partial(work, 1), name="b")
    """,
    "the in-place form, in a helper of a branch": """
        def helper(c):
            with terminal_scope(c, name="a") as terminal:  # expect: LDC405
                c.wait(SECOND)
        @durable_execution
        def handler(event, context):
            context.parallel([lambda c: helper(c)], config=ParallelConfig())
    """,
    "a scope around the map": """
        @durable_execution
        def handler(event, context):
            with terminal_scope(context, name="a") as terminal:
                context.map(event, lambda c, x, i, xs: c.step(work))
    """,
}

MISPLACED = {
    "registrations inside operations": """
        @durable_execution
        def handler(event, context):
            with terminal_scope(context, name="a") as terminal:
                terminal.cleanup(lambda _: release())
                context.step(lambda _: terminal.cleanup(lambda _: release()))  # expect: LDC406
                context.run_in_child_context(lambda c: terminal.cleanup(lambda _: release()))  # expect: LDC406
                def body(c, inner):
                    inner.cleanup(lambda _: release())
                    terminal.cleanup(lambda _: release())  # expect: LDC406
                terminal_scope(context, body, name="b")
                with terminal_scope(context, name="c") as nested:
                    nested.cleanup(lambda _: release())
                    terminal.cleanup(lambda _: release())
    """,
    "a helper of the scope": """
        def register(terminal: DurableTerminalActions, vm):
            terminal.cleanup(lambda _: release(vm))
        @durable_execution
        def handler(event, context):
            with terminal_scope(context, name="a") as terminal:
                register(terminal, 1)
            def body(c, terminal):
                register(terminal, 2)
            terminal_scope(context, body, name="b")
            with terminal_scope(context, name="c") as terminal:
                terminal.unknown(lambda _: release())
    """,
    "outside every function": """
        context: DurableContext = work()
        with terminal_scope(context, name="a") as terminal:
            vm = context.step(lambda _: acquire())
            context.wait(SECOND)
            for vm in work():
                terminal.cleanup(lambda _: release(vm))
            terminal.cleanup(lambda _: context.wait(SECOND))
        with ExitStack() as stack:
            stack.callback(release)
            context.wait(SECOND)
        try:
            context.wait(SECOND)
        finally:
            if vm:
                release()
    """,
    "a registration while a suspension passes": """
        @durable_execution
        def handler(event, context):
            with terminal_scope(context, name="a") as terminal:
                try:
                    context.wait(SECOND)
                finally:
                    terminal.cleanup(lambda _: release())
    """,
    "scopes that are not entered": """
        @durable_execution
        def handler(event, context):
            terminal_scope(context, name="a")  # expect: LDC407
            scope = terminal_scope(context, name="b")  # expect: LDC407
            (named := terminal_scope(context, name="f"))  # expect: LDC407
            with ExitStack() as stack:
                stack.enter_context(terminal_scope(context, name="c"))  # expect: LDC407
            with terminal_scope(context, name="d"):
                pass
            with make(context) as terminal:
                terminal.cleanup(lambda _: release())
        def make(c):
            return terminal_scope(c, name="e")
    """,
}


@pytest.mark.parametrize(
    "source",
    [
        *OUTER_CONTEXT.values(),
        *ACTIONS.values(),
        *LOOPS.values(),
        *LATE.values(),
        *ABANDONED.values(),
        *MISPLACED.values(),
    ],
    ids=[*OUTER_CONTEXT, *ACTIONS, *LOOPS, *LATE, *ABANDONED, *MISPLACED],
)
def test_scopes(source: str) -> None:
    check(source)


def test_a_configuration_that_may_be_among_unpacked_arguments_is_not_the_default() -> None:
    check(
        """
        def branch(child, item, index, items):
            with terminal_scope(child) as terminal:
                terminal.cleanup(lambda _: release(item))
                child.wait(SECOND)

        @durable_execution
        def handler(event, context):
            options = event["options"]
            context.map([1], branch, **options)
        """
    )
