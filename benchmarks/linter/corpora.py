"""Builds the code that the benchmarks read: a large tree without durable code, durable code, synthetic code.

Packages come from PyPI by their pinned versions, unpacked and not installed; nothing of them is run.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

LARGE = ("boto3==1.44.8", "botocore==1.44.8", "urllib3==2.2.3")
DURABLE = (
    "aws-durable-execution-sdk-python==3.0.0",
    "aws-durable-execution-sdk-python-testing==1.4.0",
    "aws-durable-execution-sdk-python-otel==2.0.0",
    "async-durable-execution==2.5.0",
    "microvm-ctl==0.5.0",
    "pydantic-ai-harness==0.62.0",
    "pyworkflow-engine==0.4.0",
    "replayguard==0.2.1",
)
LIBRARY_LINES = 72_000
"""How much of the standard library joins the large tree."""

SYNTHETIC_SIZES = (10, 100, 1000)
MODULES = 100


def build(root: Path) -> dict[str, Path]:
    """Make every corpus below `root` that is not there yet, and return their directories by name."""
    made = {"large": root / "large", "durable": root / "durable"}
    if not made["large"].exists():
        download(LARGE, made["large"])
        copy_standard_library(made["large"] / "standard_library")
    if not made["durable"].exists():
        download(DURABLE, made["durable"])
    for handlers in SYNTHETIC_SIZES:
        name = f"synthetic-{handlers}"
        made[name] = root / name
        if not made[name].exists():
            write_synthetic(made[name], handlers)
    for directory in made.values():
        # So that it is a project of its own, whatever stands above it.
        (directory / "pyproject.toml").write_text('[project]\nname = "corpus"\nversion = "0"\n')
    return made


def download(requirements: tuple[str, ...], target: Path) -> None:
    wheels = target.with_suffix(".wheels")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    subprocess.run([*command, "--dest", wheels, *requirements], check=True)
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.endswith((".py", ".pyi"))]
            archive.extractall(target, names)
    shutil.rmtree(wheels)


def copy_standard_library(target: Path) -> None:
    source = Path(sysconfig.get_paths()["stdlib"])
    left = LIBRARY_LINES
    skipped = {"test", "tests", "site-packages", "idlelib", "lib2to3", "__pycache__"}
    for path in sorted(source.rglob("*.py")):
        relative = path.relative_to(source)
        if skipped & set(relative.parts) or left < 0:
            continue
        left -= path.read_bytes().count(b"\n")
        (target / relative).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target / relative)


def write_synthetic(root: Path, handlers: int) -> None:
    """A durable repository: handlers in modules, helpers that call each other, a finding in each module."""
    package = root / "src" / "orders"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('"""Handlers of a shop."""\n')
    modules = min(MODULES, handlers)
    for module in range(modules):
        count = handlers // modules
        (package / f"handlers_{module}.py").write_text(_handlers(module, count))
        (package / f"steps_{module}.py").write_text(_steps(module, modules, count))


_HANDLERS = '''\
"""Handlers of the orders that region {module} takes."""

import logging

from aws_durable_execution_sdk_python import DurableContext, durable_execution, durable_step
from aws_durable_execution_sdk_python.config import Duration

from orders import steps_{module}

logger = logging.getLogger(__name__)
'''

_HANDLER = '''

@durable_step
def reserve_{number}(step_context, order: dict) -> str:
    with open("/tmp/reservation-{number}.txt") as stream:
        return stream.read() + order["id"]


@durable_execution
def handler_{number}(event: dict, context: DurableContext) -> dict:
    """Take an order, wait for its payment, and send it."""
    order = dict(event, region="{module}")
    reservation = context.step(reserve_{number}(order), name="reserve")
    try:
        payment = steps_{module}.await_payment_{number}(context, order)
    except ValueError as error:
        logger.warning("payment of %s failed: %s", order["id"], error)
        return {{"status": "failed", "order": order["id"]}}
    totals = [line["price"] * line["count"] for line in order.get("lines", []) if line["count"]]
    if sum(totals) > 1000:
        context.wait(Duration.from_hours(24), name="cool-off")
{cleanup}
    return {{"status": "sent", "order": order["id"], "reservation": reservation, "payment": payment}}
'''

_PLAIN = """\
    steps_{module}.send_{number}(context, order)
"""
_HAZARD = """\
    try:
        steps_{module}.send_{number}(context, order)
    finally:
        steps_{module}.release_{number}(reservation)
"""

_STEPS = '''\
"""What the handlers of region {module} do."""

import boto3

from orders import steps_{next}

client = boto3.client("sqs")
'''

_STEP = """

def await_payment_{number}(stage, order):
    return confirm_{number}(stage, order, attempts=3)


def confirm_{number}(stage, order, attempts):
    for attempt in range(attempts):
        callback = stage.create_callback(name=f"payment-{{attempt}}")
        answer = callback.result()
        if answer is not None:
            return answer
    raise ValueError(order["id"])


def send_{number}(stage, order):
    with open("/tmp/label-{number}.txt", "w") as label:
        label.write(order["id"])
    return steps_{next}.pack_{number}(stage, order)


def pack_{number}(stage, order):
    return stage.step(lambda _: client.send_message(QueueUrl="packing", MessageBody=order["id"]), name="pack")


def release_{number}(reservation):
    client.send_message(QueueUrl="release", MessageBody=reservation)
"""


def _handlers(module: int, count: int) -> str:
    parts = [_HANDLERS.format(module=module)]
    for number in range(count):
        cleanup = (_PLAIN if number else _HAZARD).format(module=module, number=number).rstrip("\n")
        parts.append(_HANDLER.format(module=module, number=number, cleanup=cleanup))
    return "".join(parts)


def _steps(module: int, modules: int, count: int) -> str:
    following = (module + 1) % modules
    parts = [_STEPS.format(module=module, next=following)]
    parts.extend(_STEP.format(module=module, number=number, next=following) for number in range(count))
    return "".join(parts)


def describe(directory: Path) -> tuple[int, int]:
    """How many Python files and lines a corpus has."""
    files = [path for path in directory.rglob("*.py*") if path.suffix in (".py", ".pyi")]
    return len(files), sum(path.read_bytes().count(b"\n") for path in files)
