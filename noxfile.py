"""What holds before a change lands: `nox` runs all of it, `nox -s NAME` one part.

Each part has an environment of its own, made from what this file names; nothing of the machine is used but Python.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import nox

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = False
nox.options.sessions = ["style", "tests", "runtime", "plugin", "flake8", "docs", "package"]

SDK = "aws-durable-execution-sdk-python"
TESTING = "aws-durable-execution-sdk-python-testing"
OTEL = "aws-durable-execution-sdk-python-otel"
BOTH_CORES = ("-n", "2", "--dist", "worksteal")
TESTERS = ("pytest>=8.4", "pytest-xdist>=3.6")
TOOLS = (*TESTERS, "pytest-cov>=7", "hypothesis>=6.130", "mypy>=1.18")

# Each release of the SDK with the testing SDK and the OpenTelemetry plugins that fit it.
RELEASES = {
    "1.6.0": ("1.2.1", "0.2.0"),
    "1.7.0": ("1.2.1", "0.3.0"),
    "2.0.1": ("1.2.1", "1.0.0"),
    "2.1.0": ("1.3.0", "1.1.0"),
    "3.0.0": ("1.4.0", "2.0.0"),
}


def _dev(session: nox.Session) -> None:
    groups = nox.project.load_toml("pyproject.toml")["dependency-groups"]
    wanted = [name for name in groups["dev"] if not name.startswith("durable-lint")]
    session.install("-e", ".[flake8,lsp]", "-e", "./runtime", *wanted)


def _sdk(session: nox.Session, release: str) -> None:
    testing, otel = RELEASES[release]
    session.install(
        f"{SDK}=={release}", f"{TESTING}=={testing}", f"{OTEL}[standalone]=={otel}", "-e", "./runtime", *TOOLS
    )


@nox.session
def style(session: nox.Session) -> None:
    """Format, lint, types, and the project's own linter on its own code."""
    _dev(session)
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("mypy", "linter", "runtime/durable_runtime")
    session.run("durable-lint", "runtime", "docs/examples/runtime")


@nox.session
def tests(session: nox.Session) -> None:
    """The linter, the documentation, and the runtime on the newest SDK, with coverage of both packages."""
    _dev(session)
    session.run("pytest", "-q", "--cov", "--cov-report=term:skip-covered", *(session.posargs or BOTH_CORES))


@nox.session
@nox.parametrize("sdk", ["2.0.1", "2.1.0"])
def runtime(session: nox.Session, sdk: str) -> None:
    """Scopes on the older releases of the SDK that they support."""
    _sdk(session, sdk)
    options = session.posargs or BOTH_CORES
    session.run(
        "pytest", "-q", "tests/runtime/scope", "tests/runtime/proof", *options, env={"PROOF_SECONDS": "15"}
    )


@nox.session
@nox.parametrize("sdk", ["1.6.0", "1.7.0", "2.1.0"])
def plugin(session: nox.Session, sdk: str) -> None:
    """The plugin hook on every kind of SDK release; the newest is part of `tests`."""
    _sdk(session, sdk)
    session.run("pytest", "-q", "tests/runtime/plugin", *(session.posargs or BOTH_CORES))


@nox.session
@nox.parametrize("version", ["6", "7.0.0"])
def flake8(session: nox.Session, version: str) -> None:
    """The plugin under older releases of flake8; the newest is part of `tests`."""
    session.install("-e", ".", f"flake8=={version}.*" if version == "6" else f"flake8=={version}", *TESTERS)
    session.run("pytest", "-q", "tests/linter/flake8", *(session.posargs or BOTH_CORES))


@nox.session
def docs(session: nox.Session) -> None:
    """The site builds without a dead link or anchor, in a folder of its own."""
    session.install(*nox.project.load_toml("pyproject.toml")["dependency-groups"]["docs"])
    place = Path(session.create_tmp()) / "site"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree("docs", place / "docs")
    for name in ("zensical.toml", "CHANGELOG.md"):
        shutil.copy(name, place)
    with session.chdir(place):
        session.run("zensical", "build", "--strict", silent=True)
    session.run("python", "docs/tools/check_site.py", str(place / "site"))


@nox.session
def package(session: nox.Session) -> None:
    """Both distributions build, pass `twine check`, and run on every Python to be had with what they declare."""
    session.install("build[uv]", "twine")
    out = Path(session.create_tmp()) / "dist"
    shutil.rmtree(out, ignore_errors=True)
    for folder in (".", "runtime"):
        session.run("python", "-m", "build", "--installer", "uv", "--outdir", str(out), folder, silent=True)
    session.run("python", "tests/package/check_distributions.py", str(out))
