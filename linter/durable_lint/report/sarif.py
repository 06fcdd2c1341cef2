"""The `sarif` report: SARIF 2.1.0 (OASIS), with rules, related places, fingerprints and fixes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

from durable_lint.report import addresses
from durable_lint.report.explain import page, paragraph
from durable_lint.report.fingerprints import fingerprints
from durable_lint.report.run import repository_root

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from durable_lint.config.selectors import RuleInfo
    from durable_lint.report.run import Failure, Run
    from durable_lint.report.style import Style
    from durable_lint.rules.finding import Edit, Finding, Position, Related
    from durable_lint.source.text import SourceText

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_BASE = "SRCROOT"


def sarif(run: Run, _style: Style) -> Iterator[str]:
    """Yield one SARIF log with one run."""
    from durable_lint.rules import RULES

    yield json.dumps(log(run, RULES), indent=2) + "\n"


def log(run: Run, rules: Mapping[str, RuleInfo]) -> dict[str, object]:
    """Return the log as JSON data. Columns count code points; files are relative to the repository's root."""
    root = repository_root()
    codes = list(rules)
    prints = fingerprints(run.findings, run.source, lambda path: _uri(path, root)[0])
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "durable-lint",
                        **_optional("informationUri", addresses.DOCS_URL),
                        "version": _version(),
                        "semanticVersion": _version(),
                        "rules": [_rule(rule) for rule in rules.values()],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {_BASE: {"uri": root.as_uri().rstrip("/") + "/"}},
                "invocations": [
                    {
                        "executionSuccessful": not run.failures,
                        "toolExecutionNotifications": [
                            _notification(failure, root) for failure in run.failures
                        ],
                    }
                ],
                "results": [
                    _result(finding, fingerprint, codes, root, run.source(finding.path))
                    for finding, fingerprint in zip(run.findings, prints, strict=True)
                ],
            }
        ],
    }


def _version() -> str:
    from durable_lint import __version__

    return __version__


def _rule(rule: RuleInfo) -> dict[str, object]:
    text = addresses.portable(page(rule.code) or f"# {rule.code} {rule.name}\n\n{rule.summary}\n")
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": paragraph(text) or rule.summary},
        "help": {"text": text, "markdown": text},
        **_optional("helpUri", addresses.rule_url(rule.code)),
        "defaultConfiguration": {"enabled": rule.default, "level": "error"},
        "properties": {
            "tags": ["durable-execution", "correctness"],
            "precision": "high",
            "problem.severity": "error",
        },
    }


def _optional(key: str, value: str | None) -> dict[str, str]:
    return {} if value is None else {key: value}


def _result(
    finding: Finding, fingerprint: str, codes: Sequence[str], root: Path, source: SourceText | None
) -> dict[str, object]:
    result: dict[str, object] = {
        "ruleId": finding.code,
        "level": "error",
        "message": {"text": finding.message},
        "locations": [_location(finding.path, finding.start, finding.end, root, source)],
        "partialFingerprints": {"durableLint/v1": fingerprint},
    }
    if finding.code in codes:
        result["ruleIndex"] = codes.index(finding.code)
    if finding.related:
        result["relatedLocations"] = [
            _related(related, index, root) for index, related in enumerate(finding.related)
        ]
    fix = finding.fix
    if fix is not None:
        changes: dict[Path, list[Edit]] = {}
        for edit in fix.edits:
            changes.setdefault(edit.path or finding.path, []).append(edit)
        result["fixes"] = [
            {
                "description": {"text": fix.message},
                "artifactChanges": [
                    {
                        "artifactLocation": _artifact(path, root),
                        "replacements": [
                            {
                                "deletedRegion": _region(edit.start, edit.end),
                                "insertedContent": {"text": edit.content},
                            }
                            for edit in edits
                        ],
                    }
                    for path, edits in changes.items()
                ],
                "properties": {"applicability": fix.applicability.value},
            }
        ]
    return result


def _related(related: Related, index: int, root: Path) -> dict[str, object]:
    said = f"{related.call}: {related.message}" if related.call else related.message
    return {
        "id": index,
        **_location(related.path, related.start, related.end, root),
        "message": {"text": said or "related"},
    }


def _location(
    path: Path, start: Position, end: Position, root: Path, source: SourceText | None = None
) -> dict[str, object]:
    region: dict[str, object] = {**_region(start, end)}
    physical: dict[str, object] = {"artifactLocation": _artifact(path, root), "region": region}
    if source is not None and end.row <= len(source.lines):
        region["snippet"] = {"text": source.text[source.offset(*_pair(start)) : source.offset(*_pair(end))]}
        first, last = max(1, start.row - 2), min(len(source.lines), end.row + 2)
        physical["contextRegion"] = {
            "startLine": first,
            "endLine": last,
            "snippet": {"text": "\n".join(source.lines[first - 1 : last])},
        }
    return {"physicalLocation": physical}


def _pair(position: Position) -> tuple[int, int]:
    return position.row, position.column


def _region(start: Position, end: Position) -> dict[str, int]:
    return {"startLine": start.row, "startColumn": start.column, "endLine": end.row, "endColumn": end.column}


def _artifact(path: Path, root: Path) -> dict[str, str]:
    uri, relative = _uri(path, root)
    return {"uri": uri, "uriBaseId": _BASE} if relative else {"uri": uri}


def _uri(path: Path, root: Path) -> tuple[str, bool]:
    if path.is_relative_to(root):
        return quote(path.relative_to(root).as_posix()), True
    return (path.as_uri(), False) if path.is_absolute() else (quote(path.as_posix()), False)


def _notification(failure: Failure, root: Path) -> dict[str, object]:
    notification: dict[str, object] = {"level": "error", "message": {"text": failure.line()}}
    if failure.path is not None:
        notification["locations"] = [
            {"physicalLocation": {"artifactLocation": _artifact(failure.path, root)}}
        ]
    return notification
