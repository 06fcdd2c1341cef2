"""Mends code that uses scopes already: the operation's own context, and names that a loop rebinds.

It changes what runs, so all of it is unsafe.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.fixes import imports, names
from durable_lint.fixes.cleanup import called_name
from durable_lint.fixes.place import contexts_in, expressions_in, only_given
from durable_lint.fixes.tree import (
    CALLABLES,
    Change,
    FunctionNode,
    Refused,
    SourceTree,
    children,
    own_nodes,
    walk,
)
from durable_lint.project.values import Context, Operation, Partial
from durable_lint.rules.finding import Applicability, Fix
from durable_lint.rules.scopes import makes_durable_call
from durable_lint.sdk import aws

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from durable_lint.project.frames import Frame, Record
    from durable_lint.rules.view import ModuleView


def use_own_context(
    view: ModuleView, tree: SourceTree, call: m.Call, operation: m.Function, frame: Frame
) -> Fix:
    """Return the fix that makes a durable call on the operation's own parameter. Raises `Refused`."""
    parameters = [
        p.name for p in operation.parameters if p.kind == "positional" and p.name not in {"self", "cls"}
    ]
    if not parameters:
        raise Refused("the operation has no parameter for its own context: give it one")
    own = parameters[0]
    node = tree.find(call.at, ast.Call)
    around = next((a for a in tree.ancestors(node) if isinstance(a, CALLABLES)), None)
    if around is None or own in _bound_between(tree, node, operation):
        raise Refused(f"`{own}` means something else where the call stands")
    receiver = [call.function.value] if isinstance(call.function, m.Attribute) else []
    change = Change(tree)
    for fact in (*receiver, *call.arguments, *(keyword.value for keyword in call.keywords)):
        if isinstance(fact, (m.Name, m.Attribute)):
            values = view.solver.value(frame, fact)
            if any(isinstance(value, Context) and value.owner is not operation for value in values):
                found = tree.find(fact.at, (ast.Name, ast.Attribute))
                change.replace(tree.start(found), tree.end(found), own)
    if not change.parts:
        raise Refused(
            "how the call reaches the outer context cannot be seen: hand it the operation's own one"
        )
    return Fix(Applicability.UNSAFE, f"use `{own}`", change.edits(None))


def _bound_between(tree: SourceTree, node: ast.AST, operation: m.Function) -> set[str]:
    """Return the names that functions between a call and its operation bind."""
    found: set[str] = set()
    for around in tree.ancestors(node):
        if isinstance(around, CALLABLES):
            if (around.lineno, around.col_offset) == (operation.at.row, operation.at.column):
                return found
            found |= names.parameters(around)
    return found


def bind_as_default(
    tree: SourceTree, registration: m.Call, action: m.Function, rebound: Sequence[str]
) -> Fix:
    """Return the fix that keeps the values which names have where an action is registered. Raises `Refused`."""
    node = next(
        (
            n
            for n in tree.nodes
            if isinstance(n, CALLABLES) and (n.lineno, n.col_offset) == (action.at.row, action.at.column)
        ),
        None,
    )
    if node is None:
        raise Refused("its place in the file cannot be found")
    arguments = node.args
    listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    if arguments.kwarg is not None or arguments.vararg is not None or not listed:
        raise Refused("its parameters leave no room for a default")
    for loop in tree.ancestors(node):
        if isinstance(loop, CALLABLES):
            break
        if isinstance(loop, (ast.For, ast.While)):
            for inner in walk(loop):
                if (
                    set(names.bound_by(inner)) & set(rebound)
                    and getattr(inner, "lineno", 0) > registration.at.row
                ):
                    raise Refused("the loop binds it behind the registration: register it there")
    ends: list[ast.arg | ast.expr] = [*listed]
    ends += [d for d in (*arguments.defaults, *arguments.kw_defaults) if d is not None]
    last = max(ends, key=tree.end_of)
    change = Change(tree)
    change.insert(tree.end_of(last), "".join(f", {name}={name}" for name in rebound))
    return Fix(Applicability.UNSAFE, "bind it as a default", change.edits(None))


# ---------------------------------------------------------------- an action that makes durable calls


def use_context_form(
    view: ModuleView,
    tree: SourceTree,
    registration: m.Call,
    frame: Frame,
    is_first_party: Callable[[str], bool],
) -> Fix:
    """Return the fix that runs an action with a context of its own instead of as a step. Raises `Refused`."""
    call = tree.find(registration.at, ast.Call)
    method = call.func
    if not isinstance(method, ast.Attribute) or method.attr not in {"cleanup", "compensate"}:
        raise Refused("`acquire` has no context form: register its release by `cleanup_in_context`")
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    config = given.get("config")
    if config is not None and not (isinstance(config, ast.Constant) and config.value is None):
        raise Refused("a step's configuration has no place in the context form")
    action = _action(tree, call.args[0] if call.args else given.get("func"))
    record = frame.records.get(registration)
    frames = [] if record is None else list(record.actions)
    form = _ContextForm(view, tree, action, frames, Change(tree))
    form.write(is_first_party)
    end = tree.end(method)
    form.change.insert(end, "_in_context")
    return Fix(Applicability.UNSAFE, f"register it by `{method.attr}_in_context`", form.change.edits(None))


