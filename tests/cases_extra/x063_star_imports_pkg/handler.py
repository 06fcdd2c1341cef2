from base import *
from yard import lock, unlock


def helper(context: DurableContext):
    try:
        nap(context)
    finally:  # expect: LDC101
        unlock()
    try:
        nap(context)
    finally:
        print("left")


@durable_execution
def handler(event, context):
    helper(context)
    try:
        nap(context)
    finally:  # expect: LDC101
        lock()
