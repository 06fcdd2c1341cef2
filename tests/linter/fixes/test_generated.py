"""Handlers from a grammar mean the same after a fix: as many as fit in the time (`DURABLE_LINT_FIX_SECONDS`, 60)."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from tests.linter.fixes.judge import AT_ONCE, Report, judge

if TYPE_CHECKING:
    from pathlib import Path


def test_no_fix_of_a_generated_handler_is_wrong(tmp_path: Path) -> None:
    report = Report()
    deadline = time.monotonic() + float(os.environ.get("DURABLE_LINT_FIX_SECONDS", "60"))
    seed = 0
    while seed < AT_ONCE or time.monotonic() < deadline:
        judge(range(seed, seed + AT_ONCE), tmp_path, report)
        assert not report.wrong, report.text()
        seed += AT_ONCE
    print(report.text())
    assert sum(report.fixed.values()) > 4 * sum(report.refused.values()), report.text()
