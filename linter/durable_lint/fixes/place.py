"""Where a rewrite happens: a block in a function, the frames it runs in, and the context that its scope needs."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from durable_lint.facts import model as m
from durable_lint.fixes import imports, names
from durable_lint.fixes.tree import (
    CALLABLES,
    Block,
    FunctionNode,
    Refused,
    SourceTree,
    children,
    own_nodes,
    walk,
)
from durable_lint.project.flags import expressions_of
from durable_lint.project.suspension import operands, steps
from durable_lint.project.values import Context, Instance
from durable_lint.rules.scopes import makes_durable_call
from durable_lint.rules.view import blocks_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from durable_lint.project.frames import Frame
    from durable_lint.project.suspension import Step
    from durable_lint.project.values import Values
    from durable_lint.rules.view import ModuleView


class Spot(NamedTuple):
    """What a block's scope is opened on: the text of the context, and the name that it starts with."""

    text: str
    root: str
    attributes: frozenset[str]


@dataclass(frozen=True)
class Place:
    """A `try` or `with` that becomes a scope. `facts` and `node` are the same statement."""

    view: ModuleView
    tree: SourceTree
    module: m.ModuleFacts
    facts: m.Try | m.With
    node: Block
    isolated: bool = False
    """Whether scopes are written in their isolated form."""

    @cached_property
    def function(self) -> FunctionNode:
        """The function that the block stands in. Raises `Refused`."""
        return self.tree.function(self.node)

    @cached_property
    def function_facts(self) -> m.Function:
        found = self.module.function_of.get(self.facts)
        if found is None:
            raise Refused("the block is not in a function")
        return found

    @cached_property
    def frames(self) -> list[Frame]:
        """The frames in which the block runs. Raises `Refused` when one is inside an attempt of an operation."""
        found = self.view.solver.frames_of.get(self.function_facts, ())
        if any(frame.mode.attempt for frame in found):
            raise Refused(
                f"`{self.function_facts.name}` also runs inside a step, where no scope can be opened"
            )
        return list(found)

    @property
    def is_abandonable(self) -> bool:
        """Whether the block runs in a branch that an early completion can abandon."""
        return any(frame.mode.abandonable is not None for frame in self.frames)

    @cached_property
    def around(self) -> tuple[FunctionNode, ...]:
        """The functions around the block, innermost first, up to the outermost one."""
        found = [node for node in self.tree.ancestors(self.node) if isinstance(node, FunctionNode)]
        return tuple(found)

    @cached_property
    def is_in_manager(self) -> bool:
        """Whether the block stands in a generator that makes a context manager, whose `yield` is left by throwing."""
        made = imports.imported_as(self.tree, "contextlib", "contextmanager", None)
        return any(self.tree.slice(decorator) == made for decorator in self.function.decorator_list)

    @cached_property
    def taken(self) -> set[str]:
        """The names that something new in this function must not have."""
        return names.mentioned(self.around[-1])

    @property
    def is_annotated(self) -> bool:
        """Whether the function has annotations, so that new functions in it get some too."""
        arguments = self.function.args
        listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        if self.function.returns is not None or any(argument.annotation for argument in listed):
            return True
        if "# type: (" not in self.tree.text:
            return False
        first, last = self.function.lineno, self.function.body[0].lineno
        return any(c.text.startswith("# type: (") for c in self.tree.comments if first <= c.row <= last)

    @property
    def is_fully_annotated(self) -> bool:
        """Whether a strict type checker has nothing to ask of the function's own signature."""
        arguments = self.function.args
        listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        listed += [extra for extra in (arguments.vararg, arguments.kwarg) if extra is not None]
        typed = all(argument.annotation or argument.arg in {"self", "cls"} for argument in listed)
        return typed and self.function.returns is not None

    # ------------------------------------------------ what the block changes

    @cached_property
    def bound(self) -> set[str]:
        """The names that the block binds."""
        return names.bound(self.node)

    @cached_property
    def local(self) -> list[set[str]]:
        """For each function around the block, innermost first, the names that its body binds."""
        return [names.bound(*function.body) for function in self.around]

    @cached_property
    def rebound(self) -> set[str]:
        """The names that functions inside the ones around the block rebind."""
        return names.changed_inside_functions(self.around[-1])

    @cached_property
    def changed(self) -> set[str]:
        """The names that can have another value after the block than before it."""
        return self.bound | self.tree.rebound

    @cached_property
    def bound_in_function(self) -> set[str]:
        """The names that the body of the block's function binds."""
        return names.bound(*self.function.body)

    @cached_property
    def mutated(self) -> set[str]:
        """The names whose objects the block changes in place."""
        return names.mutated(self.node)

    @cached_property
    def stored(self) -> set[str]:
        """The attributes that the module assigns anywhere but in `__init__`."""
        found: set[str] = set()
        waiting: list[ast.AST] = [self.tree.tree]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                continue
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                found.add(node.attr)
            waiting.extend(children(node))
        return found

    @cached_property
    def containers(self) -> set[str]:
        """The attributes that the module binds to lists, sets, dictionaries and the like."""
        found: set[str] = set()
        for node in self.tree.nodes:
            match node:
                case ast.Assign(targets=[ast.Attribute(attr=name)], value=value) if _is_container(value):
                    found.add(name)
                case ast.AnnAssign(
                    target=ast.Attribute(attr=name) | ast.Name(id=name), annotation=kind, value=value
                ):
                    if _names_container(kind) or (value is not None and _is_container(value)):
                        found.add(name)
        return found

    @cached_property
    def _stored_inside(self) -> set[str]:
        """The attributes that the block assigns."""
        return names.stored_attributes(self.node)

    # ------------------------------------------------ the context

    @cached_property
    def expressions(self) -> dict[tuple[int, int, int, int], m.Expression]:
        """The facts of the expressions in the function, by place."""
        found: dict[tuple[int, int, int, int], m.Expression] = {}
        for expression in expressions_in(self.function_facts.body):
            at = expression.at
            found.setdefault((at.row, at.column, at.end_row, at.end_column), expression)
        return found

    def fact(self, node: ast.expr) -> m.Expression | None:
        """Return the fact of an expression in the function's own scope, None inside functions in it."""
        at = (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
        return self.expressions.get(at)

    def values(self, node: ast.expr) -> Values:
        """Return what an expression can be, over all frames."""
        fact = self.fact(node)
        if fact is None:
            return frozenset()
        found: Values = frozenset()
        for frame in self.frames:
            found |= self.view.solver.value(frame, fact)
        return found

    def steps(self, blocks: Iterable[Iterable[m.Statement]]) -> Iterator[tuple[Frame, Step]]:
        listed = [tuple(block) for block in blocks]
        for frame in self.frames:
            for block in listed:
                for step in steps(frame, block):
                    yield frame, step

    def context(self, blocks: Iterable[Iterable[m.Statement]]) -> Spot:
        """Return the context that the durable calls of `blocks` are made on, valid where the block starts.

        Raises `Refused` when there is none, or more than one.
        """
        found: dict[str, Spot] = {}
        others: set[str] = set()
        for frame, step in self.steps(blocks):
            if not (step.record.durable or self.view.suspensions.record(step.record)):
                continue
            for expression in contexts_in(self.view, frame, step.fact):
                spot = self._spot(expression)
                if spot is None:
                    others.add(self.source_of(expression))
                else:
                    found.setdefault(spot.text, spot)
        good = {text: spot for text, spot in found.items() if self._is_own(spot)}
        if found and len(good) < len(found):
            strange = next(text for text in found if text not in good)
            raise Refused(
                f"its durable calls are made on `{strange}`, which is not the context of this function"
            )
        if len(good) > 1:
            same = {self._owners(spot) for spot in good.values()}
            if len(same) > 1:
                raise Refused(
                    f"its durable calls are made on different contexts ({', '.join(map(_code, sorted(good)))})"
                )
        for spot in chain(good.values(), self._in_reach()):
            if self._may_be_none(spot):
                raise Refused(f"`{spot.text}` may be None where the block starts")
            return spot
        if others:
            raise Refused(f"the durable context {_code(min(others))} is not known yet where the block starts")
        raise Refused("no durable context is in reach where the block starts; pass it to the function")

    def source_of(self, expression: m.Expression) -> str:
        start = self.tree.offset(expression.at.row, expression.at.column)
        return self.tree.text[start : self.tree.offset(expression.at.end_row, expression.at.end_column)]

    def _spot(self, expression: m.Expression) -> Spot | None:
        """Return a context expression if it has the same value where the block starts as inside it."""
        attributes: set[str] = set()
        current = expression
        while isinstance(current, m.Attribute):
            attributes.add(current.name)
            current = current.value
        if not isinstance(current, m.Name) or attributes & self._stored_inside:
            return None
        if not self.is_bound_before(current.id):
            return None
        return Spot("".join(self.source_of(expression).split()), current.id, frozenset(attributes))

    def is_bound_before(self, name: str) -> bool:
        """Whether a name surely has its value where the block starts, and keeps it inside."""
        if name in self.bound or name in self.rebound:
            return False
        if name in names.parameters(self.function):
            return True
        if name not in self.bound_in_function:
            return True  # of a function around this one, or of the module
        inside: ast.AST = self.node
        for around in self.tree.ancestors(self.node):
            for _, value in ast.iter_fields(around):
                if isinstance(value, list) and inside in value:
                    before = value[: value.index(inside)]
                    if any(
                        _surely_binds(statement, name)
                        for statement in before
                        if isinstance(statement, ast.stmt)
                    ):
                        return True
            if isinstance(around, (ast.With, ast.AsyncWith)) and any(
                i.optional_vars is not None and name in names.bound(i.optional_vars) for i in around.items
            ):
                return True
            if isinstance(around, (ast.For, ast.AsyncFor)) and name in names.bound(around.target):
                return inside in around.body
            if around is self.function:
                return False
            inside = around
        return False

    def _owners(self, spot: Spot) -> frozenset[m.Function | None]:
        found: set[m.Function | None] = set()
        for frame in self.frames:
            for value in self._evaluated(frame, spot):
                if isinstance(value, Context):
                    found.add(value.owner)
        return frozenset(found)

    def _evaluated(self, frame: Frame, spot: Spot) -> Values:
        solver = self.view.solver
        at = self.facts.at
        expression: m.Expression = m.Name(at, spot.root)
        for attribute in spot.text.split(".")[1:]:
            expression = m.Attribute(at, expression, attribute)
        return solver.value(frame, expression)

    def _is_own(self, spot: Spot) -> bool:
        """Whether a context is, in every frame, the one of the operation that runs the function."""
        known = False
        for frame in self.frames:
            values = self._evaluated(frame, spot)
            operation = frame.mode.operation
            for value in values:
                if not isinstance(value, Context):
                    return False
                if operation is not None and value.owner not in {None, operation, frame.function}:
                    return False
                known = True
        return known

    def _in_reach(self) -> Iterator[Spot]:
        """Yield contexts that the function can name, its own parameters first."""
        for function, local in zip(self.around, self.local, strict=True):
            for name in _in_order(function, local):
                spot = Spot(name, name, frozenset())
                if self._is_visible(name, function) and self.is_bound_before(name) and self._is_own(spot):
                    yield spot
        for spot in (*self._of_self(), *self._of_parameters()):
            if self._is_own(spot):
                yield spot

    def _of_parameters(self) -> Iterator[Spot]:
        """Yield what could be a context among the attributes of the objects that the function is given."""
        for name in _parameters_in_order(self.function):
            if not self.is_bound_before(name):
                continue
            mentions: set[str] = set()
            for frame in self.frames:
                for value in self.view.solver.value(frame, m.Name(self.facts.at, name)):
                    if isinstance(value, Instance):
                        mentions |= value.of.module.mentions
            for attribute in sorted(mentions - self._stored_inside):
                yield Spot(f"{name}.{attribute}", name, frozenset({attribute}))

    def _may_be_none(self, spot: Spot) -> bool:
        """Whether the code says that a context may be missing, and does not leave before the block when it is."""
        last = spot.text.rpartition(".")[2]
        is_name = last == spot.text
        optional = False
        for function in self.around if is_name else ():
            arguments = function.args
            listed = [*arguments.posonlyargs, *arguments.args]
            defaults = [None] * (len(listed) - len(arguments.defaults)) + list(arguments.defaults)
            pairs = [*zip(listed, defaults, strict=True)]
            pairs += [*zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
            for argument, default in pairs:
                if argument.arg == last:
                    optional = _says_none(default) or _is_optional(argument.annotation)
        for node in walk(self.around[-1]) if is_name else self.tree.nodes:
            match node:
                case ast.Assign(targets=targets, value=value):
                    named = any(_last_name(target) == last for target in targets)
                    optional = optional or (named and _says_none(value))
                case ast.AnnAssign(target=target, annotation=annotation, value=value):
                    named = _last_name(target) == last
                    optional = optional or (named and (_says_none(value) or _is_optional(annotation)))
        return optional and not self._is_checked(spot)

    def _is_checked(self, spot: Spot) -> bool:
        """Whether the block stands behind `if context is None: return`, or an assertion."""
        for statement in self.node.body:
            if not isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)):
                break
            for node in own_nodes(statement):
                if (
                    isinstance(node, ast.Attribute)
                    and "".join(self.tree.slice(node.value).split()) == spot.text
                ):
                    return True  # the block could not do without it
        inside: ast.AST = self.node
        for around in self.tree.ancestors(self.node):
            for _, value in ast.iter_fields(around):
                if isinstance(value, list) and inside in value:
                    for statement in value[: value.index(inside)]:
                        if isinstance(statement, ast.Assert) and spot.root in names.read_names(
                            statement.test
                        ):
                            return True
                        if (
                            isinstance(statement, ast.If)
                            and isinstance(statement.body[-1], (ast.Return, ast.Raise, ast.Continue))
                            and spot.root in names.read_names(statement.test)
                        ):
                            return True
            if (
                isinstance(around, ast.If)
                and inside in around.body
                and spot.root in names.read_names(around.test)
            ):
                return True
            if around is self.function:
                return False
            inside = around
        return False

    def _of_self(self) -> Iterator[Spot]:
        """Yield what could be a context among the attributes of the object that the block's method belongs to."""
        method = self.around[-1]
        definition = self.tree.parent(method)
        first = _parameters_in_order(method)[:1]
        if not isinstance(definition, ast.ClassDef) or not first or not self.is_bound_before(first[0]):
            return
        found: set[str] = set()
        for node in walk(definition):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == first[0]
            ):
                found.add(node.attr)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found.add(node.target.id)
        for name in sorted(found - self._stored_inside):
            yield Spot(f"{first[0]}.{name}", first[0], frozenset({name}))

    def _is_visible(self, name: str, function: FunctionNode) -> bool:
        inside = self.around.index(function)
        return not any(
            name in names.parameters(inner) or name in local
            for inner, local in zip(self.around[:inside], self.local[:inside], strict=True)
        )

    @cached_property
    def scope_name(self) -> str:
        """A name for the scope that no other one in this function has."""
        wanted = printable(self.function.name, "scope")
        used = {
            keyword.value.value
            for node in walk(self.around[-1])
            if isinstance(node, ast.Call)
            for keyword in node.keywords
            if keyword.arg == "name" and isinstance(keyword.value, ast.Constant)
            if _last_name(node.func).endswith("terminal_scope")
        }
        name, count = wanted, 1
        while name in used:
            count += 1
            name = f"{wanted}-{count}"
        return name

    @cached_property
    def terminal_name(self) -> str:
        """A name for the scope's registry: `terminal`, unless the function means something else by it."""
        for node in walk(self.around[-1]):
            if "terminal" in names.bound_by(node) and not self._is_other_scope(node):
                break
            if isinstance(node, ast.Name) and node.id == "terminal" and not self._is_other_scope(node):
                break
            if isinstance(node, ast.arg) and node.arg == "terminal":
                break
        else:
            return "terminal"
        return names.fresh("terminal", self.taken)

    def _is_other_scope(self, node: ast.AST) -> bool:
        """Whether a name stands in a scope beside this block, which is over before or opened after it."""
        if self.node in self.tree.ancestors(node):
            return False
        mine = set(self.tree.ancestors(self.node))
        for around in self.tree.ancestors(node):
            if around in mine or around is self.node:
                return False
            if isinstance(around, (ast.With, ast.AsyncWith)) and self.tree.scope(around) is self.function:
                for item in around.items:
                    target = item.optional_vars
                    call = item.context_expr
                    if (
                        isinstance(target, ast.Name)
                        and target.id == "terminal"
                        and isinstance(call, ast.Call)
                    ):
                        return _last_name(call.func).endswith("terminal_scope")
        return False

    @cached_property
    def is_narrowly_guarded(self) -> bool:
        """Whether a handler around the block names something narrower than `Exception`.

        The error of a cleanup that failed has another type than before, and may miss it.
        """
        return narrowly_guarded(self.tree, self.node)

    @property
    def unit(self) -> str:
        """One level of indentation at this block."""
        tree, node = self.tree, self.node
        outer = tree.indent(node.lineno)
        first = node.body[0]
        inner = tree.indent(first.lineno) if tree.starts_line(first) else ""
        if inner.startswith(outer) and len(inner) > len(outer):
            return inner[len(outer) :]
        return "\t" if "\t" in outer else "    "