def _action(tree: SourceTree, given: ast.expr | None) -> ast.Lambda | ast.FunctionDef:
    """Return the function that is registered, if it stands beside its registration and serves nothing else."""
    if isinstance(given, ast.Lambda):
        return given
    if isinstance(given, ast.Name):
        function = tree.function(given)
        for node in own_nodes(*function.body):
            if isinstance(node, ast.FunctionDef) and node.name == given.id:
                reads = [name for name in names.reads(function) if name.id == given.id]
                bindings = [n for n in own_nodes(*function.body) if given.id in set(names.bound_by(n))]
                if len(reads) == 1 and len(bindings) == 1:
                    return node
                raise Refused(f"`{given.id}` is used elsewhere too")
    raise Refused("the action is written elsewhere: let it use the context that the context form gives it")


class _ContextForm:
    """Rewrites an action: its durable calls go to its own parameter, its plain ones become steps."""

    def __init__(
        self,
        view: ModuleView,
        tree: SourceTree,
        action: ast.Lambda | ast.FunctionDef,
        frames: list[Frame],
        change: Change,
    ) -> None:
        self.view = view
        self.tree = tree
        self.action = action
        self.frames = frames
        self.change = change
        self.body: list[ast.AST] = [action.body] if isinstance(action, ast.Lambda) else list(action.body)

    def write(self, is_first_party: Callable[[str], bool]) -> None:
        """Collect the changes. Raises `Refused`."""
        change, tree = self.change, self.tree
        arguments = self.action.args
        if len(arguments.args) != 1 or len(names.parameters(self.action)) != 1:
            raise Refused("the action has other parameters than its context")
        parameter = arguments.args[0]
        own = names.fresh("action_context", names.mentioned(self.action))
        for use in self._uses({parameter.arg}):
            around = tree.parent(use)
            if not isinstance(around, ast.Attribute) or around.attr != "logger":
                raise Refused(f"the action uses `{parameter.arg}` for more than logging")
            change.replace(tree.start(use), tree.end(use), own)
        for use in self._uses(self._contexts()):
            change.replace(tree.start(use), tree.end(use), own)
        for plain in self._plain():
            unused = "_" if "_" not in names.mentioned(plain) else "step_context"
            start, end = tree.start(plain), tree.end(plain)
            change.insert(start, f"{own}.step(lambda {unused}: ")
            change.insert(end, f', name="{called_name(plain) or "cleanup"}")')
        start = tree.offset(parameter.lineno, parameter.col_offset)
        change.replace(start, start + len(parameter.arg), own)
        if parameter.annotation is not None:
            around_all = next(
                a
                for a in (*reversed(list(tree.ancestors(self.action))), self.action)
                if isinstance(a, FunctionNode)
            )
            type_ = imports.need(change, aws.PACKAGE, "DurableContext", around_all, is_first_party)
            change.replace(tree.start(parameter.annotation), tree.end(parameter.annotation), type_)
            if isinstance(parameter.annotation, ast.Name):
                imports.drop_unused(change, {parameter.annotation.id: 1})

    def _contexts(self) -> set[str]:
        """Return how the action names the contexts that it reaches. Raises `Refused` when it does so otherwise."""
        found: set[str] = set()
        for frame in self.frames:
            for step in self.view.suspensions.body(frame):
                record = step.record
                if not self._is_durable(record):
                    continue
                named = {self._text(e) for e in contexts_in(self.view, frame, step.fact)}
                if not named or not all(only_given(self.view, target) for target in record.targets):
                    raise Refused("the action reaches a durable context other than by its name")
                found |= named
        if not found:
            raise Refused("how the action reaches a durable context cannot be seen")
        return found

    def _is_durable(self, record: Record) -> bool:
        """Whether an expression makes durable calls. (In a step, where the action still is, none suspends.)"""
        return bool(record.durable) or any(makes_durable_call(self.view, t) for t in record.targets)

    def _text(self, expression: m.Expression) -> str:
        at, tree = expression.at, self.tree
        return "".join(
            tree.text[tree.offset(at.row, at.column) : tree.offset(at.end_row, at.end_column)].split()
        )

    def _uses(self, texts: set[str]) -> Iterator[ast.expr]:
        """Yield where expressions stand in the action, but for functions inside that mean something else by them."""
        roots = {text.partition(".")[0] for text in texts}
        waiting = list(self.body)
        while waiting:
            node = waiting.pop()
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                if "".join(self.tree.slice(node).split()) in texts:
                    yield node
                    continue
            if isinstance(node, CALLABLES) and roots & names.parameters(node):
                continue
            waiting.extend(children(node))

    def _plain(self) -> Iterator[ast.Call]:
        """Yield the calls with an effect that are no durable ones: a replay of the action would make them again."""
        wrapped: set[ast.AST] = set()
        for node in own_nodes(*self.body):
            if not isinstance(node, ast.Call) or node in wrapped or not self._acts(node):
                continue
            if not isinstance(self.tree.parent(node), ast.Expr) or node.lineno != node.end_lineno:
                raise Refused(f"a call on line {node.lineno} would be made again by a replay: make it a step")
            wrapped |= set(walk(node))
            yield node

    def _acts(self, node: ast.Call) -> bool:
        at = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        for frame in self.frames:
            assert frame.function is not None
            for fact in expressions_in(frame.function.body):
                if (fact.at.row, fact.at.column, fact.at.end_row, fact.at.end_column) != at:
                    continue
                record = frame.records.get(fact)
                if record is not None and self._is_durable(record):
                    return False
                made = self.view.solver.value(frame, fact)
                if made and all(isinstance(value, (Operation, Partial)) for value in made):
                    return False
                if isinstance(fact, m.Call) and self.view.unwinding.effect(frame, fact) is not None:
                    return True
        return False


