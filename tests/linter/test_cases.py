"""The linter reports in the labelled cases what their comments expect, and nothing else."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.cases.check_cases import Place, expectations, find_cases

TESTS = Path(__file__).parents[1]
LABELLED = TESTS / "cases" / "lint"
FROM_REAL_CODE = TESTS / "cases_extra"
"""The smallest input for each thing that was wrong about real code."""

CASES = [*find_cases(LABELLED), *find_cases(FROM_REAL_CODE)]


def alone(case: Path, folder: Path) -> Path:
    """Copy a case to where nothing else is a part of its project."""
    copy = folder / case.name
    if case.is_dir():
        shutil.copytree(case, copy)
    else:
        shutil.copy(case, copy)
    return copy


def findings(case: Path, capsys: pytest.CaptureFixture[str]) -> Counter[Place]:
    from durable_lint.cli import main

    status = main(["--output-format", "json", str(case)])
    output = capsys.readouterr()
    assert status in (0, 1), output.err
    return Counter(
        Place(Path(item["filename"]).resolve(), item["location"]["row"], item["code"])
        for item in json.loads(output.out)
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_case_has_the_findings_that_its_comments_expect(
    case: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = alone(case, tmp_path)
    assert findings(copy, capsys) == expectations(copy)


def test_one_run_over_all_cases_finds_what_a_run_for_each_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = alone(LABELLED, tmp_path)
    expected = Counter[Place]()
    for case in find_cases(copy):
        expected += expectations(case)
    assert findings(copy, capsys) == expected
