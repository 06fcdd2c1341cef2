# Cleanup behind a flag that only a handler sets which no suspension reaches.
from contextlib import contextmanager

from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.exceptions import SuspendExecution

from travel import flight


@durable_execution
def failed_flag(event, context: DurableContext):
    failed = False
    booked = context.step(lambda _: flight.book(event))
    try:
        context.wait_for_callback(lambda callback_id, _: flight.ask(callback_id))
    except Exception:
        failed = True
        raise
    finally:
        if failed:
            flight.cancel(booked)


@durable_execution
def error_kept(event, context: DurableContext):
    error = None
    booked = context.step(lambda _: flight.book(event))
    try:
        context.wait_for_callback(lambda callback_id, _: flight.ask(callback_id))
    except Exception as caught:
        error = caught
    finally:
        if error is not None:
            flight.cancel(booked)


@durable_execution
def status(event, context: DurableContext):
    status = "running"
    booked = context.step(lambda _: flight.book(event))
    try:
        context.wait_for_callback(lambda callback_id, _: flight.ask(callback_id))
        status = "done"
    except ValueError:
        status = "failed"
        raise
    finally:
        if status == "failed":
            flight.cancel(booked)
        elif status == "done":
            flight.archive(booked)


@durable_execution
def set_on_the_way(event, context: DurableContext):
    failed = False
    booked = context.step(lambda _: flight.book(event))
    try:
        failed = True
        context.wait_for_callback(lambda callback_id, _: flight.ask(callback_id))
        failed = False
    except Exception:
        failed = True
        raise
    finally:  # expect: LDC101
        if failed:
            flight.cancel(booked)


@durable_execution
def set_by_a_handler_that_suspensions_reach(event, context: DurableContext):
    failed = False
    booked = context.step(lambda _: flight.book(event))
    try:
        context.wait_for_callback(lambda callback_id, _: flight.ask(callback_id))
    except BaseException:
        failed = True
        raise
    finally:  # expect: LDC101
        if failed:
            flight.cancel(booked)


@durable_execution
def handler_suspends(event, context: DurableContext):
    failed = False
    booked = context.step(lambda _: flight.book(event))
    try:
        context.wait_for_callback(lambda callback_id, _: flight.ask(callback_id))
    except Exception:
        failed = True
        context.step(lambda _: flight.tell(booked))
        raise
    finally:  # expect: LDC101
        if failed:
            flight.cancel(booked)


@contextmanager
def booking(name):
    suspended = False
    try:
        yield name
    except SuspendExecution:
        suspended = True
        raise
    finally:
        if not suspended:
            flight.cancel(name)


@contextmanager
def archived(name):
    done = False
    try:
        yield name
        done = True
    finally:
        if done:
            flight.archive(name)


@contextmanager
def undone(name):
    error = None
    try:
        yield name
    except Exception as caught:
        error = caught
        raise
    finally:
        if error:
            flight.cancel(name)


@contextmanager
def undone_unless_done(name):
    done = False
    try:
        yield name
        done = True
    finally:
        if not done:
            flight.cancel(name)


@durable_execution
def managers(event, context: DurableContext):
    with booking("a"), archived("b"), undone("c"):
        context.invoke("fly", event)
    with undone_unless_done("d"):  # expect: LDC102
        context.invoke("fly", event)
