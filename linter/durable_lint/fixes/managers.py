"""Rewrites managers whose release is known: a project's own generator where it is defined, and `closing`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.fixes import handlers, imports, names, scope
from durable_lint.fixes.place import Place, printable
from durable_lint.fixes.tree import Change, Refused, SourceTree
from durable_lint.project.unwinding import About
from durable_lint.project.values import External, FunctionValue, Instance, Manager
from durable_lint.rules.finding import Applicability, Fix
from durable_lint.rules.view import blocks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from durable_lint.project.frames import Frame
    from durable_lint.project.values import Value
    from durable_lint.rules.view import ModuleView


def rewrite_item(
    place: Place,
    item: m.Item,
    frame: Frame,
    place_of: Callable[[m.Try | m.With, m.ModuleFacts], Place],
    is_first_party: Callable[[str], bool],
) -> Fix:
    """Return the fix for one `with` item. Raises `Refused`."""
    values = place.view.solver.value(frame, item.manager)
    if values and all(isinstance(value, Manager) for value in values):
        return mend(place.view, sorted(values, key=_where), place_of, place, is_first_party)
    if any(isinstance(value, External) and value.name == "contextlib.closing" for value in values):
        return _rewrite_closing(place, item, frame, is_first_party)
    raise Refused(why_not(values, item.manager, place))


def why_not(values: frozenset[Value], manager: m.Expression, place: Place) -> str:
    """Return why a manager's release cannot be written as a registration, and what to do instead."""
    for value in sorted(values, key=_where):
        if isinstance(value, Instance):
            name = value.of.definition.name
            return f"the release is in `{name}.__exit__`: register it where the resource is taken"
        if isinstance(value, External) and value.name == "contextlib.aclosing":
            return "its release has to be awaited"
    shown = " ".join(place.source_of(manager).split())
    shown = shown if len(shown) <= 40 else shown[:37] + "..."
    return f"what leaving `{shown}` releases cannot be seen: register it by hand"


def _where(value: object) -> str:
    function = getattr(value, "function", None)
    return f"{type(value).__name__} {getattr(getattr(function, 'function', None), 'at', '')}"


# ---------------------------------------------------------------- a project's generator


def mend(
    view: ModuleView,
    managers: list[Value],
    place_of: Callable[[m.Try | m.With, m.ModuleFacts], Place],
    user: Place | None,
    is_first_party: Callable[[str], bool],
) -> Fix:
    """Return the fix that puts scopes around the `yield` of generator-based managers. Raises `Refused`."""
    fixes: list[Fix] = []
    done: set[m.Function] = set()
    for value in managers:
        if isinstance(value, Manager) and value.function.function not in done:
            done.add(value.function.function)
            fixes.append(_mend(view, value, place_of, is_first_party, set()))
    edits = tuple(dict.fromkeys(edit for fix in fixes for edit in fix.edits))
    unsafe = any(fix.applicability is Applicability.UNSAFE for fix in fixes)
    if user is not None:
        unsafe = unsafe or user.is_narrowly_guarded or user.is_abandonable
    listed = ", ".join(f"`{function.name}`" for function in sorted(done, key=lambda f: f.at))
    return Fix(
        Applicability.UNSAFE if unsafe else Applicability.SAFE,
        f"put a `terminal_scope` around the `yield` of {listed}",
        tuple(sorted(edits, key=lambda edit: (str(edit.path or ""), edit.start, edit.end))),
    )


def _mend(
    view: ModuleView,
    value: Manager,
    place_of: Callable[[m.Try | m.With, m.ModuleFacts], Place],
    is_first_party: Callable[[str], bool],
    seen: set[m.Function],
) -> Fix:
    function, module = value.function.function, value.function.module
    if function in seen:
        raise Refused(f"`{function.name}` enters itself")
    seen.add(function)
    if function.is_async:
        raise Refused(f"`{function.name}` is a coroutine, and cancelling its task would clean up")
    frames = view.unwinding.frames_like(value.function)
    found: list[m.Try] = []
    entered: list[tuple[m.With, m.Item]] = []
    for statement in around_yield(function.body):
        if isinstance(statement, m.Try):
            blocks = [statement.finalbody, *(handler.body for handler in statement.handlers)]
            if any(view.unwinding.block(f, block, About("")).effect for f in frames for block in blocks):
                found.append(statement)
        else:
            for item in statement.items:
                if any(view.unwinding.item_exit(f, item, "sdk.SuspendExecution").effect for f in frames):
                    entered.append((statement, item))
    if len(found) + len(entered) > 1:
        raise Refused(f"`{function.name}` releases in more than one place: mend it by hand")
    if entered:
        statement_with, item = entered[0]
        place = place_of(statement_with, module)
        values = view.solver.value(frames[0], item.manager)
        if values and all(isinstance(v, Manager) for v in values):
            inner = [v for v in values if isinstance(v, Manager)]
            return _mend(view, inner[0], place_of, is_first_party, seen)
        if any(isinstance(v, External) and v.name == "contextlib.closing" for v in values):
            return _rewrite_closing(place, item, frames[0], is_first_party, in_manager=True)
        raise Refused(why_not(values, item.manager, place))
    if not found:
        raise Refused(f"where `{function.name}` releases cannot be seen")
    place = place_of(found[0], module)
    if not any(parameter for parameter in function.parameters) and not place.around[1:]:
        raise Refused(f"`{function.name}` has no durable context: give it one as a parameter")
    try:
        if found[0].finalbody:
            return scope.rewrite_finally(place, is_first_party, in_manager=True)
        return handlers.undo(place, found[0].handlers[0], frames[0], is_first_party, in_manager=True)
    except Refused as refused:
        if str(refused).startswith("no durable context"):
            raise Refused(f"`{function.name}` has no durable context: give it one as a parameter") from None
        raise


