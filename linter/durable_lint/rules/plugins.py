"""What the hooks of an instrumentation plugin do: attach, let go, end spans, count; and under which
conditions.

A hook is followed through the methods and functions of the project that it calls. Conditions are compared as
text, with the hook's `info` under one name, so that what stands under the same condition in two hooks is
recognised. Judges nothing; the rules LDC301 to LDC305 do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from durable_lint.facts import model as m
from durable_lint.project.flags import expressions_of
from durable_lint.project.suspension import operands, static_truth
from durable_lint.project.unwinding import source_text
from durable_lint.project.values import ClassValue, External, FunctionValue, Instance, Partial
from durable_lint.rules.view import blocks_of
from durable_lint.sdk import plugins as sdk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from durable_lint.project.frames import Frame
    from durable_lint.project.solver import Solver
    from durable_lint.rules import Rule
    from durable_lint.rules.finding import Finding
    from durable_lint.rules.view import ModuleView

_DEEPEST = 8
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")

Through = tuple[tuple["m.Call", "m.ModuleFacts"], ...]
"""The calls that lead from a hook to where something is done, outermost first, each with its module."""


class Condition(NamedTuple):
    """A condition as `plain_condition` gives it, whether it holds, and where what it asks about comes
    from.
    """

    text: str
    holds: bool
    sources: frozenset[str]

    def negated(self) -> Condition:
        """Return the same condition, with the other truth."""
        return self._replace(holds=not self.holds)


Conditions = tuple[Condition, ...]

# ---------------------------------------------------------------- names with a meaning


@dataclass(frozen=True, slots=True, eq=False)
class Meaning:
    """What a local name stands for: a part of the notification (`symbol`), or an expression of `scope`."""

    symbol: str = ""
    expression: m.Expression | None = None
    scope: Scope | None = None

    @property
    def definition(self) -> tuple[Scope, m.Expression] | None:
        """The expression that the name stands for, and where it is to be read."""
        if self.expression is None or self.scope is None:
            return None
        return self.scope, self.expression


@dataclass(slots=True, eq=False)
class Scope:
    """One run of a function: its frame, and what its names stand for, where they are bound once."""

    solver: Solver
    frame: Frame
    names: dict[str, Meaning] = field(default_factory=dict)
    depth: int = 0
    attributes: dict[str, m.Expression] = field(default_factory=dict)
    """What the function stores in attributes of `self`, where it does so once."""

    @classmethod
    def of(cls, solver: Solver, frame: Frame, depth: int = 0) -> Scope:
        """Return the scope of a frame, which is evaluated for it, with what its local names stand for."""
        solver.settle(frame)
        scope = cls(solver, frame, {}, depth)
        if frame.function is not None:
            for name, expression in _bound_once(frame.function).items():
                if name.startswith("self."):
                    scope.attributes[name] = expression
                else:
                    scope.names[name] = Meaning("", expression, scope)
        return scope

    def definition(self, expression: m.Expression) -> tuple[Scope, m.Expression] | None:
        """Return what a local name stands for, None for everything else."""
        meaning = self.names.get(expression.id) if isinstance(expression, m.Name) else None
        return None if meaning is None else meaning.definition

    def symbol(self, expression: m.Expression, depth: int = 0) -> str:
        """Return which part of the notification an expression is, "" when it is none."""
        if depth > _DEEPEST:
            return ""
        match expression:
            case m.Name():
                defined = self.definition(expression)
                if defined is not None:
                    return defined[0].symbol(defined[1], depth + 1)
                meaning = self.names.get(expression.id)
                return "" if meaning is None else meaning.symbol
            case m.NamedExpression():
                return self.symbol(expression.value, depth + 1)
            case m.Attribute():
                return _PARTS.get((self.symbol(expression.value, depth + 1), expression.name), "")
            case m.Call() if m.last_name(expression.function) == "getattr" and len(expression.arguments) >= 2:
                name = expression.arguments[1]
                part = name.value if isinstance(name, m.Constant) else None
                return _PARTS.get((self.symbol(expression.arguments[0], depth + 1), str(part)), "")
        return ""

    def text(self, expression: m.Expression, depth: int = 0) -> str:
        """Return an expression as text that is equal in two hooks when it says the same there."""
        symbol = self.symbol(expression)
        if symbol:
            return f"${symbol}"
        if depth > _DEEPEST:
            return "?"
        deeper = depth + 1
        match expression:
            case m.Name():
                defined = self.definition(expression)
                return expression.id if defined is None else defined[0].text(defined[1], deeper)
            case m.Attribute():
                return f"{self.text(expression.value, deeper)}.{expression.name}"
            case m.Constant():
                return repr(expression.value)
            case m.Sequence():
                return "(" + ", ".join(self.text(item, deeper) for item in expression.items) + ")"
            case m.Negation():
                return f"not {self.text(expression.value, deeper)}"
            case m.Comparison():
                parts = [self.text(expression.left, deeper)]
                for operator, right in zip(expression.operators, expression.rights, strict=True):
                    parts += [_SAME.get(operator, operator), self.text(right, deeper)]
                return " ".join(parts)
            case m.Boolean():
                joint = " and " if expression.is_and else " or "
                return "(" + joint.join(self.text(value, deeper) for value in expression.values) + ")"
            case m.Call():
                given = [self.text(argument, deeper) for argument in expression.arguments]
                given += [f"{k.name}={self.text(k.value, deeper)}" for k in expression.keywords]
                return f"{self.text(expression.function, deeper)}({', '.join(given)})"
            case m.Subscript():
                return f"{self.text(expression.value, deeper)}[{self.text(expression.index, deeper)}]"
        return f"{type(expression).__name__}@{expression.at}"

    def sources(self, expression: m.Expression, depth: int = 0) -> frozenset[str]:
        """Return the names and attributes that an expression's value comes from, keys and the notification
        left out.
        """
        if self.symbol(expression) or depth > _DEEPEST:
            return frozenset()
        match expression:
            case m.Name():
                defined = self.definition(expression)
                inside = frozenset() if defined is None else defined[0].sources(defined[1], depth + 1)
                return inside | {expression.id}
            case m.Attribute():
                from_self = _is_self(expression.value)
                inside = frozenset() if from_self else self.sources(expression.value, depth + 1)
                return inside | {expression.name}
            case m.Call():
                function = expression.function
                if isinstance(function, m.Attribute) and not _is_self(function.value):
                    return self.sources(function.value, depth + 1)  # what `pop` or `get` is called on
                return self.sources(function, depth + 1)
            case m.Subscript():
                return self.sources(expression.value, depth + 1)
            case m.Constant():
                return frozenset()
        return frozenset().union(*(self.sources(part, depth + 1) for part in operands(expression)))


def _is_self(expression: m.Expression) -> bool:
    return isinstance(expression, m.Name) and expression.id in ("self", "cls")


_PARTS = {
    ("info", "outcome"): "outcome",
    ("info", "error"): "error",
    ("info", "reason"): "reason",
    ("outcome", "value"): "outcome",
    ("outcome", "name"): "outcome",
}
_SAME = {"is": "==", "is not": "!="}

# ---------------------------------------------------------------- conditions


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of conditions: the outcome that is reported, and texts with their truth."""

    outcome: str | None
    conditions: Conditions = ()

    def truth(self, scope: Scope, test: m.Expression, depth: int = 0) -> bool | None:
        """Return whether a condition holds, None when that is not known."""
        if depth > _DEEPEST:
            return None
        static = static_truth(test)
        if static is not None:
            return static
        match test:
            case m.Negation():
                inner = self.truth(scope, test.value, depth + 1)
                return None if inner is None else not inner
            case m.Boolean():
                values = [self.truth(scope, value, depth + 1) for value in test.values]
                decisive = not test.is_and
                if decisive in values:
                    return decisive
                return None if None in values else not decisive
            case m.Comparison() if len(test.operators) == 1:
                compared = self._compared(scope, test.left, test.operators[0], test.rights[0])
                return self._by_text(scope, test) if compared is None else compared
        defined = scope.definition(test)
        if defined is not None:
            return self.truth(defined[0], defined[1], depth + 1)
        answers = {self.truth(inner, answer, depth + 1) for inner, answer in _answers(scope, test)}
        if len(answers) == 1 and answers != {None}:
            return answers.pop()
        if scope.symbol(test) == "error" and self.outcome is not None:
            return False
        return self._by_text(scope, test)

    def _compared(self, scope: Scope, left: m.Expression, operator: str, right: m.Expression) -> bool | None:
        if self.outcome is None:
            return None
        symbol = scope.symbol(left) or scope.symbol(right)
        other = right if scope.symbol(left) else left
        negative = operator in ("is not", "!=", "not in")
        if symbol == "error" and isinstance(other, m.Constant) and other.kind == "none":
            return not negative
        if symbol != "outcome":
            return None
        if operator in ("in", "not in"):
            named = _collection(scope, other)
            if named is None:
                return None
            return (self.outcome in named) != negative
        name = outcome_named(other)
        return None if name is None else (name == self.outcome) != negative

    def _by_text(self, scope: Scope, test: m.Expression) -> bool | None:
        text, positive = plain_condition(scope, test)
        for known in self.conditions:
            if known.text == text:
                return known.holds == positive
        return None


