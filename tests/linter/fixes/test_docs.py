"""docs/fixes.md shows what the tool writes, to the letter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from durable_lint.config.settings import Settings
from durable_lint.linter import Linter
from durable_lint.rewrite import Rewriter

PAGE = Path(__file__).resolve().parents[3] / "docs" / "fixes.md"
PAIRS = re.findall(
    r"^Before:\n.*?```python\n(.*?)```.*?^(After|Isolated):\n.*?```python\n(.*?)```",
    PAGE.read_text(),
    flags=re.DOTALL | re.MULTILINE,
)


@pytest.mark.parametrize(
    ("before", "form", "after"), PAIRS, ids=[re.findall(r"def (\w+)\(event", pair[0])[-1] for pair in PAIRS]
)
def test_the_page_shows_what_fix_writes(before: str, form: str, after: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    settings = Settings(
        root=tmp_path,
        src=(tmp_path,),
        extend_select=("LDC205",),
        fix_form="callable" if form == "Isolated" else "in-place",
    )
    linter = Linter(settings, with_fixes=True)
    done = Rewriter(linter, unsafe_fixes=True, only=path).rewrite(path, before.encode())
    assert done.contents[path].decode() == after


def test_the_page_begins_with_the_two_blocks_that_people_write_first() -> None:
    assert [re.findall(r"def (\w+)\(event", pair[0])[0] for pair in PAIRS[:2]] == ["review", "load_test"]
