"""What counts as an effect in a `finally`, and what is process-local (LDC101, LDC104)."""

from __future__ import annotations

import pytest

from tests.linter.rules.checking import check

HANDLER = """
    import asyncio, contextvars, logging, os, signal, socket, sqlite3, sys, tempfile, threading, time
    import boto3, requests, shutil
    VAR = contextvars.ContextVar("v")
    LOCK = threading.Lock()
    logger = logging.getLogger(__name__)
    s3 = boto3.client("s3")
    class Job:
        busy = False
    job = Job()
    def undone():
        yield release()
    @contextmanager
    def noted():
        yield
    @durable_execution
    def handler(event, context):
        seen, table = [], {{}}
        db = sqlite3.connect("x")
        s = requests.Session()
        f = open("x")
        token = VAR.set(1)
        started = time.time()
        try:
            context.wait(SECOND)
        finally:{mark}
            {cleanup}
"""
EFFECTS = [
    "release()",
    "s3.delete_object(Bucket='b', Key='k')",
    "boto3.client('s3').delete_object(Bucket='b', Key='k')",
    "shutil.rmtree('/tmp/x')",
    "os.unlink('/tmp/x')",
    "requests.delete('http://x')",
    "context.step(lambda _: release())",
    "context.create_callback()",
    "context.invoke('f', {})",
    "event['thing'].close()",
    "print(release())",
    "x = release() if event else None",
    "[release(x) for x in seen]",
    "if event: release()",
    "for x in seen: release(x)",
    "(lambda: release())()",
    "assert release()",
    "boto3.client('cloudwatch').put_metric_data(Namespace='n', MetricData=[])",
    "job.seen = release()",
    "asyncio.run(release())",
    "threading.Thread(target=release).start()",
    "list(map(release, seen))",
    "list(map(lambda x: release(x), seen))",
    "[x for x in undone()]",
    "tempfile.TemporaryDirectory().__exit__(None, None, None)",
    "event.things.add(1)",
    "if event[0] is None: release()",
]
LOCAL = [
    "pass",
    "...",
    "'a comment'",
    "logger.info('over %s', time.time() - started)",
    "logging.info('over')",
    "print('over', flush=True)",
    "VAR.reset(token)",
    "LOCK.release()",
    "del started",
    "job.busy = False",
    "seen.clear(); table.pop('x', None); table['a'] = 1; seen.append(1)",
    "f.close()",
    "db.close()",
    "s.close()",
    "os.environ.pop('X', None)",
    "os.chdir('/')",
    "signal.alarm(0)",
    "sys.stdout.flush()",
    "context.logger.info('x')",
    "elapsed = round(time.perf_counter() - started, 2)",
    "name = event.get('name', '').strip().lower()",
    "self_ = str(event) + f'{started:.2f}'",
    "time.sleep(0)",
    "name = 'abc'.zfill(8)",
    "list(map(str, seen))",
    "LOCK.__exit__(None, None, None)",
    "noted().__exit__(None, None, None)",
    "error = event['kind']; Kind = error; error = Kind('x')",
]


@pytest.mark.parametrize("cleanup", EFFECTS)
def test_an_effect_is_reported(cleanup: str) -> None:
    check(HANDLER.format(mark="  # expect: LDC101", cleanup=cleanup))


@pytest.mark.parametrize("cleanup", LOCAL)
def test_process_local_cleanup_is_silent(cleanup: str) -> None:
    check(HANDLER.format(mark="", cleanup=cleanup))


@pytest.mark.parametrize("cleanup", ["logger.info('x')", "LOCK.release()", "VAR.reset(token)"])
def test_strict_reports_process_local_cleanup_too(cleanup: str) -> None:
    check(HANDLER.format(mark="  # expect: LDC101", cleanup=cleanup), strict=True)


