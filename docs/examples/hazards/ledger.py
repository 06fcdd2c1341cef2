"""Books an entry on an account that nobody else may touch meanwhile."""

from types import TracebackType
from typing import Any

import boto3
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration

dynamodb = boto3.client("dynamodb")


class Lease:
    """A row in a table: whoever has put it there has the account."""

    def __init__(self, account: str) -> None:
        self.key = {"account": {"S": account}}

    def __enter__(self) -> "Lease":
        dynamodb.put_item(TableName="leases", Item=self.key, ConditionExpression="attribute_not_exists(account)")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        dynamodb.delete_item(TableName="leases", Key=self.key)


@durable_execution
def handler(event: dict[str, Any], context: DurableContext) -> str:
    with Lease(event["account"]):
        context.wait(Duration.from_minutes(30), name="four-eyes")
        context.step(lambda _: dynamodb.update_item(TableName="ledger", Key=event["entry"]), name="book")
    return "booked"
