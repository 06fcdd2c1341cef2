"""The `json` report: ruff's schema, with `related` for the call that can suspend and the chain that leads to
it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from durable_lint.report.addresses import rule_url
from durable_lint.report.run import noqa_row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from durable_lint.report.run import Run
    from durable_lint.rules.finding import Edit, Finding, Position


def as_json(run: Run) -> Iterator[str]:
    """Yield a JSON list with an object for each finding.

    `unresolved` holds what could not be resolved in its file.
    """
    left_open: dict[Path | None, list[str]] = {}
    for note in run.unresolved:
        left_open.setdefault(note.path, []).append(note.message)
    entries = [{**entry(finding), "unresolved": left_open.get(finding.path, [])} for finding in run.findings]
    yield json.dumps(entries, indent=2) + "\n"


def entry(finding: Finding) -> dict[str, object]:
    """Return one finding. File names are absolute; rows and columns count from 1, columns in characters."""
    fix = finding.fix
    return {
        "cell": None,
        "code": finding.code,
        "name": finding.name,
        "filename": str(finding.path),
        "location": place(finding.start),
        "end_location": place(finding.end),
        "message": f"{finding.message}; no fix: {finding.no_fix}" if finding.no_fix else finding.message,
        "help": finding.help or None,
        "url": rule_url(finding.code),
        "fix": None
        if fix is None
        else {
            "applicability": fix.applicability.value,
            "message": fix.message,
            "edits": [_edit(edit) for edit in fix.edits],
        },
        "no_fix": finding.no_fix or None,
        "noqa_row": noqa_row(finding),
        "related": [
            {
                "filename": str(related.path),
                "location": place(related.start),
                "end_location": place(related.end),
                "message": related.message,
                "call": related.call or None,
            }
            for related in finding.related
        ],
    }


def place(position: Position) -> dict[str, int]:
    """Return a position as ruff writes it."""
    return {"row": position.row, "column": position.column}


def _edit(edit: Edit) -> dict[str, object]:
    shown: dict[str, object] = {
        "content": edit.content,
        "location": place(edit.start),
        "end_location": place(edit.end),
    }
    if edit.path is not None:
        shown["filename"] = str(edit.path)
    return shown
