"""Check the built distributions in a folder: `twine check`, versions in step, and a first run after installing each.

Usage: check_distributions.py FOLDER
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

FAULTY = b"""\
from aws_durable_execution_sdk_python import durable_execution
import boto3
ec2 = boto3.client("ec2")

@durable_execution
def handler(event, context):
    try:
        return context.wait_for_callback(lambda callback_id, _: None)
    finally:
        ec2.terminate_instances(InstanceIds=[event["id"]])
"""


def main() -> int:
    folder = Path(sys.argv[1])
    files = sorted(path for path in folder.iterdir() if path.suffix in {".whl", ".gz"})
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, files))
    versions = {path.name.split("-")[1].removesuffix(".tar.gz") for path in files}
    assert len(files) == 4 and len(versions) == 1, files
    for wheel in folder.glob("durable_lint-*.whl"):
        with tempfile.TemporaryDirectory() as place:
            python = environment(Path(place) / "env", wheel)
            handler = Path(place) / "handler.py"
            handler.write_bytes(FAULTY)
            done = subprocess.run([python, "-m", "durable_lint", handler], capture_output=True, text=True)
            assert done.returncode == 1 and "LDC101" in done.stdout, done
            said = subprocess.run(
                [python, "-m", "durable_lint", "--explain", "LDC101"], capture_output=True, text=True
            )
            assert said.returncode == 0 and "finally" in said.stdout, said
    for wheel in folder.glob("durable_runtime-*.whl"):
        with tempfile.TemporaryDirectory() as place:
            python = environment(Path(place) / "env", wheel)
            run(str(python), "-c", "from durable_runtime import terminal_scope")
    print(f"{len(files)} distributions of version {versions.pop()} are good")
    return 0


def environment(place: Path, wheel: Path) -> Path:
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    run(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
    return python


def run(*command: str) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    sys.exit(main())
