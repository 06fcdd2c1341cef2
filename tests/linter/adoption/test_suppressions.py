"""Comments switch off what they name, on the rows where they count; idle ones can be found."""

from __future__ import annotations

from pathlib import Path

import pytest
from durable_lint.adoption.noqa import add_suppressions
from durable_lint.rules import RULES
from durable_lint.rules.finding import Finding, Position
from durable_lint.source.suppressions import Suppressions
from durable_lint.source.text import SourceText

from tests.linter.cli.project import CLEAN, HAZARD, PLACE, Capture, run, write

NAMES = {rule.name: code for code, rule in RULES.items()}


def read(text: str) -> list[tuple[int, tuple[str, ...], bool]]:
    source = SourceText.from_bytes(Path("a.py"), text.encode())
    return [
        (one.row, tuple(entry.prefix for entry in one.entries), one.whole_file)
        for one in Suppressions(source, NAMES).all
    ]


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("# noqa", ()),
        ("#noqa", ()),
        ("# NOQA", ()),
        ("# noqa: LDC101", ("LDC101",)),
        ("# noqa:LDC101,LDC2", ("LDC101", "LDC2")),
        ("# noqa: ldc101, E501", ("LDC101", "E501")),
        ("# noqa: LDC101 LDC102", ("LDC101", "LDC102")),
        ("# noqa : LDC101", ("LDC101",)),
        ("# noqa: LDC101 - it is local", ("LDC101",)),
        ("# noqa: LDC101, because x1 is local", ("LDC101",)),
        ("# noqa: finally-around-suspension", ("LDC101",)),
        ("# noqa: LDC", ("LDC",)),
        ("# noqa: see the docs", ()),
        ("# type: ignore  # noqa: LDC101", ("LDC101",)),
        ("# type: ignore # noqa:LDC101 # more", ("LDC101",)),
    ],
)
def test_a_comment_is_read_as_flake8_reads_it_and_takes_names_too(
    comment: str, codes: tuple[str, ...]
) -> None:
    assert read(f"x = 1  {comment}\n") == [(1, codes, False)]


@pytest.mark.parametrize(
    "text",
    ['x = "# noqa"\n', '"""\n# noqa: LDC101\n"""\n', "x = 1  # noqaly\n", "x = 1  # a noqa\n", "noqa = 1\n"],
)
def test_what_only_looks_like_a_suppression_is_none(text: str) -> None:
    assert read(text) == []


def test_a_file_level_comment_counts_anywhere_in_the_file() -> None:
    assert read("x = 1\n# durable-lint: noqa: LDC101\n") == [(2, ("LDC101",), True)]
    assert read("# durable-lint: noqa\n") == [(1, (), True)]
    assert read("# Durable-Lint:NOQA\n") == [(1, (), True)]


@pytest.mark.parametrize(
    "text",
    [
        "x = (  # noqa: LDC101\n",
        "if x:\n    y\n  z  # noqa: LDC101\n",
        "x = '''\n'  # noqa: LDC101\n",
        "x = $ 1  # noqa: LDC101\n",
        "\N{NO-BREAK SPACE}x  # noqa: LDC101\n",
    ],
)
def test_comments_are_found_in_files_that_do_not_parse(text: str) -> None:
    assert [codes for _, codes, _ in read(text)] == [("LDC101",)]


def test_rows_are_counted_as_python_counts_them() -> None:
    assert read("x = 1\r\n\x0cy = 2\r\nz = '\u2028'  # noqa\r\n") == [(3, (), False)]


def with_comment(comment: str, row: int = 16) -> str:
    lines = HAZARD.splitlines()
    lines[row - 1] += f"  {comment}"
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("comment", "status"),
    [
        ("# noqa", 0),
        ("# noqa: LDC101", 0),
        ("# noqa: LDC1", 0),
        ("# noqa: finally-around-suspension", 0),
        ("# noqa: LDC2", 1),
        ("# noqa: E501", 1),
    ],
)
def test_a_suppression_on_the_findings_line_switches_it_off(
    capsys: Capture, comment: str, status: int
) -> None:
    write("review.py", with_comment(comment))
    assert run(capsys).status == status


def test_a_suppression_elsewhere_switches_nothing_off(capsys: Capture) -> None:
    write("review.py", with_comment("# noqa: LDC101", row=17))
    assert run(capsys).status == 1


