"""Rewrites what is registered on an `ExitStack` into registrations on a scope, where each stands."""

from __future__ import annotations

import ast
import keyword
from dataclasses import dataclass
from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.fixes import imports, managers, names, scope
from durable_lint.fixes.cleanup import Cleanup, called_name, step_arguments
from durable_lint.fixes.place import Place, only_given, printable
from durable_lint.fixes.tree import Change, FunctionNode, Refused, own_nodes, walk
from durable_lint.project.stacks import registered_effect
from durable_lint.project.suspension import Step
from durable_lint.project.values import (
    ContextMethod,
    External,
    FunctionValue,
    Manager,
)
from durable_lint.rules.finding import Applicability, Fix

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from durable_lint.fixes.place import Spot
    from durable_lint.project.frames import Frame
    from durable_lint.project.values import Value

_KNOWN = frozenset({"callback", "push", "enter_context"})


@dataclass(frozen=True)
class Registration:
    """One registration on the stack: its statement, its call, and whether it has an effect."""

    statement: ast.Expr | ast.Assign | ast.AnnAssign
    call: ast.Call
    fact: m.Call
    method: str
    effect: bool
    values: frozenset[Value]
    """What is registered: a callable, or a manager."""


@dataclass(frozen=True)
class Decorated:
    """A function that `@stack.callback` registers. What it does is not judged, so it counts as an effect."""

    statement: ast.FunctionDef
    effect = True
    method = "decorator"
    values: frozenset[Value] = frozenset()


@dataclass(frozen=True)
class Opening:
    """How a stack is opened: its name, the call that makes it, and what else of the function is about it.

    `made` is the statement that makes it before the block, with `before`, what is registered between the two;
    None where the block's own header makes it.
    """

    name: str
    call: ast.Call
    made: ast.Assign | ast.AnnAssign | None = None
    before: tuple[ast.stmt, ...] = ()
    closing: ast.Name | None = None
    """Where the block itself mentions the stack: in its header or its `finally`."""


def rewrite(
    place: Place,
    item: m.Item,
    frame: Frame,
    place_of: Callable[[m.Try | m.With, m.ModuleFacts], Place],
    is_first_party: Callable[[str], bool],
) -> Fix:
    """Return the fix for a stack that is entered by `with`. Raises `Refused`."""
    node, facts = place.node, place.facts
    if not isinstance(node, ast.With) or not isinstance(facts, m.With):
        raise Refused("the stack is asynchronous")
    entry = node.items[facts.items.index(item)]
    made = entry.context_expr
    if isinstance(made, ast.Name):
        if len(node.items) > 1 or entry.optional_vars is not None:
            raise Refused("the stack is made elsewhere, and not entered alone")
        opening = _made_before(place, frame, made)
        return _rewrite(place, opening, None, place_of, is_first_party)
    if not isinstance(made, ast.Call) or not _is_plain(place, frame, made, item.manager):
        raise Refused("the stack is not a plain `ExitStack`")
    if not isinstance(entry.optional_vars, ast.Name):
        raise Refused("the stack has no name of its own")
    return _rewrite(place, Opening(entry.optional_vars.id, made), entry, place_of, is_first_party)


def rewrite_finally(
    place: Place,
    frame: Frame,
    place_of: Callable[[m.Try | m.With, m.ModuleFacts], Place],
    is_first_party: Callable[[str], bool],
) -> Fix:
    """Return the fix for a stack that a `finally` closes, and does nothing else. Raises `Refused`."""
    assert isinstance(place.node, (ast.Try, ast.TryStar))
    match place.node.finalbody:
        case [ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name() as stack, attr="close"), args=[]))]:
            return _rewrite(place, _made_before(place, frame, stack), None, place_of, is_first_party)
        case [ast.Expr(value=ast.Await())]:
            raise Refused("the stack is asynchronous")
    raise Refused(
        "the `finally` does more than to close the stack: enter it by `with`, and it can be rewritten"
    )


