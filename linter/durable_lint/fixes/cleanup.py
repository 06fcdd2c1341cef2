"""Turns the statements of a cleanup into registrations, or says why that would not mean the same.

A statement keeps its own text: what changes in it is only what it is called on.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from durable_lint.facts import model as m
from durable_lint.fixes import names
from durable_lint.fixes.place import only_given, printable
from durable_lint.fixes.tree import CALLABLES, FunctionNode, Refused, children, own_nodes, walk
from durable_lint.project.suspension import place as place_of_step
from durable_lint.project.suspension import steps
from durable_lint.project.unwinding import About
from durable_lint.project.values import External, Operation, Partial
from durable_lint.sdk import aws

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from durable_lint.fixes.place import Place, Spot
    from durable_lint.project.frames import Frame
    from durable_lint.project.suspension import Step

_ABOUT_THE_ERROR = frozenset({"exc_info", "exception", "format_exc", "print_exc", "last_exc"})
_ABOUT_THE_FRAME = frozenset({"locals", "vars", "dir", "eval", "exec", "super"})
_PURE_METHODS = frozenset(
    [
        "format",
        "lower",
        "upper",
        "strip",
        "lstrip",
        "rstrip",
        "replace",
        "join",
        "removeprefix",
        "removesuffix",
        "title",
        "hex",
        "isoformat",
    ]
)
_PURE_FUNCTIONS = frozenset(
    [
        "str",
        "int",
        "float",
        "bool",
        "len",
        "repr",
        "format",
        "min",
        "max",
        "sorted",
        "tuple",
        "abs",
        "round",
        "ascii",
        "ord",
        "chr",
    ]
)
_NAME_LIMIT = 256


@dataclass(frozen=True)
class Piece:
    """One statement of a cleanup with its comments. `effect`: it is not process-local. `durable`: it can suspend."""

    node: ast.stmt
    facts: m.Statement
    above: tuple[str, ...]
    beside: str
    effect: bool
    durable: bool
    is_step: bool
    alone: bool
    """Whether it can be an action of its own without a durable context."""

    @property
    def acts(self) -> bool:
        return self.effect or self.durable


class Parts(NamedTuple):
    """A cleanup taken apart: what stays before, what becomes actions, what stays after."""

    leading: list[Piece]
    actions: list[list[Piece]]
    trailing: list[Piece]


class _Conditional(NamedTuple):
    """A step under a condition: its statement, the parameter and body of the action, and its further arguments."""

    inner: ast.stmt
    parameter: str
    body: str
    arguments: str


@dataclass
class Cleanup:
    """The cleanup of one block. `kind` is `cleanup` or `compensate`."""

    place: Place
    spot: Spot
    terminal: str
    kind: str
    context_type: str | None = None
    """How the type `DurableContext` can be named; None when it would have to be imported."""

    defined: set[str] = field(default_factory=set)
    """The names of the functions that the registrations define."""

    needs_context_type: bool = False

    # ------------------------------------------------ taking apart

    def pieces(self, nodes: Sequence[ast.stmt], facts: Sequence[m.Statement], header_row: int) -> list[Piece]:
        """Return the statements of a cleanup, each with the comments above and beside it."""
        tree = self.place.tree
        if len(nodes) != len(facts):
            raise Refused("the cleanup is nested too deeply")
        found: list[Piece] = []
        done = tree.row_start(header_row)
        for node, fact in zip(nodes, facts, strict=True):
            start, end = tree.start(node), tree.end(node)
            above = tuple(comment.text for comment in tree.comments_in(done, start))
            line_end = tree.row_end(node.end_lineno or node.lineno)
            beside = ""
            for comment in tree.comments_in(end, line_end):
                if not tree.text[end : comment.start].strip(" \t\f;"):
                    beside = comment.text
            done = max(end, line_end if beside else end)
            effect = any(
                self.place.view.unwinding.block(frame, [fact], About("")).effect is not None
                for frame in self.place.frames
            )
            durable = any(self._is_durable(frame, fact) for frame in self.place.frames)
            is_step = self._step_call(node) is not None
            alone = is_step or not durable or self._conditional_step(node) is not None
            found.append(Piece(node, fact, above, beside, effect, durable, is_step, alone))
        return found

    def _is_durable(self, frame: Frame, fact: m.Statement) -> bool:
        suspensions = self.place.view.suspensions
        return any(
            bool(step.record.durable) or suspensions.record(step.record) for step in steps(frame, [fact])
        )

    def take_apart(
        self, pieces: list[Piece], *, keep_leading: bool = True, keep_trailing: bool = True
    ) -> Parts:
        """Divide a cleanup. Raises `Refused` when its statements cannot be told apart or moved."""
        self._check_exits([piece.node for piece in pieces])
        acting = [index for index, piece in enumerate(pieces) if piece.acts]
        if not acting:
            raise Refused("all that the cleanup does belongs to this process")
        first, last = acting[0], acting[-1]
        if not keep_leading:
            first = 0
        if not keep_trailing:
            last = len(pieces) - 1
        middle = pieces[first : last + 1]
        bound = names.bound(*(piece.node for piece in middle))
        while last + 1 < len(pieces) and bound & names.read_names(*(p.node for p in pieces[last + 1 :])):
            last += 1
            middle = pieces[first : last + 1]
            bound = names.bound(*(piece.node for piece in middle))
        leading, trailing = pieces[:first], pieces[last + 1 :]
        self._check(middle)
        if all(piece.acts and piece.alone for piece in middle) and not self._linked(middle):
            groups = [[piece] for piece in middle]
        else:
            groups = [middle]
        return Parts(leading, groups, [p for p in trailing if not isinstance(p.node, ast.Pass)])

    def _linked(self, pieces: list[Piece]) -> bool:
        """Whether a statement reads what another one of them binds."""
        for piece in pieces:
            bound = names.bound(piece.node)
            if any(bound & names.mentioned(other.node) for other in pieces if other is not piece):
                return True
        return False

    # ------------------------------------------------ may it move?

    def _check(self, pieces: list[Piece]) -> None:
        """Raise `Refused` for what would not mean the same in a function of its own, run at the end."""
        nodes = [piece.node for piece in pieces]
        what = "cleanup" if self.kind == "cleanup" else "handler"
        for node in own_nodes(*nodes):
            match node:
                case ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                    raise Refused(f"the {what} awaits something")
                case ast.comprehension(is_async=1):
                    raise Refused(f"the {what} awaits something")
                case ast.Yield() | ast.YieldFrom():
                    raise Refused(f"the {what} yields")
                case ast.Global() | ast.Nonlocal():
                    raise Refused(f"the {what} rebinds `{node.names[0]}`, which is not its own")
        for node in (n for root in nodes for n in walk(root)):
            match node:
                case ast.Call(func=ast.Name(id=name)) if name in _ABOUT_THE_FRAME and not self._is_rebound(
                    name
                ):
                    if name in {"vars", "dir"} and node.args:
                        continue
                    if name == "super" and node.args:
                        continue
                    raise Refused(f"`{name}()` means something else in a function of its own")
                case ast.Attribute(attr=attr) | ast.Name(id=attr) if attr in _ABOUT_THE_ERROR:
                    if not self._in_handler(node, nodes) and self._is_about_error(node):
                        raise Refused(f"the {what} looks at the exception in flight (`{attr}`)")
                case ast.keyword(arg="exc_info"):
                    if not self._in_handler(node, nodes):
                        raise Refused(f"the {what} looks at the exception in flight (`exc_info`)")
        self._check_names(nodes)

    def _check_exits(self, nodes: list[ast.stmt]) -> None:
        """Raise `Refused` when a cleanup leaves the block by itself."""
        what = "cleanup" if self.kind == "cleanup" else "handler"
        for node in own_nodes(*nodes):
            match node:
                case ast.Raise(exc=None) if self._in_handler(node, nodes):
                    continue
                case ast.Return() | ast.Raise():
                    word = "return" if isinstance(node, ast.Return) else "raise"
                case ast.Break() | ast.Continue() if not self._in_loop(node, nodes):
                    word = "break" if isinstance(node, ast.Break) else "continue"
                case ast.Assert():
                    word = "assert"
                case _:
                    continue
            raise Refused(f"the {what} leaves the block itself (`{word}` on line {node.lineno})")

    def _is_about_error(self, node: ast.AST) -> bool:
        """`sys.exc_info()` and the like; `logger.exception` counts, an attribute of something else does not."""
        parent = self.place.tree.parent(node)
        return isinstance(parent, ast.Call) and parent.func is node

    def _is_rebound(self, name: str) -> bool:
        return name in names.bound(*self.place.tree.tree.body) or name in self.place.changed

    def _in_loop(self, node: ast.AST, within: Sequence[ast.AST]) -> bool:
        for around in self.place.tree.ancestors(node):
            if isinstance(around, (ast.For, ast.While, ast.AsyncFor)):
                return any(around in set(walk(root)) for root in within)
        return False

    def _in_handler(self, node: ast.AST, within: Sequence[ast.AST]) -> bool:
        inside = {n for root in within for n in walk(root)}
        return any(isinstance(a, ast.ExceptHandler) and a in inside for a in self.place.tree.ancestors(node))

    def _check_names(self, nodes: list[ast.stmt]) -> None:
        """Refuse when what the statements bind is seen by code outside them."""
        bound = names.bound(*nodes)
        what = "cleanup" if self.kind == "cleanup" else "handler"
        own = {n for root in nodes for n in walk(root)}
        function = self.place.function
        declared = names.changed_inside_functions(function)
        for name in sorted(bound):
            if name in declared:
                raise Refused(f"the {what} assigns `{name}`, which is not its own")
            if not names.assigned_first(list(nodes), name):
                raise Refused(f"the {what} changes `{name}` from its old value")
            seen = self._reader(name, own)
            if seen is not None:
                where = (
                    "is read after the block" if seen.lineno > nodes[-1].lineno else "other code reads too"
                )
                raise Refused(f"the {what} assigns `{name}`, which {where} (line {seen.lineno})")
        self._check_memory(nodes, own)
        self._check_types(nodes)

    def _reader(self, name: str, own: set[ast.AST]) -> ast.Name | None:
        """Return a read of a name that could see what the cleanup assigned, None when there is none."""
        place = self.place
        loops = [
            a for a in place.tree.ancestors(place.node) if isinstance(a, (ast.For, ast.While, ast.AsyncFor))
        ]
        loops = [loop for loop in loops if place.tree.scope(loop) is place.function]
        after = max(place.tree.end(place.node), 0)
        found: ast.Name | None = None
        for node in names.reads(place.function):
            if node.id != name or node in own:
                continue
            if self._bound_in_comprehension(node) or self._bound_in_function(node):
                continue
            is_after = place.tree.start(node) >= after
            in_function = place.tree.scope(node) is not place.function
            in_loop = any(loop in set(place.tree.ancestors(node)) for loop in loops)
            if (is_after or in_function or in_loop) and (found is None or is_after):
                found = node
        return found

    def _bound_in_function(self, node: ast.Name) -> bool:
        """Whether a name belongs to a function inside the block's one, as its parameter or local."""
        inside: ast.AST = node
        for around in self.place.tree.ancestors(node):
            if around is self.place.function:
                return False
            if isinstance(around, ast.arguments):
                defaults = [*around.defaults, *around.kw_defaults]
                inside_default = inside in defaults
                inside = around
                if inside_default:
                    owner = self.place.tree.parent(around)
                    return owner is not None and self._owner_binds(owner, node)
                continue
            if isinstance(around, ast.Lambda) and node.id in names.parameters(around):
                return True
            if isinstance(around, FunctionNode) and inside in around.body:
                if node.id in names.parameters(around) | names.bound(*around.body):
                    return True
            inside = around
        return False

    def _owner_binds(self, owner: ast.AST, node: ast.Name) -> bool:
        """Whether a function around the one whose default `node` is in binds the name."""
        for around in self.place.tree.ancestors(owner):
            if around is self.place.function:
                return False
            if isinstance(around, CALLABLES) and node.id in names.parameters(around):
                return True
        return False

    def _bound_in_comprehension(self, node: ast.Name) -> bool:
        """Whether a name is a comprehension's own, and not the function's."""
        for around in self.place.tree.ancestors(node):
            if isinstance(around, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
                targets = {n.id for g in around.generators for n in walk(g.target) if isinstance(n, ast.Name)}
                if node.id in targets:
                    return True
            if isinstance(around, ast.stmt):
                return False
        return False

    def _check_memory(self, nodes: list[ast.stmt], own: set[ast.AST]) -> None:
        """Refuse when a plain statement changes an object in memory that later code looks at.

        An action that has completed is not run again by a replay, so its changes in memory would be gone.
        """
        place = self.place
        local = names.bound(*nodes)
        inside = own_nodes(place.node)
        returned = names.read_names(*(n.value for n in inside if isinstance(n, ast.Return) and n.value))
        for root in nodes:
            for name in sorted(names.mutated_by(own_nodes(root)) - local):
                if name in returned:
                    raise Refused(f"the cleanup changes `{name}` in memory, which the block returns")
                seen = self._reader(name, own)
                if seen is None and name in place.bound_in_function:
                    continue
                if seen is None and name in names.parameters(place.function) and name not in {"self", "cls"}:
                    raise Refused(
                        f"the cleanup changes `{name}` in memory, which a replay would not do again"
                    )
                if seen is not None and name not in {"self", "cls"}:
                    raise Refused(
                        f"the cleanup changes `{name}` in memory, which is read on line {seen.lineno}"
                    )
        stored = names.stored_attributes(*nodes) | self._stored_by_calls(nodes)
        stored |= names.mutated_attributes(own_nodes(*nodes)) & place.containers
        if not stored:
            return
        for node in place.tree.nodes:
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Load)
                and node.attr in stored
                and node not in own
                and node not in self._storing
            ):
                raise Refused(
                    f"the cleanup changes `.{node.attr}` in memory, which is read on line {node.lineno}"
                )

    def _check_types(self, nodes: list[ast.stmt]) -> None:
        """Refuse where a type checker would lose the type of an empty container.

        mypy learns it from the first `append`, but not when a function reads the name before.
        """
        place = self.place
        if not place.is_fully_annotated:
            return
        read = names.read_names(*nodes)
        before = [n for n in own_nodes(*place.function.body) if getattr(n, "lineno", 0) < place.node.lineno]
        for node in before:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in read and _is_empty(
                    value
                ):
                    if name not in names.mutated_by(before):
                        raise Refused(
                            f"a type checker could not tell the type of `{name}` any more: annotate it"
                        )

    def _stored_by_calls(self, nodes: list[ast.stmt]) -> set[str]:
        """Return the attributes that plain calls of the module's functions assign.

        Raises `Refused` when they rebind a name that other code reads.
        """
        self._storing: set[ast.AST] = set()
        place = self.place
        at = {(node.lineno, node.col_offset) for node in nodes}
        facts = [f for f in _statements(place.facts) if (f.at.row, f.at.column) in at]
        called: dict[m.Function, None] = {}
        for frame in place.frames:
            waiting = list(steps(frame, facts))
            seen: set[Frame] = set()
            while waiting:
                step = waiting.pop()
                if step.record.durable:
                    continue
                for target in step.record.targets:
                    if target.function is None or target.module is not place.module or target in seen:
                        continue
                    seen.add(target)
                    called[target.function] = None
                    waiting += place.view.suspensions.body(target)
        rows = {(function.name, function.at.row) for function in called}
        defined = [n for n in place.tree.nodes if isinstance(n, FunctionNode) and (n.name, n.lineno) in rows]
        self._storing = {n for definition in defined for n in walk(definition)}
        own = {n for root in nodes for n in walk(root)} | self._storing
        for name in sorted(names.changed_inside_functions(*defined)):
            for read in names.reads(place.tree.tree):
                if read.id == name and read not in own:
                    raise Refused(f"the cleanup rebinds `{name}`, which is read on line {read.lineno}")
        inside = (node for definition in defined for node in own_nodes(*definition.body))
        return names.stored_attributes(*defined) | (names.mutated_attributes(inside) & place.containers)

    # ------------------------------------------------ writing

    def registrations(self, actions: list[list[Piece]], indent: str, unit: str) -> str:
        """Return the lines that register actions, indented by `indent`, comments included.

        A cleanup runs first to last and a scope runs its actions last to first, so they stand in reverse.
        """
        newline = self.place.tree.source.newline
        lines: list[str] = []
        for group in reversed(actions):
            new = self._registration(group, indent, unit)
            if lines and any(line.startswith(f"{indent}def ") for line in new):
                lines.append("")
            lines += new
        return "".join(f"{line}{newline}" for line in lines)

    def _registration(self, group: list[Piece], indent: str, unit: str) -> list[str]:
        if len(group) == 1:
            piece = group[0]
            above = [indent + comment for comment in piece.above]
            beside = f"  {piece.beside}" if piece.beside else ""
            if piece.is_step:
                return [*above, indent + self._from_step(piece.node, indent, unit) + beside]
            if not piece.durable and isinstance(piece.node, ast.Expr):
                return [*above, indent + self._from_expression(piece.node, indent, unit) + beside]
            conditional = self._from_conditional_step(piece, indent, unit)
            if conditional is not None:
                return conditional
        return self._from_statements(group, indent, unit)

    def _step_call(self, node: ast.stmt) -> ast.Call | None:
        """Return the call of a statement that is one step on the block's own context, in plain arguments."""
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
            return None
        call = node.value
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "step":
            return None
        if "".join(self.place.tree.slice(call.func.value).split()) != self.spot.text:
            return None
        if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
            return None
        if len(call.args) > len(aws.POSITIONS["step"]) or not (call.args or _keyword(call, "func")):
            return None
        inner = [call.func.value, *call.args, *(k.value for k in call.keywords)]
        if any(self._has_durable(expression) for expression in inner):
            return None
        return call

    def _has_durable(self, node: ast.expr) -> bool:
        for inner in own_nodes(node):
            if isinstance(inner, ast.Call):
                fact = self.place.fact(inner)
                for frame in self.place.frames:
                    record = frame.records.get(fact)
                    if record is not None and (record.durable or self.place.view.suspensions.record(record)):
                        return True
        return False

    def _from_step(self, node: ast.stmt, indent: str, unit: str) -> str:
        call = self._step_call(node)
        assert call is not None
        tree = self.place.tree
        func, name, config = step_arguments(call)
        if config is not None and isinstance(config, ast.Constant) and config.value is None:
            pass
        elif config is not None:
            self._need_stable(config, "configuration")
        replacements = [(tree.start(call.func), tree.end(call.func), f"{self.terminal}.{self.kind}")]
        for argument, keyword in zip(call.args[1:], ("name", "config"), strict=False):
            at = tree.start(argument)
            replacements.append((at, at, f"{keyword}="))
        replacements += self._deferred(func)
        given = self.given_name(name)
        if name is None or given != "":
            text = given or self.step_name(func)
            if name is None:
                at = self._argument_end(call, func)
                replacements.append((at, at, f', name="{text}"'))
            else:
                replacements.append((tree.start(name), tree.end(name), f'"{text}"'))
        old = tree.indent(call.lineno)
        text = tree.moved(tree.start(node), tree.end(node), old, indent, replacements)
        return tree.fitted(text, indent, unit)

    def _argument_end(self, call: ast.Call, func: ast.expr) -> int:
        """Return the offset behind the first argument, closing parentheses of its own included."""
        tree = self.place.tree
        following = [tree.start(a) for a in call.args[1:]] + [tree.start(k) for k in call.keywords]
        limit = min((at for at in following if at > tree.end(func)), default=tree.end(call) - 1)
        at = tree.end(func)
        depth_end = at
        index = at
        comments = tree.comments_in(at, limit)
        while index < limit:
            skipped = next((c.end for c in comments if c.start == index), None)
            if skipped is not None:
                index = skipped
                continue
            if tree.text[index] == ")":
                depth_end = index + 1
            elif tree.text[index] == ",":
                break
            index += 1
        return depth_end

    def given_name(self, name: ast.expr | None) -> str:
        """Return another name to give where the one in the code will not do, "" where it will."""
        if name is None:
            return ""
        if isinstance(name, ast.Constant):
            if name.value is None or name.value == "":
                return "cleanup"
            if isinstance(name.value, str):
                if name.value.isascii() and name.value.isprintable() and len(name.value) <= _NAME_LIMIT - 80:
                    return ""
                return printable(name.value, "cleanup") if name.value.isascii() else _folded(name.value)
        self._need_stable(name, "name")
        return ""

    def step_name(self, func: ast.expr) -> str:
        for value in self.place.values(func):
            if isinstance(value, Operation):
                return value.function.function.name
        if isinstance(func, ast.Lambda):
            return called_name(func.body) or "cleanup"
        return called_name(func) or printable(_last(func), "cleanup")

    def _deferred(self, func: ast.expr) -> list[tuple[int, int, str]]:
        """Return what puts off the evaluation of a step's function until it runs, where that matters."""
        tree = self.place.tree
        if isinstance(func, ast.Lambda):
            arguments = func.args
            defaults = [d for d in (*arguments.defaults, *arguments.kw_defaults) if d is not None]
            if all(self.is_stable(default) for default in defaults):
                return []
        elif self.is_stable(func):
            return []
        parameter = self._parameter(func)
        start, end = tree.start(func), tree.end(func)
        is_simple = isinstance(func, (ast.Name, ast.Attribute, ast.Call))
        before, after = ("", "") if is_simple else ("(", ")")
        return [
            (start, start, f"lambda {parameter}: {before}"),
            (end, end, f"{after}({parameter})"),
        ]

    def unused(self, *nodes: ast.AST) -> str:
        """Return a name for the parameter of a new function that does not read it."""
        return self._parameter(*nodes) if "_" in names.mentioned(*nodes) else "_"

    def _parameter(self, *nodes: ast.AST, wanted: str = "step_context") -> str:
        """Return a name for the parameter of a new function that hides nothing in it."""
        return names.fresh(wanted, names.mentioned(*nodes))

    def _from_expression(self, node: ast.Expr, indent: str, unit: str) -> str:
        tree = self.place.tree
        name = called_name(node.value) or "cleanup"
        unused = self.unused(node)
        old = tree.indent(node.lineno)
        text = self._operand(node, old, indent)
        call = f'{self.terminal}.{self.kind}(lambda {unused}: {text}, name="{name}")'
        if "\n" not in call and "\r" not in call:
            return tree.fitted(call, indent, unit)
        newline = tree.source.newline
        deeper = indent + unit
        text = self._operand(node, old, deeper)
        return (
            f"{self.terminal}.{self.kind}({newline}"
            f"{deeper}lambda {unused}: {text},{newline}"
            f'{deeper}name="{name}",{newline}'
            f"{indent})"
        )

    def _operand(
        self, node: ast.Expr, old: str, new: str, replacements: Sequence[tuple[int, int, str]] = ()
    ) -> str:
        """Return an expression as the body of a lambda among other arguments: a bare tuple gets parentheses."""
        tree = self.place.tree
        text = tree.moved(tree.start(node), tree.end(node), old, new, replacements)
        if isinstance(node.value, ast.NamedExpr):
            return f"({text})"
        is_bare = isinstance(node.value, ast.Tuple) and tree.start(node.value) == tree.start(node)
        return f"({text})" if is_bare and not _is_enclosed(node.value, tree.slice(node.value)) else text

    # ------------------------------------------------ functions

    def _conditional_step(self, node: ast.stmt) -> _Conditional | None:
        """Return the parts of `if test: context.step(f)`; None where a statement is not just that."""
        tree = self.place.tree
        if not isinstance(node, ast.If) or node.orelse or len(node.body) != 1 or self._has_durable(node.test):
            return None
        inner = node.body[0]
        call = self._step_call(inner)
        if call is None or not tree.starts_line(inner):
            return None
        func, name, config = step_arguments(call)
        if isinstance(func, ast.Lambda):
            arguments = func.args
            if len(arguments.args) != 1 or arguments.defaults or arguments.kwonlyargs or arguments.vararg:
                return None
            parameter = arguments.args[0].arg
            if parameter in names.mentioned(node.test):
                return None
            kept: ast.expr = func.body
            body = tree.slice(kept)
        else:
            parameter = self._parameter(node)
            kept = func
            body = f"{tree.slice(func)}({parameter})"
        inside = range(tree.start(kept), tree.end(kept))
        if any(c.start not in inside for c in tree.comments_in(tree.start(call), tree.end(call))):
            return None
        try:
            if config is not None:
                self._need_stable(config, "configuration")
            given = self.given_name(name)
        except Refused:
            return None
        shown = f'"{given or self.step_name(func)}"' if name is None or given else tree.slice(name)
        extra = "" if config is None else f", config={tree.slice(config)}"
        if any(end in body + shown + extra for end in "\r\n"):
            return None
        return _Conditional(inner, parameter, body, f"name={shown}{extra}")

    def _from_conditional_step(self, piece: Piece, indent: str, unit: str) -> list[str] | None:
        """Return a conditional step as one action that tests when it runs; None where it is not just that."""
        found = self._conditional_step(piece.node)
        if found is None:
            return None
        tree, node = self.place.tree, piece.node
        defined = self._new_function()
        replaced = [(tree.start(found.inner), tree.end(found.inner), found.body)]
        old = tree.indent(node.lineno)
        text = tree.moved(tree.start(node), tree.end(node), old, indent + unit, replaced)
        head = f"def {defined}({found.parameter}{self._annotation('object')}){self._returns()}:"
        return [
            *(indent + comment for comment in piece.above),
            indent + head,
            indent + unit + text + (f"  {piece.beside}" if piece.beside else ""),
            "",
            f"{indent}{self.terminal}.{self.kind}({defined}, {found.arguments})",
        ]

    def _from_statements(self, group: list[Piece], indent: str, unit: str) -> list[str]:
        """Return an action that runs statements as they are, in a function of its own."""
        durable = any(piece.durable for piece in group)
        nodes = [piece.node for piece in group]
        tree = self.place.tree
        replacements: list[tuple[int, int, str]] = []
        if durable:
            parameter = self._parameter(*nodes, wanted="action_context")
            for piece in group:
                self._check_reached(piece)
            for use in self.context_uses(nodes):
                replacements.append((tree.start(use), tree.end(use), parameter))
            replacements += self._as_steps(nodes, parameter)
        else:
            parameter = self.unused(*nodes)
        if durable and len(group) == 1 and isinstance(nodes[0], ast.Expr):
            return self._from_durable_call(group[0], parameter, replacements, indent, unit)
        defined = self._new_function()
        lines: list[str] = []
        deeper = indent + unit
        annotation = self._annotation("DurableContext" if durable else "object")
        lines.append(f"{indent}def {defined}({parameter}{annotation}){self._returns()}:")
        for piece in group:
            start, end = tree.start(piece.node), tree.end(piece.node)
            inside = [r for r in replacements if start <= r[0] <= end]
            lines += [deeper + comment for comment in piece.above]
            text = tree.moved(start, end, tree.indent(piece.node.lineno), deeper, inside)
            lines.append(deeper + text + (f"  {piece.beside}" if piece.beside else ""))
        method = f"{self.kind}_in_context" if durable else self.kind
        lines += [
            "",
            indent
            + tree.fitted(
                f'{self.terminal}.{method}({defined}, name="{self._group_name(group)}")', indent, unit
            ),
        ]
        return lines

    def _from_durable_call(
        self, piece: Piece, parameter: str, replacements: list[tuple[int, int, str]], indent: str, unit: str
    ) -> list[str]:
        """Return an action that is one durable call, on the context that it is given."""
        tree, node = self.place.tree, piece.node
        assert isinstance(node, ast.Expr)
        text = self._operand(node, tree.indent(node.lineno), indent + unit, replacements)
        name = self._group_name([piece])
        call = f'{self.terminal}.{self.kind}_in_context(lambda {parameter}: {text}, name="{name}")'
        newline = tree.source.newline
        if "\n" in text or "\r" in text:
            call = call.replace(f"(lambda {parameter}: ", f"({newline}{indent}{unit}lambda {parameter}: ", 1)
            call = f'{call[: -len(f""" name="{name}")""")]}{newline}{indent}{unit}name="{name}",{newline}{indent})'
        beside = f"  {piece.beside}" if piece.beside else ""
        return [*(indent + c for c in piece.above), indent + tree.fitted(call, indent, unit) + beside]

    def _as_steps(self, nodes: Sequence[ast.stmt], context: str) -> list[tuple[int, int, str]]:
        """Return what makes steps of the plain calls in an action that can suspend, so that they run once.

        Raises `Refused` for calls whose value is used, or whose errors are told apart: a step changes both.
        """
        tree = self.place.tree
        found: list[tuple[int, int, str]] = []
        wrapped: set[ast.AST] = set()
        for node in own_nodes(*nodes):
            if not isinstance(node, ast.Call) or node in wrapped or not self._is_plain_effect(node):
                continue
            statement = tree.parent(node)
            if not isinstance(statement, ast.Expr):
                raise Refused(
                    f"the cleanup uses what a call returns that a replay would make again (line {node.lineno})"
                )
            for around in tree.ancestors(statement):
                if around in nodes or any(around in set(walk(root)) for root in nodes):
                    if isinstance(around, (ast.Try, ast.TryStar)) and any(
                        h.type is None or _last(h.type) not in {"Exception", "BaseException"}
                        for h in around.handlers
                    ):
                        raise Refused(f"the cleanup tells the errors of a call apart (line {node.lineno})")
            unused = self.unused(node)
            name = called_name(node) or "cleanup"
            start, end = tree.start(node), tree.end(node)
            found.append((start, start, f"{context}.step(lambda {unused}: "))
            found.append((end, end, f', name="{name}")'))
            wrapped |= set(walk(node))
        return found

    def _is_plain_effect(self, node: ast.Call) -> bool:
        fact = self.place.fact(node)
        if fact is None or self._has_durable(node):
            return False
        made = self.place.values(node)
        if made and all(isinstance(value, (Operation, Partial)) for value in made):
            return False  # it only prepares a function for a step
        return any(self.place.view.unwinding.effect(frame, fact) is not None for frame in self.place.frames)

    def _new_function(self) -> str:
        wanted = "clean_up" if self.kind == "cleanup" else "undo"
        name = names.fresh(wanted, self.place.taken | self.defined | _module_names(self.place))
        self.defined.add(name)
        return name

    def _annotation(self, type_: str) -> str:
        if not self.place.is_annotated:
            return ""
        if type_ == "DurableContext":
            self.needs_context_type = True
            return f": {self.context_type or type_}"
        return f": {type_}"

    def _returns(self) -> str:
        return " -> None" if self.place.is_annotated else ""

    def _group_name(self, group: list[Piece]) -> str:
        """Return a name for an action of several statements: that of its only acting call, if there is one."""
        found: list[str] = []
        for piece in group:
            for node in own_nodes(piece.node):
                if not isinstance(node, ast.Call):
                    continue
                fact = self.place.fact(node)
                if not isinstance(fact, m.Call):
                    continue
                for frame in self.place.frames:
                    record = frame.records.get(fact)
                    if record is None:
                        continue
                    if record.durable:
                        name = _keyword(node, "name") or (node.args[1] if len(node.args) > 1 else None)
                        text = name.value if isinstance(name, ast.Constant) else None
                        found.append(
                            text
                            if isinstance(text, str) and text.isascii() and text.isprintable() and text
                            else "cleanup"
                        )
                    elif self.place.view.unwinding.step_effect(frame, _step(fact, record)) is not None:
                        found.append(called_name(node) or "cleanup")
                    break
        unique = list(dict.fromkeys(found))
        return unique[0][:100] if len(unique) == 1 else ("cleanup" if self.kind == "cleanup" else "undo")

    # ------------------------------------------------ the action's own context

    def context_uses(self, nodes: Sequence[ast.AST]) -> list[ast.expr]:
        """Return where the block's context stands in the statements, inside functions too."""
        found: list[ast.expr] = []
        waiting: list[ast.AST] = list(nodes)
        while waiting:
            node = waiting.pop()
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                if "".join(self.place.tree.slice(node).split()) == self.spot.text:
                    found.append(node)
                    continue
            if isinstance(node, CALLABLES) and self.spot.root in names.parameters(node):
                continue
            waiting.extend(children(node))
        return found

    def _check_reached(self, piece: Piece) -> None:
        """Refuse when a statement reaches a durable context that the action's own one would not replace."""
        for frame in self.place.frames:
            for step in steps(frame, [piece.facts]):
                record = step.record
                durable = bool(record.durable) or self.place.view.suspensions.record(record)
                if durable and not self.is_given(step):
                    where = place_of_step(step.fact).row
                    raise Refused(
                        f"the cleanup reaches a durable context other than by `{self.spot.text}` (line {where})"
                    )

    def is_given(self, step: Step) -> bool:
        """Whether all that a step does durably is on the block's context, named in the step itself."""
        fact: object = step.fact
        if isinstance(fact, m.Item):
            fact = fact.manager
        if not isinstance(fact, m.Call):
            return False
        named = [fact.function.value] if isinstance(fact.function, m.Attribute) else []
        given = [*fact.arguments, *(keyword.value for keyword in fact.keywords)]
        texts = {"".join(self.place.source_of(e).split()) for e in (*named, *given)}
        if self.spot.text not in texts:
            return False
        if step.record.durable:
            return all(only_given(self.place.view, target) for target in step.record.targets)
        return (
            bool(step.record.targets)
            and all(only_given(self.place.view, target) for target in step.record.targets)
        ) or bool(step.record.assumed)

    # ------------------------------------------------ what may be evaluated early

    def _need_stable(self, expression: ast.expr, what: str) -> None:
        if not self.is_stable(expression):
            shown = " ".join(self.place.tree.slice(expression).split())
            shown = shown if len(shown) <= 40 else shown[:37] + "..."
            raise Refused(
                f"the step's {what} (`{shown}`) may be another one at the end of the block than at its start"
            )

    def is_stable(self, expression: ast.expr) -> bool:
        """Whether an expression gives the same where the block starts as where it ends."""
        place = self.place
        match expression:
            case ast.Constant():
                return True
            case ast.Name(id=name):
                return name not in place.changed and name not in place.mutated
            case ast.Attribute(value=value, attr=attr):
                return attr not in place.stored and self.is_stable(value)
            case ast.Subscript(value=value, slice=index):
                return self.is_stable(value) and self.is_stable(index)
            case ast.JoinedStr(values=values) | ast.Tuple(elts=values) | ast.List(elts=values):
                return all(map(self.is_stable, values))
            case ast.FormattedValue(value=value, format_spec=spec):
                return self.is_stable(value) and (spec is None or self.is_stable(spec))
            case ast.BinOp(left=left, right=right):
                return self.is_stable(left) and self.is_stable(right)
            case ast.UnaryOp(operand=operand):
                return self.is_stable(operand)
            case ast.BoolOp(values=values):
                return all(map(self.is_stable, values))
            case ast.Compare(left=left, comparators=others):
                return self.is_stable(left) and all(map(self.is_stable, others))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.is_stable(test) and self.is_stable(body) and self.is_stable(orelse)
            case ast.Lambda():
                arguments = expression.args
                defaults = [d for d in (*arguments.defaults, *arguments.kw_defaults) if d is not None]
                return all(map(self.is_stable, defaults))
            case ast.Call(func=func, args=args, keywords=keywords):
                given = [*args, *(keyword.value for keyword in keywords)]
                return self._is_pure_call(func) and self.is_stable(func) and all(map(self.is_stable, given))
            case ast.Starred(value=value):
                return self.is_stable(value)
        return False

    def _is_pure_call(self, func: ast.expr) -> bool:
        if isinstance(func, ast.Attribute):
            base = func.value
            return (
                func.attr in _PURE_METHODS
                or _last(base)[:1].isupper()
                or func.attr[:1].isupper()
                or (self._makes_operation(func))
            )
        if isinstance(func, ast.Name):
            if func.id in _PURE_FUNCTIONS or func.id[:1].isupper():
                return True
            return self._makes_operation(func)
        return False

    def _makes_operation(self, func: ast.expr) -> bool:
        """Whether calling it only prepares something: a `@durable_step` function, or one of the SDK's own."""
        fact = self.place.fact(func)
        if fact is None:
            return False
        for frame in self.place.frames:
            for value in self.place.view.solver.value(frame, fact):
                kind = getattr(value, "kind", "")
                if kind in {"step", "child", "submitter"}:
                    return True
                if isinstance(value, External) and value.name.startswith("sdk."):
                    return True
        return False


