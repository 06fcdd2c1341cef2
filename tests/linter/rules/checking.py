"""How the tests of the rules say what they expect: on the line itself, as the labelled cases do.

A line on which findings are expected ends in `# expect: LDC101`; every other line has none. Several files
are given as a dictionary; each test gets a project of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from typing import TYPE_CHECKING

from durable_lint.config.settings import Settings
from durable_lint.linter import Linter

if TYPE_CHECKING:
    from durable_lint.rules.finding import Finding

MARK = re.compile(r"#\s*expect:(.*)$")
PRELUDE = """\
from aws_durable_execution_sdk_python import DurableContext, StepContext, durable_execution, durable_step
from aws_durable_execution_sdk_python import durable_with_child_context, with_retry, StepError
from aws_durable_execution_sdk_python.config import CompletionConfig, Duration, MapConfig, ParallelConfig
from aws_durable_execution_sdk_python.exceptions import SuspendExecution, TimedSuspendExecution
from contextlib import contextmanager, ExitStack, suppress, closing
from durable_runtime import DurableTerminalActions, terminal_scope
from world import acquire, release, work
SECOND = Duration.from_seconds(1)
"""


def findings(
    files: dict[str, str], extra_files: dict[str, str] | None = None, **settings: object
) -> list[Finding]:
    """Return the findings in a project made of these files; `extra_files` are there and not linted."""
    with TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        (root / "pyproject.toml").touch()
        for name, text in {**files, **(extra_files or {})}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        linter = Linter(Settings(root=root, **settings))  # type: ignore[arg-type]
        found: list[Finding] = []
        for name in files:
            result = linter.lint(root / name)
            assert not result.failures, result.failures
            found += result.findings
        return found


def check(
    source: str | dict[str, str], extra_files: dict[str, str] | None = None, **settings: object
) -> list[Finding]:
    """Lint a handler module (after `PRELUDE`), or a project, and compare with its `# expect:` comments."""
    files = (
        {"handler.py": PRELUDE + dedent(source)}
        if isinstance(source, str)
        else {name: dedent(text) for name, text in source.items()}
    )
    expected: Counter[tuple[str, int, str]] = Counter()
    for name, text in files.items():
        for row, line in enumerate(text.split("\n"), start=1):
            mark = MARK.search(line)
            if mark is not None:
                expected.update((name, row, code.strip()) for code in mark[1].split(","))
    found = findings(files, extra_files, **settings)
    actual = Counter((_relative(f, files), f.start.row, f.code) for f in found)
    shown = [f"{_relative(f, files)}:{f.start.row} {f.code} {f.message}" for f in found]
    missed, extra = expected - actual, actual - expected
    assert not missed and not extra, f"missed {sorted(missed)}, extra {sorted(extra)}\n" + "\n".join(shown)
    return found


def _relative(finding: Finding, files: dict[str, str]) -> str:
    return next(name for name in files if finding.path.as_posix().endswith("/" + name))
