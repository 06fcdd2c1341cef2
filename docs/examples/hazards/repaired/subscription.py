"""Charges a customer when the trial is over."""

from typing import Any

import boto3
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration

sqs = boto3.client("sqs")


@durable_execution
def handler(event: dict[str, Any], context: DurableContext) -> str:
    status = "converted"
    try:
        context.wait(Duration.from_days(14), name="trial")
        context.step(lambda _: sqs.send_message(QueueUrl=event["charges"], MessageBody=event["customer"]), name="charge")
    except Exception:
        status = "failed"
    return status
