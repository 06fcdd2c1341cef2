from aws_durable_execution_sdk_python import durable_execution

from naps import unlock
from utils.logging import get_logger
from utils.structlog import leave
from utils.timing import left

log = get_logger(__name__)


@durable_execution
def handler(event, context):
    try:
        context.invoke("f", 1)
    finally:
        log.info("left")
        get_logger("more").info("left")
        leave()
        left()
    try:
        context.invoke("f", 1)
    finally:  # expect: LDC101
        unlock()
