"""Runs with findings made by hand, so that reports are tested against the contract and not the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.report.run import Failure, Run
from durable_lint.rules.finding import Applicability, Edit, Finding, Fix, Position, Related
from durable_lint.source.text import SourceText

if TYPE_CHECKING:
    from pathlib import Path

REVIEW = "\n" * 36 + (
    "        callback = context.create_callback()\n"
    "        return callback.result()\n"
    "\n"
    "\n"
    "    finally:\n"
    "        terminate(vm)\n"
)
HELP = "register it in a `terminal_scope`"
MESSAGE = "`finally` would run `terminate-microvm` while the execution is only suspended"


def finding(path: Path, **changes: object) -> Finding:
    """Return the finding of the design's own example: orders/review.py, line 41."""
    values: dict[str, object] = {
        "code": "LDC101",
        "name": "finally-around-suspension",
        "path": path,
        "start": Position(41, 5),
        "end": Position(41, 12),
        "message": MESSAGE,
        "help": HELP,
        "related": (
            Related(path, Position(38, 16), Position(38, 33), "can suspend here", "callback.result"),
        ),
        "noqa_rows": frozenset({41}),
        "fix": Fix(Applicability.SAFE, HELP, (Edit(Position(41, 5), Position(42, 22), "pass"),)),
    }
    return Finding(**{**values, **changes})  # type: ignore[arg-type]  # the keys are the fields of `Finding`


def run_of(*findings: Finding, failures: tuple[Failure, ...] = (), unsafe_fixes: bool = False) -> Run:
    """Return a run with these findings, whose sources are on disk."""
    return Run(
        findings=findings,
        failures=failures,
        judged=frozenset(one.path for one in findings),
        unsafe_fixes=unsafe_fixes,
        source=lambda path: SourceText.read(path) if path.exists() else None,
    )


def write_review(directory: Path) -> Path:
    """Write the file that `finding` is about, and return its path."""
    file = directory / "orders" / "review.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(REVIEW, "utf-8")
    return file