def around_yield(block: tuple[m.Statement, ...]) -> Iterator[m.Try | m.With]:
    """Yield the `try` and `with` statements of a block that have a `yield` in their body, outermost first."""
    for statement in block:
        if isinstance(statement, (m.Try, m.With)) and _has_yield(statement.body):
            yield statement
        for inside in blocks_of(statement):
            yield from around_yield(inside)


def _has_yield(block: tuple[m.Statement, ...]) -> bool:
    from durable_lint.project.flags import expressions_of
    from durable_lint.project.suspension import operands

    for statement in block:
        waiting = list(expressions_of(statement))
        while waiting:
            expression = waiting.pop()
            if isinstance(expression, m.Yield):
                return True
            waiting.extend(operands(expression))
        if any(_has_yield(inside) for inside in blocks_of(statement)):
            return True
    return False


# ---------------------------------------------------------------- closing


def _rewrite_closing(
    place: Place,
    item: m.Item,
    frame: Frame,
    is_first_party: Callable[[str], bool],
    *,
    in_manager: bool = False,
) -> Fix:
    """Rewrite `with closing(thing) as name`: the thing is made inside the scope, and its `close` registered."""
    tree, node, facts = place.tree, place.node, place.facts
    if place.isolated:
        raise Refused("a `with` is only rewritten in place")
    if not isinstance(node, ast.With) or not isinstance(facts, m.With):
        raise Refused("its release has to be awaited")
    index = facts.items.index(item)
    entry = node.items[index]
    call = entry.context_expr
    if isinstance(call, ast.Name):
        raise Refused(f"`{call.id}` is made elsewhere: write `closing(...)` where it is entered")
    if (
        not isinstance(call, ast.Call)
        or len(call.args) != 1
        or call.keywords
        or isinstance(call.args[0], ast.Starred)
    ):
        raise Refused("what it closes cannot be seen")
    if not isinstance(item.manager, m.Call):
        raise Refused("what it closes cannot be seen")
    scope.check_suspendable(place, in_manager=in_manager)
    check_close(place, item.manager.arguments[0], frame)
    spot = place.context([facts.body])
    thing = call.args[0]
    terminal = place.terminal_name
    change = Change(tree)
    opening = scope.scope_header(change, place, spot, terminal, is_first_party)
    deeper = tree.indent(node.lineno) + place.unit
    lines, name = _bind(place, thing, entry.optional_vars, deeper, terminal)
    label = printable(f"close_{name}", "close")
    closed = f'{terminal}.cleanup(lambda _: {name}.close(), name="{label}")'
    lines.append(deeper + tree.fitted(closed, deeper, place.unit))
    _replace_item(change, place, node, index, opening, lines)
    if isinstance(call.func, ast.Name):
        imports.drop_unused(change, {call.func.id: 1})
    elif isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
        imports.drop_unused(change, {call.func.value.id: 1})
    unsafe = place.is_narrowly_guarded or place.is_abandonable
    path = tree.source.path
    return Fix(
        Applicability.UNSAFE if unsafe else Applicability.SAFE,
        "register the `close` in a `terminal_scope`",
        change.edits(None if path == place.view.module.path else path),
    )


