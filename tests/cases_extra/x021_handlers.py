import sys
from contextlib import contextmanager, suppress

from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration
from aws_durable_execution_sdk_python.exceptions import (
    BackgroundThreadError,
    OrphanedChildException,
    SuspendExecution,
    TimedSuspendExecution,
)

from yard import lock, log, unlock

MINUTE = Duration.from_minutes(1)
EVERYTHING = BaseException
QUIET = (SuspendExecution, TimedSuspendExecution)


def always_raises(error):
    raise RuntimeError("left") from error


def passes_on(error):
    raise error


def sometimes(error):
    if isinstance(error, ValueError):
        raise error


def run(context: DurableContext, event) -> None:
    try:
        context.wait(MINUTE)
    except EVERYTHING:  # expect: LDC201
        pass
    try:
        context.wait(MINUTE)
    except (ValueError, BaseException):  # expect: LDC201
        event["failed"] = True
    try:
        context.wait(MINUTE)
    except BaseException as error:  # expect: LDC201
        if event["strict"]:
            raise
        event["error"] = error
    try:
        context.wait(MINUTE)
    except BaseException as error:  # expect: LDC201
        raise ValueError("left") from error
    try:
        context.wait(MINUTE)
    except BaseException as error:  # expect: LDC201
        always_raises(error)
    try:
        context.wait(MINUTE)
    except BaseException as error:
        passes_on(error)
    try:
        context.wait(MINUTE)
    except BaseException as error:  # expect: LDC201
        sometimes(error)
    try:
        context.wait(MINUTE)
    except BaseException as error:
        raise error
    try:
        context.wait(MINUTE)
    except BaseException as error:
        if isinstance(error, SuspendExecution):
            raise
        event["error"] = error
    try:
        context.wait(MINUTE)
    except BaseException as error:  # expect: LDC201
        if isinstance(error, TimedSuspendExecution):
            raise
        event["error"] = error
    try:
        context.wait(MINUTE)
    except BaseException as error:  # expect: LDC201
        if type(error) is SuspendExecution:
            raise
        event["error"] = error
    try:
        context.wait(MINUTE)
    except BaseException as error:
        if not isinstance(error, Exception):
            raise
        unlock(error)
    try:
        context.wait(MINUTE)
    except:
        if isinstance(sys.exception(), SuspendExecution):
            raise
        unlock()
    try:
        context.wait(MINUTE)
    except SuspendExecution:
        raise
    except BaseException:
        unlock()
    try:
        context.wait(MINUTE)
    except TimedSuspendExecution:
        raise
    except BaseException:  # expect: LDC201
        event["x"] = 1
    try:
        context.wait(MINUTE)
    except QUIET:  # expect: LDC203
        return
    try:
        context.wait(MINUTE)
    except (OrphanedChildException, BackgroundThreadError):
        raise
    try:
        context.wait(MINUTE)
    except OrphanedChildException:  # expect: LDC203
        log.info("orphaned")
        raise
    try:
        context.wait(MINUTE)
    except BaseException:  # expect: LDC204
        unlock()
        raise
    try:
        context.wait(MINUTE)
    except:  # expect: LDC204
        with suppress(Exception):
            unlock()
        raise
    try:
        context.wait(MINUTE)
    except BaseException as error:
        if isinstance(error, Exception):
            unlock()
        raise
    try:
        context.wait(MINUTE)
    except BaseException:
        event["left"] = True
        raise
    try:
        lock()
    except BaseException:
        unlock()
    else:
        context.wait(MINUTE)
    try:
        lock()
    except BaseException:
        context.wait(MINUTE)
    try:
        raise ValueError
        context.wait(MINUTE)
    except BaseException:
        pass


def loops(context: DurableContext, event) -> str:
    for _ in range(3):
        try:
            context.wait(MINUTE)
        finally:
            if event["stop"]:
                break  # expect: LDC104
    while True:
        try:
            context.wait(MINUTE)
        finally:
            for item in event:
                if item:
                    break
            continue  # expect: LDC104
    try:
        context.wait(MINUTE)
    finally:
        if event["error"]:
            raise ValueError
    try:
        context.wait(MINUTE)
    finally:
        raise ValueError  # expect: LDC104


def stops(context: DurableContext, event) -> str:
    try:
        context.wait(MINUTE)
    finally:
        sys.exit(1)  # expect: LDC104


def returns(context: DurableContext, event) -> str:
    try:
        context.wait(MINUTE)
    finally:

        def inner():
            return 1

        lambda: unlock()
        try:
            return "x"  # expect: LDC104
        except ValueError:
            pass


class Deaf:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return kind is not None


class Choosy:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return isinstance(error, ValueError)


class Chatty:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        log.info("left")


class Both:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        unlock()
        return True


@contextmanager
def swallowing():
    try:
        yield
    except BaseException:
        log.info("left")


@contextmanager
def translating():
    try:
        yield
    except BaseException as error:
        raise RuntimeError from error


@contextmanager
def polite():
    try:
        yield
    except Exception:
        unlock()


def managers(context: DurableContext, event) -> None:
    with Deaf():  # expect: LDC105
        context.wait(MINUTE)
    with Choosy(), Chatty(), polite():
        context.wait(MINUTE)
    with Both():  # expect: LDC102,LDC105
        context.wait(MINUTE)
    with swallowing():  # expect: LDC105
        context.wait(MINUTE)
    with suppress(SuspendExecution):  # expect: LDC105
        context.wait(MINUTE)
    with suppress(ValueError, EVERYTHING):  # expect: LDC105
        context.wait(MINUTE)
    with translating():  # expect: LDC105
        context.wait(MINUTE)


@durable_execution
def handler(event, context):
    run(context, event)
    loops(context, event)
    stops(context, event)
    returns(context, event)
    managers(context, event)
