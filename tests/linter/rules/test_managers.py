"""Managers and exit stacks around a suspension (LDC102, LDC103, LDC105)."""

from __future__ import annotations

import pytest

from tests.linter.rules.checking import check

WITH = """
    import contextlib, decimal, sqlite3, tempfile, threading, warnings, zipfile, tarfile, os, multiprocessing
    import asyncio, redis, filelock, world, sqlalchemy, psycopg, boto3, requests, httpx
    from unittest import mock
    from opentelemetry import trace
    from sqlalchemy.orm import Session, sessionmaker
    tracer = trace.get_tracer("x")
    engine = sqlalchemy.create_engine("x")
    LOCK = threading.RLock()
    MLOCK = multiprocessing.Lock()
    @durable_execution
    def handler(event, context):
        with {item}:{mark}
            context.wait(SECOND)
"""
HAZARDS = [
    "tempfile.TemporaryDirectory()",
    "tempfile.NamedTemporaryFile() as f",
    "filelock.FileLock('x')",
    "redis.Redis().lock('x')",
    "engine.begin() as c",
    "engine.connect() as c",
    "Session(engine) as s",
    "sessionmaker(engine)() as s",
    "sessionmaker(engine).begin() as s",
    "psycopg.connect('x') as c",
    "sqlite3.connect('x') as c",
    "zipfile.ZipFile('x', 'w') as z",
    "MLOCK",
    "acquire()",
    "event['lock']",
    "closing(acquire())",
    "acquire() if event else contextlib.nullcontext()",
    "event.lock or contextlib.nullcontext()",
    "(held := acquire())",
    "closing(event['thing'])",
]
LOCAL = [
    "LOCK",
    "threading.Lock()",
    "open('x') as f",
    "contextlib.nullcontext()",
    "contextlib.suppress(Exception)",
    "suppress(ValueError, OSError)",
    "decimal.localcontext()",
    "warnings.catch_warnings()",
    "contextlib.redirect_stdout(None)",
    "tracer.start_as_current_span('x') as span",
    "trace.use_span(None)",
    "closing(sqlite3.connect('x')) as db",
    "requests.Session() as s",
    "httpx.Client() as s",
    "mock.patch('x')",
    "memoryview(b'x')",
    "zipfile.ZipFile('x') as z",
    "tarfile.open('x') as z",
    "os.scandir('x') as z",
    "event.tracer.start_as_current_span('x')",
    "world.tracer.start_as_current_span('x')",
]


@pytest.mark.parametrize("item", HAZARDS)
def test_a_manager_with_an_effect_is_reported(item: str) -> None:
    check(WITH.format(item=item, mark="  # expect: LDC102"))


@pytest.mark.parametrize("item", LOCAL)
def test_a_process_local_manager_is_silent(item: str) -> None:
    check(WITH.format(item=item, mark=""))