def _answers(scope: Scope, test: m.Expression) -> list[tuple[Scope, m.Expression]]:
    """Return what a function of the project answers that does nothing else."""
    found: list[tuple[Scope, m.Expression]] = []
    for inner in runs(scope, test) if isinstance(test, m.Call) else ():
        body = inner.frame.function.body if inner.frame.function is not None else ()
        last = body[-1] if body else None
        documented = len(body) == 2 and isinstance(body[0], m.ExpressionStatement)
        if (len(body) == 1 or documented) and isinstance(last, m.Return) and last.value is not None:
            found.append((inner, last.value))
    return found


def _constant(scope: Scope, expression: m.Expression) -> m.Expression:
    """Return what a name of the module, or an attribute of one of its classes, is bound to in a plain
    assignment.
    """
    name = m.last_name(expression)
    blocks: list[Iterable[m.Statement]] = []
    if isinstance(expression, m.Name):
        blocks = [scope.frame.module.body]
    elif isinstance(expression, m.Attribute):
        blocks = [definition.body for definition in scope.frame.module.classes]
    for block in blocks:
        for statement in block:
            if not isinstance(statement, m.Assignment) or statement.value is None:
                continue
            if any(isinstance(target, m.Name) and target.id == name for target in statement.targets):
                return statement.value
    return expression


