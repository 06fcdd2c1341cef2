"""Where a `noqa` counts for a finding in a `with` header: its own line, the header's first, the header's last."""

from __future__ import annotations

import re
from textwrap import dedent

import pytest
from durable_lint import lint

BEFORE = """\
from aws_durable_execution_sdk_python import DurableContext, durable_execution
from aws_durable_execution_sdk_python.config import Duration
from app import lease


@durable_execution
def handler(event, context: DurableContext):
"""
IN_BRACKETS = """\
with (
    lease("a"),
    lease("b"),
    lease(
        "c",
    ),
):
    # what follows

    context.wait(Duration.from_minutes(5))
"""
CONTINUED = """\
with lease("a"), \\
     lease("b") as b, \\
     lease("# : c"):
    context.wait(Duration.from_minutes(5))
"""
ON_ONE_LINE = """\
with (lease("a"), lease("b"),  # : not yet
      lease("ü: c") as c
      ): context.wait(Duration.from_minutes(5))
"""


def reported(block: str, noqa_row: int) -> str:
    """The names of the leases that are reported when this row of the block, from 1, says `noqa`."""
    rows = [f"    {line}" for line in dedent(block).splitlines()]
    rows[noqa_row - 1] += "  # noqa: LDC102"
    source = BEFORE + "\n".join(rows) + "\n"
    lines = source.splitlines()
    places = [(finding.start, finding.code) for finding in lint(source.encode(), "handler.py")]
    assert {code for _, code in places} <= {"LDC102"}
    texts = ["".join(lines[start.row - 1 :])[start.column - 1 :] for start, _ in places]
    return "".join(match[1] for text in texts if (match := re.match(r'lease\(\s*"\W*(\w)', text)))


@pytest.mark.parametrize(
    ("row", "left"),
    [(1, ""), (2, "bc"), (3, "ac"), (4, "ab"), (5, "abc"), (6, "abc"), (7, ""), (8, "abc"), (10, "abc")],
)
def test_a_noqa_on_one_item_leaves_the_others(row: int, left: str) -> None:
    assert reported(IN_BRACKETS, row) == left


def test_a_noqa_on_the_last_line_of_a_header_counts_for_the_whole_header() -> None:
    assert reported(CONTINUED, 3) == ""
    assert reported(ON_ONE_LINE, 3) == ""
    assert reported(ON_ONE_LINE, 2) == "ab"
