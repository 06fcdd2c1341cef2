"""A trip of three bookings in three services: when one fails, those before it are undone, newest first.

The bookings are functions of their own, so both booking and undoing suspend. A compensation is registered
*before* its booking: a booking that fails may still have gone through, and cancelling by the trip's id is
right in either case.
"""

from typing import TypedDict

from aws_durable_execution_sdk_python import DurableContext, durable_execution
from durable_runtime import DurableTerminalActions, terminal_scope


class Trip(TypedDict):
    id: str
    traveller: str


class Booked(TypedDict):
    trip: str
    bookings: dict[str, str]


@durable_execution
def handler(event: Trip, context: DurableContext) -> Booked:
    def book_trip(scope_context: DurableContext, terminal: DurableTerminalActions) -> Booked:
        bookings: dict[str, str] = {}
        for service in ("flight", "hotel", "payment"):

            def undo(action_context: DurableContext, service: str = service) -> None:
                action_context.invoke(f"{service}-cancel", {"trip": event["id"]}, name=f"cancel-{service}")

            terminal.compensate_in_context(undo, name=service)
            bookings[service] = scope_context.invoke(f"{service}-book", event, name=f"book-{service}")
        return {"trip": event["id"], "bookings": bookings}

    return terminal_scope(context, book_trip, name="trip")
