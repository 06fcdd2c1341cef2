"""Rewrites what is registered on an `ExitStack` into registrations on a scope, where each stands."""

from __future__ import annotations

import ast
import keyword
from dataclasses import dataclass
from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.fixes import imports, managers, names, scope
from durable_lint.fixes.cleanup import Cleanup, called_name, step_arguments
from durable_lint.fixes.place import Place, printable
from durable_lint.fixes.tree import Change, FunctionNode, Refused, own_nodes, walk
from durable_lint.project.suspension import Step
from durable_lint.project.values import (
    ContextMethod,
    External,
    FunctionValue,
    Manager,
)
from durable_lint.rules.finding import Applicability, Fix
from durable_lint.rules.ldc103 import registered_effect

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from durable_lint.fixes.place import Spot
    from durable_lint.project.frames import Frame
    from durable_lint.project.values import Value

_KNOWN = frozenset({"callback", "push", "enter_context"})


@dataclass(frozen=True)
class Registration:
    """One registration on the stack: its statement, its call, and whether it has an effect."""

    statement: ast.Expr | ast.Assign
    call: ast.Call
    fact: m.Call
    method: str
    effect: bool
    values: frozenset[Value]
    """What is registered: a callable, or a manager."""


def rewrite(
    place: Place,
    item: m.Item,
    frame: Frame,
    place_of: Callable[[m.Try | m.With, m.ModuleFacts], Place],
    is_first_party: Callable[[str], bool],
) -> Fix:
    """Return the fix for a stack that is entered by `with`. Raises `Refused`."""
    node, facts = place.node, place.facts
    if place.isolated:
        raise Refused("a stack is only rewritten in place")
    if not isinstance(node, ast.With) or not isinstance(facts, m.With):
        raise Refused("the stack is asynchronous")
    entry = node.items[facts.items.index(item)]
    call = entry.context_expr
    if not isinstance(call, ast.Call) or call.args or call.keywords:
        raise Refused("the stack is made elsewhere")
    if not any(
        isinstance(v, External) and v.name == "contextlib.ExitStack"
        for v in place.view.solver.value(frame, item.manager)
    ):
        raise Refused("the stack is not a plain `ExitStack`")
    if not isinstance(entry.optional_vars, ast.Name):
        raise Refused("the stack has no name of its own")
    found = _registrations(place, entry.optional_vars.id)
    entered = [r for r in found if r.method == "enter_context" and r.effect]
    effects = [r for r in found if r.effect]
    mended: list[Value] = [v for r in effects for v in r.values if isinstance(v, Manager)]
    if len(entered) == len(effects) and all(
        r.values and all(isinstance(v, Manager) for v in r.values) for r in effects
    ):
        return managers.mend(place.view, mended, place_of, place, is_first_party)
    if mended:
        raise Refused("it holds managers and callbacks: mend the managers first")
    scope.check_suspendable(place, in_manager=False)
    return _replace(place, entry, found, is_first_party)


def _registrations(place: Place, stack: str) -> list[Registration]:
    """Return what is registered, in order. Raises `Refused` when the stack is used otherwise."""
    tree = place.tree
    inside = set(own_nodes(*place.node.body))
    found: list[Registration] = []
    for node in names.reads(place.function):
        if node.id != stack:
            continue
        if node not in inside:
            if _in_other_block(place, node):
                continue
            raise Refused(
                f"`{stack}` is used outside the block, or in a function inside it (line {node.lineno})"
            )
        attribute = tree.parent(node)
        call = tree.parent(attribute) if attribute is not None else None
        statement = tree.parent(call) if call is not None else None
        if (
            not isinstance(attribute, ast.Attribute)
            or not isinstance(call, ast.Call)
            or call.func is not attribute
            or attribute.attr not in _KNOWN
            or not isinstance(statement, (ast.Expr, ast.Assign))
        ):
            raise Refused(f"`{stack}` is used in another way than to register (line {node.lineno})")
        if isinstance(statement, ast.Assign) and attribute.attr != "enter_context":
            raise Refused(f"what `{stack}.{attribute.attr}` returns is kept (line {node.lineno})")
        if (
            not call.args
            or any(isinstance(a, ast.Starred) for a in call.args)
            or any(k.arg is None for k in call.keywords)
        ):
            raise Refused(f"what is registered on line {node.lineno} cannot be seen")
        fact = place.fact(call)
        if not isinstance(fact, m.Call):
            raise Refused(f"what is registered on line {node.lineno} cannot be seen")
        effect = False
        values: frozenset[Value] = frozenset()
        for each in place.frames:
            record = each.records.get(fact)
            values |= place.view.solver.value(each, fact.arguments[0])
            if record is not None and registered_effect(place.view, each, Step(fact, record)) is not None:
                effect = True
        found.append(Registration(statement, call, fact, attribute.attr, effect, values))
    if names.bound(*place.node.body) & {stack}:
        raise Refused(f"`{stack}` is bound again inside the block")
    return sorted(found, key=lambda r: tree.start(r.call))


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
    place: Place, entry: ast.withitem, found: list[Registration], is_first_party: Callable[[str], bool]
) -> Fix:
    tree = place.tree
    assert isinstance(place.facts, m.With)
    spot = place.context([place.facts.body])
    terminal = place.terminal_name
    cleanup = Cleanup(place, spot, terminal, "cleanup")
    change = Change(tree)
    opening = scope.scope_header(change, place, spot, terminal, is_first_party)
    kept = _kept(place, found)
    end = tree.end(entry.optional_vars) if entry.optional_vars else tree.end(entry.context_expr)
    start = tree.start(entry.context_expr)
    if tree.comments_in(start, end):
        raise Refused("comments stand inside its header")
    stack = tree.text[start:end]
    if not kept:
        text = opening
    elif tree.start(kept[0].call) < tree.start(next(r for r in found if r not in kept).call):
        text = f"{stack}, {opening}"  # the actions run first, as they did
    else:
        text = f"{opening}, {stack}"
    change.replace(start, end, text)
    for registration in found:
        if registration not in kept:
            _Writer(place, cleanup, spot, change).write(registration)
    if not kept:
        func = entry.context_expr.func  # type: ignore[attr-defined]
        name = func.id if isinstance(func, ast.Name) else getattr(getattr(func, "value", None), "id", "")
        gone = {name: 1} if name else {}
        for registration in found:
            if registration.method == "enter_context" and isinstance(registration.call.args[0], ast.Call):
                closing = registration.call.args[0].func
                while isinstance(closing, ast.Attribute):
                    closing = closing.value
                if isinstance(closing, ast.Name):
                    gone[closing.id] = gone.get(closing.id, 0) + 1
        imports.drop_unused(change, gone)
    unsafe = place.is_narrowly_guarded or place.is_abandonable
    return Fix(
        Applicability.UNSAFE if unsafe else Applicability.SAFE,
        "register what the stack holds in a `terminal_scope`",
        change.edits(None),
    )


