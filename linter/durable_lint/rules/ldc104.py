"""LDC104 finally-discards-suspension: a `finally` that leaves by itself, so that the suspension is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.project.values import External
from durable_lint.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from durable_lint.project.frames import Frame
    from durable_lint.rules.finding import Finding
    from durable_lint.rules.view import ModuleView

_RULE = RULES["LDC104"]


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield a finding at each statement that discards a suspension."""
    for statement in view.tries:
        frames = view.frames(statement) if statement.finalbody else []
        for frame in frames:
            handlers = (handler.body for handler in statement.handlers)
            suspension = view.suspension(frame, statement.body, *handlers, statement.orelse)
            if suspension is None:
                continue
            for leaving in _leaving(frame, statement.finalbody):
                yield view.finding(
                    _RULE,
                    leaving.at,
                    f"{_word(leaving)} in a `finally` discards the suspension at {view.at_suspension(suspension)}",
                    help="move it out of the `finally`",
                    suspension=suspension,
                    frame=frame,
                    rows=view.header_rows(statement),
                    subject=(statement, leaving),
                )
            break


def _leaving(frame: Frame, block: Iterable[m.Statement]) -> Iterator[m.Statement]:
    """Yield the statements by which a `finally` leaves: conditional or not, but of `raise` only
    unconditional ones.
    """
    for statement in block:
        raises = isinstance(statement, m.Raise) and statement.exception is not None
        if raises or (
            isinstance(statement, m.ExpressionStatement) and _exits_process(frame, statement.value)
        ):
            yield statement
        yield from _jumps(statement, in_loop=False)
        if isinstance(statement, (m.Raise, m.Return, m.Break, m.Continue)):
            return


def _jumps(statement: m.Statement, *, in_loop: bool) -> Iterator[m.Statement]:
    if isinstance(statement, m.Return) or (isinstance(statement, (m.Break, m.Continue)) and not in_loop):
        yield statement
    inside_loop = in_loop or isinstance(statement, (m.For, m.While))
    for block in m.blocks_of(statement):
        for inner in block:
            yield from _jumps(inner, in_loop=inside_loop)


def _exits_process(frame: Frame, expression: m.Expression) -> bool:
    record = frame.records.get(expression)
    return record is not None and any(
        isinstance(value, External) and value.name == "sys.exit" for value in record.callee
    )


def _word(statement: m.Statement) -> str:
    return {
        m.Return: "`return`",
        m.Break: "`break`",
        m.Continue: "`continue`",
        m.Raise: "`raise`",
    }.get(type(statement), "`sys.exit`")
