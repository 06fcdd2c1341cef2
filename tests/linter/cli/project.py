"""A small project with one hazard, and what it takes to run the command line on it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from durable_lint.cli import main

Capture = pytest.CaptureFixture[str]
"""What pytest's `capsys` is."""

HAZARD = """\
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration


def terminate(vm: str) -> None:
    import boto3

    boto3.client("ec2").terminate_instances(InstanceIds=[vm])


@durable_execution
def handler(event: dict, context: DurableContext) -> None:
    vm = event["vm"]
    try:
        context.wait(Duration.from_minutes(5))
    finally:
        context.step(lambda _: terminate(vm), name="terminate-microvm")
"""
CLEAN = "import os\n\n\ndef f():\n    try:\n        return os.getcwd()\n    finally:\n        print()\n"
ROW = 16
PLACE = "review.py:16:5: LDC101"


def write(path: str | Path, text: str | bytes = HAZARD) -> Path:
    """Write a file, and the directories it needs, and return its path."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


@dataclass(frozen=True)
class Outcome:
    """What a run in this process printed and returned."""

    status: int
    out: str
    err: str


def run(capsys: Capture, *arguments: str) -> Outcome:
    """Run the command line in this process."""
    capsys.readouterr()
    status = main(arguments)
    out, err = capsys.readouterr()
    return Outcome(status, out, err)


def process(
    *arguments: str, stdin: bytes | None = None, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "durable_lint", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=120,
        env={**os.environ, **environment},
    )
