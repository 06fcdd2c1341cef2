# What `ExitStack.push` is given is called as an `__exit__` is: told of what passes.
from contextlib import ExitStack

from aws_durable_execution_sdk_python import durable_execution

from hotel import cancel


def undo(kind, error, traceback):
    cancel("room")


def undo_after_errors(kind, error, traceback):
    if kind is not None and issubclass(kind, Exception):
        cancel("room")


class Undo:
    def __enter__(self):
        cancel("never called by push")

    def __exit__(self, kind, error, traceback):
        if isinstance(error, Exception):
            cancel("room")

    def leave(self, kind, error, traceback):
        cancel("room")


@durable_execution
def handler(event, context):
    with ExitStack() as stack:
        stack.push(undo_after_errors)
        stack.push(Undo())
        stack.push(Undo().__exit__)
        context.invoke("f", 1)
    with ExitStack() as stack:  # expect: LDC103
        stack.push(undo)
        context.invoke("f", 1)
    with ExitStack() as stack:  # expect: LDC103
        stack.push(Undo().leave)
        context.invoke("f", 1)
    with ExitStack() as stack:  # expect: LDC103
        stack.push(event["exit"])
        context.invoke("f", 1)