# ---------------------------------------------------------------- a registration that comes late


def move_up(tree: SourceTree, registration: m.Call, acquired: str) -> Fix:
    """Return the fix that registers a cleanup right behind what acquires its resource. Raises `Refused`."""
    call = tree.find(registration.at, ast.Call)
    statement = tree.parent(call)
    around = tree.parent(statement) if statement is not None else None
    if not isinstance(statement, ast.Expr) or around is None:
        raise Refused("what the registration returns is used")
    block = next(v for _, v in ast.iter_fields(around) if isinstance(v, list) and statement in v)
    index = block.index(statement)
    first = next(
        (i for i in range(index - 1, -1, -1) if acquired in names.bound(block[i])),
        None,
    )
    if first is None:
        raise Refused("the step that acquires cannot be found")
    between: list[ast.stmt] = block[first + 1 : index]
    moved: list[ast.stmt] = [statement]
    action = call.args[0] if call.args else None
    if (
        isinstance(action, ast.Name)
        and isinstance(between[-1], ast.FunctionDef)
        and between[-1].name == action.id
    ):
        moved.insert(0, between.pop())
    _check_between(tree, between, moved, call)
    if not all(tree.starts_line(s) for s in (block[first], *between, moved[0])):
        raise Refused("other code stands on its line")
    start = tree.row_start(_first_row(tree, moved[0]))
    end = tree.row_end(statement.end_lineno or statement.lineno)
    newline = tree.source.newline
    text = tree.text[start:end]
    text = text if text.endswith(("\n", "\r")) else text + newline
    if len(moved) > 1:
        text = newline + text
    change = Change(tree)
    change.insert(tree.row_end(block[first].end_lineno or block[first].lineno), text)
    change.replace(start, end, "")
    return Fix(Applicability.UNSAFE, f"register it behind what acquires `{acquired}`", change.edits(None))


def _first_row(tree: SourceTree, statement: ast.stmt) -> int:
    """Return the row at which a statement starts, decorators and the comments right above it included."""
    decorators = statement.decorator_list if isinstance(statement, FunctionNode) else []
    row = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
    alone = {comment.row for comment in tree.comments if comment.alone}
    while row - 1 in alone:
        row -= 1
    return row


def _check_between(tree: SourceTree, between: list[ast.stmt], moved: list[ast.stmt], call: ast.Call) -> None:
    """Refuse where the registration would not mean the same before the statements that it passes."""
    mentioned = names.mentioned(*moved) - {s.name for s in moved if isinstance(s, ast.FunctionDef)}
    changed = mentioned & (names.bound(*between) | names.mutated(*between) | set(tree.rebound))
    if changed:
        raise Refused(f"it uses `{min(changed)}`, which is bound or changed in between")
    terminal = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    if names.read_names(terminal) & names.read_names(*between):
        raise Refused("it would pass another registration, and the order would change")
    for node in own_nodes(*between):
        if isinstance(
            node, (ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Assert, ast.Yield, ast.Await)
        ):
            raise Refused(
                f"the code in between can leave the block by itself (line {getattr(node, 'lineno', 0)})"
            )