def test_a_name_in_process_local_is_silent_and_one_in_effects_is_not() -> None:
    check(HANDLER.format(mark="", cleanup="release()"), process_local=("world.release",))
    check(HANDLER.format(mark="", cleanup="release()"), process_local=("world.*",))
    check(
        HANDLER.format(mark="  # expect: LDC101", cleanup="logger.info('x')"),
        effects=("logging.getLogger.*",),
    )


def test_a_function_of_the_project_is_what_the_configuration_says() -> None:
    source = """
        def note():
            {body}
        @durable_execution
        def handler(event, context):
            try:
                context.wait(SECOND)
            finally:{mark}
                note()
    """
    check(source.format(body="release()", mark=""), process_local=("handler.note",))
    check(source.format(body="pass", mark="  # expect: LDC101"), effects=("handler.note",))


def test_strict_reports_what_cannot_be_seen_by_that() -> None:
    (finding,) = check(HANDLER.format(mark="  # expect: LDC101", cleanup="release()"), strict=True)
    assert "`release`" in finding.message


SHAPES = {
    "a project function that only logs": """
        import logging
        log = logging.getLogger()
        def note(x):
            log.info("x %s", x)
        @durable_execution
        def handler(event, context):
            try:
                context.wait(SECOND)
            finally:
                note(1)
    """,
    "a project function that releases, two calls away": """
        def outer():
            inner()
        def inner():
            release()
        @durable_execution
        def handler(event, context):
            try:
                context.wait(SECOND)
            finally:  # expect: LDC101
                outer()
    """,
    "a flag set after the last durable call": """
        @durable_execution
        def handler(event, context):
            done = False
            try:
                context.wait(SECOND)
                done = True
            finally:
                if done:
                    release()
    """,
    "the flag the other way round": """
        @durable_execution
        def handler(event, context):
            done = False
            try:
                context.wait(SECOND)
                done = True
            finally:  # expect: LDC101
                if not done:
                    release()
    """,
    "a flag set before another durable call": """
        @durable_execution
        def handler(event, context):
            done = False
            try:
                context.wait(SECOND)
                done = True
                context.wait(SECOND)
            finally:  # expect: LDC101
                if done:
                    release()
    """,
    "a flag that stays set from the round before": """
        @durable_execution
        def handler(event, context):
            done = False
            for x in event:
                try:
                    context.wait(SECOND)
                    done = True
                finally:  # expect: LDC101
                    if done:
                        release()
    """,
    "a flag set in a loop inside the try": """
        @durable_execution
        def handler(event, context):
            done = False
            try:
                for x in event:
                    context.wait(SECOND)
                    done = True
            finally:  # expect: LDC101
                if done:
                    release()
    """,
    "a resource that is None until the last durable call gave it": """
        @durable_execution
        def handler(event, context):
            vm = None
            try:
                vm = context.step(lambda _: acquire())
                work(vm)
            finally:
                if vm is not None:
                    release(vm)
    """,
    "a resource that is there at the second durable call": """
        @durable_execution
        def handler(event, context):
            vm = None
            try:
                vm = context.step(lambda _: acquire())
                context.wait(SECOND)
            finally:  # expect: LDC101
                if vm is not None:
                    release(vm)
    """,
    "a flag that is compared with more than one constant": """
        @durable_execution
        def handler(event, context):
            done = 0
            try:
                context.wait(SECOND)
                done = 1
            finally:  # expect: LDC101
                if done >= 0:
                    release()
    """,
    "a flag that is deleted": """
        @durable_execution
        def handler(event, context):
            done = False
            del done
            try:
                context.wait(SECOND)
            finally:  # expect: LDC101
                if done:
                    release()
    """,
    "only when there is no exception": """
        import sys
        @durable_execution
        def handler(event, context):
            try:
                context.wait(SECOND)
            finally:
                if sys.exc_info()[0] is None:
                    release()
    """,
    "only when it is an error": """
        import sys
        @durable_execution
        def handler(event, context):
            try:
                context.wait(SECOND)
            finally:
                if isinstance(sys.exception(), Exception):
                    release()
    """,
    "nested: only the one with an effect": """
        @durable_execution
        def handler(event, context):
            try:
                try:
                    context.wait(SECOND)
                finally:
                    print("x")
            finally:  # expect: LDC101
                release()
    """,
    "the durable call is in a handler": """
        @durable_execution
        def handler(event, context):
            try:
                work()
            except ValueError:
                context.wait(SECOND)
            finally:  # expect: LDC101
                release()
    """,
    "return, break and continue in a finally": """
        @durable_execution
        def handler(event, context):
            for x in event:
                try:
                    context.wait(SECOND)
                finally:
                    if x:
                        continue  # expect: LDC104
                    break  # expect: LDC104
            try:
                context.wait(SECOND)
            finally:
                for y in event:
                    break
                if event:
                    return 1  # expect: LDC104
    """,
    "raise in a finally": """
        import sys
        @durable_execution
        def handler(event, context):
            try:
                context.wait(SECOND)
            finally:
                if event:
                    raise ValueError
            try:
                context.wait(SECOND)
            finally:
                sys.exit(1)  # expect: LDC104
    """,
    "without a durable call nothing of it is reported": """
        @durable_execution
        def handler(event, context):
            context.wait(SECOND)
            try:
                work()
            finally:
                release()
                return 1
    """,
    "a finally on one line": """
        @durable_execution
        def handler(event, context):
            try: context.wait(SECOND)
            finally: release()  # expect: LDC101
    """,
    "an exit called by hand": """
        @contextmanager
        def held():
            acquire()
            try:
                yield
            finally:
                release()
        @durable_execution
        def handler(event, context):
            cm = held()
            cm.__enter__()
            try:
                context.wait(SECOND)
            finally:  # expect: LDC101
                cm.__exit__(None, None, None)
    """,
    "inside a step body it is fine": """
        @durable_execution
        def handler(event, context):
            def body(_):
                try:
                    return work(context)
                finally:
                    release()
            context.step(body)
            context.step(lambda _: other(context))
        def other(context):
            try:
                context.wait(SECOND)
            finally:
                release()
    """,
    "an exception built in the finally": """
        class Over(Exception):
            pass
        @durable_execution
        def handler(event, context):
            error = None
            try:
                context.wait(SECOND)
            finally:
                error = Over("x")
    """,
}


