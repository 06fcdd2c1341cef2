"""Check the built distributions in a folder: `twine check`, versions in step, what an index will show, and a first run
in fresh environments of every Python that is to be had.

Usage: check_distributions.py FOLDER
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import zipfile
from email.parser import Parser
from pathlib import Path
from shutil import which

OLDEST, NEWEST = 11, 15
"""Minor versions of Python: the oldest that is supported, and the newest that is looked for."""

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
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")


def main() -> int:
    folder = Path(sys.argv[1])
    files = sorted(path for path in folder.iterdir() if path.suffix in {".whl", ".gz"})
    said(sys.executable, "-m", "twine", "check", "--strict", *map(str, files))
    versions = {path.name.split("-")[1].removesuffix(".tar.gz") for path in files}
    assert len(files) == 4 and len(versions) == 1, files
    [linter] = folder.glob("durable_lint-*.whl")
    [runtime] = folder.glob("durable_runtime-*.whl")
    for wheel in (linter, runtime):
        check_description(wheel)
    found = interpreters()
    for python in found.values():
        with tempfile.TemporaryDirectory() as place:
            check_linter(Path(place), python, linter)
            check_runtime(Path(place), python, runtime)
    missing = [f"3.{minor}" for minor in range(OLDEST, NEWEST + 1) if f"3.{minor}" not in found]
    print(f"{len(files)} distributions of version {versions.pop()} are good")
    print(
        f"installed and run on Python {', '.join(found)}; not to be had here: {', '.join(missing) or 'none'}"
    )
    return 0


def check_description(wheel: Path) -> None:
    """An index shows the description without the repository around it, so it must not link into that."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(archive.read(name).decode())
    text = metadata.get_payload()
    assert isinstance(text, str) and len(text) > 1000, f"{wheel.name} has no description"
    targets = [one or other for one, other in LINK.findall(text)]
    dead = [target for target in targets if not target.startswith(("https://", "#"))]
    assert not dead, f"{wheel.name}: links that lead nowhere on an index: {dead}"
    urls = metadata.get_all("Project-URL") or []
    assert not any("OWNER" in url for url in [text, *urls]), f"{wheel.name} names a placeholder"


def check_linter(place: Path, python: str, wheel: Path) -> None:
    """By itself it needs nothing else; with its extras it speaks to flake8 and to editors."""
    home = environment(place / "linter", python, str(wheel))
    handler = place / "handler.py"
    handler.write_bytes(FAULTY)
    listed = said("uv", "pip", "freeze", "--quiet", "--python", str(home / "python"))
    assert [line.split()[0] for line in listed.splitlines()] == ["durable-lint"], listed
    assert "LDC101" in said(str(home / "durable-lint"), str(handler), status=1)
    assert "finally" in said(str(home / "durable-lint"), "--explain", "LDC101")
    assert "durable-lint[lsp]" in said(str(home / "durable-lint-server"), status=1)
    install(home / "python", f"{wheel}[flake8,lsp]")
    assert "LDC101" in said(str(home / "flake8"), "--select", "LDC", str(handler), status=1)
    assert said(str(home / "durable-lint-server"), "--version").strip()


def check_runtime(place: Path, python: str, wheel: Path) -> None:
    home = environment(place / "runtime", python, str(wheel))
    said(str(home / "python"), "-c", "from durable_runtime import terminal_scope")


def interpreters() -> dict[str, str]:
    """The Pythons on this machine by their versions, each really run, and those that uv can fetch."""
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    candidates = [sys.executable, *map(str, versions.glob("3.*/bin/python"))]
    candidates += [path for minor in range(OLDEST, NEWEST + 1) if (path := which(f"python3.{minor}"))]
    found: dict[str, str] = {}
    for candidate in candidates:
        version = version_of(candidate)
        if version and OLDEST <= int(version[2:]) <= NEWEST:
            found.setdefault(version, candidate)
    for minor in range(OLDEST, NEWEST + 1):
        if f"3.{minor}" not in found and not fetch(f"3.{minor}", found):
            break  # there is no network for the others either
    return dict(sorted(found.items(), key=lambda entry: int(entry[0][2:])))


def version_of(python: str) -> str | None:
    """`3.12`, or None for what does not run, such as a shim of pyenv."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def fetch(version: str, found: dict[str, str]) -> bool:
    """Let uv bring a Python, where the network allows it."""
    quickly = {**os.environ, "UV_HTTP_RETRIES": "0", "UV_HTTP_TIMEOUT": "20"}
    command = ["uv", "python", "install", "--quiet", version]
    if subprocess.run(command, env=quickly, capture_output=True, check=False).returncode != 0:
        return False
    found[version] = said("uv", "python", "find", version).strip()
    return True


def environment(place: Path, python: str, wheel: str) -> Path:
    """Make an environment with a wheel and what it declares, and return where its commands are."""
    said("uv", "venv", "--quiet", "--python", python, str(place))
    home = place / "bin"
    install(home / "python", wheel)
    return home


def install(python: Path, wanted: str) -> None:
    said("uv", "pip", "install", "--quiet", "--python", str(python), wanted)


def said(*command: str, status: int = 0) -> str:
    """Run a command that has to end with a status, and return all that it printed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == status, f"{command} gave {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


if __name__ == "__main__":
    sys.exit(main())