def _collection(scope: Scope, expression: m.Expression) -> set[str] | None:
    defined = scope.definition(expression)
    expression = _constant(scope, expression) if defined is None else defined[1]
    if isinstance(expression, m.Call) and len(expression.arguments) == 1:
        expression = expression.arguments[0]  # frozenset({...})
    if not isinstance(expression, m.Sequence):
        return None
    names = [outcome_named(item) for item in expression.items]
    return None if None in names else {name for name in names if name is not None}


def outcome_named(expression: m.Expression) -> str | None:
    """Return the outcome that an expression names: `UserFunctionOutcome.FAILED`, its `.value`, or
    `"FAILED"`.
    """
    if isinstance(expression, m.Call) and len(expression.arguments) == 1:
        expression = expression.arguments[0]  # UserFunctionOutcome("FAILED")
    if isinstance(expression, m.Attribute) and expression.name in ("value", "name"):
        expression = expression.value
    name = (
        expression.value
        if isinstance(expression, m.Constant)
        else expression.name
        if isinstance(expression, m.Attribute)
        else expression.id
        if isinstance(expression, m.Name)
        else None
    )
    return name if isinstance(name, str) and name in sdk.OUTCOMES else None


def plain_condition(scope: Scope, test: m.Expression) -> tuple[str, bool]:
    """Return a condition's text without its negations, and whether it is meant as it is or negated."""
    positive = True
    while isinstance(test, m.Negation):
        test, positive = test.value, not positive
    text = scope.text(test)
    for negative, plain in ((" != ", " == "), (" not in ", " in ")):
        if negative in text:
            return text.replace(negative, plain, 1), not positive
    return text, positive


def depends_on_notification(scope: Scope, test: m.Expression, depth: int = 0) -> bool:
    """Whether a condition asks for the outcome, the error or the reason of the notification."""
    if depth > _DEEPEST:
        return False
    if scope.symbol(test) in ("outcome", "error", "reason"):
        return True
    defined = scope.definition(test)
    if defined is not None:
        return depends_on_notification(defined[0], defined[1], depth + 1)
    if any(depends_on_notification(inner, answer, depth + 1) for inner, answer in _answers(scope, test)):
        return True
    return any(depends_on_notification(scope, part, depth + 1) for part in operands(test))


# ---------------------------------------------------------------- what a hook does


@dataclass(frozen=True, slots=True, eq=False)
class Action:
    """One thing that a hook does: `kind` is `acquire`, `release`, `end` or `success`.

    `fact` is the call or assignment; `through` are the calls that lead to it from the hook, outermost first.
    `conditions` hold when it is reached: texts with their truth.
    """

    kind: str
    fact: m.Call | m.Statement
    scope: Scope
    through: Through
    conditions: Conditions
    pair: sdk.Pair | None = None
    key: str = ""
    name: str = ""
    thread_bound: bool = False
    ends: bool = False
    """A release that ends a span as well."""
    is_kept: bool = True
    """What it returns is kept: a token that somebody else may use."""

    @property
    def module(self) -> m.ModuleFacts:
        return self.scope.frame.module

    @property
    def label(self) -> str:
        """How messages name it: the start of its source."""
        fact = self.fact
        return source_text(self.module, fact.function.at if isinstance(fact, m.Call) else fact.at, 48)

    @property
    def pair_name(self) -> str:
        """What it attaches, or lets go of."""
        return self.pair.what if self.pair is not None else ""

    @property
    def sources(self) -> frozenset[str]:
        """Where what it handles comes from."""
        fact = self.fact
        if not isinstance(fact, m.Call):
            return frozenset()
        found = self.scope.sources(fact.function) - {m.last_name(fact.function)}
        return found.union(*(self.scope.sources(argument) for argument in fact.arguments))


@dataclass(slots=True, eq=False)
class Hook:
    """A hook of a plugin class: the method that is called, and a run of it."""

    name: str
    function: m.Function
    module: m.ModuleFacts
    scope: Scope
    is_two_valued: bool
    """Its class derives from `CompletionPlugin`: as the end hook it is not called for an incomplete function.
    """


