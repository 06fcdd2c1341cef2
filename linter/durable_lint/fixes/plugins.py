"""Makes plugins let go: with `CompletionPlugin` and `bind`, with the completion hook, or by moving a release.

All of it is unsafe: hooks are called, and things attached and released, at other moments than before.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.fixes import imports
from durable_lint.fixes.tree import Change, Refused, walk
from durable_lint.project.values import ClassValue, External
from durable_lint.rules.finding import Applicability, Fix
from durable_lint.rules.plugins import ends_span, released_in
from durable_lint.sdk import plugins as sdk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from durable_lint.fixes.tree import SourceTree
    from durable_lint.rules.plugins import Action, Hook, Plugin
    from durable_lint.rules.view import ModuleView

_RUNTIME = "durable_runtime.plugin"
_SDK = "aws_durable_execution_sdk_python.plugin"
_INFO = {sdk.END: "UserFunctionEndInfo", sdk.COMPLETE: "UserFunctionCompleteInfo"}
_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete)


class Rewrite:
    """One fix of one plugin class."""

    def __init__(
        self, view: ModuleView, tree: SourceTree, plugin: Plugin, is_first_party: Callable[[str], bool]
    ) -> None:
        self.view = view
        self.tree = tree
        self.plugin = plugin
        self.is_first_party = is_first_party
        self.change = Change(tree)
        self._runtime_names: dict[str, ast.AST] = {}

    def _fix(self, message: str) -> Fix:
        self._import_from_runtime()
        return Fix(Applicability.UNSAFE, message, self.change.edits(None))

    def _from_runtime(self, name: str, around: ast.AST) -> str:
        """Return how to name something of `durable_runtime.plugin`; what is not imported yet is, in one
        line.
        """
        known = imports.imported_as(self.tree, _RUNTIME, name, around)
        if known is not None:
            return known
        if name in self.tree.mentioned:
            raise Refused(f"`{name}` means something else here")
        self._runtime_names[name] = around
        return name

    def _import_from_runtime(self) -> None:
        wanted = sorted(self._runtime_names, key=lambda name: (not name[:1].isupper(), name))
        if not wanted:
            return
        first = wanted[0]
        before = len(self.change.parts)
        imports.need(self.change, _RUNTIME, first, self._runtime_names[first], self.is_first_party)
        for index in range(before, len(self.change.parts)):
            start, end, text = self.change.parts[index]
            self.change.parts[index] = (start, end, text.replace(first, ", ".join(wanted), 1))

    # ------------------------------------------------ LDC301: attach by `bind`

    def bind(self, acquire: Action) -> Fix:
        """Return the fix that attaches with `bind`. Raises `Refused`."""
        if acquire in self.plugin.actions(sdk.END):
            raise Refused("what it restores is restored by itself once the start hook attaches by `bind`")
        if acquire.module is not self.view.module or not isinstance(acquire.fact, m.Call):
            raise Refused("only the class that attaches can release it: use `bind` there")
        if ends_span(acquire):
            raise Refused(
                "leaving it ends the span of a function that is only suspended: attach it with `use_span`"
            )
        owner = self._owner(acquire)
        call = self.tree.find(acquire.fact.at, ast.Call)
        receiver, info = self._parameters(acquire)
        self._bind_call(acquire, call, receiver, info)
        self._derive(owner)
        self._install(owner)
        return self._fix("attach it with `bind`, which releases it")

    def _owner(self, acquire: Action) -> ClassValue:
        """Return the class whose method attaches."""
        solver = self.view.solver
        function = acquire.scope.frame.function
        definition = solver.methods.get(function) if function is not None else None
        for value in (self.plugin.value, *solver.all_bases(self.plugin.value)):
            if isinstance(value, ClassValue) and value.definition is definition:
                return value
        raise Refused("it is attached by something else than a method of the plugin")

    def _parameters(self, acquire: Action) -> tuple[str, str]:
        """Return the names of `self` and of the notification in the function that attaches."""
        function = acquire.scope.frame.function
        assert function is not None
        positional = [p.name for p in function.parameters if p.kind == "positional"]
        for name in positional[1:]:
            if acquire.scope.symbol(m.Name(function.at, name)) == "info":
                return positional[0], name
        raise Refused(f"`{function.name}` is not given the notification that `bind` needs")

    def _bind_call(self, acquire: Action, call: ast.Call, receiver: str, info: str) -> None:
        start, end = self._replaced(acquire, call)
        self.change.replace(start, self.tree.start(call), f"{receiver}.bind({info}, ")
        function = call.func
        if acquire.pair is sdk.CONTEXT_VARIABLE and isinstance(function, ast.Attribute):
            variable = self.tree.slice(function.value)
            self.change.replace(self.tree.start(call), self._arguments(call), f"{variable}, ")
            self.change.replace(end, end, "")
        elif acquire.pair in (sdk.MANAGER, sdk.LOCK) and isinstance(function, ast.Attribute):
            if call.args or call.keywords:
                raise Refused("what its arguments mean for `bind` is not known")
            self.change.replace(self.tree.end(function.value), end, ")")
        elif acquire.pair is sdk.STACK or acquire.name == "opentelemetry.context.attach":
            if len(call.args) != 1 or call.keywords:
                raise Refused("what its arguments mean for `bind` is not known")
            self.change.replace(self.tree.start(call), self._arguments(call), "")
        elif acquire.name.endswith("bind_contextvars"):
            self._bound_contextvars(call, end)
        else:
            raise Refused(f"how {acquire.pair_name} becomes a manager that `bind` could leave is not known")

    def _bound_contextvars(self, call: ast.Call, end: int) -> None:
        function = call.func
        if isinstance(function, ast.Attribute):
            name_end = self.tree.end(function)
            self.change.replace(name_end - len(function.attr), name_end, "bound_contextvars")
        else:
            around = self.tree.function(call)
            name = imports.need(
                self.change, "structlog.contextvars", "bound_contextvars", around, self.is_first_party
            )
            self.change.replace(self.tree.start(function), self.tree.end(function), name)
        self.change.insert(end, ")")

    def _arguments(self, call: ast.Call) -> int:
        """Return where the arguments of a call start, behind the parenthesis."""
        return self.tree.text.index("(", self.tree.end(call.func)) + 1

    def _replaced(self, acquire: Action, call: ast.Call) -> tuple[int, int]:
        """Return which part of the statement the new call stands for: a token that nobody reads goes."""
        statement = self.tree.parent(call)
        start, end = self.tree.start(call), self.tree.end(call)
        if isinstance(statement, ast.Expr) or acquire.pair in (sdk.MANAGER, sdk.STACK):
            return start, end
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            name = _stored_as(statement.targets[0])
            if name and not self._is_read(name, statement):
                return self.tree.start(statement), end
        raise Refused("its token is kept: release that in the end hook, first thing")

    def _is_read(self, name: str, besides: ast.stmt) -> bool:
        inside = set(walk(besides))
        return any(
            isinstance(node.ctx, ast.Load) and node not in inside
            for node in self.tree.nodes
            if (isinstance(node, ast.Attribute) and node.attr == name)
            or (isinstance(node, ast.Name) and node.id == name)
        )

    # ------------------------------------------------ LDC302: the completion hook

    def complete(self) -> Fix:
        """Return the fix that releases in the completion hook too. Raises `Refused`."""
        plugin = self.plugin
        end = self._hook(sdk.END)
        if sdk.COMPLETE in plugin.hooks:
            raise Refused("`on_user_function_complete` is there already: release in it")
        function, info = self._function(end)
        released = [acquire for acquire in plugin.acquires() if sdk.END in released_in(plugin, acquire)]
        wanted: list[ast.stmt] = []
        for acquire in released:
            wanted += self._slice(function, plugin.releases_in(sdk.END, acquire))
        body = sorted(set(wanted), key=lambda statement: statement.lineno)
        definition = self._class(plugin.value)
        inside = function if function in definition.body else definition.body[-1]
        self._add_method(inside, sdk.COMPLETE, function, info, body)
        self._derive(plugin.value)
        self._install(plugin.value)
        return self._fix("release it in `on_user_function_complete` too")

    # ------------------------------------------------ LDC303 and LDC304: move the release

    def move_up(self, hook: str, acquire: Action, culprit: m.Statement) -> Fix:
        """Return the fix that releases at the beginning of the hook. Raises `Refused`."""
        function, _ = self._function(self._hook(hook))
        if not function.lineno <= culprit.at.row <= (function.end_lineno or 0):
            raise Refused("what skips the release is in another method: release before it is called")
        statements = self._slice(function, self.plugin.releases_in(hook, acquire), out_of_conditions=True)
        indent = self.tree.indent(function.body[0].lineno)
        self._insert_first(function, "".join(self._text(one, indent) for one in statements))
        self._remove(statements)
        return self._fix("release first, whatever the outcome is")

    def move_to_end(self, hook: str, acquire: Action) -> Fix:
        """Return the fix that releases in the end hook instead of in `hook`. Raises `Refused`."""
        if hook != "on_operation_end":
            raise Refused(f"`{hook}` is not about one function: release in `on_user_function_end`")
        source, info = self._function(self._hook(hook))
        statements = self._slice(source, self.plugin.releases_in(hook, acquire))
        end = self.plugin.hooks.get(sdk.END)
        if end is None and set(_code(source)) == set(statements):
            self._rename(source, hook)
            return self._fix("release in `on_user_function_end`")
        if end is None:
            self._add_method(source, sdk.END, source, info, statements)
        else:
            target, name = self._function(end)
            if name != info:
                raise Refused("the two hooks name their notification differently")
            indent = self.tree.indent(target.body[0].lineno)
            self._insert_first(target, "".join(self._text(one, indent) for one in statements))
        self._remove(statements)
        return self._fix("release in `on_user_function_end`")

    def _rename(self, function: ast.FunctionDef, hook: str) -> None:
        start = self.tree.text.index(hook, self.tree.start(function))
        self.change.replace(start, start + len(hook), sdk.END)
        annotation = function.args.args[1].annotation
        if annotation is not None:
            self.change.replace(
                self.tree.start(annotation), self.tree.end(annotation), self._end_info(function, annotation)
            )

    def _end_info(self, function: ast.FunctionDef, instead_of: ast.expr) -> str:
        """Return how to name the end hook's info: in an import, it takes the place of what nobody else
        reads.
        """
        name = _INFO[sdk.END]
        known = imports.imported_as(self.tree, _SDK, name, function)
        if known is not None:
            if isinstance(instead_of, ast.Name):
                imports.drop_unused(self.change, {instead_of.id: 1})
            return known
        for statement in self.tree.tree.body:
            if isinstance(statement, ast.ImportFrom) and statement.module == _SDK:
                for alias in statement.names:
                    unread = isinstance(instead_of, ast.Name) and imports._uses(self.tree, alias.name) == 1
                    if unread and alias.asname is None and self.tree.slice(instead_of) == alias.name:
                        self.change.replace(self.tree.start(alias), self.tree.end(alias), name)
                        return name
        return imports.need(self.change, _SDK, name, function, self.is_first_party)

    # ------------------------------------------------ the parts of a release

    def _slice(
        self, function: ast.FunctionDef, releases: Iterable[Action], *, out_of_conditions: bool = False
    ) -> list[ast.stmt]:
        """Return the statements that release, with those that they take names from, in order."""
        found: list[ast.stmt] = []
        for release in releases:
            fact = release.through[0][0] if release.through else release.fact
            kind = (ast.Call,) if isinstance(fact, m.Call) else (ast.Assign, ast.Delete)
            node: ast.AST = self.tree.find(fact.at, kind)
            statement = self._movable(function, node, out_of_conditions)
            if statement not in found:
                found.append(statement)
        if len(found) != 1:
            raise Refused("there are several releases: move them by hand")
        return sorted({*self._needed(function, found[0]), found[0]}, key=lambda one: one.lineno)

    def _movable(self, function: ast.FunctionDef, node: ast.AST, out_of_conditions: bool) -> ast.stmt:
        """Return the statement of the hook's own body that can be moved for a releasing node."""
        around = [node, *self.tree.ancestors(node)]
        if function not in around:
            raise Refused("the release is in another method, and is not called from here alone")
        inside = around[: around.index(function)]
        statements = [one for one in inside if isinstance(one, ast.stmt)]
        outermost, innermost = statements[-1], statements[0]
        if not isinstance(innermost, _SIMPLE):
            raise Refused("the release is part of a larger statement")
        if outermost is innermost:
            return self._checked(outermost)
        if not isinstance(outermost, (ast.If, ast.For)) or any(
            not isinstance(one, (ast.If, ast.For, *_SIMPLE)) for one in statements
        ):
            raise Refused("the release is part of a larger statement")
        if isinstance(outermost, ast.If) and out_of_conditions and self._asks_for_outcome(outermost.test):
            if len(statements) != 2:
                raise Refused("the release is nested too deeply under the condition")
            return self._checked(innermost)
        if getattr(outermost, "orelse", []) or not all(isinstance(one, _SIMPLE) for one in outermost.body):
            raise Refused("the release can't be told apart from what else is done there")
        return self._checked(outermost)

    def _checked(self, statement: ast.stmt) -> ast.stmt:
        tree = self.tree
        after = tree.text[tree.end(statement) : tree.row_end(statement.end_lineno or statement.lineno)]
        if not tree.starts_line(statement) or after.strip()[:1] not in ("", "#"):
            raise Refused("the release shares its line with something else")
        return statement

    def _asks_for_outcome(self, test: ast.expr) -> bool:
        return any(
            isinstance(node, ast.Attribute) and node.attr in ("outcome", "error") for node in walk(test)
        )

    def _needed(self, function: ast.FunctionDef, statement: ast.stmt) -> set[ast.stmt]:
        """Return the statements above that bind the names which a statement reads."""
        found: set[ast.stmt] = set()
        waiting: list[ast.stmt] = [statement]
        parameters = {argument.arg for argument in function.args.args}
        while waiting:
            one = waiting.pop()
            names = {n.id for n in walk(one) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
            for name in names - parameters:
                binding = [
                    other for other in function.body if other.lineno < one.lineno and name in _bound(other)
                ]
                if not binding:
                    continue
                if len(binding) > 1 or not isinstance(binding[0], (*_SIMPLE, ast.With)):
                    raise Refused(f"where `{name}` comes from can't be moved with the release")
                if isinstance(binding[0], ast.With) and not all(
                    isinstance(i, _SIMPLE) for i in binding[0].body
                ):
                    raise Refused(f"where `{name}` comes from can't be moved with the release")
                if binding[0] not in found:
                    found.add(self._checked(binding[0]))
                    waiting.append(binding[0])
        return found

    # ------------------------------------------------ text

    def _text(self, statement: ast.stmt, indent: str) -> str:
        """Return a statement's lines, comment at their end included, indented by `indent`."""
        tree = self.tree
        end = tree.row_end(statement.end_lineno or statement.lineno)
        old = tree.indent(statement.lineno)
        text = tree.moved(tree.start(statement), end, old, indent)
        return indent + (text if text.endswith(("\n", "\r")) else text + tree.source.newline)

    def _insert_first(self, function: ast.FunctionDef, text: str) -> None:
        first = function.body[0]
        if not self.tree.starts_line(first):
            raise Refused("the hook is written on one line")
        if ast.get_docstring(function, clean=False) is not None:
            self.change.insert(self.tree.row_end(first.end_lineno or first.lineno), text)
        else:
            self.change.insert(self.tree.row_start(first.lineno), text)

    def _remove(self, statements: list[ast.stmt]) -> None:
        """Take statements out where they are; what would be left without a body goes with them, or gets
        `pass`.
        """
        gone = set(statements)
        for statement in statements:
            parent = self.tree.parent(statement)
            body = next(
                block
                for name in ("body", "orelse", "finalbody")
                if statement in (block := getattr(parent, name, []))
            )
            rest = [one for one in body if one not in gone]
            if not rest and isinstance(parent, ast.If) and not parent.orelse:
                self.change.replace(self.tree.row_start(parent.lineno), self._row_end(parent), "")
            elif not rest and statement is body[-1]:
                indent = self.tree.indent(statement.lineno)
                self.change.replace(
                    self.tree.row_start(statement.lineno),
                    self._row_end(statement),
                    f"{indent}pass{self.tree.source.newline}",
                )
            else:
                self.change.replace(self.tree.row_start(statement.lineno), self._row_end(statement), "")

    def _row_end(self, statement: ast.stmt) -> int:
        return self.tree.row_end(statement.end_lineno or statement.lineno)

    def _add_method(
        self,
        after: ast.stmt,
        name: str,
        like: ast.FunctionDef,
        info: str,
        body: list[ast.stmt],
    ) -> None:
        """Add a hook behind a statement of the class, with the signature of another hook."""
        tree = self.tree
        newline = tree.source.newline
        outer = tree.indent(like.lineno)
        inner = tree.indent(like.body[0].lineno)
        if not tree.starts_line(like.body[0]):
            raise Refused("the hook is written on one line")
        receiver = like.args.args[0].arg
        annotated = ""
        if like.args.args[1].annotation is not None:
            known = (
                self._from_runtime(_INFO[name], like)
                if name == sdk.COMPLETE
                else imports.need(self.change, _SDK, _INFO[name], like, self.is_first_party)
            )
            annotated = f": {known}"
        returns = " -> None" if like.returns is not None else ""
        text = f"{newline}{outer}def {name}({receiver}, {info}{annotated}){returns}:{newline}"
        at = self._row_end(after)
        if not tree.text[:at].endswith(("\n", "\r")):
            text = newline + text
        self.change.insert(at, text + "".join(self._text(one, inner) for one in body))

    # ------------------------------------------------ the class

    def _hook(self, name: str) -> Hook:
        hook = self.plugin.hooks.get(name)
        if hook is None or hook.module is not self.view.module:
            raise Refused(f"`{name}` is in another module")
        return hook

    def _function(self, hook: Hook) -> tuple[ast.FunctionDef, str]:
        """Return a hook's node and the name of its notification."""
        node = self.tree.find(hook.function.at, ast.FunctionDef)
        if len(node.args.args) != 2 or node.decorator_list:
            raise Refused(f"`{hook.name}` is not a plain method with one parameter")
        return node, node.args.args[1].arg

    def _class(self, value: ClassValue) -> ast.ClassDef:
        if value.module is not self.view.module:
            raise Refused("the class is in another module")
        return self.tree.find(value.definition.at, ast.ClassDef)

    def _derive(self, owner: ClassValue) -> None:
        """Make `CompletionPlugin` the first base of a class, unless it derives from it already."""
        if External(sdk.COMPLETION_PLUGIN) in self.view.solver.all_bases(owner):
            return
        definition = self._class(owner)
        if any("INCOMPLETE" in self.tree.slice(one) for one in definition.body if _is_end_hook(one)):
            raise Refused("its end hook deals with INCOMPLETE, which a `CompletionPlugin` is not told there")
        name = self._from_runtime("CompletionPlugin", definition)
        self.change.insert(self.tree.start(definition.bases[0]), f"{name}, ")

    def _install(self, owner: ClassValue) -> None:
        """Call `install()` above the class where the SDK in use needs it and nobody does."""
        if self.view.sdk_version >= (2, 0):
            return
        definition = self._class(owner)
        calls = (node for node in self.tree.nodes if isinstance(node, ast.Call))
        if any(_last_name(call.func) in ("install", "as_plugins") for call in calls):
            return
        if definition not in self.tree.tree.body:
            raise Refused("where `install()` should be called is not known")
        name = self._from_runtime("install", definition)
        first = min([definition.lineno, *(one.lineno for one in definition.decorator_list)])
        newline = self.tree.source.newline
        self.change.insert(self.tree.row_start(first), f"{name}(){newline}{newline}{newline}")


def _is_end_hook(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.FunctionDef) and statement.name == sdk.END


def _last_name(expression: ast.expr) -> str:
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""


def _stored_as(target: ast.expr) -> str:
    """Return the name or attribute under which a token is kept."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return _last_name(target)


def _bound(statement: ast.stmt) -> set[str]:
    return {
        node.id for node in walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _code(function: ast.FunctionDef) -> list[ast.stmt]:
    """Return a function's statements without its docstring."""
    return function.body[1:] if ast.get_docstring(function) is not None else function.body
