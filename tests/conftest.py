"""What coverage measures, when it is on: not the brute force, and few of the processes that tests start.

Measuring a process costs time, and changes what it imports and traces, which some tests look at. So only those are
measured whose code runs nowhere else: the fronts and the workers.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
MEASURED = {"test_server.py", "test_plugin.py", "test_statuses.py", "test_fixing.py", "test_pytest_plugin.py"}
UNMEASURED = {
    "test_coverage_counts_the_same_lines_beside_it",
    "test_a_debugger_is_told_the_same_beside_it",
    "test_a_run_that_does_not_use_it_imports_nothing_of_it",
}
"""Tests in those files that look at what is imported and who traces."""
VARIABLE = "COVERAGE_PROCESS_CONFIG"
"""What `patch = ["subprocess"]` of coverage tells a new process by."""
BRUTE_FORCE = {
    "tests/linter/gate/test_same_findings.py",
    "tests/linter/truth/test_arrangements.py",
    "tests/linter/seeded/test_seeded.py",
    "tests/linter/fuzz/test_fuzz.py",
    "tests/linter/fuzz/test_real_code.py",
    "tests/linter/fixes/test_generated.py",
    "tests/runtime/proof/test_model.py",
    "tests/runtime/proof/test_killed_everywhere.py",
}
"""Files that try very many inputs on code that other tests cover: coverage would only make them twice as slow, and, of
the random ones, differ from run to run."""


@pytest.fixture(autouse=True)
def _measure_few_processes(request: pytest.FixtureRequest) -> Iterator[None]:
    told = os.environ.get(VARIABLE)
    measured = Path(request.path).name in MEASURED and request.function.__name__ not in UNMEASURED
    if told is None or measured:
        yield
        return
    del os.environ[VARIABLE]
    yield
    os.environ[VARIABLE] = told


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.pluginmanager.hasplugin("_cov"):
        return
    for item in items:
        if item.path.relative_to(ROOT).as_posix() in BRUTE_FORCE:
            item.add_marker("no_cover")
