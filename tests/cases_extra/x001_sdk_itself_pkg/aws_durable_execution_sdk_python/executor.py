# silent: the SDK's own code catches its control flow, because that is what it is for
import logging

from aws_durable_execution_sdk_python.context import DurableContext
from aws_durable_execution_sdk_python.exceptions import (
    OrphanedChildException,
    SuspendExecution,
    TimedSuspendExecution,
)

logger = logging.getLogger(__name__)


class Executor:
    def __init__(self, run, events) -> None:
        self.run = run
        self.events = events

    def work(self, executor_context: DurableContext, executable) -> None:
        try:
            result = self.run(executor_context, executable)
        except TimedSuspendExecution as suspended:
            self.events.put(("suspended until", suspended.scheduled_timestamp))
        except SuspendExecution:
            self.events.put(("suspended", executable.index))
        except OrphanedChildException:
            logger.debug("the parent has completed")
            self.events.put(("orphaned", executable.index))
        else:
            self.events.put(("completed", result))
