"""Scopes and `map`: one in each branch where every branch ends, one around a map that abandons branches.

`resize_all` lets every branch end, so each branch cleans up after itself. `cheapest` takes the first two
offers and abandons the rest. An abandoned branch never reaches an end, so the holds belong to the scope
around the map; their ids are known beforehand, and releasing a hold that was never placed is no error.
"""

from collections.abc import Sequence
from typing import TypedDict

import boto3
from aws_durable_execution_sdk_python import BatchResult, DurableContext, StepContext, durable_execution
from aws_durable_execution_sdk_python.config import CompletionConfig, Duration, MapConfig
from durable_runtime import abandoned, terminal_scope

s3 = boto3.client("s3")
market = boto3.client("lambda")
SCRATCH = "scratch-bucket"


class Images(TypedDict):
    keys: list[str]


class Order(TypedDict):
    id: str
    providers: list[str]


class Offers(TypedDict):
    offers: list[str]
    abandoned: list[int]


def resize(branch: DurableContext, key: str, index: int, _keys: Sequence[str]) -> str:
    """One branch: a scratch copy lives until this image is done, whatever the other images do."""
    scratch = f"resize/{index}/{key}"
    with terminal_scope(branch, name="resize") as terminal:
        terminal.cleanup(lambda _: s3.delete_object(Bucket=SCRATCH, Key=scratch), name="delete-scratch")
        branch.step(lambda _: put(scratch), name="copy")
        branch.wait(Duration.from_seconds(20), name="converter")
        return f"small/{key}"


def put(key: str) -> None:
    s3.put_object(Bucket=SCRATCH, Key=key, Body=b"")


@durable_execution
def resize_all(event: Images, context: DurableContext) -> list[str]:
    every_branch_ends = CompletionConfig(tolerated_failure_percentage=100)
    config = MapConfig[str](completion_config=every_branch_ends)
    batch: BatchResult[str] = context.map(event["keys"], resize, name="images", config=config)
    batch.throw_if_error()
    return batch.get_results()


def hold(provider: str, hold_id: str) -> str:
    market.invoke(FunctionName=f"{provider}-hold", Payload=hold_id.encode())
    return hold_id


def release(provider: str, hold_id: str) -> None:
    market.invoke(FunctionName=f"{provider}-release", Payload=hold_id.encode())


@durable_execution
def first_offers(event: Order, context: DurableContext) -> Offers:
    with terminal_scope(context, name="holds") as terminal:
        for provider in event["providers"]:

            def release_hold(_: StepContext, provider: str = provider) -> None:
                release(provider, f"{event['id']}-{provider}")

            terminal.cleanup(release_hold, name=f"release-{provider}")

        def ask(branch: DurableContext, provider: str, _index: int, _providers: Sequence[str]) -> str:
            branch.step(lambda _: hold(provider, f"{event['id']}-{provider}"), name="hold")
            return f"{provider}: {branch.create_callback(name=f'offer-of-{provider}').result()}"

        config = MapConfig[str](completion_config=CompletionConfig(min_successful=2))
        batch: BatchResult[str] = context.map(event["providers"], ask, name="offers", config=config)
        return {"offers": batch.get_results(), "abandoned": [item.index for item in abandoned(batch)]}
