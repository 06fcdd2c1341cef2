"""A page that promises what its examples do not do is noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from markdown_examples import Example, ExampleError, check_lint, examples_in, run

if TYPE_CHECKING:
    from pathlib import Path

RUNS = """\
<!-- example: setup
launch = effect("launch", returns={"id": 1})
-->

<!-- example: body OPTIONS -->
```python
vm = context.step(lambda _: launch(), name="launch")
callback = context.create_callback(name="review")
answer = callback.result()
context.step(lambda _: stop(vm["id"]), name="stop")
return answer
```

<!-- example: prints -->
```text
PRINTS
```
"""
PRINTS = "launch()\n-- suspended --\nstop(1)"


def only(tmp_path: Path, page: str) -> Example:
    file = tmp_path / "page.md"
    file.write_text(page, encoding="utf-8")
    [example] = examples_in(file)
    return example


def test_an_example_that_keeps_its_promises_passes(tmp_path: Path) -> None:
    page = RUNS.replace("OPTIONS", "answer.review=yes result='\"yes\"'").replace("PRINTS", PRINTS)
    played = run(only(tmp_path, page))
    assert played
    assert played.result == "yes"


@pytest.mark.parametrize(
    ("options", "prints"),
    [
        ("answer.review=yes", "launch()\nstop(1)"),
        ("answer.review=yes", "launch()\n-- suspended --\nstop(2)"),
        ("answer.review=yes result='\"no\"'", PRINTS),
        ("answer.review=yes status=FAILED", PRINTS),
        ("fail.review=no status=FAILED error=StepError", "launch()\n-- suspended --"),
        ("fail.review=no", "launch()\n-- suspended --"),
    ],
)
def test_an_example_that_breaks_a_promise_fails(tmp_path: Path, options: str, prints: str) -> None:
    page = RUNS.replace("OPTIONS", options).replace("PRINTS", prints)
    with pytest.raises(ExampleError, match=r"page\.md:7"):
        run(only(tmp_path, page))


@pytest.mark.parametrize(
    "comment",
    ["<!-- example: bodi -->", "<!-- example: body answr.x=1 -->", "<!-- example: handler linted -->"],
)
def test_a_comment_that_is_none_of_the_convention_is_refused(tmp_path: Path, comment: str) -> None:
    with pytest.raises(ExampleError, match="no example comment"):
        only(tmp_path, f"{comment}\n```python\npass\n```\n")


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("if True", SyntaxError),
        ("from durable_runtime import terminal_scopes", ImportError),
        ("import durable_lint.nothing", ModuleNotFoundError),
    ],
)
def test_a_fragment_must_be_python_and_its_imports_must_work(
    tmp_path: Path, code: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        run(only(tmp_path, f"```python\n{code}\n```\n"))


def test_a_fragment_may_return_without_its_function(tmp_path: Path) -> None:
    assert run(only(tmp_path, "```python\nreturn callback.result()\n```\n")) is None


def test_a_block_in_a_list_is_found_too(tmp_path: Path) -> None:
    example = only(tmp_path, "- an item:\n\n  ```python\n  x = 1\n  ```\n")
    assert (example.code, example.row) == ("x = 1\n", 4)


@pytest.mark.parametrize(
    ("promised", "found", "kept"),
    [("LDC101", ["LDC101"], True), ("clean", [], True), ("clean", ["LDC101"], False), ("LDC101", [], False)],
)
def test_the_linter_must_report_exactly_what_is_promised(
    tmp_path: Path, promised: str, found: list[str], kept: bool
) -> None:
    example = only(tmp_path, f"<!-- example: lint={promised} -->\n```python\nx = 1\n```\n")
    if kept:
        check_lint(example, lambda _source, _path: found)
    else:
        with pytest.raises(ExampleError, match="the linter reports"):
            check_lint(example, lambda _source, _path: found)
