"""Starts a sandbox, hands it to a reviewer, and waits for the verdict."""

from typing import Any

import boto3
from aws_durable_execution_sdk_python import DurableContext, durable_execution

ec2 = boto3.client("ec2")
sns = boto3.client("sns")


def start_sandbox(image: str) -> str:
    answer = ec2.run_instances(ImageId=image, MinCount=1, MaxCount=1)
    return str(answer["Instances"][0]["InstanceId"])


@durable_execution
def handler(event: dict[str, Any], context: DurableContext) -> dict[str, str | None]:
    sandbox = context.step(lambda _: start_sandbox(event["image"]), name="start-sandbox")
    try:
        verdict = context.create_callback(name="verdict")
        context.step(
            lambda _: sns.publish(TopicArn=event["reviewers"], Message=f"{sandbox} {verdict.callback_id}"),
            name="ask-reviewer",
        )
        return {"sandbox": sandbox, "verdict": verdict.result()}
    finally:
        ec2.terminate_instances(InstanceIds=[sandbox])
