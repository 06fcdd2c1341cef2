"""What docs/runtime/cost.md says a scope adds to the history is what it adds."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def scope_cost() -> ModuleType:
    path = ROOT / "benchmarks" / "runtime" / "scope_cost.py"
    spec = importlib.util.spec_from_file_location("scope_cost", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("fails", [False, True], ids=["a value", "an error"])
@pytest.mark.parametrize("actions", [0, 1, 4])
def test_a_scope_adds_one_operation_in_place_and_two_isolated(
    scope_cost: ModuleType, actions: int, fails: bool
) -> None:
    cost = {
        name: scope_cost.measure(variant(actions, fails)) for name, variant in scope_cost.VARIANTS.items()
    }
    by_hand = cost["by hand"]
    outcome = 1 if actions else 0
    assert cost["in place"].operations == by_hand.operations + outcome
    assert cost["isolated"].operations == by_hand.operations + outcome + 1
    assert cost["in place"].requests <= by_hand.requests + outcome
    assert cost["isolated"].requests <= by_hand.requests + outcome + 2


def test_the_recorded_table_has_the_operations_that_are_measured_now(scope_cost: ModuleType) -> None:
    page = (ROOT / "docs" / "runtime" / "cost.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in page.splitlines()
        if line.startswith("| 3 |")
    ]
    assert {row[2] for row in rows} == set(scope_cost.VARIANTS)
    for row in rows:
        cost = scope_cost.measure(scope_cost.VARIANTS[row[2]](3, row[1] == "an error"))
        assert cost.operations == int(row[3])
