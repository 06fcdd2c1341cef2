"""Reserves a seat, waits for the payment, and issues the ticket."""

from typing import Any

import boto3
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration

dynamodb = boto3.client("dynamodb")


@durable_execution
def handler(event: dict[str, Any], context: DurableContext) -> str:
    seat = event["seat"]
    context.step(lambda _: dynamodb.put_item(TableName="reservations", Item=seat), name="reserve")
    try:
        context.wait(Duration.from_minutes(15), name="payment")
        context.step(lambda _: dynamodb.put_item(TableName="tickets", Item=seat), name="issue")
    except BaseException:
        dynamodb.delete_item(TableName="reservations", Key=seat)
        raise
    return "issued"