SHAPES = {
    "each item is judged, and those after it protect": """
        @contextmanager
        def durable(c):
            c.wait(SECOND)
            yield
        @durable_execution
        def handler(event, context):
            with (
                acquire(1) as a,  # expect: LDC102
                durable(context),
                acquire(2) as b,
            ):
                work()
    """,
    "a class that releases": """
        class Lease:
            def __enter__(self):
                return self
            def __exit__(self, *error):
                release()
        @durable_execution
        def handler(event, context):
            with Lease() as lease:  # expect: LDC102
                context.wait(SECOND)
    """,
    "a class that spares suspensions, in several ways": """
        import sys
        class A:
            def __enter__(self): ...
            def __exit__(self, t, v, tb):
                if t is not None and issubclass(t, SuspendExecution):
                    return
                release()
        class B:
            def __enter__(self): ...
            def __exit__(self, t, v, tb):
                if v is None or isinstance(v, Exception):
                    release()
        class C:
            def __enter__(self): ...
            def __exit__(self, t, v, tb):
                if t in (SuspendExecution, TimedSuspendExecution):
                    return False
                release()
        class D:
            def __enter__(self): ...
            def __exit__(self, t, v, tb):
                if t:
                    return
                release()
        @durable_execution
        def handler(event, context):
            with A(), B(), C(), D():
                context.wait(SECOND)
    """,
    "a class that spares only one of the two": """
        class A:
            def __enter__(self): ...
            def __exit__(self, t, v, tb):
                if t is SuspendExecution:
                    return
                release()
        @durable_execution
        def handler(event, context):
            with A():  # expect: LDC102
                context.wait(SECOND)
    """,
    "an exit that swallows and releases": """
        class A:
            def __enter__(self): ...
            def __exit__(self, t, v, tb):
                release()
                return True
        @durable_execution
        def handler(event, context):
            with A():  # expect: LDC102, LDC105
                context.wait(SECOND)
    """,
    "an exit that swallows errors only": """
        class A:
            def __enter__(self): ...
            def __exit__(self, t, v, tb):
                return t is not None and issubclass(t, Exception)
        class B:
            def __enter__(self): ...
            def __exit__(self, t, v, tb):
                return isinstance(v, ValueError)
        class C:
            def __enter__(self): ...
            def __exit__(self, t, v, tb):
                return t is not None
        @durable_execution
        def handler(event, context):
            with A(), B():
                context.wait(SECOND)
            with C():  # expect: LDC105
                context.wait(SECOND)
    """,
    "inherited exits": """
        import contextlib, threading
        class Base:
            def __enter__(self): ...
            def __exit__(self, t, v, tb):
                self.done()
        class Quiet(Base):
            def done(self):
                print("x")
        class Loud(Base):
            def done(self):
                release()
        class Nothing(contextlib.AbstractContextManager):
            def __exit__(self, *_):
                return None
        @durable_execution
        def handler(event, context):
            with Quiet(), Nothing():
                context.wait(SECOND)
            with Loud():  # expect: LDC102
                context.wait(SECOND)
    """,
    "a factory of managers": """
        class Lease:
            def __enter__(self): ...
            def __exit__(self, *error):
                release()
        def lease(n):
            return Lease()
        class Pool:
            @contextmanager
            def take(self):
                acquire()
                try:
                    yield
                finally:
                    release()
        @durable_execution
        def handler(event, context):
            with lease(1):  # expect: LDC102
                context.wait(SECOND)
            pool = Pool()
            with pool.take():  # expect: LDC102
                context.wait(SECOND)
    """,
    "generators": """
        import logging
        @contextmanager
        def logged():
            try:
                yield
            except Exception:
                release()
                raise
            finally:
                logging.info("x")
        @contextmanager
        def nested():
            with acquire():
                yield
        @contextmanager
        def inner_only():
            with suppress(Exception):
                yield
            release()
        @contextmanager
        def on_success():
            yield
            release()
        @contextmanager
        def spares():
            try:
                yield
            except SuspendExecution:
                raise
            except BaseException:
                release()
                raise
            release()
        @durable_execution
        def handler(event, context):
            with logged(), inner_only(), on_success(), spares():
                context.wait(SECOND)
            with nested():  # expect: LDC102
                context.wait(SECOND)
    """,
    "a generator that turns the suspension into an error": """
        @contextmanager
        def wrapped():
            try:
                yield
            except BaseException as e:
                raise RuntimeError("x") from e
        @durable_execution
        def handler(event, context):
            with wrapped():  # expect: LDC105
                context.wait(SECOND)
    """,
    "what closing closes": """
        class Loud:
            def close(self):
                release()
        class Quiet:
            def close(self):
                print("x")
        class Nothing:
            pass
        @durable_execution
        def handler(event, context):
            with closing(Quiet()), closing(Nothing()):
                context.wait(SECOND)
            with closing(Loud()):  # expect: LDC102
                context.wait(SECOND)
    """,
    "a class whose exit is its library's": """
        import tempfile, threading
        class Folder(tempfile.TemporaryDirectory):
            pass
        @durable_execution
        def handler(event, context):
            with Folder():  # expect: LDC102
                context.wait(SECOND)
    """,
    "a manager that is awaited": """
        import asyncio
        async def run(c):
            async with await acquire():  # expect: LDC102
                c.wait(SECOND)
        @durable_execution
        def handler(event, context):
            asyncio.run(run(context))
    """,
    "a generator that never yields, or does so after its own cleanup": """
        @contextmanager
        def never():
            return iter(())
        @contextmanager
        def after():
            try:
                acquire()
            finally:
                release()
            yield
        @contextmanager
        def swallowed():
            try:
                with open("x"), suppress(BaseException):
                    yield
            finally:
                print("x")
        @durable_execution
        def handler(event, context):
            with never(), after():
                context.wait(SECOND)
            with swallowed():  # expect: LDC105
                context.wait(SECOND)
    """,
    "a generator used as a decorator": """
        @contextmanager
        def held():
            acquire()
            try:
                yield
            finally:
                release()
        @durable_execution
        @held()  # expect: LDC102
        def handler(event, context):
            context.wait(SECOND)
        @held()
        def other(n):
            return n
    """,
    "suppress": """
        @durable_execution
        def handler(event, context):
            with suppress(BaseException):  # expect: LDC105
                context.wait(SECOND)
            with suppress(SuspendExecution):  # expect: LDC105
                context.wait(SECOND)
            with suppress(*[Exception, BaseException]):  # expect: LDC105
                context.wait(SECOND)
    """,
    "terminal scopes are the cure": """
        @durable_execution
        def handler(event, context):
            with terminal_scope(context, name="a") as terminal:
                vm = context.step(lambda _: acquire())
                terminal.cleanup(lambda _: release(vm), name="r")
                context.wait(SECOND)
    """,
    "a with inside a step": """
        @durable_execution
        def handler(event, context):
            def body(_):
                with acquire():
                    return work()
            context.step(body)
            context.wait(SECOND)
    """,
    "async with": """
        import asyncio
        async def run(c):
            async with acquire() as x:  # expect: LDC102
                c.wait(SECOND)
            async with asyncio.Lock():
                c.wait(SECOND)
        @durable_execution
        def handler(event, context):
            asyncio.run(run(context))
    """,
    "exit stacks": """
        @durable_execution
        def handler(event, context):
            with ExitStack() as stack:  # expect: LDC103
                stack.callback(release)
                context.wait(SECOND)
            with ExitStack() as stack:  # expect: LDC103
                stack.enter_context(acquire())
                context.wait(SECOND)
            with ExitStack() as stack:  # expect: LDC103
                stack.push(acquire())
                context.wait(SECOND)
            with ExitStack() as stack:
                stack.enter_context(open("x"))
                stack.callback(print, "x")
                context.wait(SECOND)
            with ExitStack() as stack:
                context.wait(SECOND)
                stack.callback(release)
            with ExitStack() as stack:
                stack.callback(release)
                stack.pop_all().close()
                context.wait(SECOND)
            with ExitStack() as stack:  # expect: LDC103
                for x in event:
                    context.wait(SECOND)
                    stack.callback(release, x)
    """,
    "a stack closed in a finally": """
        @durable_execution
        def handler(event, context):
            stack = ExitStack()
            try:
                stack.callback(release)
                context.wait(SECOND)
            finally:  # expect: LDC103
                stack.close()
            other = ExitStack()
            try:
                other.callback(print)
                context.wait(SECOND)
            finally:
                other.close()
    """,
    "a stack of its own class": """
        class Stack(ExitStack):
            pass
        @durable_execution
        def handler(event, context):
            with Stack() as stack:  # expect: LDC103
                stack.callback(release)
                context.wait(SECOND)
    """,
    "a stack made before the with": """
        @durable_execution
        def handler(event, context):
            stack = ExitStack()
            stack.callback(release)
            with stack:  # expect: LDC103
                context.wait(SECOND)
    """,
    "a project manager on a stack": """
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
        @durable_execution
        def handler(event, context):
            with ExitStack() as stack:  # expect: LDC103
                stack.enter_context(held())
                context.wait(SECOND)
            with ExitStack() as stack:
                stack.enter_context(quiet())
                context.wait(SECOND)
    """,
    "a durable cleanup on a stack": """
        @durable_execution
        def handler(event, context):
            with ExitStack() as stack:  # expect: LDC103
                stack.callback(context.step, lambda _: release())
                context.wait(SECOND)
            with ExitStack() as stack:  # expect: LDC103
                stack.callback(lambda: context.step(lambda _: release()))
                context.wait(SECOND)
    """,
}


