# Containers that annotations, fields and factories tell of, and the handler's event: all in memory.
import collections
import weakref
from collections import *
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Dict, List, Optional

import attrs
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from pydantic import BaseModel, Field

from yard import Crane, unlock


@dataclass
class State:
    names: list[str] = field(default_factory=list)
    tally: collections.Counter = field(default_factory=collections.Counter)
    order: "collections.deque[str]" = field(default_factory=collections.deque)
    crane: Crane = field(default_factory=Crane)


@attrs.define
class Bag:
    items: list[str] = attrs.field(factory=list)
    index = attrs.field(factory=dict)


class Notes(BaseModel):
    lines: list[str] = Field(default_factory=list)


class Cache:
    def __init__(self):
        self.recent = OrderedDict()
        self.alive = weakref.WeakValueDictionary()

    def forget(self, key):
        self.recent.move_to_end(key)
        self.recent.clear()
        self.alive.update({key: self})


@lru_cache
def rates():
    return {"eur": 1}


CACHE = Cache()


def tracked(context: DurableContext, active: set[str], by_name: Dict[str, int], more: Optional[List[str]]):
    try:
        context.invoke("f", 1)
    finally:
        active.remove("x")
        active.clear()
        by_name.update(x=1)
        if more:
            more.insert(0, "left")


def mapped(context: DurableContext, rows: MutableMapping[str, int], crane: "Crane"):
    try:
        context.invoke("f", 1)
    finally:
        rows.clear()
    try:
        context.invoke("f", 1)
    finally:  # expect: LDC101
        crane.clear()


@durable_execution
def handler(event, context):
    state, bag, notes = State(), Bag(), Notes()
    tracked(context, set(), {}, [])
    mapped(context, {}, Crane())
    try:
        context.invoke("f", 1)
    finally:
        state.names.clear()
        state.tally.update(["x"])
        state.order.remove("x")
        bag.items.remove("x")
        bag.index.clear()
        notes.lines.insert(0, "x")
        CACHE.forget("x")
        rates.cache_clear()
        event["tags"].remove("x")
        event.clear()
    try:
        context.invoke("f", 1)
    finally:  # expect: LDC101
        state.crane.clear()


def helper(stock, context: DurableContext):
    try:
        context.invoke("f", 1)
    finally:  # expect: LDC101
        stock.clear()


@durable_execution
def event_is_replaced(event, context):
    event = unlock(event)
    try:
        context.invoke("f", 1)
    finally:  # expect: LDC101
        event.clear()
