from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration
from durable_runtime import terminal_scope

from yard import unlock


@durable_execution
def handler(event, context: DurableContext):
    with terminal_scope(context, name="rooms") as terminal:
        [terminal.cleanup(lambda _: unlock(room), name=f"free-{room}") for room in event]  # expect: LDC403
        [terminal.cleanup(lambda _, room=room: unlock(room), name=f"lock-{room}") for room in event]
        context.wait(Duration.from_minutes(1))
