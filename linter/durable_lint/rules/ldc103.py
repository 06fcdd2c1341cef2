"""LDC103 exit-stack-around-suspension: something with an effect is on an `ExitStack` while the code can
suspend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.project.flags import expressions_of
from durable_lint.project.libraries import STACK_REGISTRATIONS
from durable_lint.project.stacks import is_stack, registered_effect, registers_on
from durable_lint.project.suspension import steps
from durable_lint.project.unwinding import STACK_CLASSES, Effect, is_stack_close
from durable_lint.project.values import External
from durable_lint.rules import RULES
from durable_lint.rules.view import what_runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from durable_lint.project.frames import Frame, Record
    from durable_lint.project.suspension import Step, Suspension
    from durable_lint.rules.finding import Finding
    from durable_lint.rules.view import ModuleView

_RULE = RULES["LDC103"]


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield a finding at each item that enters such a stack, and at each `finally` that closes one."""
    for statement in view.withs:
        for item in statement.items:
            for frame in view.frames(statement):
                found = _judge_item(view, statement, item, frame)
                if found is not None:
                    yield found
                    break
    for tried in view.tries:
        for frame in view.frames(tried) if tried.finalbody else ():
            found = _judge_finally(view, tried, frame)
            if found is not None:
                yield found
                break


def _judge_item(view: ModuleView, statement: m.With, item: m.Item, frame: Frame) -> Finding | None:
    if not is_stack(view.solver, frame, item.manager):
        return None
    made_before = {item.manager.id} if isinstance(item.manager, m.Name) else set()
    names = made_before | ({item.target.id} if isinstance(item.target, m.Name) else set())
    before = _before(frame, statement, made_before)
    found = hazard(view, frame, names, (*before, *steps(frame, statement.body, rounds=2)))
    if found is None:
        return None
    effect, suspension = found
    return view.finding(
        _RULE,
        item.at,
        f"this exit stack would run {what_runs(effect)} while the execution is only suspended"
        f" at {view.at_suspension(suspension)}",
        help="register it in a `terminal_scope`",
        suspension=suspension,
        frame=frame,
        rows=view.header_rows(statement),
        subject=(statement, item),
    )


def _judge_finally(view: ModuleView, statement: m.Try, frame: Frame) -> Finding | None:
    names = set(_closed(frame, statement.finalbody))
    if not names or statement.finally_at is None:
        return None
    before = _before(frame, statement, names)
    handlers = [handler.body for handler in statement.handlers]
    inside = [statement.body, *handlers, statement.orelse]
    running = (step for block in inside for step in steps(frame, block, rounds=2))
    found = hazard(view, frame, names, (*before, *running))
    if found is None:
        return None
    effect, suspension = found
    return view.finding(
        _RULE,
        statement.finally_at,
        f"closing the exit stack in this `finally` would run {what_runs(effect)} while the execution is only"
        f" suspended at {view.at_suspension(suspension)}",
        help="register it in a `terminal_scope`",
        suspension=suspension,
        frame=frame,
        rows=view.header_rows(statement),
        subject=statement,
    )


def _before(frame: Frame, statement: m.Statement, names: set[str]) -> list[Step]:
    """Return the registrations that the function makes before a statement; its durable calls there do not
    count.
    """
    function = frame.function
    if function is None:
        return []
    return [
        step
        for step in steps(frame, function.body)
        if isinstance(step.fact, m.Call)
        and step.fact.at < statement.at
        and registers_on(step, names) is not None
    ]


def _closed(frame: Frame, block: Iterable[m.Statement]) -> Iterator[str]:
    """Yield the names of the stacks that a block closes."""
    for statement in block:
        for expression in expressions_of(statement):
            call = expression.value if isinstance(expression, m.Await) else expression
            record = frame.records.get(call)
            if record is None or not isinstance(call, m.Call):
                continue
            if any(isinstance(v, External) and is_stack_close(v.name) for v in record.callee):
                function = call.function
                if isinstance(function, m.Attribute) and isinstance(function.value, m.Name):
                    yield function.value.id
        for inside in m.blocks_of(statement):
            yield from _closed(frame, inside)


def hazard(
    view: ModuleView, frame: Frame, names: set[str], running: Iterable[Step]
) -> tuple[Effect, Suspension] | None:
    """Return the first effect that is on the stack when the code can suspend, and where it can."""
    effect: Effect | None = None
    for step in running:
        if effect is not None and view.suspensions.record(step.record):
            suspension = view.suspensions.chain(frame, step)
            if suspension is not None:
                return effect, suspension
        method = registers_on(step, names)
        if method is not None:
            effect = effect or registered_effect(view.unwinding, frame, step)
        elif _takes_off(step, names):
            effect = None
        elif isinstance(step.fact, m.Call) and _is_given(step.fact, names):
            effect = effect or _registered_inside(view, step.record, set())
    return None


def _takes_off(step: Step, names: set[str]) -> bool:
    call = step.fact
    if not isinstance(call, m.Call) or not isinstance(call.function, m.Attribute):
        return False
    base = call.function.value
    closes = call.function.name in {"close", "aclose", "pop_all"}
    return closes and isinstance(base, m.Name) and base.id in names


def _is_given(call: m.Call, names: set[str]) -> bool:
    given = (*call.arguments, *(keyword.value for keyword in call.keywords))
    return any(isinstance(argument, m.Name) and argument.id in names for argument in given)


def _registered_inside(view: ModuleView, record: Record, seen: set[Frame]) -> Effect | None:
    """Return the first effect that a helper puts on a stack that it was given."""
    for target in record.targets:
        if target in seen:
            continue
        seen.add(target)
        for step in view.suspensions.body(target):
            names = {v.name for v in step.record.callee if isinstance(v, External)}
            if any(_is_registration(name) for name in names):
                effect = registered_effect(view.unwinding, target, step)
            else:
                effect = _registered_inside(view, step.record, seen)
            if effect is not None:
                return effect
    return None


def _is_registration(name: str) -> bool:
    owner, _, method = name.rpartition(".")
    return owner in STACK_CLASSES and method in STACK_REGISTRATIONS