@dataclass(eq=False)
class Plugin:
    """A plugin class of the module, with its hooks, inherited ones included."""

    view: ModuleView
    value: ClassValue
    is_completion: bool

    @property
    def name(self) -> str:
        return self.value.definition.name

    @cached_property
    def hooks(self) -> dict[str, Hook]:
        """The hooks that a class of the project implements."""
        solver = self.view.solver
        found: dict[str, Hook] = {}
        for name in sdk.RELEASES:
            members = [each for each in solver.member(self.value, name) if isinstance(each, FunctionValue)]
            # Of several definitions the last one counts, as it does when the class is made.
            for member in sorted(members, key=lambda each: (str(each.module.path), each.function.at)):
                bound = FunctionValue(
                    member.function, member.module, member.closure, Instance(self.value), member.kind
                )
                scope = Scope.of(solver, solver.evaluate(bound))
                positional = [p for p in member.function.parameters if p.kind == "positional"]
                skipped = 0 if member.kind == "static" else 1
                for parameter in positional[skipped : skipped + 1]:
                    scope.names[parameter.name] = Meaning("info")
                found[name] = Hook(
                    name, member.function, member.module, scope, self._is_two_valued(member.function)
                )
        return found

    def _is_two_valued(self, function: m.Function) -> bool:
        solver = self.view.solver
        definition = solver.methods.get(function)
        owners = solver.classes.get(definition, ()) if definition is not None else ()
        return any(External(sdk.COMPLETION_PLUGIN) in solver.all_bases(owner) for owner in owners)

    def actions(self, hook: str) -> list[Action]:
        """Return what a hook does, in the order of its source."""
        if hook not in self._actions:
            self._actions[hook] = self.reached(hook, Known(None))
        return self._actions[hook]

    @cached_property
    def _actions(self) -> dict[str, list[Action]]:
        return {}

    def reached(self, hook: str, known: Known) -> list[Action]:
        """Return what a hook can do when that much is known of its conditions."""
        found = self.hooks.get(hook)
        return [] if found is None else Walk(known).function(found.scope)

    def acquires(self) -> list[Action]:
        """What the start hook attaches and does not let go of itself."""
        actions = self.actions(sdk.START)
        return [
            action
            for index, action in enumerate(actions)
            if action.kind == "acquire"
            and not any(
                releases(later, action, self) for later in actions[index + 1 :] if later.kind == "release"
            )
            and (self._is_own(action) or not _is_looked_after(action))
            and not _is_initial(action)
            and not (self.has_unseen_base and self._may_be_released_unseen(action))
            and not _hands_on(action)
        ]

    @cached_property
    def has_unseen_base(self) -> bool:
        """Whether it derives from a class of which only the name is known, which may let go of what it
        keeps.
        """
        bases = (b.name for b in self.view.solver.all_bases(self.value) if isinstance(b, External))
        return any(
            base not in (sdk.PLUGIN, sdk.COMPLETION_PLUGIN)
            and base.partition(".")[0]
            not in (sdk.OTEL_PACKAGE, "builtins", "abc", "typing", "typing_extensions")
            for base in bases
        )

    def _may_be_released_unseen(self, acquire: Action) -> bool:
        if acquire.pair in (sdk.MANAGER, sdk.STACK, sdk.LOCK):
            return True
        hooks = [hook for hook in sdk.RELEASES if hook != sdk.START and self.releases_in(hook, acquire)]
        return acquire.is_kept and not hooks

    def _is_own(self, action: Action) -> bool:
        """Whether it is done in a method of the plugin itself, not by something that it uses."""
        function = action.scope.frame.function
        definition = self.view.solver.methods.get(function) if function is not None else None
        family = (self.value, *self.view.solver.all_bases(self.value))
        return any(isinstance(one, ClassValue) and one.definition is definition for one in family)

    def releases_in(self, hook: str, acquire: Action) -> list[Action]:
        """What lets go, in a hook, of what `acquire` attached."""
        return [action for action in self.actions(hook) if releases(action, acquire, self)]

    def is_told_behind_the_mixin(self, release: Action) -> bool:
        """Whether a release is in the end hook of a class behind `CompletionPlugin`, which sees INCOMPLETE
        too.
        """
        function = release.scope.frame.function
        return (
            function is not None
            and not self._is_two_valued(function)
            and any(_is_super_end(call) for call, _ in release.through)
        )

    def place_of(self, action: Action) -> tuple[m.At, frozenset[int]] | None:
        """Return where an action is reported in the view's module, and further rows on which a suppression
        counts.
        """
        here = self.view.module
        rows = frozenset(call.at.row for call, module in action.through if module is here)
        if action.module is here:
            return action.fact.at, rows
        for call, module in reversed(action.through):
            if module is here:
                return call.at, rows
        return None


def releases(action: Action, acquire: Action, plugin: Plugin) -> bool:
    """Whether an action lets go of what `acquire` attached."""
    if action.pair is None or (action.pair is not acquire.pair and not _alike(action, acquire)):
        return False
    if action.kind == "acquire":
        return action.pair.restores and action.fact is not acquire.fact and action.key == acquire.key
    if not acquire.pair.keyed or not action.key or action.key == acquire.key:  # type: ignore[union-attr]
        return True
    # Another object of that kind, unless it is one that the start hook attaches to as well.
    others = {
        other.key for other in plugin.actions(sdk.START) if other.kind == "acquire" and other is not acquire
    }
    return action.key not in others


