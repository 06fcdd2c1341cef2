import functools

from aws_durable_execution_sdk_python import durable_execution

from gpu import pool


@durable_execution
def handler(event, context):
    slot = pool.take()
    give_back = functools.partial(functools.partial(pool.give_back), slot)
    say = functools.partial(print, "left")
    try:
        context.invoke("f", slot)
    finally:  # expect: LDC101
        give_back()
    try:
        context.invoke("f", slot)
    finally:
        say()