def narrowly_guarded(tree: SourceTree, node: ast.AST) -> bool:
    """Whether a handler around `node` in its function names something narrower than `Exception`.

    `suppress` is one, also among the items of `node` itself.
    """
    if isinstance(node, (ast.With, ast.AsyncWith)) and _suppresses(node):
        return True
    inside = node
    for around in tree.ancestors(node):
        if isinstance(around, CALLABLES):
            return False
        if isinstance(around, (ast.Try, ast.TryStar)) and inside in around.body:
            for handler in around.handlers:
                if handler.type is not None and _last_name(handler.type) not in {
                    "Exception",
                    "BaseException",
                }:
                    return True
        if isinstance(around, (ast.With, ast.AsyncWith)) and inside in around.body and _suppresses(around):
            return True
        inside = around
    return False


def _suppresses(node: ast.With | ast.AsyncWith) -> bool:
    calls = (item.context_expr for item in node.items)
    return any(isinstance(call, ast.Call) and _last_name(call.func) == "suppress" for call in calls)


def contexts_in(view: ModuleView, frame: Frame, fact: object) -> Iterator[m.Expression]:
    """Yield the expressions by which a step reaches a durable context: what it is called on, and what it is given."""
    if isinstance(fact, m.Item):
        fact = fact.manager
    if isinstance(fact, (m.For, m.Clause)):
        fact = fact.iterable
    while isinstance(fact, (m.Await, m.Yield)):
        fact = fact.value
    if not isinstance(fact, m.Call):
        return
    candidates: list[m.Expression] = []
    if isinstance(fact.function, m.Attribute):
        candidates.append(fact.function.value)
    candidates += [argument for argument in fact.arguments if not isinstance(argument, m.Starred)]
    candidates += [keyword.value for keyword in fact.keywords]
    for candidate in candidates:
        if any(isinstance(value, Context) for value in view.solver.value(frame, candidate)):
            yield candidate