def _is_super_end(call: m.Call) -> bool:
    function = call.function
    return (
        isinstance(function, m.Attribute)
        and function.name == sdk.END
        and isinstance(function.value, m.Call)
        and m.last_name(function.value.function) == "super"
    )


def _is_looked_after(acquire: Action) -> bool:
    """Whether the module of a helper lets go somewhere of what it attaches: then it is its own matter."""
    pair = acquire.pair
    if pair is None or not isinstance(acquire.fact, m.Call):
        return False
    undoing = pair.releases | (pair.acquires if pair.restores else frozenset())
    last_names = {name.rpartition(".")[2] for name in undoing}
    receiver = _receiver(acquire.fact)
    return any(
        isinstance(fact, m.Call)
        and fact is not acquire.fact
        and m.last_name(fact.function) in last_names
        and (not pair.keyed or _receiver(fact) == receiver)
        for fact in acquire.module.function_of
    )


def _is_initial(acquire: Action) -> bool:
    """Whether a thread-local attribute is given something that has nothing to do with the function: a
    list, a number.
    """
    fact = acquire.fact
    return (
        isinstance(fact, m.Assignment)
        and fact.value is not None
        and not _is_about_function(acquire.scope, fact.value)
    )


def _is_about_function(scope: Scope, expression: m.Expression, depth: int = 0) -> bool:
    if depth > _DEEPEST:
        return False
    if scope.symbol(expression) == "info":
        return True
    defined = scope.definition(expression)
    if defined is not None:
        return _is_about_function(defined[0], defined[1], depth + 1)
    return any(_is_about_function(scope, part, depth + 1) for part in operands(expression))


def _hands_on(acquire: Action) -> bool:
    """Whether the function that attaches hands the release on: `partial(OPERATION.reset, token)`, or a
    lambda.
    """
    function = acquire.scope.frame.function
    pair = acquire.pair
    if function is None or pair is None:
        return False
    names = {name.rpartition(".")[2] for name in pair.releases}
    waiting: list[m.Statement] = list(function.body)
    while waiting:
        statement = waiting.pop()
        if isinstance(statement, m.FunctionDefinition):
            inner = (e for one in statement.function.body for e in expressions_of(one))
            if any(m.last_name(call.function) in names for e in inner for call in calls_in(e)):
                return True
        for block in blocks_of(statement):
            waiting.extend(block)
        for expression in expressions_of(statement):
            if _mentions_uncalled(expression, names):
                return True
    return False


def _mentions_uncalled(expression: m.Expression, names: set[str]) -> bool:
    """Whether a function of one of these names is handed on instead of called."""
    if isinstance(expression, m.LambdaExpression):
        inner = (e for one in expression.function.body for e in expressions_of(one))
        return any(m.last_name(call.function) in names for e in inner for call in calls_in(e))
    if isinstance(expression, m.Attribute) and expression.name in names:
        return True
    parts = list(operands(expression))
    if isinstance(expression, m.Call):
        parts = parts[1:]
        if isinstance(expression.function, m.Attribute):
            parts.append(expression.function.value)
    return any(_mentions_uncalled(part, names) for part in parts)


def _receiver(call: m.Call) -> str:
    return m.last_name(call.function.value) if isinstance(call.function, m.Attribute) else ""


def _alike(action: Action, acquire: Action) -> bool:
    """An `ExitStack` that is entered by hand is left by `__exit__`, and so is a lock."""
    both = {action.pair, acquire.pair}
    return both in ({sdk.MANAGER, sdk.STACK}, {sdk.MANAGER, sdk.LOCK})


class Report(NamedTuple):
    """What a rule says of an action, and what a fix needs to know besides the plugin."""

    plugin: Plugin
    action: Action
    message: str
    advice: str
    subject: tuple[object, ...] = ()


def released_in(plugin: Plugin, acquire: Action) -> set[str]:
    """Return the hooks that let go of what `acquire` attached.

    A completion hook of a class that is no `CompletionPlugin` is never called. What a known subclass lets go
    of counts.
    """
    found = {hook for hook in sdk.RELEASES if hook != sdk.START and plugin.releases_in(hook, acquire)}
    if not plugin.is_completion:
        found.discard(sdk.COMPLETE)
    for other in plugins_of(plugin.view):
        if not found and plugin.value in plugin.view.solver.all_bases(other.value):
            found |= {hook for hook in sdk.RELEASES if hook != sdk.START and other.releases_in(hook, acquire)}
    return found


def header_of(plugin: Plugin, hook: Hook) -> m.At:
    """Return the place of a hook's `def` line, or of the class where the hook is in another module."""
    if hook.module is plugin.view.module:
        at = hook.function.at
        return m.At(at.row, at.column, at.row, at.column + len(f"def {hook.name}"))
    at = plugin.value.definition.at
    return m.At(at.row, at.column, at.row, at.column + len(f"class {plugin.name}"))