def _is_enclosed(node: ast.expr, text: str) -> bool:
    """Whether a tuple's own text has the parentheses around it: `(a, b)`, not `(a), (b)`."""
    assert isinstance(node, ast.Tuple)
    first = node.elts[0] if node.elts else None
    return text.startswith("(") and (
        first is None or (first.lineno, first.col_offset) != (node.lineno, node.col_offset)
    )


def _is_empty(value: ast.expr) -> bool:
    """Whether an expression is an empty list, dictionary or set."""
    match value:
        case ast.List(elts=[]) | ast.Dict(keys=[]):
            return True
        case ast.Call(func=ast.Name(id="list" | "dict" | "set"), args=[], keywords=[]):
            return True
    return False


def step_arguments(call: ast.Call) -> tuple[ast.expr, ast.expr | None, ast.expr | None]:
    """Return the function, name and configuration that a `step` is given."""
    given: dict[str, ast.expr] = dict(zip(aws.POSITIONS["step"], call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    return given["func"], given.get("name"), given.get("config")


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def called_name(expression: ast.expr) -> str:
    """Return a name for an action from what it calls: `close_gate(x)` gives `close-gate`, `vm.close()` `close-vm`."""
    while isinstance(expression, (ast.Await, ast.Starred)):
        expression = expression.value
    if isinstance(expression, (ast.BoolOp,)):
        return called_name(expression.values[-1])
    if isinstance(expression, (ast.IfExp, ast.Lambda)):
        return called_name(expression.body)
    if not isinstance(expression, ast.Call):
        return ""
    func = expression.func
    if isinstance(func, ast.Call):
        return called_name(func)
    if isinstance(func, ast.Name):
        return printable(func.id, "")
    if isinstance(func, ast.Attribute):
        base = func.value
        if (
            func.attr in {"close", "release", "stop", "delete", "terminate", "unlock"}
            and isinstance(base, ast.Name)
            and base.id not in {"self", "cls"}
        ):
            return printable(f"{func.attr}_{base.id}", "")
        return printable(func.attr, "")
    return ""


def _last(expression: ast.expr) -> str:
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""


def _folded(name: str) -> str:
    """Return a name in printable ASCII that is as close to the given one as can be."""
    import unicodedata

    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = "".join(c for c in plain if c.isprintable() and c not in '"\\')
    return plain.strip()[:100] or "cleanup"


def _module_names(place: Place) -> set[str]:
    return names.bound(*place.tree.tree.body)


def _statements(fact: m.Try | m.With) -> Iterator[m.Statement]:
    from durable_lint.rules.view import blocks_of

    waiting: list[m.Statement] = [fact]
    while waiting:
        statement = waiting.pop()
        yield statement
        for block in blocks_of(statement):
            waiting.extend(block)


def _step(fact: m.Call, record: object) -> Step:
    from durable_lint.project.suspension import Step

    return Step(fact, record)  # type: ignore[arg-type]