def _is_plain(place: Place, frame: Frame, call: ast.Call, fact: m.Expression | None) -> bool:
    if fact is None or call.args or call.keywords:
        return False
    values = place.view.solver.value(frame, fact)
    return any(isinstance(v, External) and v.name == "contextlib.ExitStack" for v in values)


def _made_before(place: Place, frame: Frame, stack: ast.Name) -> Opening:
    """Return how a stack is opened that a statement right before the block makes."""
    tree, name = place.tree, stack.id
    around = tree.parent(place.node)
    blocks = [value for _, value in ast.iter_fields(around) if isinstance(value, list)] if around else []
    block = next(block for block in blocks if place.node in block)
    before = block[: block.index(place.node)]
    for index in range(len(before) - 1, -1, -1):
        match before[index]:
            case (
                ast.Assign(targets=[ast.Name(id=target)], value=ast.Call() as call)
                | ast.AnnAssign(target=ast.Name(id=target), value=ast.Call() as call)
            ) as made if target == name:
                if not _is_plain(place, frame, call, place.fact(call)):
                    raise Refused("the stack is not a plain `ExitStack`")
                if any(
                    name in names.bound_by(n)
                    for n in own_nodes(*place.function.body)
                    if n not in set(walk(made))
                ):
                    raise Refused(f"`{name}` is bound more than once")
                return Opening(name, call, made, tuple(before[index + 1 :]), stack)
        if name not in names.read_names(before[index]) or not isinstance(
            before[index], (ast.Expr, ast.Assign)
        ):
            raise Refused("other code stands between the block and what makes the stack")
    raise Refused("the stack is made elsewhere")


def _rewrite(
    place: Place,
    opening: Opening,
    entry: ast.withitem | None,
    place_of: Callable[[m.Try | m.With, m.ModuleFacts], Place],
    is_first_party: Callable[[str], bool],
) -> Fix:
    if place.isolated:
        raise Refused("a stack is only rewritten in place")
    found = _registrations(place, opening)
    entered = [r for r in found if r.method == "enter_context" and r.effect]
    effects = [r for r in found if r.effect]
    mended: list[Value] = [v for r in effects for v in r.values if isinstance(v, Manager)]
    if len(entered) == len(effects) and all(
        r.values and all(isinstance(v, Manager) for v in r.values) for r in effects
    ):
        return managers.mend(place.view, mended, place_of, place, is_first_party)
    if mended:
        raise Refused("it holds managers and callbacks: mend the managers first")
    scope.check_suspendable(place)
    return _replace(place, opening, entry, found, is_first_party)


def _inside(place: Place) -> list[ast.stmt]:
    """Return the statements during which the stack is open, handlers included."""
    node = place.node
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return list(node.body)
    handled = [statement for handler in node.handlers for statement in handler.body]
    return [*node.body, *handled, *node.orelse]


def _registrations(place: Place, opening: Opening) -> list[Registration | Decorated]:
    """Return what is registered, in order. Raises `Refused` when the stack is used otherwise."""
    stack = opening.name
    inside = set(own_nodes(*opening.before, *_inside(place)))
    found: list[Registration | Decorated] = []
    for node in names.reads(place.function):
        if node.id != stack or node is opening.closing:
            continue
        if node not in inside:
            if _in_other_block(place, node):
                continue
            raise Refused(
                f"`{stack}` is used outside the block, or in a function inside it (line {node.lineno})"
            )
        found.append(_registration(place, node))
    if names.bound(*_inside(place)) & {stack}:
        raise Refused(f"`{stack}` is bound again inside the block")
    return sorted(found, key=lambda r: (r.statement.lineno, r.statement.col_offset))