def _replace_item(
    change: Change, place: Place, node: ast.With, index: int, opening: str, lines: list[str]
) -> None:
    """Open the scope in place of an item; `lines` follow, and the items after it are entered behind them."""
    tree, unit, newline = change.tree, place.unit, change.tree.source.newline
    outer = tree.indent(node.lineno)
    entry, later, first = node.items[index], node.items[index + 1 :], node.body[0]
    colon = header_colon(place, _item_end(tree, node.items[-1]), first)
    last = tree.row_of(colon)
    text = "".join(line + newline for line in lines)
    if last == first.lineno:
        if later or last != node.lineno:
            raise Refused("its body stands on the line of `with`")
        change.replace(tree.start(entry.context_expr), _item_end(tree, entry), opening)
        change.replace(colon, tree.start(first), f"{newline}{text}{outer}{unit}")
        return
    if last == node.lineno:
        listed = tree.text[tree.start(later[0].context_expr) : _item_end(tree, later[-1])] if later else ""
        end = _item_end(tree, later[-1] if later else entry)
        change.replace(tree.start(entry.context_expr), end, opening)
        change.insert(tree.row_end(last), text + (f"{outer}{unit}with {listed}:{newline}" if later else ""))
    else:
        earlier = [_item_text(tree, item, outer + unit) for item in node.items[:index]]
        header = _with_line(tree, [*earlier, opening], outer, unit)
        inner = [_item_text(tree, item, outer + unit * 2) for item in later]
        nested = _with_line(tree, inner, outer + unit, unit) if later else ""
        spans = [(tree.start(item.context_expr), _item_end(tree, item)) for item in node.items]
        said = [
            f"{outer}{unit}{comment.text}{newline}"
            for comment in tree.comments_in(tree.start(node), tree.row_end(last))
            if not any(start <= comment.start < end for start, end in spans)
        ]
        change.replace(
            tree.row_start(node.lineno), tree.row_end(last), header + "".join(said) + text + nested
        )
    if later:
        change.indent(last + 1, node.end_lineno or node.lineno, unit)


def _item_end(tree: SourceTree, item: ast.withitem) -> int:
    return tree.end(item.optional_vars or item.context_expr)


def _item_text(tree: SourceTree, item: ast.withitem, indent: str) -> str:
    start = tree.start(item.context_expr)
    return tree.moved(start, _item_end(tree, item), tree.indent(item.context_expr.lineno), indent)


def _with_line(tree: SourceTree, items: list[str], indent: str, unit: str) -> str:
    """Return the header of a `with`, its items on lines of their own where they are too long for one."""
    newline = tree.source.newline
    line = f"{indent}with {', '.join(items)}:"
    if "\n" not in line and "\r" not in line and len(line) <= tree.longest_line:
        return line + newline
    listed = "".join(f"{indent}{unit}{item},{newline}" for item in items)
    return f"{indent}with ({newline}{listed}{indent}):{newline}"


def _bind(
    place: Place, thing: ast.expr, target: ast.expr | None, indent: str, terminal: str
) -> tuple[list[str], str]:
    """Return the lines that bind what is closed, and the name by which it will be closed."""
    tree = place.tree
    text = tree.moved(tree.start(thing), tree.end(thing), tree.indent(thing.lineno), indent)
    rebound = names.bound(*place.node.body) | place.rebound
    if isinstance(thing, ast.Name) and place.is_bound_before(thing.id):
        if target is None or (isinstance(target, ast.Name) and target.id == thing.id):
            return [], thing.id
        return [f"{indent}{tree.slice(target)} = {text}"], thing.id
    if isinstance(target, ast.Name) and target.id not in rebound:
        return [f"{indent}{target.id} = {text}"], target.id
    wanted = printable(made_by(thing), "resource").replace("-", "_")
    name = names.fresh(wanted if wanted.isidentifier() else "resource", place.taken | {terminal})
    lines = [f"{indent}{name} = {text}"]
    if target is not None:
        lines.append(f"{indent}{tree.slice(target)} = {name}")
    return lines, name


def made_by(thing: ast.expr) -> str:
    if isinstance(thing, ast.Call):
        return made_by(thing.func)
    if isinstance(thing, ast.Attribute):
        return thing.attr
    return thing.id if isinstance(thing, ast.Name) else ""


def check_close(place: Place, closed: m.Expression, frame: Frame) -> None:
    """Refuse when closing makes durable calls, which would need a context of the action's own."""
    solver = place.view.solver
    for member in solver.attribute(solver.value(frame, closed), "close"):
        if isinstance(member, FunctionValue):
            for target in place.view.unwinding.frames_like(member):
                if place.view.suspensions.frame(target):
                    raise Refused("its `close` makes durable calls")


def header_colon(place: Place, after: int, first: ast.stmt) -> int:
    """Return the offset after the colon of a `with`, looking from the end of its last item on."""
    tree = place.tree
    at, limit = after, tree.start(first)
    while at < limit:
        comment = next((c for c in tree.comments_in(at, limit) if c.start == at), None)
        if comment is not None:
            at = comment.end
        elif tree.text[at] == ":":
            return at + 1
        else:
            at += 1
    raise Refused("its header cannot be read")