def test_a_file_level_suppression_switches_the_file_off_and_only_that_file(
    capsys: Capture,
) -> None:
    write("quiet.py", f"# durable-lint: noqa: LDC101\n{HAZARD}")
    write("review.py")
    outcome = run(capsys)
    assert outcome.out.startswith(PLACE)
    assert "quiet.py" not in outcome.out


def test_a_suppression_counts_on_the_first_and_the_last_line_of_a_header_and_on_the_item(
    capsys: Capture,
) -> None:
    text = HAZARD.replace(
        "    try:\n        context.wait(Duration.from_minutes(5))\n    finally:\n"
        '        context.step(lambda _: terminate(vm), name="terminate-microvm")\n',
        "    with (\n        lease(1),\n        lease(2),\n    ):\n        context.wait(event)\n",
    ).replace(
        "from aws_durable_execution_sdk_python import",
        "from leases import lease\nfrom aws_durable_execution_sdk_python import",
        1,
    )
    write("review.py", text)
    rows = [int(line.split(":")[1]) for line in run(capsys, "-q").out.splitlines()]
    first = text.splitlines().index("    with (") + 1
    assert rows == [first + 1, first + 2]
    for row, left in ((first, 0), (first + 3, 0), (first + 1, 1), (first + 4, 2)):
        lines = text.splitlines()
        lines[row - 1] += "  # noqa: LDC102"
        write("review.py", "\n".join(lines) + "\n")
        assert len(run(capsys, "-q").out.splitlines()) == left, row


def unused(capsys: Capture, text: str, *arguments: str) -> list[str]:
    write("review.py", text)
    return run(capsys, "-q", "--select", "LDC901", *arguments).out.splitlines()


def test_a_suppression_that_suppresses_nothing_is_reported_when_asked_for(
    capsys: Capture,
) -> None:
    (line,) = unused(capsys, "x = 1  # noqa: LDC101\n")
    assert line == "review.py:1:8: LDC901 [*] `LDC101` in this comment suppresses nothing"
    write("review.py", "x = 1  # noqa: LDC101\n")
    assert run(capsys).status == 0


@pytest.mark.parametrize(
    "text",
    [
        with_comment("# noqa: LDC101"),
        with_comment("# noqa: LDC1"),
        "x = 1  # noqa\n",
        "x = 1  # noqa: E501\n",
        'x = "# noqa: LDC101"\n',
        f"# durable-lint: noqa: LDC101\n{HAZARD}",
        f"# durable-lint: noqa\n{HAZARD}",
        "x = 1  # noqa: LDC101,LDC901\n",
        "# durable-lint: noqa: LDC901\nx = 1  # noqa: LDC101\n",
    ],
)
def test_a_suppression_that_is_used_or_not_ours_is_not_reported(capsys: Capture, text: str) -> None:
    assert unused(capsys, text) == []


@pytest.mark.parametrize(
    "text", ["# durable-lint: noqa\nx = 1\n", "# durable-lint: noqa: LDC1\n", "x = 1  # noqa: LDC999\n"]
)
def test_a_file_level_suppression_and_an_unknown_code_are_judged_too(capsys: Capture, text: str) -> None:
    assert len(unused(capsys, text)) == 1


def test_nothing_is_called_unused_in_a_file_that_could_not_be_judged(capsys: Capture) -> None:
    text = "import aws_durable_execution_sdk_python\nx = 1  # noqa: LDC101\nwith x(:\n"
    write("review.py", text)
    outcome = run(capsys, "--select", "ALL", "--fix", "-q")
    assert [line.split()[1] for line in outcome.out.splitlines()] == ["LDC900"]
    assert Path("review.py").read_text() == text