def _registration(place: Place, node: ast.Name) -> Registration | Decorated:
    """Return the registration that a mention of the stack makes."""
    tree, stack = place.tree, node.id
    attribute = tree.parent(node)
    call = tree.parent(attribute) if attribute is not None else None
    if isinstance(attribute, ast.Attribute) and isinstance(call, FunctionNode):
        return _decorated(place, attribute, call)
    statement = tree.parent(call) if call is not None else None
    if (
        not isinstance(attribute, ast.Attribute)
        or not isinstance(call, ast.Call)
        or call.func is not attribute
        or attribute.attr not in _KNOWN
        or not isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign))
    ):
        raise Refused(f"`{stack}` is used in another way than to register (line {node.lineno})")
    if not isinstance(statement, ast.Expr) and attribute.attr != "enter_context":
        raise Refused(f"what `{stack}.{attribute.attr}` returns is kept (line {node.lineno})")
    fact = place.fact(call)
    if (
        not call.args
        or any(isinstance(a, ast.Starred) for a in call.args)
        or any(k.arg is None for k in call.keywords)
        or not isinstance(fact, m.Call)
    ):
        raise Refused(f"what is registered on line {node.lineno} cannot be seen")
    effect = False
    values: frozenset[Value] = frozenset()
    for each in place.frames:
        record = each.records.get(fact)
        values |= place.view.solver.value(each, fact.arguments[0])
        if (
            record is not None
            and registered_effect(place.view.unwinding, each, Step(fact, record)) is not None
        ):
            effect = True
    return Registration(statement, call, fact, attribute.attr, effect, values)


def _decorated(place: Place, decorator: ast.Attribute, function: FunctionNode) -> Decorated:
    """Return the registration of `@stack.callback`."""
    line = function.lineno
    if decorator.attr != "callback" or not isinstance(function, ast.FunctionDef):
        raise Refused(f"what is pushed on line {line} is told of the exception, or can swallow it")
    arguments = function.args
    if len(function.decorator_list) > 1 or names.parameters(function) or arguments.defaults:
        raise Refused(f"the function on line {line} has other decorators, or parameters")
    if any(
        name.id == function.name and name not in set(walk(function)) for name in names.reads(place.function)
    ):
        raise Refused(f"`{function.name}` is called elsewhere too")
    return Decorated(function)


def _in_other_block(place: Place, node: ast.Name) -> bool:
    """Whether a name stands in another `with` beside this one, which binds it for itself."""
    for around in place.tree.ancestors(node):
        if around is place.node or isinstance(around, FunctionNode):
            return False
        if isinstance(around, ast.With) and place.node not in set(walk(around)):
            targets = [item.optional_vars for item in around.items if item.optional_vars is not None]
            if node.id in names.bound(*targets):
                return True
    return False


def _replace(
    place: Place,
    opening: Opening,
    entry: ast.withitem | None,
    found: list[Registration | Decorated],
    is_first_party: Callable[[str], bool],
) -> Fix:
    tree = place.tree
    spot = place.context(_blocks(place))
    terminal = place.terminal_name
    cleanup = scope.new_cleanup(place, spot, "cleanup")
    change = Change(tree)
    header = scope.scope_header(change, place, spot, terminal, is_first_party)
    kept = _kept(place, found)
    stack = f"{tree.slice(opening.call)} as {opening.name}"
    if kept:
        first = next(r for r in found if r not in kept)
        is_outside = tree.start(kept[0].statement) < tree.start(first.statement)
        header = f"{stack}, {header}" if is_outside else f"{header}, {stack}"  # the actions run when they did
    if entry is not None:
        start, end = tree.start(entry.context_expr), tree.end(entry.optional_vars or entry.context_expr)
        if tree.comments_in(start, end):
            raise Refused("comments stand inside its header")
        change.replace(start, end, header)
        deeper = (0, 0)
    else:
        deeper = _open_early(change, place, opening, header)
    for registration in found:
        if registration not in kept:
            _Writer(place, cleanup, spot, change, deeper).write(registration)
    if not kept:
        _drop_names(change, opening, found)
    unsafe = place.is_narrowly_guarded or place.is_abandonable or bool(opening.before)
    scope.add_context_type(change, place, cleanup, is_first_party)
    return Fix(
        Applicability.UNSAFE if unsafe else Applicability.SAFE,
        "register what the stack holds in a `terminal_scope`",
        change.edits(None),
    )


