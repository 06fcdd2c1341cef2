"""Executions that SDK 2.1.0 started and left suspended go on under the installed SDK, nothing lost.

`left_on_2.1.0/` holds them as `handover.py` wrote them. With PROOF_SDK_2_1_PYTHON, the path of a Python that
has SDK 2.1.0, they are made anew by it, so that the two SDKs work on one execution in two processes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.runtime.proof.handover import ROOT, builder, cases, file_name, leave, read, without_paths
from tests.runtime.support import versions
from tests.runtime.support.crash import BOTH_WAYS, execute, killed_everywhere

if TYPE_CHECKING:
    from tests.runtime.proof.handover import Left

RECORDED = Path(__file__).parent / "left_on_2.1.0"

EFFECTS = {
    "succeeds": ["acquire", "work", "first", "cleaning-1", "cleaning-2", "release", "end"],
    "fails": [
        "acquire",
        "work",
        "compensating-1",
        "compensating-2",
        "undo",
        "first",
        "cleaning-1",
        "cleaning-2",
        "release",
        "end",
    ],
}
RESULTS = {
    ("in place", "succeeds"): ["acquire", "work", "end"],
    ("isolated", "succeeds"): ["acquire", "work", "end"],
    ("in place", "fails"): ["ValueError", "end"],
    ("isolated", "fails"): ["TerminalScopeError", "end"],
}


@pytest.fixture(scope="session")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    other = os.environ.get("PROOF_SDK_2_1_PYTHON")
    if other is None:
        return RECORDED
    path = tmp_path_factory.mktemp("left")
    subprocess.run(
        [other, "-m", "tests.runtime.proof.handover", str(path)], cwd=ROOT, check=True, timeout=300
    )
    return path


# Testing 1.2.1 can't take up an execution of another process: its runner has no way to invoke a stored one.
if versions.TESTING >= (1, 3, 0):

    @pytest.mark.parametrize(("place", "form", "ending"), cases())
    def test_an_execution_left_on_2_1_goes_on(place: str, form: str, ending: str, directory: Path) -> None:
        left = read(directory / file_name(place, form, ending))
        assert left.sdk == "2.1.0"
        run = execute(builder(form, ending), stored=left.stored, answers=lambda _: b"1")
        assert (run.status, run.result) == ("SUCCEEDED", RESULTS[form, ending]), run.story()
        assert left.notes + run.notes() == EFFECTS[ending]

    @pytest.mark.parametrize(("place", "form", "ending"), [case for case in cases() if case[2] == "fails"])
    def test_it_goes_on_when_invocations_die_too(place: str, form: str, ending: str, directory: Path) -> None:
        left = read(directory / file_name(place, form, ending))
        for _, run in killed_everywhere(
            builder(form, ending), ways=BOTH_WAYS, stored=left.stored, answers=lambda _: b"1"
        ):
            assert (run.status, run.result) == ("SUCCEEDED", RESULTS[form, ending]), run.story()
            assert list(dict.fromkeys(left.notes + run.notes())) == EFFECTS[ending], run.story()
            assert not set(left.notes) & set(run.notes()), run.story()


if versions.SDK == (2, 1, 0):

    @pytest.mark.parametrize(("place", "form", "ending"), cases())
    def test_the_recorded_executions_are_what_the_package_writes_today(
        place: str, form: str, ending: str
    ) -> None:
        """If not, `python -m tests.runtime.proof.handover tests/runtime/proof/left_on_2.1.0` writes them."""
        recorded = read(RECORDED / file_name(place, form, ending))
        fresh = leave(place, form, ending)
        assert recorded.notes == fresh.notes
        assert _history(recorded) == _history(fresh)


def _history(left: Left) -> str:
    """The operations without times, the ids of callbacks, and line numbers, which differ from run to run."""
    volatile = {"StartTimestamp", "EndTimestamp", "CallbackDetails", "ExecutionDetails"}
    operations: list[dict[str, Any]] = [
        {key: value for key, value in operation.items() if key not in volatile}
        for operation in left.stored["Operations"]
        if operation["Type"] != "EXECUTION"
    ]
    return re.sub(r"line \d+", "line", without_paths(json.dumps(operations, indent=1)))
