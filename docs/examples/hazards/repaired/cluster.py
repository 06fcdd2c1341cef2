"""Runs a job on nodes that exist for this job only."""

from typing import Any

import boto3
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration
from durable_runtime import terminal_scope

ec2 = boto3.client("ec2")
ssm = boto3.client("ssm")


def start_node(image: str) -> str:
    answer = ec2.run_instances(ImageId=image, MinCount=1, MaxCount=1)
    return str(answer["Instances"][0]["InstanceId"])


@durable_execution
def handler(event: dict[str, Any], context: DurableContext) -> list[str]:
    nodes: list[str] = []
    with terminal_scope(context, name="job") as terminal:
        for number in range(event["nodes"]):
            node = terminal.acquire(
                lambda _: start_node(event["image"]),
                release=lambda node, _: ec2.terminate_instances(InstanceIds=[node]),
                name=f"node-{number}",
            )
            nodes.append(node)
        context.wait(Duration.from_minutes(3), name="boot")
        ssm.send_command(InstanceIds=nodes, DocumentName=event["job"])
    return nodes
