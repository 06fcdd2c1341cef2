"""Every Python block of README.md and docs/**/*.md does what its page says: see docs/contributing-docs.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from markdown_examples import Example, examples_in, run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = [example for page in PAGES if page.exists() for example in examples_in(page)]


def lint_codes(source: bytes, path: Path) -> list[str]:
    from durable_lint import lint

    return [finding.code for finding in lint(source, path)]


@pytest.mark.parametrize("example", EXAMPLES, ids=[f"{e.path.relative_to(ROOT)}:{e.row}" for e in EXAMPLES])
def test_an_example_does_what_its_page_says(example: Example) -> None:
    run(example, lint_codes)
