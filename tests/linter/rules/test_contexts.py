"""Which expressions are durable contexts, and which calls can suspend: under any name, by any way they
flow.
"""

from __future__ import annotations

import pytest

from tests.linter.rules.checking import check

DURABLE = {
    "handler's second parameter under any name": """
        @durable_execution
        def handler(event, stage):
            try:
                stage.wait(SECOND)
            finally:  # expect: LDC101
                release()
    """,
    "decorator that is called with options": """
        @durable_execution(plugins=[])
        def handler(event, stage):
            try:
                stage.wait(SECOND)
            finally:  # expect: LDC101
                release()
    """,
    "decorator among others that cannot be seen": """
        from powertools import logger
        @logger.inject_lambda_context(log_event=True)
        @durable_execution
        @logger.other
        def handler(event, stage):
            try:
                stage.wait(SECOND)
            finally:  # expect: LDC101
                release()
    """,
    "function handed to durable_execution later": """
        def flow(event, c):
            try:
                c.wait(SECOND)
            finally:  # expect: LDC101
                release()
        handler = durable_execution(flow)
    """,
    "a decorator imported with a fallback": """
        def make():
            try:
                from aws_durable_execution_sdk_python import durable_execution as entry
            except ImportError:
                entry = lambda f: f
            @entry
            def handler(event, c):
                try:
                    c.wait(SECOND)
                finally:  # expect: LDC101
                    release()
            return handler
    """,
    "in a dictionary": """
        @durable_execution
        def handler(event, context):
            env = {"ctx": context, "n": 1}
            try:
                env["ctx"].wait(SECOND)
            finally:  # expect: LDC101
                release()
    """,
    "through an attribute set in another method": """
        class Flow:
            def bind(self, c):
                self._aws_ctx = c
                return self
            def run(self):
                try:
                    self._aws_ctx.wait(SECOND)
                finally:  # expect: LDC101
                    release()
        @durable_execution
        def handler(event, context):
            return Flow().bind(context).run()
    """,
    "through a partial that is called": """
        from functools import partial
        def pause(c, n):
            c.wait(n)
        @durable_execution
        def handler(event, context):
            p = partial(pause, context)
            try:
                p(SECOND)
            finally:  # expect: LDC101
                release()
    """,
    "through a default": """
        @durable_execution
        def handler(event, context):
            def pause(n, c=context):
                c.wait(n)
            try:
                pause(SECOND)
            finally:  # expect: LDC101
                release()
    """,
    "through a tuple, a loop and a conditional": """
        @durable_execution
        def handler(event, context):
            a, (b, c) = 1, (2, context)
            for d in [c]:
                e = d if event else None
                try:
                    e.wait(SECOND)
                finally:  # expect: LDC101
                    release()
    """,
    "annotated through an alias of the module": """
        import aws_durable_execution_sdk_python.context as dc
        def helper(c: dc.DurableContext):
            try:
                c.wait(SECOND)
            finally:  # expect: LDC101
                release()
    """,
    "annotated with an alias of the type": """
        from typing import Annotated, Optional
        Ctx = Optional[DurableContext]
        def helper(c: "Annotated[Ctx, 1]"):
            try:
                c.wait(SECOND)
            finally:  # expect: LDC101
                release()
        def other(c: DurableContext | None):
            try:
                c.wait(SECOND)
            finally:  # expect: LDC101
                release()
    """,
    "annotated with a subclass": """
        class Mine(DurableContext):
            pass
        def helper(c: Mine):
            try:
                c.wait(SECOND)
            finally:  # expect: LDC101
                release()
    """,
    "an annotated variable and attribute": """
        import dataclasses
        @dataclasses.dataclass
        class Job:
            where: "DurableContext"
            def run(self):
                try:
                    self.where.wait(SECOND)
                finally:  # expect: LDC101
                    release()
    """,
    "a method that only this SDK has": """
        def helper(c):
            try:
                c.run_in_child_context(work)
                c.step(work)
            finally:  # expect: LDC101
                release()
    """,
    "a wrapper of the project": """
        class Flow:
            def __init__(self, c):
                self.c = c
            def step(self, f):
                return self.c.step(lambda _: f())
        @durable_execution
        def handler(event, context):
            flow = Flow(context)
            try:
                flow.step(work)
            finally:  # expect: LDC101
                release()
    """,
    "a property": """
        class Flow:
            def __init__(self, c):
                self.c = c
            @property
            def ctx(self):
                return self.c
            def run(self):
                try:
                    self.ctx.wait(SECOND)
                finally:  # expect: LDC101
                    release()
        @durable_execution
        def handler(event, context):
            Flow(context).run()
    """,
    "super": """
        class Base:
            def __init__(self, c):
                self.c = c
            def run(self):
                self.c.wait(SECOND)
        class Child(Base):
            def run(self):
                try:
                    super().run()
                finally:  # expect: LDC101
                    release()
        @durable_execution
        def handler(event, context):
            Child(context).run()
    """,
    "a decorator of the project with its own finally": """
        import functools
        def cleaned(f):
            @functools.wraps(f)
            def wrapper(*args, **kwargs):
                try:
                    return f(*args, **kwargs)
                finally:  # expect: LDC101
                    release()
            return wrapper
        @durable_execution
        @cleaned
        def handler(event, context):
            context.wait(SECOND)
    """,
    "a comprehension, a generator and a walrus": """
        @durable_execution
        def handler(event, context):
            try:
                if (n := sum(context.step(lambda _: x) for x in event)) > 3:
                    return n
            finally:  # expect: LDC101
                release()
    """,
    "an f-string": """
        @durable_execution
        def handler(event, context):
            try:
                return f"{context.step(work)!r:>10}"
            finally:  # expect: LDC101
                release()
    """,
    "a bound method handed over": """
        from loops import loop
        @durable_execution
        def handler(event, context):
            try:
                loop.run(context.step, work)
            finally:  # expect: LDC101
                release()
    """,
    "a callback's result": """
        @durable_execution
        def handler(event, context):
            cb = context.create_callback()
            try:
                return cb.result()
            finally:  # expect: LDC101
                release()
    """,
    "with_retry": """
        @durable_execution
        def handler(event, context):
            try:
                with_retry(context, lambda c, n: 1)
            finally:  # expect: LDC101
                release()
    """,
    "leaving a terminal scope": """
        @durable_execution
        def handler(event, context):
            try:
                with terminal_scope(context, name="a") as terminal:
                    terminal.cleanup(lambda _: release())
            finally:  # expect: LDC101
                release()
    """,
    "acquire": """
        @durable_execution
        def handler(event, context):
            with terminal_scope(context, name="a") as terminal:
                try:
                    terminal.acquire(lambda _: acquire(), release=lambda v, _: release(v), name="x")
                finally:  # expect: LDC101
                    release()
    """,
    "an async handler and its coroutine": """
        import asyncio
        async def main(c):
            try:
                await inner(c)
            finally:  # expect: LDC101
                release()
        async def inner(c):
            c.wait(SECOND)
        @durable_execution
        def handler(event, context):
            return asyncio.run(main(context))
    """,
    "match": """
        @durable_execution
        def handler(event, context):
            try:
                match event:
                    case {"a": 1}:
                        context.wait(SECOND)
            finally:  # expect: LDC101
                release()
    """,
    "a callable parameter that some caller makes suspend": """
        def protected(f):
            try:
                f()
            finally:  # expect: LDC101
                release()
        @durable_execution
        def handler(event, context):
            protected(lambda: context.wait(SECOND))
    """,
    "a function from a table": """
        def fast(c):
            c.step(work)
        @durable_execution
        def handler(event, context):
            table = {"fast": fast}
            try:
                table[event["kind"]](context)
            finally:  # expect: LDC101
                release()
    """,
    "a class of its own that is called": """
        class Runner:
            def __call__(self, c):
                c.wait(SECOND)
        @durable_execution
        def handler(event, context):
            run = Runner()
            try:
                run(context)
            finally:  # expect: LDC101
                release()
    """,
    "a static and a class method": """
        class Runner:
            @staticmethod
            def one(c):
                c.wait(SECOND)
            @classmethod
            def two(cls, c):
                cls.one(c)
        @durable_execution
        def handler(event, context):
            try:
                Runner.two(context)
            finally:  # expect: LDC101
                release()
    """,
    "a generator that is iterated": """
        def pages(c):
            while True:
                yield c.step(work)
        @durable_execution
        def handler(event, context):
            try:
                for page in pages(context):
                    print(page)
            finally:  # expect: LDC101
                release()
    """,
    "a child context's function": """
        @durable_with_child_context
        def child(c, n):
            try:
                c.wait(SECOND)
            finally:  # expect: LDC101
                release()
        @durable_execution
        def handler(event, context):
            context.run_in_child_context(child(3))
            context.run_in_child_context(lambda k: inner(k))
        def inner(k):
            try:
                k.wait(SECOND)
            finally:  # expect: LDC101
                release()
    """,
    "keyword arguments": """
        def helper(*, n, durable):
            durable.wait(n)
        @durable_execution
        def handler(event, context):
            try:
                helper(n=SECOND, durable=context)
            finally:  # expect: LDC101
                release()
    """,
    "star arguments": """
        def helper(a, durable):
            durable.wait(a)
        @durable_execution
        def handler(event, context):
            args = (SECOND, context)
            options = dict(durable=context)
            try:
                helper(*args)
            finally:  # expect: LDC101
                release()
    """,
    "nonlocal and global": """
        CTX = None
        @durable_execution
        def handler(event, context):
            global CTX
            CTX = context
            run()
        def run():
            try:
                CTX.wait(SECOND)
            finally:  # expect: LDC101
                release()
    """,
    "how names are bound: starred, nonlocal, attributes of a class, pairs": """
        class Shared:
            context = None
        def outer(c):
            kept = None
            def keep():
                nonlocal kept
                kept = c
            keep()
            try:
                kept.wait(SECOND)
            finally:  # expect: LDC101
                release()
        @durable_execution
        def handler(event, context):
            first, *rest = event, event, context
            for c in rest:
                try:
                    c.wait(SECOND)
                finally:  # expect: LDC101
                    release()
            pair = (event, context)
            try:
                pair[1].wait(SECOND)
            finally:  # expect: LDC101
                release()
            Shared.context = context
            try:
                Shared.context.wait(SECOND)
            finally:  # expect: LDC101
                release()
            for n, c in zip(event, [context]):
                try:
                    c.wait(SECOND)
                finally:  # expect: LDC101
                    release()
            outer(context)
    """,
    "through keywords gathered and given on": """
        def inner(**given):
            try:
                given["context"].wait(SECOND)
            finally:  # expect: LDC101
                release()
            for value in given.values():
                try:
                    value.wait(SECOND)
                finally:  # expect: LDC101
                    release()
        def named(*, context):
            try:
                context.wait(SECOND)
            finally:  # expect: LDC101
                release()
        @durable_execution
        def handler(event, context):
            inner(context=context)
            named(**{"context": context})
    """,
    "picked by a builtin": """
        @durable_execution
        def handler(event, context):
            try:
                next(iter([context])).wait(SECOND)
            finally:  # expect: LDC101
                release()
    """,
    "what a generator delegates to yields": """
        def inner(c):
            yield c
        def outer(c):
            yield from inner(c)
        @durable_execution
        def handler(event, context):
            for c in outer(context):
                try:
                    c.wait(SECOND)
                finally:  # expect: LDC101
                    release()
    """,
    "in a field of a dataclass that works on it after its making": """
        from dataclasses import dataclass, field
        @dataclass
        class Flow:
            context: DurableContext
            steps: list = field(default_factory=list)
            def __post_init__(self):
                try:
                    self.context.wait(SECOND)
                finally:  # expect: LDC101
                    release()
        @durable_execution
        def handler(event, context):
            Flow(context)
    """,
    "a durable function of the SDK's decorators, called in place": """
        @durable_with_child_context
        def flow(context, n):
            try:
                context.wait(SECOND)
            finally:  # expect: LDC101
                release()
        def pause(context, n):
            try:
                context.wait(SECOND)
            finally:  # expect: LDC101
                release()
        @durable_execution
        def handler(event, context):
            flow(1)(context)
            durable_with_child_context(pause)(1)(context)
    """,
    "a child's function that is partial, callable, or one of several": """
        from functools import partial
        def flow(n, context):
            try:
                context.wait(SECOND)
            finally:  # expect: LDC101
                release()
        class Body:
            def __call__(self, context):
                try:
                    context.wait(SECOND)
                finally:  # expect: LDC101
                    release()
        @durable_execution
        def handler(event, context):
            context.run_in_child_context(partial(flow, 1))
            context.run_in_child_context(Body())
    """,
    "annotated with a subclass of its own": """
        class Mine(DurableContext):
            pass
        def helper(c: Mine):
            try:
                c.wait(SECOND)
            finally:  # expect: LDC101
                release()
        def other(c: "Mine | None"):
            try:
                c.wait(SECOND)
            finally:  # expect: LDC101
                release()
    """,
    "in the block of a class inside the handler": """
        @durable_execution
        def handler(event, context):
            class Flow:
                stage = context
                again = stage
            try:
                Flow.again.wait(SECOND)
            finally:  # expect: LDC101
                release()
    """,
    "the same base twice": """
        class Base:
            def pause(self, c):
                try:
                    c.wait(SECOND)
                finally:  # expect: LDC101
                    release()
        class Left(Base): ...
        class Right(Base): ...
        class Both(Left, Right): ...
        @durable_execution
        def handler(event, context):
            Both().pause(context)
    """,
    "after a loop that something inside it leaves": """
        @durable_execution
        def handler(event, context):
            try:
                while True:
                    if event:
                        break
                while True:
                    with open("x") as f:
                        break
                while True:
                    match event:
                        case 1:
                            break
                while True:
                    for x in event:
                        pass
                    else:
                        break
                context.wait(SECOND)
            finally:  # expect: LDC101
                release()
    """,
    "a method that only this SDK has, of something unseen": """
        @durable_execution
        def handler(event, context):
            flow = event.flow
            try:
                flow.wait_for_callback(work)
            finally:  # expect: LDC101
                release()
    """,
    "a function that the configuration calls durable, handed to a decorator": """
        from aws_durable_execution_sdk_python.types import WaitForCallbackContext
        import attrs
        @attrs.define
        class Flow:
            context: DurableContext
            seen: list = attrs.Factory(list)
            def run(self):
                try:
                    self.context.wait(SECOND)
                finally:  # expect: LDC101
                    release()
        @durable_execution
        def handler(event, context):
            Flow(context).run()
    """,
    "a type variable and a new type of a context": """
        from typing import NewType, TypeVar
        C = TypeVar("C", bound=DurableContext)
        Stage = NewType("Stage", DurableContext)
        def helper(c: C):
            try:
                c.wait(SECOND)
            finally:  # expect: LDC101
                release()
        def other(c: Stage):
            try:
                c.wait(SECOND)
            finally:  # expect: LDC101
                release()
    """,
}

