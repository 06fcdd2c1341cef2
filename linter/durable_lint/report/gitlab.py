"""The `gitlab` report: GitLab's Code Quality format, which merge requests show."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from durable_lint.report.fingerprints import fingerprints
from durable_lint.report.run import repository_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.report.run import Run
    from durable_lint.report.style import Style


def gitlab(run: Run, _style: Style) -> Iterator[str]:
    """Yield a JSON list with an entry for each finding."""
    prints = fingerprints(run.findings, run.source, repository_path)
    entries = [
        {
            "description": f"{finding.code}: {finding.message}",
            "check_name": finding.code,
            "fingerprint": fingerprint,
            "severity": "major",
            "location": {
                "path": repository_path(finding.path),
                "positions": {
                    "begin": {"line": finding.start.row, "column": finding.start.column},
                    "end": {"line": finding.end.row, "column": finding.end.column},
                },
            },
        }
        for finding, fingerprint in zip(run.findings, prints, strict=True)
    ]
    yield json.dumps(entries, indent=2) + "\n"
