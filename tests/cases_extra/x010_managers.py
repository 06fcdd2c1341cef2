import asyncio
import bz2
import concurrent.futures
import contextlib
import multiprocessing
import pathlib
import shelve
import socket
import sqlite3
import subprocess
import tarfile
import tempfile
import threading
import urllib.request
import zipfile
from multiprocessing import Lock as ProcessLock
from tempfile import TemporaryDirectory as Scratch
from unittest import mock

import boto3
import filelock
import httpx
import numpy as np
import portalocker
import psycopg
import pymysql
import redis
import requests
import sentry_sdk
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration
from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_xray_sdk.core import xray_recorder
from ddtrace import tracer as dd_tracer
from opentelemetry import trace
from prometheus_client import Gauge, Histogram
from sqlalchemy import create_engine
from sqlalchemy.engine import Engine
from sqlalchemy.orm import Session, sessionmaker
from tqdm import tqdm

engine = create_engine("sqlite://")
Sessions = sessionmaker(engine)
cache = redis.Redis()
table = boto3.resource("dynamodb").Table("orders")
local_lock = threading.RLock()
process_lock = ProcessLock()
file_lock = filelock.FileLock("/tmp/x.lock")
tracer = trace.get_tracer(__name__)
LATENCY = Histogram("latency", "seconds")
RUNNING = Gauge("running", "handlers")
pool = concurrent.futures.ThreadPoolExecutor()
logger = Logger()


def pause(context: DurableContext) -> None:
    context.wait(Duration.from_seconds(1))


@durable_execution
def local(event, context: DurableContext):
    with local_lock:
        pause(context)
    with open("/opt/x"), pathlib.Path("/opt/y").open(), bz2.open("/opt/z"):
        pause(context)
    with zipfile.ZipFile("/opt/a.zip"), tarfile.open("/opt/a.tar"), zipfile.ZipFile("/opt/b.zip", mode="r"):
        pause(context)
    with socket.create_connection(("h", 1)), requests.Session(), httpx.Client() as client:
        pause(context)
    with requests.get("https://x", stream=True) as answer, urllib.request.urlopen("https://x"):
        pause(context)
    with client.stream("GET", "https://x"):
        pause(context)
    with pymysql.connect() as connection, connection.cursor():
        pause(context)
    with contextlib.closing(sqlite3.connect(":memory:")), contextlib.closing(socket.socket()):
        pause(context)
    with tracer.start_as_current_span("a") as span, trace.use_span(span), dd_tracer.trace("b"):
        pause(context)
    with xray_recorder.in_subsegment("c"), sentry_sdk.start_span(op="d"), sentry_sdk.push_scope():
        pause(context)
    with LATENCY.time(), RUNNING.track_inprogress(), RUNNING.labels("a").track_inprogress():
        pause(context)
    with tqdm(total=3) as progress, np.errstate(all="ignore"):
        pause(context)
        progress.update()
    with concurrent.futures.ThreadPoolExecutor() as threads, subprocess.Popen(["true"]):
        pause(context)
    with mock.patch("os.getcwd"), contextlib.redirect_stderr(None), contextlib.chdir("/"):
        pause(context)
    with logger.append_context_keys(a=1), cache.pipeline(), tempfile.TemporaryFile():
        pause(context)


@durable_execution
def outside(event, context: DurableContext):
    with process_lock:  # expect: LDC102
        pause(context)
    with multiprocessing.Lock():  # expect: LDC102
        pause(context)
    with file_lock, file_lock.acquire(timeout=3):  # expect: LDC102,LDC102
        pause(context)
    with portalocker.Lock("/tmp/y"):  # expect: LDC102
        pause(context)
    with Scratch() as where, tempfile.NamedTemporaryFile():  # expect: LDC102,LDC102
        pause(context)
    with zipfile.ZipFile("/tmp/a.zip", "w"), tarfile.open("/tmp/a.tar", mode="w:gz"):  # expect: LDC102,LDC102
        pause(context)
    with engine.begin(), engine.connect() as connection, connection.begin():  # expect: LDC102,LDC102,LDC102
        pause(context)
    with Session(engine), Sessions() as session, Sessions.begin(), session.begin():  # expect: LDC102,LDC102,LDC102,LDC102
        pause(context)
    with sqlite3.connect(":memory:"), psycopg.connect("x") as db, db.transaction():  # expect: LDC102,LDC102,LDC102
        pause(context)
    with cache.lock("x"), table.batch_writer(), shelve.open("/tmp/s"):  # expect: LDC102,LDC102,LDC102
        pause(context)
    with contextlib.closing(Session(engine)):  # expect: LDC102
        pause(context)
    with contextlib.ExitStack() as stack:
        stack.enter_context(open("/opt/x"))
        stack.callback(logger.info, "done")
        pause(context)
    with contextlib.ExitStack() as stack:  # expect: LDC103
        stack.enter_context(engine.begin())
        pause(context)


def typed(context: DurableContext, database: Engine, lock: threading.Lock, http: requests.Session) -> None:
    with lock, http:
        pause(context)
    with database.begin():  # expect: LDC102
        pause(context)


async def grouped(context: DurableContext) -> None:
    async with asyncio.TaskGroup():  # expect: LDC105
        pause(context)
    async with asyncio.timeout(3), asyncio.Lock():
        pause(context)
