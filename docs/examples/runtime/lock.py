"""A lock in DynamoDB that is held for as long as the work takes, over any number of suspensions.

Nobody else may rebuild the index meanwhile. The lock has a lease: should the execution be stopped from
outside, no code runs and nobody releases it, but the next one may take it when the lease has run out.
"""

import time
from typing import TypedDict

import boto3
from aws_durable_execution_sdk_python import DurableContext, StepContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration, StepConfig
from aws_durable_execution_sdk_python.retries import RetryStrategyConfig, create_retry_strategy
from durable_runtime import terminal_scope

dynamodb = boto3.client("dynamodb")
TABLE = "locks"
LEASE_SECONDS = 6 * 3600


class Request(TypedDict):
    index: str
    shards: list[str]


def acquire(lock: str, owner: str) -> str:
    """Take the lock, or raise ConditionalCheckFailedException while somebody else holds it.

    The owner may take it again, so that an attempt that died after writing does not lock itself out.
    """
    now = int(time.time())
    dynamodb.put_item(
        TableName=TABLE,
        Item={"id": {"S": lock}, "owner": {"S": owner}, "expires": {"N": str(now + LEASE_SECONDS)}},
        ConditionExpression="attribute_not_exists(id) OR #owner = :owner OR expires < :now",
        ExpressionAttributeNames={"#owner": "owner"},
        ExpressionAttributeValues={":owner": {"S": owner}, ":now": {"N": str(now)}},
    )
    return owner


def release(lock: str, owner: str) -> None:
    """Let go of the lock if it is still ours. Doing it twice is no error."""
    try:
        dynamodb.delete_item(
            TableName=TABLE,
            Key={"id": {"S": lock}},
            ConditionExpression="#owner = :owner",
            ExpressionAttributeNames={"#owner": "owner"},
            ExpressionAttributeValues={":owner": {"S": owner}},
        )
    except dynamodb.exceptions.ConditionalCheckFailedException:
        return


def rebuild(index: str, shard: str) -> str:
    return f"{index}/{shard}"


# While somebody else holds the lock, each failed attempt suspends the execution until the next one.
PATIENT = StepConfig(
    retry_strategy=create_retry_strategy(
        RetryStrategyConfig(
            max_attempts=100, initial_delay=Duration.from_seconds(30), max_delay=Duration.from_minutes(10)
        )
    )
)


@durable_execution
def handler(event: Request, context: DurableContext) -> list[str]:
    lock, owner = f"index/{event['index']}", context.execution_context.durable_execution_arn
    rebuilt = []
    with terminal_scope(context, name="locked-index") as terminal:
        terminal.acquire(
            lambda _: acquire(lock, owner),
            release=lambda owner, _: release(lock, owner),
            name="lock",
            config=PATIENT,
        )
        for shard in event["shards"]:

            def rebuild_shard(_: StepContext, shard: str = shard) -> str:
                return rebuild(event["index"], shard)

            rebuilt.append(context.step(rebuild_shard, name=f"rebuild-{shard}"))
            context.wait(Duration.from_minutes(1), name=f"settle-{shard}")
    return rebuilt
