"""Books an entry on an account that nobody else may touch meanwhile."""

from typing import Any

import boto3
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration
from durable_runtime import terminal_scope

dynamodb = boto3.client("dynamodb")


def take_lease(account: str) -> dict[str, dict[str, str]]:
    """Put a row in a table: whoever has put it there has the account."""
    key = {"account": {"S": account}}
    dynamodb.put_item(TableName="leases", Item=key, ConditionExpression="attribute_not_exists(account)")
    return key


@durable_execution
def handler(event: dict[str, Any], context: DurableContext) -> str:
    with terminal_scope(context, name="booking") as terminal:
        terminal.acquire(
            lambda _: take_lease(event["account"]),
            release=lambda key, _: dynamodb.delete_item(TableName="leases", Key=key),
            name="lease",
        )
        context.wait(Duration.from_minutes(30), name="four-eyes")
        context.step(lambda _: dynamodb.update_item(TableName="ledger", Key=event["entry"]), name="book")
    return "booked"
