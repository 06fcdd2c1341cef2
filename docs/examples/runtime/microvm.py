"""A MicroVM that lives exactly as long as the review that needs it, however the review ends.

The review waits for a person, so it suspends for hours. `finally` would terminate the MicroVM at that
moment; the scope terminates it when the review has ended. `maximumDurationInSeconds` is the safety net for
an execution that is stopped by hand: then no code runs, and the platform ends the MicroVM.
"""

import hashlib
import json
import os
from typing import TypedDict

import boto3
from aws_durable_execution_sdk_python import DurableContext, StepContext, durable_execution
from aws_durable_execution_sdk_python.config import CallbackConfig, Duration
from durable_runtime import DurableTerminalActions, terminal_scope

microvms = boto3.client("lambda-microvms")
queue = boto3.client("sqs")


class Request(TypedDict):
    repository: str
    commit: str


class Review(TypedDict):
    commit: str
    verdict: str | None


def launch(arn: str) -> str:
    """Start a MicroVM; the token makes a second attempt return the first one's machine."""
    answer = microvms.run_microvm(
        imageIdentifier=os.environ.get("REVIEW_IMAGE", "review"),
        maximumDurationInSeconds=8 * 3600,
        clientToken=hashlib.sha256(arn.encode()).hexdigest(),
    )
    return str(answer["microvmId"])


def terminate(microvm_id: str) -> None:
    """Terminate a MicroVM. Doing it twice is no error."""
    microvms.terminate_microvm(microvmIdentifier=microvm_id)


def send(kind: str, **fields: str) -> None:
    queue.send_message(
        QueueUrl=os.environ.get("REVIEW_QUEUE", "https://queue.example/reviews"),
        MessageBody=json.dumps({"kind": kind, **fields}),
    )


@durable_execution
def handler(event: Request, context: DurableContext) -> Review:
    arn = context.execution_context.durable_execution_arn

    def review(scope_context: DurableContext, terminal: DurableTerminalActions) -> Review:
        microvm_id = terminal.acquire(
            lambda _: launch(arn),
            release=lambda microvm_id, _: terminate(microvm_id),
            name="microvm",
        )
        callback = scope_context.create_callback(
            name="review-complete", config=CallbackConfig(timeout=Duration.from_hours(7))
        )

        def dispatch(_: StepContext) -> None:
            send("review", microvm=microvm_id, commit=event["commit"], callback=callback.callback_id)

        # Registered before the dispatch: a dispatch that fails half-way may have reached the reviewer.
        terminal.compensate(lambda _: send("withdraw", microvm=microvm_id), name="cancel-review")
        scope_context.step(dispatch, name="dispatch-review")
        return {"commit": event["commit"], "verdict": callback.result()}

    return terminal_scope(context, review, name="review-with-microvm")