def at_place(rule: Rule, found: Iterable[Report]) -> Iterator[Finding]:
    """Yield a finding for each action, with its message and advice, at its place in the module; each place
    once.
    """
    seen: set[m.At] = set()
    for report in found:
        place = report.plugin.place_of(report.action)
        if place is None or place[0] in seen:
            continue
        seen.add(place[0])
        yield report.plugin.view.finding(
            rule,
            place[0],
            report.message,
            help=report.advice,
            rows=place[1],
            subject=(report.plugin, *report.subject),
        )


class Walk:
    """Walks over a function's statements and what they call, in source order, with the conditions that hold
    there.
    """

    def __init__(self, known: Known) -> None:
        self.known = known
        self.found: list[Action] = []
        self._active: list[m.Function] = []

    def function(self, scope: Scope, through: Through = (), conditions: Conditions = ()) -> list[Action]:
        """Return what a function can do."""
        function = scope.frame.function
        if function is not None and function not in self._active and len(self._active) < _DEEPEST:
            self._active.append(function)
            self._block(scope, function.body, through, conditions)
            self._active.pop()
        return self.found

    def _block(
        self, scope: Scope, block: Iterable[m.Statement], through: Through, conditions: Conditions
    ) -> bool:
        """Walk over a block; return whether it can fall through."""
        for statement in block:
            self._own(scope, statement, through, conditions)
            match statement:
                case m.Return() | m.Raise() | m.Break() | m.Continue():
                    return False
                case m.If():
                    condition = Condition(
                        *plain_condition(scope, statement.test), scope.sources(statement.test)
                    )
                    truth = self.known.truth(scope, statement.test)
                    holds, fails = (*conditions, condition), (*conditions, condition.negated())
                    falls = truth is not False and self._block(scope, statement.body, through, holds)
                    falls_else = truth is not True and self._block(scope, statement.orelse, through, fails)
                    if not (falls or falls_else):
                        return False
                    if not falls:
                        conditions = fails
                    elif not falls_else:
                        conditions = holds
                case m.Match():
                    bodies = [case.body for case in reachable_cases(scope, statement, self.known)]
                    falling = [self._block(scope, body, through, conditions) for body in bodies]
                    if any(case.irrefutable for case in statement.cases) and not any(falling):
                        return False
                case m.With():
                    if not self._block(scope, statement.body, through, conditions):
                        return False
                case _:
                    for inside in blocks_of(statement):
                        self._block(scope, inside, through, conditions)
        return True

    def _own(self, scope: Scope, statement: m.Statement, through: Through, conditions: Conditions) -> None:
        """Note what one statement does by itself, and what it calls."""
        for expression in expressions_of(statement):
            for call in calls_in(expression):
                action = classify(scope, call, through, conditions, self.known)
                if action is not None:
                    thrown_away = isinstance(statement, m.ExpressionStatement) and statement.value is call
                    self.found.append(replace(action, is_kept=not thrown_away))
                if action is None or action.kind not in ("acquire", "release"):
                    for inner in runs(scope, call):
                        self.function(inner, (*through, (call, scope.frame.module)), conditions)
        self.found += assigned(scope, statement, through, conditions)


def reachable_cases(scope: Scope, statement: m.Match, known: Known) -> list[m.Case]:
    """Return the cases of a `match` that can be taken, by what is known of the outcome."""
    if scope.symbol(statement.subject) != "outcome" or known.outcome is None:
        return list(statement.cases)
    found: list[m.Case] = []
    for case in statement.cases:
        named = {outcome_named(value) for value in case.values}
        if case.values and None not in named and known.outcome not in named:
            continue
        found.append(case)
        if case.guard is None and (case.irrefutable or known.outcome in named):
            break
    return found


def calls_in(expression: m.Expression) -> Iterator[m.Call]:
    """Yield the calls in an expression, inner ones first; those in a lambda are not run here."""
    for part in operands(expression):
        yield from calls_in(part)
    if isinstance(expression, m.Call):
        yield expression


def runs(scope: Scope, call: m.Call) -> list[Scope]:
    """Return the functions of the project that a call runs, each with what its parameters stand for."""
    record = scope.frame.records.get(call)
    if record is None or scope.depth >= _DEEPEST:
        return []
    found: list[Scope] = []
    for target in record.targets:
        if target.function is None:
            continue
        inner = Scope.of(scope.solver, target, scope.depth + 1)
        bound = any(
            isinstance(value, ClassValue)
            or (isinstance(value, FunctionValue) and value.receiver is not None and value.kind != "static")
            for value in record.callee
        )
        positional = [p for p in target.function.parameters if p.kind == "positional"][1 if bound else 0 :]
        for parameter, argument in zip(positional, call.arguments, strict=False):
            inner.names[parameter.name] = Meaning("", argument, scope)
        for keyword in call.keywords:
            if keyword.name is not None:
                inner.names[keyword.name] = Meaning("", keyword.value, scope)
        found.append(inner)
    return found[:4]


