"""Counts of findings by rule, for `--statistics`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from durable_lint.report.run import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.report.run import Run
    from durable_lint.report.style import Style


def statistics(run: Run, style: Style) -> Iterator[str]:
    """Yield a line for each rule that was found: how often, its code, whether `--fix` fixes it, its name.

    The last line counts the modules that were parsed for it.
    """
    rows = counted(run)
    width = max((len(str(count)) for _, _, count, _ in rows), default=1)
    for code, name, count, fixable in rows:
        mark = "[*]" if fixable == count else "[-]" if fixable else "[ ]"
        yield f"{style.paint(f'{count:>{width}}', 'bold')} {style.paint(code, 'red', 'bold')} {mark} {name}\n"
    if run.parsed:
        yield f"{plural(run.parsed, 'module')} parsed, where calls led included\n"


def statistics_json(run: Run) -> Iterator[str]:
    """Yield the same as a JSON list, as ruff has it."""
    import json

    rows = [
        {"code": code, "name": name, "count": count, "fixable": fixable == count, "fixable_count": fixable}
        for code, name, count, fixable in counted(run)
    ]
    yield json.dumps(rows, indent=2) + "\n"


def counted(run: Run) -> list[tuple[str, str, int, int]]:
    """Return code, name, count and how many `--fix` would fix, the most frequent first."""
    found = Counter((finding.code, finding.name) for finding in run.findings)
    fixable = Counter(finding.code for finding in run.findings if run.would_fix(finding))
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return [(code, name, count, fixable[code]) for (code, name), count in ordered]
