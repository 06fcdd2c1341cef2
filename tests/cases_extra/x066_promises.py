# Clients of which only a protocol or an abstract class is known, and ones that the project implements.
import abc
from typing import Protocol

from aws_durable_execution_sdk_python import DurableContext, durable_execution

from yard import log_store


class Leases(Protocol):
    def acquire(self, name: str) -> str: ...

    def release(self, token: str) -> None:
        """Give it back."""
        ...


class Notifier(abc.ABC):
    @abc.abstractmethod
    def close(self, incident: str) -> None:
        """Close it."""

    def left(self) -> None:
        """Nothing, unless a subclass wants to know."""


class Audit(abc.ABC):
    @abc.abstractmethod
    def note(self, text: str) -> None: ...


class PrintedAudit(Audit):
    def note(self, text: str) -> None:
        print(text)


class Store(Protocol):
    def put(self, text: str) -> None: ...

    def drop(self, text: str) -> None: ...


class Memory:
    def __init__(self):
        self.kept = []

    def put(self, text: str) -> None:
        self.kept.append(text)

    def drop(self, text: str) -> None:
        self.kept.remove(text)


class Remote:
    def put(self, text: str) -> None:
        log_store.put(text)

    def drop(self, text: str) -> None:
        log_store.drop(text)


class Base:
    def undo(self):
        raise NotImplementedError

    def after(self):
        pass


class Stage(Protocol):
    def run(self, context: DurableContext) -> None: ...


def flow(context: DurableContext, leases: Leases, notifier: Notifier, audit: Audit, store: Store, base: Base):
    token = leases.acquire("a")
    try:
        context.invoke("f", 1)
    finally:  # expect: LDC101
        leases.release(token)
    try:
        context.invoke("f", 1)
    finally:  # expect: LDC101
        notifier.close("a")
    try:
        context.invoke("f", 1)
    finally:  # expect: LDC101
        base.undo()
    try:
        context.invoke("f", 1)
    finally:  # expect: LDC101
        store.drop("a")
    try:
        context.invoke("f", 1)
    finally:
        audit.note("left")
        notifier.left()
        base.after()


def kept(context: DurableContext, store: Memory):
    try:
        context.invoke("f", 1)
    finally:
        store.drop("a")


def staged(context: DurableContext, stage: Stage, base: Base):
    try:
        stage.run(context)
    finally:  # expect: LDC101
        log_store.drop("a")
    try:
        context.invoke("f", 1)
    except BaseException:  # expect: LDC204
        base.undo()
        raise


def make(leases: Leases, notifier: Notifier, audit: Audit, store: Store, base: Base, stage: Stage):
    @durable_execution
    def handler(event, context):
        flow(context, leases, notifier, audit, store, base)
        kept(context, Memory())
        staged(context, stage, base)

    return handler
