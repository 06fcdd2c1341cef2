"""The `junit` report: a test case for each finding, so that any CI server shows them as failures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from durable_lint.report.run import repository_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from durable_lint.report.run import Run
    from durable_lint.report.style import Style
    from durable_lint.rules.finding import Finding

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(run: Run, _style: Style) -> Iterator[str]:
    """Yield a test suite for each file with findings; a clean run is one suite with a test that passed."""
    by_path: dict[Path, list[Finding]] = {}
    for finding in run.findings:
        by_path.setdefault(finding.path, []).append(finding)
    tests = max(1, len(run.findings) + len(run.failures))
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield (
        f'<testsuites name="durable-lint" tests="{tests}" failures="{len(run.findings)}"'
        f' errors="{len(run.failures)}">\n'
    )
    for path, findings in by_path.items():
        yield from _suite(repository_path(path), findings)
    if run.failures:
        count = len(run.failures)
        yield f'  <testsuite name="errors" tests="{count}" failures="0" errors="{count}">\n'
        for failure in run.failures:
            name = _attribute(failure.line())
            yield f'    <testcase name={name} classname="durable-lint"><error message={name}/></testcase>\n'
        yield "  </testsuite>\n"
    if not run.findings and not run.failures:
        yield '  <testsuite name="durable-lint" tests="1" failures="0" errors="0">\n'
        yield '    <testcase name="no findings" classname="durable-lint"/>\n'
        yield "  </testsuite>\n"
    yield "</testsuites>\n"


def _suite(name: str, findings: list[Finding]) -> Iterator[str]:
    count = len(findings)
    yield f'  <testsuite name={_attribute(name)} tests="{count}" failures="{count}" errors="0">\n'
    for finding in findings:
        row, column = finding.start.row, finding.start.column
        yield (
            f"    <testcase name={_attribute(f'{finding.code} {finding.name}')}"
            f' classname={_attribute(name)} file={_attribute(name)} line="{row}">\n'
            f"      <failure type={_attribute(finding.code)} message={_attribute(finding.message)}>"
            f"{escape(_xml(f'{name}:{row}:{column}: {finding.code} {finding.message}'))}</failure>\n"
            "    </testcase>\n"
        )
    yield "  </testsuite>\n"


def _attribute(text: str) -> str:
    return quoteattr(_xml(text))


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