def only_given(view: ModuleView, frame: Frame, seen: set[object] | None = None) -> bool:
    """Whether a function makes durable calls only on contexts that it was given as arguments."""
    seen = set() if seen is None else seen
    if frame in seen or frame.function is None:
        return True
    seen.add(frame)
    own = {parameter.name for parameter in frame.function.parameters}
    for step in view.suspensions.body(frame):
        record, fact = step.record, step.fact
        if record.durable and record.contexts:
            if not isinstance(fact, m.Call) or not isinstance(fact.function, m.Attribute):
                return False
            receiver = fact.function.value
            if not isinstance(receiver, m.Name) or receiver.id not in frame.function.local_names:
                given = [*fact.arguments, *(k.value for k in fact.keywords)]
                if not any(isinstance(g, m.Name) and g.id in own for g in given):
                    return False
        elif record.durable:
            continue
        for target in record.targets:
            if makes_durable_call(view, target) and not only_given(view, target, seen):
                return False
    return True


def printable(name: str, otherwise: str) -> str:
    """Return a name for the history made from a name in the code: printable ASCII, words joined by hyphens."""
    import unicodedata

    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    words = [word for word in plain.replace("-", "_").split("_") if word]
    return "-".join(words)[:60].lower() or otherwise


def _in_order(function: FunctionNode, local: set[str]) -> list[str]:
    parameters = _parameters_in_order(function)
    return parameters + sorted(local - set(parameters))