NOT_DURABLE = {
    "a step's context that an annotation calls durable": """
        @durable_step
        def start(context: DurableContext):
            try:
                context.wait(SECOND)
            finally:
                release()
        @durable_execution
        def handler(event, context):
            context.step(start())
    """,
    "a helper that only steps call": """
        def helper(context: DurableContext):
            try:
                context.step(work)
            finally:
                release()
        @durable_execution
        def handler(event, context):
            context.step(lambda c: helper(c))
    """,
    "another library's context": """
        from other import DurableContext as Other
        def helper(context: Other):
            try:
                context.wait(SECOND)
            finally:
                release()
    """,
    "look-alikes": """
        import subprocess
        from concurrent.futures import ThreadPoolExecutor, Future
        def helper(pool: ThreadPoolExecutor, future: Future, waiter):
            try:
                pool.map(print, [1])
                future.result()
                waiter.wait()
                subprocess.Popen("x").wait()
            finally:
                release()
        @durable_execution
        def handler(event, context):
            batch = context.map([1], lambda c, x, i, all_: x)
            try:
                return batch.result
            finally:
                release()
    """,
    "a batch's results": """
        @durable_execution
        def handler(event, context):
            batch = context.map([1], lambda c, x, i, all_: x)
            try:
                return batch.get_results()
            finally:
                release()
    """,
    "a callable that never suspends where it is called": """
        def call(f):
            return f()
        @durable_execution
        def handler(event, context):
            call(lambda: context.wait(SECOND))
            try:
                call(lambda: 1)
            finally:
                release()
    """,
    "a helper given no context here": """
        def helper(c, n):
            if c is not None:
                c.wait(SECOND)
        @durable_execution
        def handler(event, context):
            helper(context, 1)
            try:
                helper(None, 1)
            finally:
                release()
    """,
    "builtins, loggers and casts": """
        import logging
        from typing import cast
        logger = logging.getLogger()
        @durable_execution
        def handler(event, context):
            seen = []
            try:
                print(context)
                logger.info("x %s", context)
                c = cast(DurableContext, context)
                isinstance(c, DurableContext)
                seen.append(context)
            finally:
                release()
    """,
    "handing to a pool": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor()
        @durable_execution
        def handler(event, context):
            try:
                pool.submit(work, context)
            finally:
                release()
    """,
    "building an unseen class": """
        from vendor import Flow
        @durable_execution
        def handler(event, context):
            try:
                flow = Flow(context)
            finally:
                release()
    """,
    "a generator that is only made": """
        def pages(c):
            yield c.step(work)
        @durable_execution
        def handler(event, context):
            try:
                p = pages(context)
                q = (context.step(work) for _ in event)
            finally:
                release()
    """,
    "code that is not reached": """
        from typing import TYPE_CHECKING
        @durable_execution
        def handler(event, context):
            try:
                if TYPE_CHECKING:
                    context.wait(SECOND)
                if False:
                    context.wait(SECOND)
                while True:
                    if event:
                        return 1
                context.wait(SECOND)
            finally:
                release()
    """,
    "a context's logger and callbacks": """
        @durable_execution
        def handler(event, context):
            try:
                context.logger.info("x")
                context.create_callback()
            finally:
                release()
    """,
    "an unannotated helper nobody calls": """
        def helper(context):
            try:
                context.wait(SECOND)
                context.step(work)
            finally:
                release()
    """,
    "types that say something about a context without being one": """
        from typing import Callable, Literal, Type
        @durable_execution
        def handler(event, context):
            context.step(lambda _: work())
        def helper(a: Type[DurableContext], b: Callable[[DurableContext], None], c: Literal["wait"]):
            try:
                a.wait(SECOND)
                b.wait(SECOND)
                c.wait(SECOND)
            finally:
                release()
    """,
    "code after a loop whose every break is another loop's": """
        @durable_execution
        def handler(event, context):
            try:
                while True:
                    for x in event:
                        break
                    while event:
                        break
                context.wait(SECOND)
            finally:
                release()
    """,
    "code after an if that always leaves": """
        @durable_execution
        def handler(event, context):
            try:
                if True:
                    return 1
                context.wait(SECOND)
            finally:
                release()
    """,
    "a submitter's context": """
        from aws_durable_execution_sdk_python import durable_wait_for_callback
        @durable_wait_for_callback
        def submit(callback_id, c, n):
            try:
                c.wait(SECOND)
            finally:
                release()
        @durable_execution
        def handler(event, context):
            context.wait_for_callback(submit(1))
            context.run_in_child_context(context.wait)
    """,
    "an item of a tuple that is not the context": """
        @durable_execution
        def handler(event, context):
            context.step(lambda _: work())
            pair = (event, context)
            try:
                pair[0].wait(SECOND)
                pair[2].wait(SECOND)
            finally:
                release()
    """,
}


@pytest.mark.parametrize("source", DURABLE.values(), ids=DURABLE.keys())
def test_a_durable_call_is_found(source: str) -> None:
    check(source)


@pytest.mark.parametrize("source", NOT_DURABLE.values(), ids=NOT_DURABLE.keys())
def test_a_call_that_cannot_suspend_is_silent(source: str) -> None:
    check(source)


def test_a_call_whose_source_cannot_be_found_is_said_to_be_assumed() -> None:
    (found,) = check(
        """
        from vendor import track
        @durable_execution
        def handler(event, context):
            try:
                track(context)
            finally:  # expect: LDC101
                release()
        """
    )
    assert "assumed" in found.message
