# One manager is harmless or not by what it is given where it is used.
import contextlib
import logging

from aws_durable_execution_sdk_python import durable_execution

log = logging.getLogger(__name__)


@contextlib.contextmanager
def swallow(*kinds):
    try:
        yield
    except kinds:
        log.warning("swallowed", exc_info=True)


@durable_execution
def handler(event, context):
    with swallow(KeyError, ValueError):
        context.invoke("f", 1)
    with swallow(BaseException):  # expect: LDC105
        context.invoke("f", 1)
    with swallow(Exception):
        context.invoke("f", 1)
    try:
        context.invoke("f", 1)
    finally:
        for out in log.handlers:
            out.flush()
