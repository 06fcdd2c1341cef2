"""The labelled cases of tests/cases/fixes, through the command line, and once more in the isolated form."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any  # the oracle is a script, its functions are known at run time only

import pytest
from durable_lint.config.settings import Settings
from durable_lint.linter import Linter
from durable_lint.rewrite import Rewriter

if TYPE_CHECKING:
    from types import ModuleType

CASES = Path(__file__).resolve().parents[2] / "cases"
REFUSED_ISOLATED = {
    "s04_conditional_cleanup": "as it was before the block",
    "s06_loop_with_continue_and_break": "continue",
}


def test_every_labelled_case_passes_the_oracle() -> None:
    tool = f"{sys.executable} -m durable_lint"
    script = [sys.executable, str(CASES / "run_fix_oracle.py"), str(CASES / "fixes"), "--lint", tool]
    done = subprocess.run(
        [*script, "--jobs", str(os.cpu_count() or 1)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _oracle() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_fix_oracle", CASES / "run_fix_oracle.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["s01", "s02", "s03", "s04", "s05", "s06", "s07", "s08", "s10", "s13"])
def test_the_isolated_form_is_right_where_it_is_written(name: str, tmp_path: Path) -> None:
    (case,) = (CASES / "fixes").glob(f"{name}_*.py")
    path = tmp_path / case.name
    path.write_bytes(case.read_bytes())
    linter = Linter(Settings(root=tmp_path, src=(tmp_path,), fix_form="callable"), with_fixes=True)
    done = Rewriter(linter, unsafe_fixes=True, only=path).rewrite(path)
    if case.stem in REFUSED_ISOLATED:
        (left,) = done.result.findings
        assert REFUSED_ISOLATED[case.stem] in left.no_fix
        return
    assert not done.result.findings
    path.write_bytes(done.contents[path])
    oracle: Any = _oracle()
    oracle.check_runs(oracle.oracle_of(path), oracle.played(path), "fixed")
