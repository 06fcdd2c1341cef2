"""Writes the isolated form of a scope (`fix-form = "callable"`): the block becomes a function.

Only where that means the same: what the block binds and later code reads comes back as the scope's result, once.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.fixes import imports, names
from durable_lint.fixes.place import expressions_in
from durable_lint.fixes.tree import FunctionNode, Refused, own_nodes, walk
from durable_lint.project.suspension import ends, steps
from durable_lint.sdk import aws

if TYPE_CHECKING:
    from collections.abc import Callable

    from durable_lint.fixes.cleanup import Cleanup, Parts
    from durable_lint.fixes.place import Place
    from durable_lint.fixes.scope import Header
    from durable_lint.fixes.tree import Change

_ABOUT_THE_FRAME = frozenset({"super", "locals", "vars", "eval", "exec"})


def compose(
    change: Change,
    place: Place,
    cleanup: Cleanup,
    parts: Parts,
    header: Header,
    clause: Callable[[str], str],
    is_first_party: Callable[[str], bool],
    *,
    keeps_handlers: bool,
) -> None:
    """Make a function of a `try` and run it as a scope.

    `clause` gives the text of the clause that stays, indented. Raises `Refused` where a name or an exit would
    mean something else.
    """
    tree, node, unit = place.tree, place.node, place.unit
    assert isinstance(node, (ast.Try, ast.TryStar))
    if parts.trailing:
        raise Refused("process-local statements stand after the cleanup, so only the in-place form will do")
    if not tree.starts_line(node.body[0]):
        raise Refused("the block stands on the line of `try`, so only the in-place form will do")
    _check(place)
    blocks: list[ast.AST] = [*node.body]
    if keeps_handlers:
        blocks += [*node.handlers, *node.orelse]
    kept = [*blocks, *(piece.node for piece in parts.leading)]
    actions = [piece.node for group in parts.actions for piece in group]
    result = _result(place, kept, actions, plain=not (keeps_handlers or parts.leading))
    newline = tree.source.newline
    outer = tree.indent(node.lineno)
    deeper = outer + unit
    context = names.fresh("scope_context", place.taken)
    body = names.fresh("body", place.taken | names.bound(*tree.tree.body))
    head = f"def {body}({context}{_annotations(change, place, cleanup, is_first_party)}"
    head = head.replace("TERMINAL", cleanup.terminal) + f"{_returns(place, result)}:"
    if len(outer) + len(head) > tree.longest_line:
        start, _, rest = head.partition("(")
        listed, _, end = rest.rpartition(")")
        head = f"{start}({newline}{deeper}{listed}{newline}{outer}){end}"
    for use in cleanup.context_uses(blocks):
        change.replace(tree.start(use), tree.end(use), context)
    row = node.lineno
    if row > 1 and tree.source.lines[row - 2].strip() and tree.indent(row - 1) == outer:
        change.insert(tree.row_start(row), newline)
    registrations = cleanup.registrations(parts.actions, deeper, unit)
    comments = "" if parts.leading else "".join(deeper + text + newline for text in header.comments)
    colon = tree.colon(tree.start(node))
    if keeps_handlers or parts.leading:
        change.insert(tree.row_start(row), f"{outer}{head}{newline}{comments}{registrations}")
        change.indent(row, header.row - 1, unit)
    else:
        change.replace(tree.start(node), colon, head)
        change.insert(tree.row_end(tree.row_of(colon)), comments + registrations)
    end = clause(deeper) if parts.leading else ""
    if result.names:
        end += f"{deeper}return {', '.join(result.names)}{newline}"
    prefix = "return " if result.returns else ""
    if result.names:
        prefix = f"{', '.join(result.names)} = "
    local = imports.imported_as(tree, aws.RUNTIME, "terminal_scope", place.around[-1]) or "terminal_scope"
    call = f'{outer}{prefix}{local}({cleanup.spot.text}, {body}, name="{place.scope_name}")'
    change.replace(tree.row_start(header.row), tree.row_end(header.end_row), f"{end}{newline}{call}{newline}")


class _Result:
    """How a body ends: `returns` tells that it returns on every path, `names` are what later code reads of it."""

    def __init__(self, names_: list[str], *, returns: bool) -> None:
        self.names = names_
        self.returns = returns


def _check(place: Place) -> None:
    """Refuse what means something else in a function of its own."""
    only = "so only the in-place form will do"
    if isinstance(place.function, ast.AsyncFunctionDef):
        raise Refused(f"the function is a coroutine, {only}")
    for node in own_nodes(*place.function.body):
        if isinstance(node, (ast.Global, ast.Nonlocal)) and place.bound & set(node.names):
            name = min(place.bound & set(node.names))
            raise Refused(f"the block rebinds `{name}`, which is not its own, {only}")
    for node in own_nodes(place.node):
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            raise Refused(f"the block has a `yield`, {only}")
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in _ABOUT_THE_FRAME
        ):
            raise Refused(f"the block calls `{node.func.id}()`, {only}")
        if isinstance(node, (ast.Break, ast.Continue)) and not _in_own_loop(place, node):
            word = "break" if isinstance(node, ast.Break) else "continue"
            raise Refused(f"the block has a `{word}` (line {node.lineno}), {only}")
    for inner in walk(place.node):
        if isinstance(inner, ast.Nonlocal):
            raise Refused(f"a function in the block rebinds `{inner.names[0]}`, {only}")
    _check_contexts(place)


def _in_own_loop(place: Place, node: ast.AST) -> bool:
    for around in place.tree.ancestors(node):
        if around is place.node:
            return False
        if isinstance(around, (ast.For, ast.While)):
            return True
    return False


def _check_contexts(place: Place) -> None:
    """Refuse when a durable call of the block is not on the context that the function will replace."""
    facts = place.facts
    assert isinstance(facts, m.Try)
    spot = place.context([facts.body, *(h.body for h in facts.handlers), facts.orelse])
    bound = names.bound(*place.node.body)
    suspensions = place.view.suspensions
    for block in (facts.body, *(h.body for h in facts.handlers), facts.orelse):
        for frame in place.frames:
            for step in steps(frame, block):
                if not (step.record.durable or suspensions.record(step.record)):
                    continue
                fact: object = step.fact.manager if isinstance(step.fact, m.Item) else step.fact
                texts = set()
                if isinstance(fact, m.Call):
                    listed = [fact.function, *fact.arguments, *(k.value for k in fact.keywords)]
                    texts = {"".join(place.source_of(e).split()) for x in listed for e in _parts(x)}
                    roots = {e.id for e in _parts(fact.function) if isinstance(e, m.Name)}
                    if spot.text in texts or (not step.record.contexts and roots & bound):
                        continue
                raise Refused(
                    "the block reaches a durable context by itself, so only the in-place form will do"
                )


def _parts(expression: m.Expression) -> list[m.Expression]:
    at = expression.at
    return list(expressions_in((m.ExpressionStatement(at, expression),)))


def _result(place: Place, kept: list[ast.AST], actions: list[ast.stmt], *, plain: bool) -> _Result:
    only = "so only the in-place form will do"
    function = place.function
    inside = {n for part in kept for n in walk(part)}
    returns = any(isinstance(n, ast.Return) for part in kept for n in own_nodes(part))
    if returns and not ends(place.facts):
        raise Refused(f"the block returns on some paths, and goes on after it on others, {only}")
    bound = set().union(*(names.bound(part) for part in kept))
    outside = [n for n in names.reads(function) if n not in inside and n not in set(walk(place.node))]
    later: list[str] = []
    before = names.parameters(function) | _bound_outside(place)
    in_loop = any(isinstance(a, (ast.For, ast.While)) for a in _loops_around(place))
    for name in sorted(bound):
        if name in before and not names.assigned_first(list(place.node.body), name):
            raise Refused(f"the block changes `{name}` from its old value, {only}")
        if name in before and name in names.read_names(*actions):
            raise Refused(f"the cleanup may see `{name}` as it was before the block, {only}")
        if any(n.id == name and (in_loop or n.lineno > place.node.lineno) for n in outside):
            later.append(name)
    if later and (
        returns or not plain or not all(names.assigns(list(place.node.body), name) for name in later)
    ):
        raise Refused(f"`{later[0]}` is read after the block, and not always bound by it, {only}")
    if later and _is_strict(function):
        raise Refused(f"the type of `{later[0]}`, which is read after the block, is not written down, {only}")
    return _Result(later, returns=returns)


def _bound_outside(place: Place) -> set[str]:
    found: set[str] = set()
    inside = set(walk(place.node))
    for node in own_nodes(*place.function.body):
        if node not in inside:
            found.update(names.bound_by(node))
    return found


def _loops_around(place: Place) -> list[ast.AST]:
    found: list[ast.AST] = []
    for around in place.tree.ancestors(place.node):
        if isinstance(around, FunctionNode):
            break
        found.append(around)
    return found


def _is_strict(function: FunctionNode) -> bool:
    return function.returns is not None


def _annotations(
    change: Change, place: Place, cleanup: Cleanup, is_first_party: Callable[[str], bool]
) -> str:
    """Return the rest of the parameters, annotated where the function is, imports added."""
    around = place.around[-1]
    if not place.is_annotated:
        imports.need(change, aws.RUNTIME, "terminal_scope", around, is_first_party)
        return ", TERMINAL)"
    imports.need_all(
        change, aws.RUNTIME, ("DurableTerminalActions", "terminal_scope"), around, is_first_party
    )
    context_type = cleanup.context_type
    if context_type is None:
        cleanup.needs_context_type = True
        context_type = "DurableContext"
    return f": {context_type}, TERMINAL: DurableTerminalActions)"


def _returns(place: Place, result: _Result) -> str:
    if not place.is_annotated or result.names:
        return ""
    if not result.returns:
        return " -> None"
    returns = place.function.returns
    return "" if returns is None else f" -> {place.tree.slice(returns)}"
