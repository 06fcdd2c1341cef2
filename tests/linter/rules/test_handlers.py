"""Handlers that a suspension reaches (LDC201 to LDC204)."""

from __future__ import annotations

import pytest

from tests.linter.rules.checking import check

SHAPES = {
    "swallows": """
        @durable_execution
        def handler(event, context):
            try:
                context.wait(SECOND)
            except BaseException:  # expect: LDC201
                pass
            try:
                context.wait(SECOND)
            except:  # expect: LDC202
                return 1
    """,
    "ordinary errors": """
        import asyncio
        @durable_execution
        def handler(event, context):
            try:
                context.wait(SECOND)
            except (ValueError, StepError):
                release()
            except (KeyboardInterrupt, SystemExit, asyncio.CancelledError):
                release()
            except Exception:
                release()
    """,
    "raises again on some paths only": """
        @durable_execution
        def handler(event, context):
            try:
                context.wait(SECOND)
            except BaseException as e:  # expect: LDC201
                if event:
                    raise
            try:
                context.wait(SECOND)
            except BaseException as e:  # expect: LDC201
                for x in event:
                    raise
    """,
    "raises again on every path": """
        @durable_execution
        def handler(event, context):
            try:
                context.wait(SECOND)
            except BaseException as e:
                if event:
                    raise
                elif context:
                    raise e
                else:
                    raise e from None
            try:
                context.wait(SECOND)
            except:
                print("x")
                raise
            try:
                context.wait(SECOND)
            except BaseException as e:
                raise e.with_traceback(None)
    """,
    "lets suspensions through, in several ways": """
        import sys
        @durable_execution
        def handler(event, context):
            try:
                context.wait(SECOND)
            except BaseException as e:
                if isinstance(e, (SuspendExecution, KeyboardInterrupt)):
                    raise
                release()
            try:
                context.wait(SECOND)
            except BaseException as e:
                if not isinstance(e, Exception):
                    raise
                release()
            try:
                context.wait(SECOND)
            except:
                if isinstance(sys.exception(), SuspendExecution):
                    raise
                release()
            try:
                context.wait(SECOND)
            except BaseException:
                if isinstance(sys.exc_info()[1], SuspendExecution):
                    raise
                release()
            try:
                context.wait(SECOND)
            except BaseException as e:
                if isinstance(e, Exception):
                    release()
                    return None
                raise
            try:
                context.wait(SECOND)
            except SuspendExecution:
                raise
            except:
                release()
    """,
    "one exact class is not enough": """
        @durable_execution
        def handler(event, context):
            try:
                context.wait(SECOND)
            except BaseException as e:  # expect: LDC201
                if type(e) is SuspendExecution:
                    raise
            try:
                context.wait(SECOND)
            except TimedSuspendExecution:
                raise
            except BaseException:  # expect: LDC201
                pass
    """,
    "turned into an error": """
        @durable_execution
        def handler(event, context):
            try:
                context.wait(SECOND)
            except BaseException as e:  # expect: LDC201
                raise RuntimeError("x") from e
            try:
                context.wait(SECOND)
            except:  # expect: LDC202
                raise ValueError
    """,
    "a function that always raises": """
        def fail(e):
            release()
            raise e
        def other(e):
            raise ValueError
        @durable_execution
        def handler(event, context):
            try:
                context.wait(SECOND)
            except BaseException as e:  # expect: LDC204
                fail(e)
            try:
                context.wait(SECOND)
            except BaseException as e:  # expect: LDC201
                other(e)
    """,
    "an effect first": """
        @durable_execution
        def handler(event, context):
            try:
                context.wait(SECOND)
            except BaseException:  # expect: LDC204
                release()
                raise
            try:
                context.wait(SECOND)
            except:  # expect: LDC204
                try:
                    release()
                except Exception:
                    pass
                raise
    """,
    "names the SDK's control flow": """
        from aws_durable_execution_sdk_python.exceptions import BackgroundThreadError
        @durable_execution
        def handler(event, context):
            try:
                context.wait(SECOND)
            except BackgroundThreadError:  # expect: LDC203
                pass
            try:
                context.wait(SECOND)
            except (ValueError, SuspendExecution) as e:  # expect: LDC203
                print(e)
                raise
            try:
                context.wait(SECOND)
            except SuspendExecution as e:
                raise e
    """,
    "not around the else, the handlers or the finally": """
        @durable_execution
        def handler(event, context):
            try:
                work()
            except BaseException:
                context.wait(SECOND)
            else:
                context.wait(SECOND)
    """,
    "an alias, a tuple and a group": """
        import builtins
        ANY = (ValueError, builtins.BaseException)
        @durable_execution
        def handler(event, context):
            try:
                context.wait(SECOND)
            except ANY:  # expect: LDC201
                pass
            try:
                context.wait(SECOND)
            except* BaseException:  # expect: LDC201
                pass
    """,
    "swallowed inside, so the outer one is not reached but still reported": """
        @durable_execution
        def handler(event, context):
            try:
                try:
                    context.wait(SECOND)
                except Exception:
                    release()
            except BaseException:  # expect: LDC201
                pass
    """,
    "a loop that retries": """
        @durable_execution
        def handler(event, context):
            while True:
                try:
                    context.wait(SECOND)
                    break
                except:  # expect: LDC202
                    continue
    """,
    "handlers in a step are fine": """
        @durable_execution
        def handler(event, context):
            def body(_):
                try:
                    return work()
                except BaseException:
                    return None
            context.step(body)
    """,
}


@pytest.mark.parametrize("source", SHAPES.values(), ids=SHAPES.keys())
def test_handlers(source: str) -> None:
    check(source)
