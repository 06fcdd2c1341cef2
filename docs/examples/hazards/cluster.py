"""Runs a job on nodes that exist for this job only."""

from contextlib import ExitStack
from typing import Any

import boto3
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration

ec2 = boto3.client("ec2")
ssm = boto3.client("ssm")


def start_node(image: str) -> str:
    answer = ec2.run_instances(ImageId=image, MinCount=1, MaxCount=1)
    return str(answer["Instances"][0]["InstanceId"])


@durable_execution
def handler(event: dict[str, Any], context: DurableContext) -> list[str]:
    nodes: list[str] = []
    with ExitStack() as stack:
        for number in range(event["nodes"]):
            node = context.step(lambda _: start_node(event["image"]), name=f"start-{number}")
            stack.callback(ec2.terminate_instances, InstanceIds=[node])
            nodes.append(node)
        context.wait(Duration.from_minutes(3), name="boot")
        ssm.send_command(InstanceIds=nodes, DocumentName=event["job"])
    return nodes
