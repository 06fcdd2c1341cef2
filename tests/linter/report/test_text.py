"""What people read: the place, its line, the call that can suspend, what to do; and no file can forge it."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import pytest
from durable_lint import report
from durable_lint.report.style import Style, style_for
from durable_lint.rules import RULES
from durable_lint.rules.finding import Applicability, Fix, Position, Related

from tests.linter.report.samples import MESSAGE, finding, run_of, write_review

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_review(tmp_path)


def full(*findings: object, style: Style | None = None, unsafe_fixes: bool = False) -> str:
    run = run_of(*findings, unsafe_fixes=unsafe_fixes)  # type: ignore[arg-type]  # findings, as the callers show
    return "".join(report.render("full", run, style or Style()))


def test_full_shows_what_the_design_shows(review: Path) -> None:
    assert full(finding(review)) == (
        "orders/review.py:41:5: LDC101 [*] `finally` would run `terminate-microvm`"
        " while the execution is only suspended\n"
        "   38 |         return callback.result()\n"
        "      |                ----------------- can suspend here\n"
        "   41 |     finally:\n"
        "      |     ^^^^^^^ runs on every suspension, not only at the end\n"
        "   = help: register it in a `terminal_scope` (run with --fix)\n"
        "\n"
    )


def test_a_chain_in_another_file_is_shown_with_that_file(review: Path, tmp_path: Path) -> None:
    helper = tmp_path / "orders" / "wait.py"
    helper.write_text("def pause(c):\n    c.wait(1)\n")
    related = (
        Related(helper, Position(2, 5), Position(2, 14), "can suspend here", "c.wait"),
        Related(review, Position(38, 16), Position(38, 33), "calls `pause`", "callback.result"),
    )
    text = full(finding(review, related=related, fix=None))
    assert (
        "   --> orders/wait.py:2:5\n    2 |     c.wait(1)\n      |     --------- can suspend here\n" in text
    )
    assert text.index("calls `pause`") < text.index("--> orders/wait.py")


def test_an_unsafe_fix_is_not_marked_but_the_help_says_how_to_get_it(review: Path) -> None:
    unsafe = finding(review, fix=Fix(Applicability.UNSAFE, "narrow it", ()))
    assert "LDC101 `finally`" in full(unsafe)
    assert "(run with --fix --unsafe-fixes)" in full(unsafe)
    assert "LDC101 [*] `finally`" in full(unsafe, unsafe_fixes=True)


def test_a_finding_without_a_fix_says_why(review: Path) -> None:
    text = full(finding(review, fix=None, no_fix="the block yields"))
    assert "   = note: no fix: the block yields\n" in text
    assert "run with" not in text


def test_tabs_wide_characters_and_control_characters_keep_the_marks_in_place(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text('\tx = "東\x1b[31m"; finally_\n', "utf-8")
    mark = finding(file, start=Position(1, 16), end=Position(1, 23), related=(), help="")
    lines = full(mark).splitlines()
    assert lines[1] == '   1 |     x = "東\N{REPLACEMENT CHARACTER}[31m"; finally_'
    assert lines[2].startswith("     |                    ^^^^^^^ ")
    assert "\x1b" not in full(mark)


def test_a_very_long_line_is_cut_to_the_part_around_the_place(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("x" * 5000 + "finally" + "y" * 5000)
    lines = full(finding(file, start=Position(1, 5001), end=Position(1, 5008), related=())).splitlines()
    assert len(lines[1]) < 220
    assert lines[1].index("finally") == lines[2].index("^^^^^^^")


def test_a_place_over_several_lines_is_marked_to_the_end_of_the_first(review: Path) -> None:
    text = full(finding(review, start=Position(38, 9), end=Position(42, 3), related=()))
    assert "   38 |         return callback.result()\n      |         ^^^^^^^^^^^^^^^^^^^^^^^^ runs" in text


def test_a_file_that_is_gone_still_has_its_headline(tmp_path: Path) -> None:
    assert MESSAGE in full(finding(tmp_path / "gone.py", related=()))


def test_a_message_or_a_name_cannot_move_the_cursor(tmp_path: Path) -> None:
    text = full(
        finding(tmp_path / "a\x1b[2J.py", message="x\x1b]0;owned\x07\ny", related=(), help="", fix=None)
    )
    assert "\x1b" not in text
    assert len(text.strip().splitlines()) == 1


def test_concise_is_one_line_a_finding(review: Path) -> None:
    text = "".join(report.render("concise", run_of(finding(review)), Style()))
    assert text == f"orders/review.py:41:5: LDC101 [*] {MESSAGE}\n"


def test_colours_and_links_are_there_when_asked_for_and_only_then(review: Path) -> None:
    coloured = full(finding(review), style=Style(color=True, links=True))
    assert "\x1b[31;1mLDC101\x1b[0m" in coloured
    assert "\x1b" not in full(finding(review))


class Stream(io.StringIO):
    """A stream that says of itself whether it is a terminal, whose width nobody knows."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize(
    ("choice", "terminal", "environment", "color"),
    [
        ("auto", True, {}, True),
        ("auto", False, {}, False),
        ("auto", True, {"TERM": "dumb"}, False),
        ("auto", True, {"NO_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ("auto", False, {"FORCE_COLOR": "1"}, True),
        ("auto", False, {"FORCE_COLOR": "0"}, False),
        ("always", False, {"NO_COLOR": "1"}, True),
        ("never", True, {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_follow_the_choice_the_environment_and_the_terminal(
    choice: str, terminal: bool, environment: dict[str, str], color: bool
) -> None:
    style = style_for(Stream(terminal), choice, environment)
    assert (style.color, style.links, style.width) == (color, color and terminal, 110)


def test_a_stream_that_was_closed_is_no_terminal() -> None:
    closed = io.StringIO()
    closed.close()
    assert not style_for(closed, "auto", {}).color


def summary(**changes: object) -> str:
    from dataclasses import replace

    run = replace(run_of(), **changes)  # type: ignore[arg-type]  # fields of `Run`
    return "".join(report.summary(run, Style(), fixing=False))


def test_the_summary_counts_findings_files_and_what_can_be_fixed(review: Path) -> None:
    one, two = finding(review), finding(review, fix=Fix(Applicability.UNSAFE, "x", ()))
    assert summary(findings=(one, two)) == (
        "Found 2 findings in 1 file.\n[*] 1 can be fixed with `--fix`, 1 more with `--fix --unsafe-fixes`.\n"
    )
    assert (
        summary(findings=(two,))
        == "Found 1 finding in 1 file.\n1 can be fixed with `--fix --unsafe-fixes`.\n"
    )
    assert summary(judged=frozenset({review})) == "No findings in 1 file.\n"
    assert summary(hidden=3, skipped=2).splitlines()[1:] == [
        "3 findings hidden by the baseline.",
        "2 files skipped as too large (see `max-file-size`).",
    ]


def test_statistics_count_by_rule_the_most_frequent_first(review: Path) -> None:
    other = finding(review, code="LDC201", name="catches-base-exception", fix=None)
    run = run_of(other, finding(review), finding(review, start=Position(42, 1)))
    assert "".join(report.statistics("full", run, Style())) == (
        "2 LDC101 [*] finally-around-suspension\n1 LDC201 [ ] catches-base-exception\n"
    )


def test_every_rule_says_something_at_the_place_it_marks(review: Path) -> None:
    for code in RULES:
        (_, marked) = full(finding(review, code=code, related=())).splitlines()[1:3]
        assert re.fullmatch(r" +\| +\^+ \w.*", marked), code
