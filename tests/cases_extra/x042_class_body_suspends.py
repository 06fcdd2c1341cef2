from aws_durable_execution_sdk_python import DurableContext, durable_execution

from yard import unlock


@durable_execution
def handler(event, context: DurableContext):
    try:

        class Prices:
            today = context.invoke("prices", event)

        return Prices.today
    finally:  # expect: LDC101
        unlock()
