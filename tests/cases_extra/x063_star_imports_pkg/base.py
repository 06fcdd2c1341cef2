from sdk import *
from sdk import DurableContext, durable_execution


def nap(context: DurableContext):
    context.invoke("nap", 1)