@pytest.mark.parametrize("source", SHAPES.values(), ids=SHAPES.keys())
def test_managers(source: str) -> None:
    check(source)


def test_a_manager_that_enters_itself_in_its_cleanup_ends() -> None:
    check(
        """
        @contextmanager
        def lease(kind):
            acquire(kind)
            try:
                yield kind
            finally:
                with lease(kind):
                    work()
                release(kind)

        class Guard:
            def __enter__(self):
                return self
            def __exit__(self, *details):
                with self:
                    release(self)

        @durable_execution
        def handler(event, context):
            with lease("robot"):  # expect: LDC102
                context.wait(SECOND)
            with Guard():  # expect: LDC102
                context.wait(SECOND)
        """
    )


SETTLED = """
    class Lease:
        def __enter__(self): ...
        def __exit__(self, *error):
            {body}
    @contextmanager
    def lease():
        try:
            yield
        finally:
            {body}
    @durable_execution
    def handler(event, context):
        with {item}:{mark}
            context.wait(SECOND)
"""


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("Lease()", "handler.Lease"),
        ("lease()", "handler.lease"),
        ("acquire()", "world.acquire"),
        ("closing(acquire())", "world.acquire.close"),
        ("event.lock", "event.lock"),
    ],
)
def test_the_configuration_says_what_a_manager_is(item: str, name: str) -> None:
    reported = "  # expect: LDC102"
    check(SETTLED.format(item=item, body="release()", mark=reported))
    check(SETTLED.format(item=item, body="release()", mark=""), process_local=(name,))
    check(SETTLED.format(item=item, body="pass", mark=reported), effects=(name,))


@pytest.mark.parametrize(
    "item", ["event.tracer.start_as_current_span('x')", "open('x')", "closing(open('x'))"]
)
def test_strict_reports_process_local_managers_too(item: str) -> None:
    check(SETTLED.format(item=item, body="pass", mark="  # expect: LDC102"), strict=True)