def _blocks(place: Place) -> list[tuple[m.Statement, ...]]:
    facts = place.facts
    if isinstance(facts, m.With):
        return [facts.body]
    return [facts.body, *(handler.body for handler in facts.handlers), facts.orelse]


def _open_early(change: Change, place: Place, opening: Opening, header: str) -> tuple[int, int]:
    """Open the scope where the stack was made, and take away the block's own header and its `finally`.

    Returns by how many levels the statements before the block and inside it are indented.
    """
    tree, node, unit, made = place.tree, place.node, place.unit, opening.made
    assert made is not None
    newline = tree.source.newline
    if not tree.starts_line(node.body[0]) or not tree.starts_line(made):
        raise Refused("other code stands on the line of the block or of what makes the stack")
    comments: list[str] = []
    change.replace(tree.start(made), tree.end(made), f"with {header}:")
    is_try = isinstance(node, (ast.Try, ast.TryStar))
    start = tree.start(node)
    colon = tree.colon(start) if is_try else _colon_after(place, tree.end(node.items[-1].context_expr))  # type: ignore[union-attr]
    last = tree.row_of(colon)
    change.indent((made.end_lineno or made.lineno) + 1, node.lineno - 1, unit)
    outer = tree.indent(node.lineno)
    keeps_handlers = is_try and bool(node.handlers or node.orelse)  # type: ignore[union-attr]
    if keeps_handlers:
        change.indent(node.lineno, _finally_row(place) - 1, unit)
    else:
        comments += [c.text for c in tree.comments_in(start, tree.row_end(last))]
        kept = "".join(f"{outer}{unit}{text}{newline}" for text in comments)
        change.replace(tree.row_start(node.lineno), tree.row_end(last), kept)
    if is_try:
        first, end = tree.row_start(_finally_row(place)), tree.row_end(node.end_lineno or node.lineno)
        said = "".join(f"{outer}{unit}{c.text}{newline}" for c in tree.comments_in(first, end))
        change.replace(first, end, said)
    return 1, int(keeps_handlers)


def _finally_row(place: Place) -> int:
    at = place.facts.finally_at  # type: ignore[union-attr]
    if at is None:
        raise Refused("its `finally` cannot be found")
    return at.row


def _colon_after(place: Place, at: int) -> int:
    return managers.header_colon(place, at, place.node.body[0])


def _drop_names(change: Change, opening: Opening, found: list[Registration | Decorated]) -> None:
    """Take out the imports of what made the stack and what it entered, where nothing else reads them."""
    gone: dict[str, int] = {}
    made = [
        opening.call,
        *(r.call.args[0] for r in found if isinstance(r, Registration) and r.method == "enter_context"),
    ]
    for expression in made:
        root = expression.func if isinstance(expression, ast.Call) else expression
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name):
            gone[root.id] = gone.get(root.id, 0) + 1
    imports.drop_unused(change, gone)


def _kept(place: Place, found: list[Registration | Decorated]) -> list[Registration | Decorated]:
    """Return the process-local registrations that stay on the stack, so that they still run with the invocation."""
    local = [r for r in found if not r.effect]
    effects = [r for r in found if r.effect]
    if not local:
        return []
    start = place.tree.start
    in_order = all(start(r.statement) < start(effects[0].statement) for r in local)
    in_reverse = all(start(r.statement) > start(effects[-1].statement) for r in local)
    if in_order or in_reverse:
        return local
    if any(r.method == "enter_context" for r in local):
        raise Refused("process-local managers and other releases alternate on the stack")
    return []


def _loops(place: Place, node: ast.AST) -> list[ast.AST]:
    """Return the loops inside the block around a node."""
    found: list[ast.AST] = []
    for around in place.tree.ancestors(node):
        if around is place.node:
            return found
        if isinstance(around, (ast.For, ast.While, ast.AsyncFor)):
            found.append(around)
    return []


