from contextlib import ExitStack, contextmanager
from functools import partial

from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import CompletionConfig, Duration, MapConfig, ParallelConfig
from durable_runtime import terminal_scope

from yard import lock, unlock

MINUTE = Duration.from_minutes(1)


def helper(anything) -> None:
    anything.step(lambda _: lock(), name="lock")


@contextmanager
def scoped(context: DurableContext):
    with terminal_scope(context, name="own") as terminal:
        yield terminal


def made(context: DurableContext):
    return terminal_scope(context, name="made")


@durable_execution
def entered(event, context):
    with scoped(context) as terminal:
        terminal.cleanup(lambda _: unlock(), name="a")
        context.wait(MINUTE)
    scope = terminal_scope(context, name="stored")  # expect: LDC407
    with scope as terminal:
        context.wait(MINUTE)
    with made(context) as terminal:
        context.wait(MINUTE)
    terminal_scope(context, name="thrown-away")  # expect: LDC407
    with ExitStack() as stack:
        terminal = stack.enter_context(terminal_scope(context, name="stacked"))  # expect: LDC407
    with terminal_scope(context, name="outer") as outer, terminal_scope(context, name="inner") as inner:
        outer.cleanup(lambda _: unlock(), name="b")
        inner.cleanup(lambda _: unlock(), name="c")
        with terminal_scope(context, name="third"):
            outer.compensate(lambda _: unlock(), name="d")
            context.wait(MINUTE)


@durable_execution
def actions(event, context):
    with terminal_scope(context, name="actions") as terminal:
        terminal.cleanup(lambda _: context.logger.info("left"), name="log")
        terminal.acquire(
            lambda _: lock(),
            release=lambda value, _: context.step(lambda _: unlock(value)),  # expect: LDC402
            name="lock",
        )
        terminal.cleanup(partial(helper, context), name="partial")  # expect: LDC402
        terminal.cleanup_in_context(lambda inner: inner.wait(MINUTE), name="waits")
        terminal.compensate_in_context(lambda inner: context.wait(MINUTE), name="outer")  # expect: LDC401
        terminal.compensate_in_context(lambda inner: helper(context), name="helper")  # expect: LDC401
        terminal.compensate_in_context(helper, name="own")
        context.wait(MINUTE)


@durable_execution
def isolated(event, context):
    def body(inner, terminal):
        helper(inner)
        helper(context)  # expect: LDC401
        callback = context.create_callback(name="c")  # expect: LDC401
        with terminal_scope(inner, name="nested") as nested:
            nested.cleanup(lambda _: unlock(), name="x")
        return callback

    terminal_scope(context, body, name="body")
    context.run_in_child_context(lambda child: context.wait(MINUTE))  # expect: LDC401
    context.run_in_child_context(lambda child: child.wait(MINUTE))
    context.step(lambda _: lock())


@durable_execution
def loops(event, context):
    with terminal_scope(context, name="loops") as terminal:
        for room in event["rooms"]:
            terminal.cleanup(lambda _: unlock(room), name=f"a-{room}")  # expect: LDC403
            terminal.cleanup(lambda _, room=room: unlock(room), name=f"b-{room}")
            terminal.cleanup(partial(unlock, room), name=f"c-{room}")
            terminal.cleanup(lambda _: unlock(event), name=f"d-{room}")
            value = lock(room)
            terminal.acquire(lambda _: lock(room), release=lambda held, _: unlock(value), name=room)  # expect: LDC403
        while event:
            name = event.pop()
            terminal.compensate(lambda _: unlock(name), name="w")  # expect: LDC403
        context.wait(MINUTE)
    for room in event["rooms"]:
        with terminal_scope(context, name="each") as terminal:
            terminal.cleanup(lambda _: unlock(room), name="z")
            context.wait(MINUTE)


@durable_execution
def late(event, context):
    with terminal_scope(context, name="late") as terminal:
        terminal.cleanup(lambda _: unlock("before"), name="before")
        first = context.step(lambda _: lock(1), name="first")
        context.create_callback(name="c")
        terminal.cleanup(lambda _: unlock(first), name="first")
        second = context.step(lambda _: lock(2), name="second")
        third = context.step(lambda _: lock(3), name="third")
        terminal.cleanup(lambda _: unlock(second), name="second")  # expect: LDC404
        terminal.cleanup(lambda _: unlock(third), name="third")
        context.wait(MINUTE)
        terminal.cleanup(lambda _: unlock("constant"), name="constant")
        if event:
            fourth = context.step(lambda _: lock(4), name="fourth")
            helper(context)
            terminal.compensate(lambda _: unlock(fourth), name="fourth")  # expect: LDC404


def branch(ctx, item, index, items):
    with terminal_scope(ctx, name="branch") as terminal:  # expect: LDC405
        terminal.cleanup(lambda _: unlock(item), name="x")
        ctx.wait(MINUTE)


def safe(ctx, item, index, items):
    with terminal_scope(ctx, name="safe") as terminal:
        terminal.cleanup(lambda _: unlock(item), name="x")
        ctx.wait(MINUTE)


@durable_execution
def abandoned(event, context):
    context.map([1], branch)
    context.map([1], safe, config=MapConfig(completion_config=CompletionConfig.all_completed()))
    context.map([1], safe, config=event["config"])
    tolerant = CompletionConfig(tolerated_failure_percentage=100)
    context.map([1], safe, config=MapConfig(completion_config=tolerant))
    context.parallel(
        [lambda ctx: terminal_scope(ctx, lambda c, t: c.wait(MINUTE), name="p")],  # expect: LDC405
        config=ParallelConfig(completion_config=CompletionConfig(min_successful=1)),
    )


@durable_execution
def inside(event, context):
    with terminal_scope(context, name="inside") as terminal:

        def launch(_):
            lock()
            terminal.cleanup(lambda _: unlock(), name="x")  # expect: LDC406

        context.step(launch, name="launch")
        context.run_in_child_context(lambda child: terminal.cleanup(unlock, name="y"))  # expect: LDC406
        context.wait_for_callback(lambda cid, _: terminal.cleanup(unlock, name="z"))  # expect: LDC406