def test_a_suppression_is_used_whatever_rules_are_selected(capsys: Capture) -> None:
    assert unused(capsys, with_comment("# noqa: LDC101"), "--ignore", "LDC1") == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # noqa: LDC101\n", "x = 1\n"),
        ("x = 1  # noqa: LDC101 because\n", "x = 1  # because\n"),
        ("x = 1  # noqa: LDC101  # pragma: no cover\n", "x = 1  # pragma: no cover\n"),
        ("x = 1  # type: ignore  # noqa: LDC101\n", "x = 1  # type: ignore\n"),
        ("x = 1  # noqa: E501,LDC101\n", "x = 1  # noqa: E501\n"),
        ("x = 1  # noqa:LDC101, E501, LDC2 words\n", "x = 1  # noqa:E501 words\n"),
        ("# durable-lint: noqa: LDC101\nx = 1\n", "x = 1\n"),
        ("x = 1\n# durable-lint: noqa", "x = 1\n"),
        ("x = 'ü'  # noqa: LDC101\r\ny = 2\r\n", "x = 'ü'\r\ny = 2\r\n"),
    ],
)
def test_fixing_takes_out_what_is_unused_and_keeps_the_rest(capsys: Capture, before: str, after: str) -> None:
    write("review.py", before.encode())
    run(capsys, "--select", "LDC901", "--fix")
    assert Path("review.py").read_bytes() == after.encode()
    assert unused(capsys, after) == []


def test_add_noqa_leaves_nothing_reported_and_keeps_the_file_otherwise(
    capsys: Capture,
) -> None:
    raw = b"\xef\xbb\xbf" + with_comment("# type: ignore").replace("\n", "\r\n").encode()
    write("review.py", raw)
    outcome = run(capsys, "--add-noqa")
    assert (outcome.status, outcome.out) == (0, "Added 1 suppression.\n")
    expected = raw.replace(b"# type: ignore\r\n", b"# type: ignore  # noqa: LDC101\r\n")
    assert Path("review.py").read_bytes() == expected
    assert run(capsys).status == 0
    assert run(capsys, "--add-noqa").out == "Added 0 suppressions.\n"
    assert unused(capsys, expected.decode("utf-8")) == []


def test_add_noqa_joins_codes_that_stand_there_already(capsys: Capture) -> None:
    write("review.py", with_comment("# noqa: E501 long"))
    run(capsys, "--add-noqa")
    assert "    finally:  # noqa: E501,LDC101 long\n" in Path("review.py").read_text()


def test_add_noqa_never_writes_into_a_string_or_after_a_backslash(capsys: Capture) -> None:
    text = HAZARD.replace(
        "    try:\n        context.wait(Duration.from_minutes(5))\n    finally:\n"
        '        context.step(lambda _: terminate(vm), name="terminate-microvm")\n',
        '    with lease("""a\n    b"""), \\\n        lease(2):\n        context.wait(event)\n',
    ).replace("from aws", "from leases import lease\nfrom aws", 1)
    write("review.py", text)
    outcome = run(capsys, "--add-noqa")
    assert outcome.out == "Added 2 suppressions.\n"
    assert run(capsys).status == 0
    assert Path("review.py").read_text() == text.replace(
        "        lease(2):\n", "        lease(2):  # noqa: LDC102\n"
    )


def test_add_noqa_does_not_hide_a_syntax_error(capsys: Capture) -> None:
    text = "import aws_durable_execution_sdk_python\nwith x(:\n"
    write("review.py", text)
    outcome = run(capsys, "--add-noqa")
    assert outcome.status == 2
    assert "review.py: line 2: LDC900 is to be mended, not suppressed" in outcome.err
    assert Path("review.py").read_text() == text


def test_add_noqa_says_when_a_file_cannot_be_written(capsys: Capture) -> None:
    write("review.py").chmod(0o444)
    outcome = run(capsys, "--add-noqa")
    assert outcome.status == 2
    assert outcome.err == "durable-lint: review.py: can't be written: it is read-only\n"


def test_add_noqa_says_when_a_file_is_gone_and_when_no_row_can_take_a_comment() -> None:
    at = Position(2, 1)
    finding = Finding(
        "LDC101", "finally-around-suspension", Path("a.py"), at, at, "x", noqa_rows=frozenset({2})
    )
    source = SourceText.from_bytes(Path("a.py"), b'x = 1\ny = """\n"""\n')
    added, failures = add_suppressions([finding], lambda _: None)
    assert (added, [failure.line() for failure in failures]) == (0, ["a.py: can't be read again"])
    added, failures = add_suppressions([finding], lambda _: source)
    assert added == 0
    assert "LDC101" in failures[0].line()
    assert not Path("a.py").exists()


def test_a_clean_file_is_left_alone(capsys: Capture) -> None:
    write("a.py", CLEAN)
    assert run(capsys, "--add-noqa").out == "Added 0 suppressions.\n"
    assert Path("a.py").read_text() == CLEAN
