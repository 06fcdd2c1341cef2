"""LDC102 with-around-suspension: a manager whose exit has an effect, around code that can suspend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.project.stacks import manager_effect
from durable_lint.project.suspension import expression_steps, recorded, steps
from durable_lint.project.values import Instance, Manager
from durable_lint.rules import RULES
from durable_lint.rules.view import suspension_kinds, what_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.facts import model as m
    from durable_lint.project.frames import Frame
    from durable_lint.project.suspension import Step
    from durable_lint.project.unwinding import Effect
    from durable_lint.rules.finding import Finding
    from durable_lint.rules.view import ModuleView

_RULE = RULES["LDC102"]


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield one finding for each such item, at the item, and for each such decorator, at the decorator."""
    for statement in view.withs:
        for index, item in enumerate(statement.items):
            for frame in view.frames(statement):
                found = _judge_item(view, statement, index, item, frame)
                if found is not None:
                    yield found
                    break
    for function in view.module.functions:
        for decorator in function.decorators:
            for frame in view.frames_of(function):
                found = _judge_decorator(view, function, decorator, frame)
                if found is not None:
                    yield found
                    break


def protected(frame: Frame, statement: m.With, index: int) -> Iterator[Step]:
    """Yield what runs while the item at `index` is entered: the items after it, and the body."""
    for later in statement.items[index + 1 :]:
        yield from expression_steps(frame, later.manager)
        yield from recorded(frame, later)
    yield from steps(frame, statement.body)


def _judge_item(
    view: ModuleView, statement: m.With, index: int, item: m.Item, frame: Frame
) -> Finding | None:
    suspension = view.suspensions.first(frame, protected(frame, statement, index))
    if suspension is None:
        return None
    for kind in suspension_kinds():
        effect = view.unwinding.item_exit(frame, item, kind).effect or _on_a_stack(view, frame, item)
        if effect is not None:
            return view.finding(
                _RULE,
                item.at,
                f"leaving this `with` would run {what_runs(effect)}{_unseen(effect)} while the execution is only"
                f" suspended at {view.at_suspension(suspension)}",
                help=_help(effect),
                suspension=suspension,
                frame=frame,
                rows=view.header_rows(statement),
                subject=(statement, item),
            )
    return None


def _on_a_stack(view: ModuleView, frame: Frame, item: m.Item) -> Effect | None:
    """Judge the stacks that a generator-based manager holds open around its `yield`."""
    for value in view.solver.value(frame, item.manager):
        if isinstance(value, Manager) and not view.unwinding.is_settled(value):
            found = manager_effect(view.unwinding, value.frame, value.function.function.body)
            if found is not None:
                return found
    return None


def _judge_decorator(
    view: ModuleView, function: m.Function, decorator: m.Expression, frame: Frame
) -> Finding | None:
    where = frame.closure or view.solver.module_frame(view.module)
    managers = [v for v in view.solver.value(where, decorator) if isinstance(v, (Manager, Instance))]
    if not managers:
        return None
    suspension = view.suspension(frame, function.body)
    if suspension is None:
        return None
    for kind in suspension_kinds():
        effect = view.unwinding.manager_exit(where, decorator, None, kind).effect
        if effect is not None:
            return view.finding(
                _RULE,
                decorator.at,
                f"this decorator would run {what_runs(effect)} while the execution is only suspended"
                f" at {view.at_suspension(suspension)}",
                help="register the release in a `terminal_scope` inside the function",
                suspension=suspension,
                frame=frame,
                rows={function.at.row},
                subject=decorator,
            )
    return None


def _unseen(effect: Effect) -> str:
    return ", which cannot be seen," if effect.unseen else ""


def _help(effect: Effect) -> str:
    if effect.unseen:
        return "register the release in a `terminal_scope`, or name it in `process-local` if it belongs to this process"
    return "register the release in a `terminal_scope`"
