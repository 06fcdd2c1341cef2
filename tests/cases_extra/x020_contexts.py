import functools
from contextlib import ContextDecorator, contextmanager
from dataclasses import dataclass
from typing import Any, Optional

from aws_durable_execution_sdk_python import DurableContext, StepContext, durable_execution, durable_step
from aws_durable_execution_sdk_python import durable_with_child_context
from aws_durable_execution_sdk_python.config import Duration, ParallelBranch

from yard import lock, unlock

MINUTE = Duration.from_minutes(1)


def third(stage):
    stage.wait(MINUTE)


def second(stage, more):
    if more:
        third(stage)


def first(stage):
    second(stage, more=True)


@durable_execution
def three_deep(event, anything):
    try:
        first(anything)
    finally:  # expect: LDC101
        unlock()


class Wrapped(DurableContext):
    pass


def subclassed(thing: Wrapped) -> None:
    try:
        thing.wait(MINUTE)
    finally:  # expect: LDC101
        unlock()


def optional(thing: Optional["DurableContext"] = None) -> None:
    try:
        thing.wait(MINUTE)
    finally:  # expect: LDC101
        unlock()


def evidence(thing) -> None:
    try:
        thing.wait_for_callback(lambda callback_id, _: lock(callback_id))
    finally:  # expect: LDC101
        unlock()


@dataclass
class Job:
    aws: DurableContext
    name: str

    def run(self) -> None:
        try:
            self.aws.wait(MINUTE)
        finally:  # expect: LDC101
            unlock(self.name)


class Base:
    def __init__(self, context) -> None:
        self._ctx = context

    def pause(self) -> None:
        self._ctx.wait(MINUTE)


class Derived(Base):
    def work(self) -> None:
        try:
            super().pause()
        finally:  # expect: LDC101
            unlock()


@durable_execution
def through_objects(event, context):
    Derived(context).work()
    Job(context, "a").run()
    pair = (context, event)
    mine, _ = pair
    try:
        mine.wait(MINUTE)
    finally:  # expect: LDC101
        unlock()
    waiting = functools.partial(first, context)
    try:
        waiting()
    finally:  # expect: LDC101
        unlock()
    step = context.step
    try:
        step(lambda _: lock(), name="lock")
    finally:  # expect: LDC101
        unlock()


@durable_step
def resize(context: DurableContext, size: int) -> int:
    try:
        context.logger.info("resizing")
        return lock(size)
    finally:
        unlock(size)


@durable_with_child_context
def child(inner, name):
    try:
        inner.wait(MINUTE)
    finally:  # expect: LDC101
        unlock(name)


@durable_execution
def lambdas(event, context):
    context.step(resize(3))
    context.run_in_child_context(child("x"))
    context.step(lambda ctx: guarded(ctx))
    context.parallel([ParallelBranch(func=branch, name="a"), branch])
    return event.get("loop").run(context.step, lambda _: guarded(None))


def guarded(ctx):
    try:
        return lock(ctx)
    finally:
        unlock()


def branch(b):
    try:
        b.step(lambda _: lock())
    finally:  # expect: LDC101
        unlock()


def locked(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        lock()
        try:
            return function(*args, **kwargs)
        finally:  # expect: LDC101
            unlock()

    return inner


@durable_execution
@locked
def decorated(event, context):
    context.wait(MINUTE)


class Held(ContextDecorator):
    def __enter__(self):
        lock()
        return self

    def __exit__(self, *exc_info):
        unlock()


@contextmanager
def holding():
    lock()
    try:
        yield
    finally:
        unlock()


@Held()  # expect: LDC102
def used_as_decorator(context: DurableContext):
    context.wait(MINUTE)


@durable_execution
def managers(event, context):
    used_as_decorator(context)
    held = Held()
    held.__enter__()
    try:
        context.wait(MINUTE)
    finally:  # expect: LDC101
        held.__exit__(None, None, None)
    with Held() if event["lock"] else open("/opt/x"):  # expect: LDC102
        context.wait(MINUTE)
    with holding(), holding():  # expect: LDC102,LDC102
        context.wait(MINUTE)
    with unknown_manager(event):  # expect: LDC102
        context.wait(MINUTE)
    with Held():
        lock()
    with event["pool"].context():
        pass


def unknown_manager(event):
    return event["manager"]


def numbers(context: DurableContext):
    for number in range(3):
        context.wait(MINUTE)
        yield number


@durable_execution
def generators(event, context):
    later = numbers(context)
    try:
        made = numbers(context)
    finally:
        unlock(made)
    try:
        for number in later:
            lock(number)
    finally:  # expect: LDC101
        unlock()
    try:
        list(numbers(context))
    finally:  # expect: LDC101
        unlock()


@durable_execution
def flags(event, context):
    done = False
    try:
        context.wait(MINUTE)
        done = True
    finally:
        if done:
            unlock()
    done = False
    try:
        context.wait(MINUTE)
        done = True
        context.wait(MINUTE)
    finally:  # expect: LDC101
        if done:
            unlock()
    vm = None
    try:
        vm = context.step(lambda _: lock())
        context.wait(MINUTE)
    finally:  # expect: LDC101
        if vm is not None:
            unlock(vm)
    try:
        callback = context.create_callback(name="c")
        event["future"].result()
    finally:
        unlock()
    try:
        callback.result()
    finally:  # expect: LDC101
        unlock()


@durable_execution
def lookalikes(event, context):
    import concurrent.futures
    import subprocess

    executor = concurrent.futures.ThreadPoolExecutor()
    process = subprocess.Popen(["x"])
    try:
        list(executor.map(lock, [1]))
        process.wait(3)
        future = executor.submit(third, context)
        future.result()
        event["client"].invoke(FunctionName="x")
    finally:
        unlock()


def not_ours(context: Any) -> None:
    try:
        context.wait(3)
        context.step("x")
    finally:
        unlock()


def step_context(context: StepContext) -> None:
    try:
        lock(context.attempt)
    finally:
        unlock()
