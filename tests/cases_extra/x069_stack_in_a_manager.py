from contextlib import ExitStack, contextmanager

from aws_durable_execution_sdk_python import durable_execution

from hotel import cancel, room


@contextmanager
def rooms(count):
    with ExitStack() as stack:
        for number in range(count):
            stack.callback(cancel, number)
        yield stack


@contextmanager
def held(count):
    if count:
        with ExitStack() as stack:
            found = [stack.enter_context(room(number)) for number in range(count)]
            try:
                yield found
            except ValueError:
                print("no such room")


@contextmanager
def said():
    with ExitStack() as stack:
        stack.callback(print, "left")
        yield


@contextmanager
def done_before():
    with ExitStack() as stack:
        stack.callback(cancel, "all")
    yield


@durable_execution
def handler(event, context):
    with rooms(3):  # expect: LDC102
        context.invoke("f", 1)
    with held(3):  # expect: LDC102
        context.invoke("f", 1)
    with said(), done_before():
        context.invoke("f", 1)
    with rooms(3) as stack:
        print(stack)
