import asyncio
import contextvars
import functools
import logging
import typing as t
from typing import Protocol, cast

import aws_durable_execution_sdk_python as sdk
from aws_durable_execution_sdk_python import durable_execution as durable
from aws_durable_execution_sdk_python.context import DurableContext as DC

from yard import lock, unlock, vendor_flow

log = logging.getLogger(__name__)
CURRENT: contextvars.ContextVar = contextvars.ContextVar("current")


class HasContext(Protocol):
    context: DC


class Flow:
    def __init__(self, *, ctx: "DC | None" = None, **rest):
        self.ctx = ctx
        self.rest = rest
        self.hooks = []

    @property
    def current(self):
        return self.ctx

    @classmethod
    def of(cls, ctx):
        return cls(ctx=ctx)

    @staticmethod
    def pause(ctx):
        ctx.wait(sdk.config.Duration.from_minutes(1))

    def __enter__(self):
        lock()
        return self

    def __exit__(self, *_):
        self.ctx.logger.info("left")

    def __call__(self):
        return self.current.invoke("f", 1)


@durable
def objects(event, context):
    flow = Flow.of(context)
    try:
        flow.current.wait(1)
    finally:  # expect: LDC101
        unlock()
    try:
        Flow.pause(flow.ctx)
    finally:  # expect: LDC101
        unlock()
    try:
        flow()
    finally:  # expect: LDC101
        unlock()
    with flow:
        flow()
    try:
        vendor_flow(context)
    finally:  # expect: LDC101
        unlock()
    try:
        vendor_flow(event)
    finally:
        unlock()
    try:
        cast(DC, context).wait(1)
    finally:  # expect: LDC101
        unlock()
    state = {"ctx": context}
    try:
        state["ctx"].wait(1)
    finally:  # expect: LDC101
        unlock()
    try:
        for each in [context]:
            each.wait(1)
    finally:  # expect: LDC101
        unlock()
    try:
        asyncio.run(coroutine(context))
    finally:  # expect: LDC101
        unlock()
    try:
        log.info("%s", context.execution_context)
        print(context)
        isinstance(context, DC)
    finally:
        unlock()
    try:
        retry(lambda: context.wait(1))
    finally:  # expect: LDC101
        unlock()
    try:
        retry(lambda: lock())
    finally:
        unlock()
    step = functools.partial(context.step, name="x")
    try:
        step(lambda _: lock())
    finally:  # expect: LDC101
        unlock()


def retry(function):
    for _ in range(3):
        try:
            return function()
        except Exception:
            pass


async def coroutine(context: DC):
    context.wait(1)


@durable
def rebound(event, context, *args, **kwargs):
    def inner():
        nonlocal event
        context.wait(1)
        event = None

    try:
        inner()
    finally:  # expect: LDC101
        unlock()
    global SHARED
    SHARED = context
    try:
        uses_global()
    finally:  # expect: LDC101
        unlock()


SHARED: t.Any = None


def uses_global():
    SHARED.wait(1)


class Steps:
    @sdk.durable_step
    def in_step(self, ctx, size):
        try:
            return lock(size)
        finally:
            unlock(size)

    def plan(self, context: sdk.DurableContext):
        try:
            return context.step(self.in_step(3))
        finally:  # expect: LDC101
            unlock()


@durable
def conditions(event, context):
    def check(state, check_context):
        try:
            return lock(state)
        finally:
            unlock()

    def submit(callback_id, submit_context):
        with vendor_flow(callback_id):
            return lock(callback_id)

    try:
        context.wait_for_condition(check, event["config"])
        context.wait_for_callback(submit, name="x")
    finally:  # expect: LDC101
        unlock()
    sdk.retries.with_retry(context, lambda c: c.step(lambda _: lock()), event["config"])
    try:
        sdk.with_retry(context, lambda c, attempt: c.wait(1), None)
    finally:  # expect: LDC101
        unlock()


@durable
def recursion(event, context):
    def walk(node):
        try:
            for child in node["children"]:
                walk(child)
            context.step(lambda _: lock(node))
        finally:  # expect: LDC101
            unlock(node)

    walk(event)


if __name__ == "__main__":
    try:
        objects({}, None)
    finally:
        unlock()