@dataclass
class _Writer:
    """Writes one registration on the scope in place of the one on the stack. Its state is the parameters it needs."""

    place: Place
    cleanup: Cleanup
    spot: Spot
    change: Change
    deeper: tuple[int, int]
    """By how many levels the statements before the block and inside it are indented."""

    def write(self, registration: Registration | Decorated) -> None:
        tree = self.place.tree
        self.defaults: list[tuple[str, str]] = []
        if isinstance(registration, Decorated):
            self._decorated(registration.statement)
            return
        statement, call = registration.statement, registration.call
        if tree.comments_in(tree.start(statement), tree.end(statement)):
            raise Refused(f"comments stand inside the registration on line {call.lineno}")
        if registration.method == "enter_context":
            self._enter(registration)
            return
        if not isinstance(statement, ast.Expr):
            raise Refused(f"the registration on line {call.lineno} is kept")
        text = self._push(registration) if registration.method == "push" else self._callback(registration)
        text = tree.fitted(text, self._indent(statement), self.place.unit)
        self.change.replace(tree.start(statement), tree.end(statement), text)

    def _indent(self, statement: ast.stmt) -> str:
        """Return the indentation that a statement will have."""
        indent = self.place.tree.indent(statement.lineno)
        before, inside = self.deeper
        return indent + self.place.unit * (before if statement.lineno < self.place.node.lineno else inside)

    def _decorated(self, function: ast.FunctionDef) -> None:
        """Leave the function where it is, and register it behind its body, where its decorator did."""
        tree, change = self.place.tree, self.change
        decorator = function.decorator_list[0]
        row = decorator.lineno
        if self.cleanup.context_uses([function]):
            raise Refused(f"`{function.name}` uses the context: register it by `cleanup_in_context`")
        if tree.comments_in(tree.row_start(row), tree.row_end(row)) or function.lineno != row + 1:
            raise Refused(f"comments stand beside the decorator on line {row}")
        change.replace(tree.row_start(row), tree.row_end(row), "")
        opened = tree.text.index("(", tree.start(function))
        parameter = self.cleanup.unused(function)
        typed = ": object" if function.returns is not None else ""
        change.insert(opened + 1, parameter + typed)
        end = tree.row_end(function.end_lineno or function.lineno)
        newline, indent = tree.source.newline, self._indent(function)
        name = printable(function.name, "cleanup")
        call = f'{self.cleanup.terminal}.cleanup({function.name}, name="{name}")'
        ending = "" if tree.text[:end].endswith(("\n", "\r")) else newline
        change.insert(end, f"{ending}{newline}{indent}{tree.fitted(call, indent, self.place.unit)}{newline}")

    # ------------------------------------------------ callbacks

    def _callback(self, registration: Registration) -> str:
        call = registration.call
        target, given = call.args[0], call.args[1:]
        methods = {v.name for v in registration.values if isinstance(v, ContextMethod)}
        if methods:
            return self._durable_method(registration, methods)
        if self._suspends(registration):
            return self._in_context(registration)
        parameter = self.cleanup.unused(target, *given, *call.keywords)
        called = self._called(target, given, call.keywords)
        return self._registered("cleanup", parameter, called, _name_for(target))

    def _suspends(self, registration: Registration) -> bool:
        view = self.place.view
        for frame in self.place.frames:
            record = frame.records.get(registration.fact)
            if record is not None and any(view.suspensions.frame(t) for t in record.actions):
                return True
        return False

    def _durable_method(self, registration: Registration, methods: set[str]) -> str:
        call = registration.call
        tree = self.place.tree
        target = call.args[0]
        if (
            not isinstance(target, ast.Attribute)
            or "".join(tree.slice(target.value).split()) != self.spot.text
        ):
            raise Refused("it registers a durable call on another context")
        if methods == {"step"}:
            made = ast.Call(target, call.args[1:], call.keywords)
            func, name, config = step_arguments(made)
            texts = [tree.slice(func)]
            given = self.cleanup.given_name(name) if not isinstance(name, (ast.JoinedStr, ast.Name)) else ""
            if name is None or given:
                texts.append(f'name="{given or self.cleanup.step_name(func)}"')
            else:
                texts.append(f"name={tree.slice(name)}")
            if config is not None:
                texts.append(f"config={tree.slice(config)}")
            return f"{self.cleanup.terminal}.cleanup({', '.join(texts)})"
        return self._in_context(registration)

    def _in_context(self, registration: Registration) -> str:
        call = registration.call
        target, given = call.args[0], call.args[1:]
        parameter = names.fresh("action_context", names.mentioned(call))
        replaced = set(self.cleanup.context_uses([call]))
        if not replaced:
            raise Refused("it registers something that makes durable calls and is not given the context")
        for frame in self.place.frames:
            record = frame.records.get(registration.fact)
            for action in () if record is None else record.actions:
                if not self._is_own(action, target):
                    raise Refused("it registers something that reaches a durable context by itself")
        self.replaced = {id(use): parameter for use in replaced}
        called = self._called(target, given, call.keywords)
        return self._registered("cleanup_in_context", parameter, called, _name_for(target))

    def _is_own(self, action: Frame, target: ast.expr) -> bool:
        """Whether what is registered makes durable calls only on the context that it will be given."""
        if not isinstance(target, ast.Lambda):
            return only_given(self.place.view, action)
        suspensions = self.place.view.suspensions
        return all(
            self.cleanup.is_given(step)
            for step in suspensions.body(action)
            if step.record.durable or suspensions.record(step.record)
        )

    replaced: dict[int, str] | None = None

    def _called(self, target: ast.expr, given: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> str:
        if isinstance(target, ast.Lambda) and not given and not keywords and _has_only_defaults(target):
            arguments = target.args
            for argument, default in zip(arguments.args, arguments.defaults, strict=True):
                self.defaults.append((argument.arg, self._one_line(self._replaced_text(default))))
            return self._one_line(self._replaced_text(target.body))
        texts = [self._argument(argument) for argument in given]
        texts += [f"{keyword.arg}={self._argument(keyword.value)}" for keyword in keywords]
        return f"{self._function(target)}({', '.join(texts)})"

    def _replaced_text(self, node: ast.expr) -> str:
        """Return an expression's text with the action's own context in it."""
        tree = self.place.tree
        inside = [n for n in walk(node) if self.replaced and id(n) in self.replaced]
        changes = [
            (tree.start(n), tree.end(n), self.replaced[id(n)])
            for n in inside
            if self.replaced and isinstance(n, ast.expr)
        ]
        return tree.moved(tree.start(node), tree.end(node), "", "", changes)

    def _function(self, target: ast.expr) -> str:
        tree = self.place.tree
        if self.replaced and isinstance(target, ast.Attribute) and id(target.value) in self.replaced:
            return f"{self.replaced[id(target.value)]}.{target.attr}"
        if isinstance(target, ast.Lambda):
            if not all(self._keeps_value(d) for d in (*target.args.defaults, *target.args.kw_defaults) if d):
                raise Refused("it registers a lambda whose defaults may change")
            return f"({self._one_line(self._replaced_text(target))})"
        if isinstance(target, (ast.Name, ast.Attribute)) and self._keeps_value(target):
            return tree.slice(target)
        return self._default(target, "release")

    def _argument(self, argument: ast.expr) -> str:
        if self.replaced and id(argument) in self.replaced:
            return self.replaced[id(argument)]
        text = self._one_line(self.place.tree.slice(argument))
        if self._keeps_value(argument):
            return text
        wanted = argument.id if isinstance(argument, ast.Name) else _word_for(argument)
        return self._default(argument, wanted)

    def _default(self, expression: ast.expr, wanted: str) -> str:
        text = self._one_line(self.place.tree.slice(expression))
        used = {name for name, _ in self.defaults} | {"_"}
        if not isinstance(expression, ast.Name):
            used |= self.place.taken
        name = names.fresh(wanted, used)
        self.defaults.append((name, text))
        return name

    def _one_line(self, text: str) -> str:
        if "\n" in text or "\r" in text:
            raise Refused("a registration with an argument of several lines")
        return text

    def _registered(self, method: str, parameter: str, called: str, name: str) -> str:
        listed = [parameter]
        if self.defaults:
            if self.place.is_annotated and method == "cleanup":
                listed = [f"*{parameter}"]  # mypy infers the types of defaults only behind `*`
            listed += [f"{default}={text}" for default, text in self.defaults]
        return f'{self.cleanup.terminal}.{method}(lambda {", ".join(listed)}: {called}, name="{name}")'

    def _keeps_value(self, expression: ast.expr) -> bool:
        """Whether an expression still gives the same when the scope ends as where it is registered."""
        place = self.place
        match expression:
            case ast.Constant():
                return True
            case ast.Name(id=name):
                return self._is_bound_once(name)
            case ast.Attribute(value=value, attr=attr):
                if not isinstance(expression.ctx, ast.Load) or not self._keeps_value(value):
                    return False
                return attr not in names.stored_attributes(place.node) and (
                    attr not in place.stored or not _is_self(value)
                )
            case ast.Subscript(value=value, slice=index):
                root = value
                while isinstance(root, (ast.Attribute, ast.Subscript)):
                    root = root.value
                is_changed = isinstance(root, ast.Name) and root.id in place.mutated
                return not is_changed and self._keeps_value(value) and self._keeps_value(index)
            case ast.JoinedStr(values=values):
                return all(map(self._keeps_value, values))
            case ast.FormattedValue(value=value, format_spec=None):
                return self._keeps_value(value)
        return False

    def _is_bound_once(self, name: str) -> bool:
        """Whether a name has one binding at most, and none in a loop that the scope is around."""
        place = self.place
        function = place.function
        if name in place.tree.rebound:
            return False
        binding = [n for n in own_nodes(*function.body) if name in set(names.bound_by(n))]
        if name in names.parameters(function):
            return not binding
        if not binding:
            for outer in place.around[1:]:
                bound = [n for n in own_nodes(*outer.body) if name in set(names.bound_by(n))]
                if name in names.parameters(outer) or bound:
                    return len(bound) + (name in names.parameters(outer)) == 1
            return True
        if len(binding) > 1:
            return False
        inside = place.node in set(place.tree.ancestors(binding[0]))
        return not (inside and _loops(place, binding[0]))

    # ------------------------------------------------ push and enter_context

    def _push(self, registration: Registration) -> str:
        call = registration.call
        target = call.args[0]
        if len(call.args) > 1 or call.keywords:
            raise Refused(f"what is pushed on line {call.lineno} cannot be seen")
        functions = [v for v in registration.values if isinstance(v, FunctionValue)]
        if not functions or len(functions) < len(registration.values):
            raise Refused(f"what is pushed on line {call.lineno} is told of the exception")
        if self._suspends(registration):
            raise Refused(f"what is pushed on line {call.lineno} makes durable calls")
        for value in functions:
            if _uses_parameters(value.function) or _may_return(self.place, value.function):
                raise Refused(
                    f"what is pushed on line {call.lineno} is told of the exception, or can swallow it"
                )
        if isinstance(target, ast.Lambda):
            if names.parameters(target) & names.read_names(target.body):
                raise Refused(f"what is pushed on line {call.lineno} is told of the exception")
            parameter = self.cleanup.unused(target.body)
            called = self._one_line(self.place.tree.slice(target.body))
            return self._registered("cleanup", parameter, called, called_name(target.body) or "cleanup")
        called = f"{self._function(target)}(None, None, None)"
        return self._registered("cleanup", "_", called, _name_for(target))

    def _enter(self, registration: Registration) -> None:
        tree = self.place.tree
        statement, call = registration.statement, registration.call
        manager = call.args[0]
        closes = any(isinstance(v, External) and v.name == "contextlib.closing" for v in registration.values)
        if not closes or not isinstance(manager, ast.Call) or len(manager.args) != 1 or manager.keywords:
            fact = registration.fact.arguments[0]
            raise Refused(managers.why_not(registration.values, fact, self.place))
        frame = self.place.frames[0]
        closed = registration.fact.arguments[0]
        assert isinstance(closed, m.Call)
        managers.check_close(self.place, closed.arguments[0], frame)
        if not tree.starts_line(statement):
            raise Refused(f"other code stands on line {call.lineno}")
        thing = manager.args[0]
        newline, indent = tree.source.newline, self._indent(statement)
        text = tree.slice(thing)
        if isinstance(statement, ast.Assign):
            if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
                raise Refused(f"what is entered on line {call.lineno} has no name of its own")
            name = target = statement.targets[0].id
        elif isinstance(statement, ast.AnnAssign):
            if not isinstance(statement.target, ast.Name):
                raise Refused(f"what is entered on line {call.lineno} has no name of its own")
            name = statement.target.id
            target = f"{name}: {tree.slice(statement.annotation)}"
        else:
            wanted = printable(managers.made_by(thing), "resource").replace("-", "_")
            name = target = names.fresh(wanted, self.place.taken | self.cleanup.defined)
            self.cleanup.defined.add(name)
        shown = name
        if not self._is_bound_once(name) or _loops(self.place, statement):
            self.defaults.append((name, name))
        label = printable(f"close_{name}", "close")
        lines = (
            f"{target} = {text}{newline}{indent}{self._registered('cleanup', '_', f'{shown}.close()', label)}"
        )
        self.change.replace(tree.start(statement), tree.end(statement), lines)


def _name_for(target: ast.expr) -> str:
    """Return the name of an action that calls `target`."""
    called = target if isinstance(target, ast.Lambda) else ast.Call(target, [], [])
    return called_name(called) or "cleanup"


def _has_only_defaults(function: ast.Lambda) -> bool:
    arguments = function.args
    others = (*arguments.posonlyargs, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
    return not any(others) and len(arguments.args) == len(arguments.defaults)


def _is_self(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in {"self", "cls"}


def _word_for(expression: ast.expr) -> str:
    """Return a name for what an argument is: `vm["id"]` gives `vm_id`."""
    word = ""
    if isinstance(expression, ast.Attribute):
        word = expression.attr
    elif isinstance(expression, ast.Subscript) and isinstance(expression.slice, ast.Constant):
        word = str(expression.slice.value)
    base = getattr(expression, "value", None)
    name = f"{base.id}_{word}" if isinstance(base, ast.Name) and base.id != "self" else word
    return name if name.isidentifier() and not keyword.iskeyword(name) else "value"


def _uses_parameters(function: m.Function) -> bool:
    from durable_lint.fixes.place import expressions_in

    own = {parameter.name for parameter in function.parameters}
    return any(isinstance(e, m.Name) and e.id in own for e in expressions_in(function.body))


def _may_return(place: Place, function: m.Function) -> bool:
    """Whether a function can return something true, which would swallow an exception."""
    body = function.body
    if function.is_lambda:
        returned = body[0]
        if not isinstance(returned, m.Return) or not isinstance(returned.value, m.Call):
            return True
        found = False
        for frame in place.view.solver.frames_of.get(function, ()):
            record = frame.records.get(returned.value)
            targets = [] if record is None else [t.function for t in record.targets if t.function is not None]
            if not targets or any(_returns_value(target.body) for target in targets):
                return True
            found = True
        return not found
    return _returns_value(body)


def _returns_value(block: tuple[m.Statement, ...]) -> bool:
    from durable_lint.rules.view import blocks_of

    for statement in block:
        if isinstance(statement, m.Return) and statement.value is not None:
            if not (isinstance(statement.value, m.Constant) and statement.value.kind == "none"):
                return True
        if any(_returns_value(inside) for inside in blocks_of(statement)):
            return True
    return False