def _kept(place: Place, found: list[Registration]) -> list[Registration]:
    """Return the process-local registrations that stay on the stack, so that they still run with the invocation."""
    local = [r for r in found if not r.effect]
    effects = [r for r in found if r.effect]
    if not local:
        return []
    start = place.tree.start
    in_order = all(start(r.call) < start(effects[0].call) for r in local)
    in_reverse = all(start(r.call) > start(effects[-1].call) for r in local)
    looped = any(_loops(place, r.call) for r in found)
    if looped and not in_order and not in_reverse:
        in_order = in_reverse = False
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

    def write(self, registration: Registration) -> None:
        tree = self.place.tree
        self.defaults: list[tuple[str, str]] = []
        statement, call = registration.statement, registration.call
        if tree.comments_in(tree.start(statement), tree.end(statement)):
            raise Refused(f"comments stand inside the registration on line {call.lineno}")
        if registration.method == "enter_context":
            self._enter(registration)
            return
        if not isinstance(statement, ast.Expr):
            raise Refused(f"the registration on line {call.lineno} is kept")
        text = self._push(registration) if registration.method == "push" else self._callback(registration)
        text = tree.fitted(text, tree.indent(statement.lineno), self.place.unit)
        self.change.replace(tree.start(statement), tree.end(statement), text)

    # ------------------------------------------------ callbacks

    def _callback(self, registration: Registration) -> str:
        call = registration.call
        target, given = call.args[0], call.args[1:]
        methods = {v.name for v in registration.values if isinstance(v, ContextMethod)}
        if methods:
            return self._durable_method(registration, methods)
        if self._suspends(registration):
            return self._in_context(registration)
        parameter = self._unused(target, *given, *call.keywords)
        called = self._called(target, given, call.keywords)
        return self._registered(
            "cleanup", parameter, called, called_name(ast.Call(target, [], [])) or "cleanup"
        )

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
        name = called_name(ast.Call(target, [], [])) or "cleanup"
        return self._registered("cleanup_in_context", parameter, called, name)

    def _is_own(self, action: Frame, target: ast.expr) -> bool:
        """Whether what is registered makes durable calls only on the context that it will be given."""
        if not isinstance(target, ast.Lambda):
            return self.cleanup.only_own(action, set())
        suspensions = self.place.view.suspensions
        return all(
            self.cleanup.is_given(step)
            for step in suspensions.body(action)
            if step.record.durable or suspensions.record(step.record)
        )

    replaced: dict[int, str] | None = None

    def _called(self, target: ast.expr, given: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> str:
        if isinstance(target, ast.Lambda) and not given and not keywords and not names.parameters(target):
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

    def _unused(self, *nodes: ast.AST) -> str:
        return (
            "_"
            if "_" not in names.mentioned(*nodes)
            else names.fresh("step_context", names.mentioned(*nodes))
        )

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
        if name in names.changed_inside_functions(place.tree.tree):
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
            parameter = self._unused(target.body)
            called = self._one_line(self.place.tree.slice(target.body))
            return self._registered("cleanup", parameter, called, called_name(target.body) or "cleanup")
        called = f"{self._function(target)}(None, None, None)"
        return self._registered("cleanup", "_", called, called_name(ast.Call(target, [], [])) or "cleanup")

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
        newline, indent = tree.source.newline, tree.indent(statement.lineno)
        text = tree.slice(thing)
        if isinstance(statement, ast.Assign):
            if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
                raise Refused(f"what is entered on line {call.lineno} has no name of its own")
            name = statement.targets[0].id
        else:
            wanted = printable(managers.made_by(thing), "resource").replace("-", "_")
            name = names.fresh(wanted, self.place.taken | self.cleanup.defined)
            self.cleanup.defined.add(name)
        shown = name
        if not self._is_bound_once(name) or _loops(self.place, statement):
            self.defaults.append((name, name))
        label = printable(f"close_{name}", "close")
        lines = (
            f"{name} = {text}{newline}{indent}{self._registered('cleanup', '_', f'{shown}.close()', label)}"
        )
        self.change.replace(tree.start(statement), tree.end(statement), lines)


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
