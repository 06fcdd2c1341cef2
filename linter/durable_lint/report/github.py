"""The `github` report: workflow commands that GitHub Actions shows as annotations on the changed lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.report.run import repository_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.report.run import Run
    from durable_lint.report.style import Style


def github(run: Run, _style: Style) -> Iterator[str]:
    """Yield an `::error` command for each finding and each file that could not be judged."""
    for finding in run.findings:
        file = repository_path(finding.path)
        properties = {
            "title": f"durable-lint ({finding.code})",
            "file": file,
            "line": str(finding.start.row),
            "endLine": str(finding.end.row),
        }
        if finding.end.row == finding.start.row:
            # Columns of a place over several lines make GitHub drop the annotation.
            properties |= {"col": str(finding.start.column), "endColumn": str(finding.end.column)}
        text = f"{file}:{finding.start.row}:{finding.start.column}: {finding.code} {finding.message}"
        yield _command(properties, text)
    for failure in run.failures:
        properties = {"title": "durable-lint"}
        if failure.path is not None:
            properties["file"] = repository_path(failure.path)
        yield _command(properties, failure.line())


def _command(properties: dict[str, str], text: str) -> str:
    written = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::error {written}::{_data(text)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
