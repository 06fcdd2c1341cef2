"""Writes what a run found in the format that was asked for. A format's module is loaded when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.report.run import Run
    from durable_lint.report.style import Style

FOR_PEOPLE = frozenset({"full", "concise"})
"""Formats that close with a summary and can share a stream with others."""

LINE_BY_LINE = FOR_PEOPLE | {"github"}
"""Formats that can share a stream: they are no one document."""

SHOWS_FIXES = frozenset({"full", "concise", "json", "sarif"})
"""Formats that say whether a finding has a fix, so that fixes have to be computed for them."""


def render(output_format: str, run: Run, style: Style) -> Iterator[str]:
    """Return the pieces of a report. `output_format` is one of `config.settings.OUTPUT_FORMATS`."""
    match output_format:
        case "full":
            from durable_lint.report.text import full

            return full(run, style)
        case "concise":
            from durable_lint.report.text import concise

            return concise(run, style)
        case "json":
            from durable_lint.report.as_json import as_json

            return as_json(run)
        case "sarif":
            from durable_lint.report.sarif import sarif

            return sarif(run, style)
        case "github":
            from durable_lint.report.github import github

            return github(run, style)
        case "gitlab":
            from durable_lint.report.gitlab import gitlab

            return gitlab(run, style)
        case "junit":
            from durable_lint.report.junit import junit

            return junit(run, style)
    raise ValueError(f"unknown format {output_format!r}")


def statistics(output_format: str, run: Run, style: Style) -> Iterator[str]:
    """Return the pieces of the counts by rule, as `json` or as text."""
    from durable_lint.report import counts

    return counts.statistics_json(run) if output_format == "json" else counts.statistics(run, style)


def summary(run: Run, style: Style, *, fixing: bool) -> Iterator[str]:
    """Return the lines that close a report for people."""
    from durable_lint.report import text

    return text.summary(run, style, fixing=fixing)


def hidden(run: Run) -> str:
    """Return the line that says what the baseline keeps back."""
    from durable_lint.report import text

    return text.hidden(run)