def _parameters_in_order(function: FunctionNode) -> list[str]:
    arguments = function.args
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _says_none(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _is_optional(annotation: ast.expr | None) -> bool:
    if annotation is None:
        return False
    for node in walk(annotation):
        if isinstance(node, ast.Constant) and (node.value is None or "None" in str(node.value)):
            return True
        if _last_name(node) == "Optional" if isinstance(node, (ast.Name, ast.Attribute)) else False:
            return True
        if isinstance(node, ast.Constant) and "Optional" in str(node.value):
            return True
    return False


_CONTAINERS = frozenset(
    "list dict set deque defaultdict Counter OrderedDict bytearray List Dict Set Deque".split()
)


def _is_container(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return _last_name(value.func) in _CONTAINERS
    displays = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp)
    return isinstance(value, displays)


def _names_container(annotation: ast.expr) -> bool:
    kind = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return _last_name(kind) in _CONTAINERS


def _surely_binds(statement: ast.stmt, name: str) -> bool:
    match statement:
        case ast.Assign() | ast.AnnAssign() | ast.With() | ast.Import() | ast.ImportFrom():
            if isinstance(statement, ast.AnnAssign) and statement.value is None:
                return False
            return name in names.bound(statement)
    return False


def expressions_in(block: Iterable[m.Statement]) -> Iterator[m.Expression]:
    for statement in block:
        waiting = list(expressions_of(statement))
        while waiting:
            expression = waiting.pop()
            yield expression
            waiting.extend(operands(expression))
        for inside in blocks_of(statement):
            yield from expressions_in(inside)


def _last_name(expression: ast.expr) -> str:
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""


def _code(text: str) -> str:
    return f"`{text}`"