def _bound_once(function: m.Function) -> dict[str, m.Expression]:
    """Return the names that one assignment binds, with its value; of an unpacked tuple, the whole value."""
    bound: dict[str, list[m.Expression | None]] = {}

    def bind(target: m.Expression, value: m.Expression | None) -> None:
        match target:
            case m.Name():
                bound.setdefault(target.id, []).append(value)
            case m.Attribute() if _is_self(target.value):
                bound.setdefault(f"self.{target.name}", []).append(value)
            case m.Sequence():
                for item in target.items:
                    bind(item, value)
            case m.Starred():
                bind(target.value, value)

    def collect(block: Iterable[m.Statement]) -> None:
        for statement in block:
            match statement:
                case m.Assignment():
                    for target in statement.targets:
                        bind(target, statement.value)
                case m.AugmentedAssignment():
                    bind(statement.target, None)
                case m.For():
                    bind(statement.target, statement.iterable)
                case m.With():
                    for item in statement.items:
                        if item.target is not None:
                            bind(item.target, item.manager)
            for expression in expressions_of(statement):
                walrus(expression)
            for inside in blocks_of(statement):
                collect(inside)

    def walrus(expression: m.Expression) -> None:
        if isinstance(expression, m.NamedExpression):
            bind(expression.target, expression.value)
        for part in operands(expression):
            walrus(part)

    collect(function.body)
    return {name: values[0] for name, values in bound.items() if len(values) == 1 and values[0] is not None}


# ---------------------------------------------------------------- what a call does


def qualified(scope: Scope, call: m.Call) -> str | None:
    """Return the name of what a call calls, None for something of the project.

    A callee of which nothing is known goes by its own text (`self._lock.acquire`).
    """
    record = scope.frame.records.get(call)
    callee = frozenset() if record is None else scope.solver.resolved(record.callee)
    names = sorted(value.name for value in callee if isinstance(value, External))
    if names:
        return names[0]
    if any(isinstance(value, (FunctionValue, ClassValue, Instance, Partial)) for value in callee):
        return None
    return _dotted(call.function)


def _dotted(expression: m.Expression) -> str:
    match expression:
        case m.Name():
            return expression.id
        case m.Attribute():
            return f"{_dotted(expression.value)}.{expression.name}"
        case m.Call():
            return _dotted(expression.function)
        case m.Subscript():
            return _dotted(expression.value)
    return ""


def classify(
    scope: Scope, call: m.Call, through: Through, conditions: Conditions, known: Known
) -> Action | None:
    """Return what a call does by itself, None when that is nothing that counts."""
    name = qualified(scope, call)
    if name is not None:
        for pair in sdk.PAIRS:
            for kind, patterns in (("acquire", pair.acquires), ("release", pair.releases)):
                if sdk.matches(name, patterns):
                    bound = pair.thread_bound or _is_bound_manager(scope, call, name)
                    key = _key(scope, call) if pair.keyed else ""
                    ends = kind == "release" and _ends(scope, call, name)
                    return Action(kind, call, scope, through, conditions, pair, key, name, bound, ends)
        if _ends(scope, call, name):
            return Action("end", call, scope, through, conditions, name=name)
    if _records_success(scope, call, known):
        return Action("success", call, scope, through, conditions)
    return None


def _key(scope: Scope, call: m.Call) -> str:
    """Return the name of the object that a method is called on: the last name of `self._lock` or
    `tracing.OPERATION`.
    """
    if not isinstance(call.function, m.Attribute):
        return ""
    receiver = call.function.value
    defined = scope.definition(receiver)
    if defined is not None:
        receiver = defined[1]
    return m.last_name(receiver) if isinstance(receiver, (m.Name, m.Attribute)) else ""


def made_by(scope: Scope, expression: m.Expression) -> tuple[str, m.Call | None]:
    """Return the name of what made an object and the call that did, as far as this function tells."""
    for _ in range(_DEEPEST):
        if isinstance(expression, m.Attribute) and _is_self(expression.value):
            expression = scope.attributes.get(f"self.{expression.name}", expression)
        defined = scope.definition(expression)
        if defined is None:
            break
        scope, expression = defined
    if isinstance(expression, m.Call):
        return qualified(scope, expression) or "", expression
    return "", None


def _is_bound_manager(scope: Scope, call: m.Call, name: str) -> bool:
    """Whether a manager that is entered, or put on a stack, must be left on its thread."""
    manager, _, method = name.rpartition(".")
    if method == "enter_context" and call.arguments:
        manager, _ = made_by(scope, call.arguments[0])
    return sdk.matches(manager, sdk.THREAD_BOUND_MANAGERS)


