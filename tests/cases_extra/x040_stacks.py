from contextlib import AsyncExitStack, ExitStack, closing, contextmanager, nullcontext

from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration

from yard import lock, machine, unlock

MINUTE = Duration.from_minutes(1)


@contextmanager
def holding(name):
    lock(name)
    try:
        yield name
    finally:
        unlock(name)


@contextmanager
def pausing(context):
    lock()
    try:
        context.wait(MINUTE)
        yield
    finally:  # expect: LDC101
        unlock()


@contextmanager
def outer():
    with holding("x") as held:
        yield held


class Session:
    def __init__(self):
        self.stack = ExitStack()

    def open(self):
        self.stack.callback(unlock)

    def close(self):
        self.stack.close()


@durable_execution
def stacks(event, context):
    stack = ExitStack()
    try:
        stack.callback(unlock)
        context.wait(MINUTE)
    finally:  # expect: LDC103
        stack.close()
    with ExitStack() as stack:
        stack.callback(unlock)
        kept = stack.pop_all()
        context.wait(MINUTE)
    kept.close()
    with ExitStack() as stack:  # expect: LDC103
        stack.enter_context(holding("a"))
        context.wait(MINUTE)
    with ExitStack() as stack:
        context.wait(MINUTE)
        stack.enter_context(holding("a"))
    with ExitStack() as stack:
        stack.enter_context(nullcontext())
        context.wait(MINUTE)
    with ExitStack() as stack:  # expect: LDC103
        stack.push(lambda *exc_info: unlock())
        context.wait(MINUTE)
    session = Session()
    session.open()
    context.wait(MINUTE)
    session.close()


@durable_execution
def nested(event, context):
    with outer():  # expect: LDC102
        context.wait(MINUTE)
    with pausing(context):  # expect: LDC102
        context.wait(MINUTE)
    with pausing(context):
        lock()
    with closing(machine()):  # expect: LDC102
        context.wait(MINUTE)
    with holding("a"):  # expect: LDC102
        with holding("b"):  # expect: LDC102
            context.wait(MINUTE)
    with holding("a"):
        with holding("b"):
            lock()
        later = lambda: context.wait(MINUTE)
    later()
    with holding("a") as name, holding(name):  # expect: LDC102,LDC102
        context.wait(MINUTE)


async def asynchronous(context: DurableContext):
    async with AsyncExitStack() as stack:  # expect: LDC103
        stack.push_async_callback(unlock)
        context.wait(MINUTE)
    async with machine() as vm:  # expect: LDC102
        context.wait(MINUTE)
    async for _ in vm:
        try:
            context.wait(MINUTE)
        finally:  # expect: LDC101
            await vm.stop()


@durable_execution
def nesting(event, context):
    try:
        try:
            context.wait(MINUTE)
        finally:
            print("inner")
    finally:  # expect: LDC101
        unlock()
    try:
        lock()
    except ValueError:
        context.wait(MINUTE)
    finally:  # expect: LDC101
        unlock()
    try:
        lock()
    finally:
        try:
            context.wait(MINUTE)
        finally:  # expect: LDC101
            unlock()
    if False:
        context.wait(MINUTE)
    try:
        if False:
            context.wait(MINUTE)
        return lock()
        context.wait(MINUTE)
    finally:
        unlock()


@durable_execution
def comprehensions(event, context):
    try:
        [context.step(lambda _: lock(item)) for item in event]
    finally:  # expect: LDC101
        unlock()
    try:
        later = (context.step(lambda _: lock(item)) for item in event)
    finally:
        unlock(later)
    try:
        value = event and context.wait(MINUTE)
    finally:  # expect: LDC101
        unlock(value)
    try:
        if (answer := context.invoke("f", 1)) is None:
            return answer
    finally:  # expect: LDC101
        unlock()
    try:
        match context.invoke("f", 1):
            case 1:
                lock()
    finally:  # expect: LDC101
        unlock()
    try:
        lock(f"{context.invoke('f', 1)}")
    finally:  # expect: LDC101
        unlock()
    try:
        assert context.invoke("f", 1)
    finally:  # expect: LDC101
        unlock()
    try:
        def local(value=context.invoke("f", 1)):
            return value
    finally:  # expect: LDC101
        unlock()
