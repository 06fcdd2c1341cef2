from aws_durable_execution_sdk_python import DurableContext, durable_execution

from yard import unlock


@durable_execution
def handler(event, context: DurableContext):
    try:
        getattr(context, "invoke")("lock", event)
    finally:  # expect: LDC101
        unlock()
