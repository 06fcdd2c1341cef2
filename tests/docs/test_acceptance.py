"""The acceptance criteria of the request for terminal scopes that ask for documentation (section 10).

The others are in tests/runtime/scope/test_acceptance.py, the types in test_typing.py beside it.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import durable_runtime

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "runtime" / "guide.md").read_text(encoding="utf-8")
RFC = (DOCS / "rfc" / "terminal-scope.md").read_text(encoding="utf-8")


def _section(page: str, heading: str) -> str:
    return page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_api_docs_warn_that_actions_run_at_least_once_and_should_be_idempotent() -> None:
    reference = (DOCS / "runtime" / "reference.md").read_text(encoding="utf-8")
    for text in (inspect.getdoc(durable_runtime.DurableTerminalActions) or "", reference):
        assert "run at least once, so they should be idempotent" in " ".join(text.split())
    assert "write actions that may run twice" in _section(GUIDE, "Idempotency: at least once")


def test_documentation_distinguishes_scopes_from_finally_with_and_exit_stack() -> None:
    section = _section(GUIDE, "`finally`, `with` and `ExitStack` beside a scope")
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    assert any("`finally`, `with`, `ExitStack`" in row and "every suspension" in row for row in rows)
    assert any("`terminal_scope`" in row and "the work has ended" in row for row in rows)


def test_examples_include_the_microvm_lifecycle() -> None:
    """What it does is in test_runtime_examples.py."""
    example = (DOCS / "examples" / "runtime" / "microvm.py").read_text(encoding="utf-8")
    assert "terminal_scope" in example
    assert "examples/runtime/microvm.py" in GUIDE


def test_language_neutral_requirements_are_proposed_and_each_has_a_case_or_a_reason() -> None:
    requirements = set(re.findall(r"^\| (R\d+) \|", RFC, flags=re.MULTILINE))
    cases = json.loads((DOCS / "rfc" / "terminal-scope.cases.json").read_text(encoding="utf-8"))["cases"]
    covered = {requirement for case in cases for requirement in case["requires"]}
    assert len(requirements) == 16
    assert covered <= requirements
    assert requirements - covered == set(
        re.findall(r"\bR\d+\b", RFC.partition("have no case")[0].splitlines()[-1])
    )


def test_each_open_question_of_the_request_has_an_answer() -> None:
    section = _section(RFC, "16. The eleven open questions")
    assert re.findall(r"^(\d+)\. \*", section, flags=re.MULTILINE) == [str(n) for n in range(1, 12)]