@pytest.mark.parametrize("source", SHAPES.values(), ids=SHAPES.keys())
def test_finally(source: str) -> None:
    check(source)


@pytest.mark.parametrize(
    ("cleanup", "label"),
    [
        ("context.step(lambda _: work(), 'undo')", "undo"),
        ("context.step(lambda _: work(), name='undo', config=None)", "undo"),
        ("context.step(lambda _: work(), config=None, name='undo')", "undo"),
        ("context.step(lambda _: work(), event['name'])", "context.step"),
        ("context.step(lambda _: work(), name=event['name'])", "context.step"),
    ],
)
def test_a_durable_cleanup_is_called_by_its_name_where_it_has_one(cleanup: str, label: str) -> None:
    (finding,) = check(HANDLER.format(mark="  # expect: LDC101", cleanup=cleanup))
    assert finding.message.startswith(f"`finally` would run `{label}` ")


def test_a_call_that_waits_explains_more_than_a_step_before_it() -> None:
    (finding,) = check(
        """
        @durable_execution
        def handler(event, context):
            try:
                context.step(lambda _: work())
                context.wait(SECOND)
            finally:  # expect: LDC101
                release()
        """
    )
    assert "at `context.wait`" in finding.message


def test_an_error_that_a_test_names_is_told_from_a_suspension() -> None:
    check(
        """
        import sys
        @durable_execution
        def handler(event, context):
            try:
                context.wait(SECOND)
            finally:
                if isinstance(error := sys.exception(), Exception):
                    release(error)
        """
    )
