"""A purchase that a person approves, with a time limit, and that the buyer can withdraw meanwhile.

Three ends besides a yes: the approver says no (a failure), nobody answers in time (a failure), the buyer
withdraws (a cancellation). The budget is reserved before the question and given back on every end but a
yes; the reminder is switched off on every end. The scope stands around the race of the two callbacks, not
in a branch of it.
"""

import json
import os
from typing import TypedDict

import boto3
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import CallbackConfig, CompletionConfig, Duration, ParallelConfig
from durable_runtime import ScopeCancelled, terminal_scope

budgets = boto3.client("dynamodb")
reminders = boto3.client("scheduler")
mail = boto3.client("sns")
TIME_LIMIT = Duration.from_days(3)


class Purchase(TypedDict):
    id: str
    amount: int


class Decision(TypedDict):
    by: str
    answer: str | None


def reserve(purchase: Purchase) -> None:
    budgets.put_item(
        TableName="reservations",
        Item={"id": {"S": purchase["id"]}, "amount": {"N": str(purchase["amount"])}},
    )


def give_back(purchase: Purchase) -> None:
    budgets.delete_item(TableName="reservations", Key={"id": {"S": purchase["id"]}})


def start_reminder(purchase: Purchase) -> None:
    reminders.create_schedule(
        Name=f"remind-{purchase['id']}",
        ScheduleExpression="rate(1 day)",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": os.environ.get("REMIND_TARGET", "arn:remind"), "RoleArn": "arn:role"},
    )


def stop_reminder(purchase: Purchase) -> None:
    """Delete the schedule. That it is already gone is no error."""
    try:
        reminders.delete_schedule(Name=f"remind-{purchase['id']}")
    except reminders.exceptions.ResourceNotFoundException:
        return


def ask(purchase: Purchase, approve: str, withdraw: str) -> None:
    message = json.dumps({"purchase": purchase["id"], "approve": approve, "withdraw": withdraw})
    mail.publish(TopicArn=os.environ.get("APPROVALS", "arn:approvals"), Message=message)


@durable_execution
def handler(event: Purchase, context: DurableContext) -> str:
    with terminal_scope(context, name="approval") as terminal:
        terminal.compensate(lambda _: give_back(event), name="give-back-budget")
        context.step(lambda _: reserve(event), name="reserve-budget")
        terminal.cleanup(lambda _: stop_reminder(event), name="stop-reminder")
        context.step(lambda _: start_reminder(event), name="start-reminder")

        approve = context.create_callback(name="approve", config=CallbackConfig(timeout=TIME_LIMIT))
        withdraw = context.create_callback(name="withdraw")
        context.step(lambda _: ask(event, approve.callback_id, withdraw.callback_id), name="ask")

        def approver(_: DurableContext) -> Decision:
            return {"by": "approver", "answer": approve.result()}

        def buyer(_: DurableContext) -> Decision:
            return {"by": "buyer", "answer": withdraw.result()}

        race = ParallelConfig(completion_config=CompletionConfig(min_successful=1, tolerated_failure_count=0))
        batch = context.parallel([approver, buyer], name="decision", config=race)
        batch.throw_if_error()
        decision: Decision = batch.get_results()[0]
        if decision["by"] == "buyer":
            raise ScopeCancelled(f"withdrawn: {decision['answer']}")
        return f"bought, {decision['answer']}"
