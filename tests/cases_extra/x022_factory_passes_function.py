from aws_durable_execution_sdk_python import durable_execution
from aws_durable_execution_sdk_python.config import Duration

from yard import unlock


def handler_factory(name):
    def made(event, context):
        try:
            context.wait(Duration.from_minutes(1))
        finally:  # expect: LDC101
            unlock(name)

    return durable_execution(made)
