from aws_durable_execution_sdk_python import durable_execution
from first import nothing, value


@durable_execution
def handler(event, context):
    try:
        context.invoke("f", 1)
    finally:  # expect: LDC101
        value(nothing)
