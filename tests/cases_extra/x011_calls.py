import asyncio
import collections
import contextvars
import gc
import logging
import os
import pathlib
import queue
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import boto3
import httpx
import redis
import requests
import sentry_sdk
import structlog
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration
from aws_lambda_powertools import Logger, Metrics
from opentelemetry import context as otel_context
from opentelemetry import trace
from prometheus_client import Counter, Gauge
from sqlalchemy import create_engine

from shop import metrics, orders

s3 = boto3.client("s3")
cloudwatch = boto3.client("cloudwatch")
log = structlog.get_logger()
plain = logging.getLogger(__name__)
rows = sqlite3.connect("/opt/x.db")
engine = create_engine("sqlite://")
cache = redis.Redis()
http = requests.Session()
VAR = contextvars.ContextVar("v")
GAUGE = Gauge("g", "g")
lock = threading.Lock()
done = threading.Event()
inbox: queue.Queue = queue.Queue()
pool = ThreadPoolExecutor()
powertools_metrics = Metrics()
powertools_logger = Logger()


class Reporter:
    def __init__(self) -> None:
        self._log = logging.getLogger("reporter")
        self.seen = []
        self.counts = collections.Counter()

    def run(self, context: DurableContext) -> None:
        try:
            context.wait(Duration.from_seconds(1))
        finally:
            self._log.info("left")
            self.seen.append("left")
            self.counts["left"] += 1
            self.counts.update(["x"])


@durable_execution
def local(event, context: DurableContext):
    token = VAR.set(1)
    span = trace.get_tracer(__name__).start_span("x")
    attached = otel_context.attach(trace.set_span_in_context(span))
    handle = open("/opt/x")
    begun = time.monotonic()
    items, found, names = [], {}, set()
    scratch = io_buffer = None
    try:
        context.wait(Duration.from_seconds(1))
    finally:
        VAR.reset(token)
        otel_context.detach(attached)
        span.set_attribute("s", time.monotonic() - begun)
        span.end()
        handle.close()
        plain.info("took %.1f", time.monotonic() - begun)
        log.info("left", items=len(items))
        items.append(1)
        found.setdefault("a", []).append(2)
        names.discard("x")
        found["k"] = sorted(items)
        GAUGE.dec()
        GAUGE.labels("a").set(0)
        lock.release()
        done.set()
        inbox.put_nowait(1)
        pool.shutdown(wait=False)
        gc.collect()
        os.environ.pop("X", None)
        os.environ["Y"] = "1"
        os.chdir("/")
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        rows.close()
        engine.dispose()
        cache.close()
        http.close()
        sys.stdout.flush()
        sys.stderr.write("x")
        print("left", file=sys.stderr)
        warnings.warn("left", stacklevel=1)
        powertools_metrics.add_metric("a", "Count", 1)
        powertools_metrics.flush_metrics()
        powertools_logger.remove_keys(["a"])
        sentry_sdk.set_tag("a", "b")
        context.logger.info("left")
        scratch, io_buffer = 1, 2
        if found:
            for name in names:
                plain.debug("%s", name.upper())
        del items[:]


@durable_execution
def outside(event, context: DurableContext):
    try:
        context.wait(Duration.from_seconds(1))
    finally:  # expect: LDC101
        s3.delete_object(Bucket="b", Key="k")
    try:
        context.wait(Duration.from_seconds(1))
    finally:  # expect: LDC101
        cloudwatch.put_metric_data(Namespace="n", MetricData=[])
    try:
        context.wait(Duration.from_seconds(1))
    finally:  # expect: LDC101
        shutil.rmtree("/tmp/x")
    try:
        context.wait(Duration.from_seconds(1))
    finally:  # expect: LDC101
        pathlib.Path("/tmp/x").joinpath("y").unlink()
    try:
        context.wait(Duration.from_seconds(1))
    finally:  # expect: LDC101
        cache.delete("x")
    try:
        context.wait(Duration.from_seconds(1))
    finally:  # expect: LDC101
        rows.rollback()
    try:
        context.wait(Duration.from_seconds(1))
    finally:  # expect: LDC101
        http.post("https://x")
    try:
        context.wait(Duration.from_seconds(1))
    finally:  # expect: LDC101
        httpx.post("https://x")
    try:
        context.wait(Duration.from_seconds(1))
    finally:  # expect: LDC101
        subprocess.run(["x"], check=False)
    try:
        context.wait(Duration.from_seconds(1))
    finally:  # expect: LDC101
        os.remove("/tmp/x")
    machines = [orders.launch()]
    try:
        context.wait(Duration.from_seconds(1))
    finally:  # expect: LDC101
        machines.pop().terminate()
    try:
        context.wait(Duration.from_seconds(1))
    finally:  # expect: LDC101
        list(map(orders.cancel, machines))
    try:
        context.wait(Duration.from_seconds(1))
    finally:  # expect: LDC101
        pool.submit(orders.cancel, 1)
    try:
        context.wait(Duration.from_seconds(1))
    finally:  # expect: LDC101
        asyncio.run(orders.cancel_all())
    try:
        context.wait(Duration.from_seconds(1))
    finally:  # expect: LDC101
        threading.Thread(target=orders.cancel).start()
    try:
        context.wait(Duration.from_seconds(1))
    finally:  # expect: LDC101
        open("/tmp/x", "w").write("left")
    session = orders.session()
    try:
        context.wait(Duration.from_seconds(1))
    finally:  # expect: LDC101
        session.close()
    try:
        context.wait(Duration.from_seconds(1))
    finally:  # expect: LDC101
        for machine in machines:
            machine.stop()
    try:
        context.wait(Duration.from_seconds(1))
    finally:  # expect: LDC101
        [orders.cancel(machine) for machine in machines]
    try:
        context.wait(Duration.from_seconds(1))
    finally:  # expect: LDC101
        plain.info("cancelled %s", orders.cancel(1))
    try:
        context.wait(Duration.from_seconds(1))
    finally:
        metrics.increment("left")
