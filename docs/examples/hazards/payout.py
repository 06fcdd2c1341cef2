"""Pays a seller out after settlement, and always answers with a status."""

from typing import Any

import boto3
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration

sqs = boto3.client("sqs")


@durable_execution
def handler(event: dict[str, Any], context: DurableContext) -> dict[str, str]:
    try:
        context.wait(Duration.from_days(2), name="settlement")
        context.step(lambda _: sqs.send_message(QueueUrl=event["bank"], MessageBody=event["seller"]), name="pay-out")
        return {"status": "paid"}
    except BaseException as error:
        return {"status": "failed", "reason": type(error).__name__}
