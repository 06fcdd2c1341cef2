# silent: calling a coroutine function runs nothing; it runs where it is awaited
import asyncio

from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration

from yard import lock, unlock


async def pause(context: DurableContext) -> None:
    context.wait(Duration.from_minutes(1))


@durable_execution
def handler(event, context: DurableContext):
    held = lock()
    try:
        waiting = pause(context)
    finally:
        unlock(held)
    asyncio.run(waiting)
