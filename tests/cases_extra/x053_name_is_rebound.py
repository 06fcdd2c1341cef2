# silent: the name no longer holds the durable context when the try begins
from aws_durable_execution_sdk_python import durable_execution
from aws_durable_execution_sdk_python.config import Duration

from yard import Crane, unlock


@durable_execution
def handler(event, context):
    context.wait(Duration.from_minutes(1))
    context = Crane(event)
    try:
        context.wait(3)
    finally:
        unlock()
