from contextlib import ExitStack

from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration

from yard import unlock


@durable_execution
def handler(event, context: DurableContext):
    with ExitStack() as stack:  # expect: LDC103

        @stack.callback
        def free():
            unlock()

        context.wait(Duration.from_minutes(1))
