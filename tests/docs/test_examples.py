"""Every Python block of the READMEs and of docs/**/*.md does what its page says: see docs/contributing-docs.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from durable_lint import lint
from markdown_examples import Example, check_lint, examples_in, run

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "linter" / "README.md",
    ROOT / "runtime" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
EXAMPLES = [example for page in PAGES for example in examples_in(page)]


LINTED = [example for example in EXAMPLES if "lint" in example.marker.options]


def named(examples: list[Example]) -> list[str]:
    return [f"{example.path.relative_to(ROOT)}:{example.row}" for example in examples]


@pytest.mark.parametrize("example", EXAMPLES, ids=named(EXAMPLES))
def test_an_example_does_what_its_page_says(example: Example) -> None:
    run(example)


@pytest.mark.parametrize("example", LINTED, ids=named(LINTED))
def test_the_linter_reports_in_an_example_what_its_page_says(example: Example) -> None:
    check_lint(example, lambda source, path: [finding.code for finding in lint(source, path)])