def ends_span(action: Action) -> bool:
    """Whether leaving what an acquiring action entered ends a span."""
    fact = action.fact
    if action.pair not in (sdk.MANAGER, sdk.STACK) or not isinstance(fact, m.Call):
        return False
    target = fact.function.value if isinstance(fact.function, m.Attribute) else fact.function
    if action.pair is sdk.STACK and fact.arguments:
        target = fact.arguments[0]
    name, call = made_by(action.scope, target)
    given = {keyword.name: keyword.value for keyword in call.keywords} if call is not None else {}
    on_exit = given.get("end_on_exit")
    says = on_exit.value if isinstance(on_exit, m.Constant) else None
    if sdk.matches(name, (sdk.USE_SPAN,)):
        return says is True
    return says is not False and sdk.matches(
        name or action.name.removesuffix(".__enter__"), sdk.ENDING_MANAGERS
    )


def _ends(scope: Scope, call: m.Call, name: str) -> bool:
    last = name.rpartition(".")[2]
    if last in sdk.ENDS_BY_NAME:
        return True
    if last not in sdk.ENDS or not isinstance(call.function, m.Attribute):
        return False
    said = " ".join((name, *scope.sources(call.function.value))).lower()
    return any(word in said for word in sdk.SPANS)


def _records_success(scope: Scope, call: m.Call, known: Known) -> bool:
    name = m.last_name(call.function)
    if name in sdk.LOOKS or name.startswith("set_attribute"):
        return False
    return bool(_words(name) & sdk.SUCCESS) or any(_says_success(scope, part, known) for part in _given(call))


def _given(call: m.Call) -> Iterator[m.Expression]:
    yield from call.arguments
    for keyword in call.keywords:
        yield keyword.value


def _says_success(scope: Scope, expression: m.Expression, known: Known, depth: int = 0) -> bool:
    """Whether an argument says success: as a text, a status, or one of two that a condition chooses."""
    if depth > _DEEPEST:
        return False
    defined = scope.definition(expression)
    if defined is not None:
        return isinstance(defined[1], (m.Constant, m.Attribute, m.Conditional)) and _says_success(
            defined[0], defined[1], known, depth + 1
        )
    match expression:
        case m.Constant():
            return isinstance(expression.value, str) and bool(_words(expression.value) & sdk.SUCCESS)
        case m.Attribute():
            return expression.name in ("OK", "SUCCESS", "SUCCEEDED") and m.last_name(expression.value) != ""
        case m.Mapping():
            return any(_says_success(scope, value, known, depth + 1) for value in expression.values)
        case m.Conditional():
            truth = known.truth(scope, expression.test)
            chosen = [expression.body] if truth is not False else []
            chosen += [expression.orelse] if truth is not True else []
            return any(_says_success(scope, value, known, depth + 1) for value in chosen)
        case m.Call():
            return m.last_name(expression.function) == "Status" and any(
                _says_success(scope, value, known, depth + 1) for value in expression.arguments
            )
    return False


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def assigned(
    scope: Scope, statement: m.Statement, through: Through, conditions: Conditions
) -> Iterator[Action]:
    """Yield what an assignment or deletion does: to a `threading.local`, or to a counter of successes."""
    if isinstance(statement, m.AugmentedAssignment) and _counts_success(statement.target):
        yield Action("success", statement, scope, through, conditions)
    if not isinstance(statement, (m.Assignment, m.Deletion)):
        return
    kind = "acquire" if isinstance(statement, m.Assignment) else "release"
    for target in statement.targets:
        if isinstance(target, m.Attribute) and _is_thread_local(scope, target.value):
            key = f"{m.last_name(target.value)}.{target.name}"
            yield Action(kind, statement, scope, through, conditions, sdk.THREAD_LOCAL, key, "", True)


def _counts_success(target: m.Expression) -> bool:
    match target:
        case m.Name():
            return bool(_words(target.id) & sdk.SUCCESS)
        case m.Attribute():
            return bool(_words(target.name) & sdk.SUCCESS)
        case m.Subscript():
            said = target.index.value if isinstance(target.index, m.Constant) else ""
            return bool(_words(str(said)) & sdk.SUCCESS) or _counts_success(target.value)
    return False


def _is_thread_local(scope: Scope, expression: m.Expression) -> bool:
    return any(
        isinstance(value, External) and value.name == "threading.local" and value.called
        for value in scope.solver.value(scope.frame, expression)
    )


# ---------------------------------------------------------------- the plugin classes of a module

_KNOWN: WeakKeyDictionary[ModuleView, list[Plugin]] = WeakKeyDictionary()


def plugins_of(view: ModuleView) -> list[Plugin]:
    """Return the plugin classes of a module, in source order."""
    if view not in _KNOWN:
        _KNOWN[view] = list(_plugins(view))
    return _KNOWN[view]


def _plugins(view: ModuleView) -> Iterator[Plugin]:
    for definition in view.module.classes:
        for value in view.solver.classes.get(definition, ()):
            bases = [base.name for base in view.solver.all_bases(value) if isinstance(base, External)]
            if any(base == sdk.PLUGIN or base.endswith("Plugin") for base in bases):
                yield Plugin(view, value, sdk.COMPLETION_PLUGIN in bases)
                break
