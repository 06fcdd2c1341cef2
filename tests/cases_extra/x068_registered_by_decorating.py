from contextlib import ExitStack

from aws_durable_execution_sdk_python import durable_execution

from hotel import cancel


@durable_execution
def handler(event, context):
    with ExitStack() as stack:  # expect: LDC103

        @stack.callback
        def undo():
            cancel("room")

        context.invoke("f", 1)
    with ExitStack() as stack:

        @stack.callback
        def say():
            print("left")

        context.invoke("f", 1)
    with ExitStack() as stack:  # expect: LDC103

        @stack.push
        def leave(kind, error, traceback):
            cancel("room")

        context.invoke("f", 1)
    with ExitStack() as stack:

        @stack.push
        def leave_after_errors(kind, error, traceback):
            if isinstance(error, Exception):
                cancel("room")

        context.invoke("f", 1)
    with ExitStack() as stack:
        context.invoke("f", 1)

        @stack.callback
        def too_late():
            cancel("room")
