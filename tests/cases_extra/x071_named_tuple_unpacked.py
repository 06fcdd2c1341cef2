from typing import NamedTuple

from aws_durable_execution_sdk_python import DurableContext, durable_execution

from plant import valves


class Pair(NamedTuple):
    ctx: DurableContext
    valve: str


def rinse(pair: Pair):
    ctx, valve = pair
    try:
        ctx.invoke("f", 1)
    finally:  # expect: LDC101
        valves.close(valve)
    try:
        valve.invoke("f", 1)
    finally:
        valves.close(valve)


@durable_execution
def handler(event, context):
    rinse(Pair(context, "b"))
