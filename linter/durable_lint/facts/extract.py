"""One walk over a module's `ast` tree that gives its facts. Nothing after this looks at a tree, except the
fixes.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.sdk.aws import ONLY_DURABLE
from durable_lint.source.text import shallow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from durable_lint.source.text import SourceText

_FINALLY = re.compile(r"[ \t\f]*(finally)\b")
_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


def extract(source: SourceText, tree: ast.Module) -> m.ModuleFacts:
    """Return the facts of `source`, whose tree is `tree`. Never raises for a tree that `source.text.parse`
    returned.
    """
    try:
        return _Extractor(source).module(tree)
    except RecursionError:
        return _Extractor(source).module(shallow(tree))


class _Scope:
    """The names that one function, class or module binds, collected while its body is walked."""

    def __init__(self, function: m.Function | None, qualname: str) -> None:
        self.function = function
        self.qualname = qualname
        self.bound: set[str] = set()
        self.declared: set[str] = set()
        self.globals: set[str] = set()
        self.evidence: set[str] = set()
        self.is_generator = False
        self.inside: list[m.Expression | m.Statement | m.Function | m.Class] = []


class _Extractor:
    """Walks one tree. It has state because nested definitions are listed flat, in source order."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.lines: Sequence[str] | None = None
        self.functions: list[m.Function] = []
        self.classes: list[m.Class] = []
        self.function_of: dict[m.Expression | m.Statement | m.Function | m.Class, m.Function | None] = {}
        self.scopes: list[_Scope] = []
        self.mentions: set[str] = set()

    # ------------------------------------------------ scopes

    def module(self, tree: ast.Module) -> m.ModuleFacts:
        scope = self._open("")
        body = self._block(tree.body)
        self._close(scope, None)
        return m.ModuleFacts(
            path=self.source.path,
            source=self.source,
            body=body,
            functions=tuple(sorted(self.functions, key=lambda fact: fact.at)),
            classes=tuple(sorted(self.classes, key=lambda fact: fact.at)),
            local_names=frozenset(scope.bound),
            mentions=frozenset(self.mentions),
            function_of=self.function_of,
        )

    def _open(self, qualname: str) -> _Scope:
        scope = _Scope(None, qualname)
        self.scopes.append(scope)
        return scope

    def _close(self, scope: _Scope, function: m.Function | None) -> None:
        popped = self.scopes.pop()
        assert popped is scope
        for fact in scope.inside:
            self.function_of[fact] = function

    def _stands_here(self, fact: m.Expression | m.Statement | m.Function | m.Class) -> None:
        self.scopes[-1].inside.append(fact)

    def _qualname(self, name: str) -> str:
        outer = self.scopes[-1].qualname
        return f"{outer}.{name}" if outer else name

    def _bind(self, name: str) -> None:
        self.scopes[-1].bound.add(name)

    # ------------------------------------------------ definitions

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> m.Function:
        is_lambda = isinstance(node, ast.Lambda)
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        decorators: tuple[m.Expression, ...] = ()
        returns = None
        if not isinstance(node, ast.Lambda):
            decorators = self._all(node.decorator_list)
            returns = self._optional(node.returns)
        parameters = self._parameters(node.args)
        scope = self._open(self._qualname(name))
        for parameter in parameters:
            self._bind(parameter.name)
        if isinstance(node, ast.Lambda):
            value = self._expression(node.body)
            body: tuple[m.Statement, ...] = (m.Return(value.at, value),)
            header = _at(node)
        else:
            body = self._block(node.body)
            first = min((d.lineno for d in node.decorator_list), default=node.lineno)
            header = m.At(first, 0, max(node.lineno, node.body[0].lineno - 1), 0)
        function = m.Function(
            name=name,
            qualname=scope.qualname,
            at=_at(node),
            parameters=parameters,
            decorators=decorators,
            returns=returns,
            body=body,
            is_async=isinstance(node, ast.AsyncFunctionDef),
            is_generator=scope.is_generator,
            is_lambda=is_lambda,
            local_names=frozenset(scope.bound - scope.declared),
            global_names=frozenset(scope.globals),
            evidence=frozenset(scope.evidence),
            header_at=header,
        )
        self._close(scope, function)
        self.scopes[-1].evidence.update(scope.evidence - scope.bound)
        self.functions.append(function)
        self._stands_here(function)
        return function

    def _parameters(self, node: ast.arguments) -> tuple[m.Parameter, ...]:
        positional = [*node.posonlyargs, *node.args]
        padding: list[ast.expr | None] = [None] * (len(positional) - len(node.defaults))
        found = [
            self._parameter(argument, "positional", default)
            for argument, default in zip(positional, [*padding, *node.defaults], strict=True)
        ]
        if node.vararg is not None:
            found.append(self._parameter(node.vararg, "*", None))
        found += [
            self._parameter(argument, "keyword", default)
            for argument, default in zip(node.kwonlyargs, node.kw_defaults, strict=True)
        ]
        if node.kwarg is not None:
            found.append(self._parameter(node.kwarg, "**", None))
        return tuple(found)

    def _parameter(self, node: ast.arg, kind: str, default: ast.expr | None) -> m.Parameter:
        return m.Parameter(node.arg, kind, self._optional(node.annotation), self._optional(default))

    def _class(self, node: ast.ClassDef) -> m.Class:
        decorators = self._all(node.decorator_list)
        bases = self._all(node.bases)
        keywords = self._keywords(node.keywords)
        scope = self._open(self._qualname(node.name))
        body = self._block(node.body)
        definition = m.Class(
            node.name, scope.qualname, _at(node), bases, keywords, decorators, body, frozenset(scope.bound)
        )
        # What stands in a class body stands in the function around it; its names are not that function's.
        popped = self.scopes.pop()
        self.scopes[-1].inside.extend(popped.inside)
        self.scopes[-1].evidence.update(popped.evidence - popped.bound)
        self.classes.append(definition)
        self._stands_here(definition)
        return definition

    # ------------------------------------------------ statements

    def _block(self, nodes: Iterable[ast.stmt]) -> tuple[m.Statement, ...]:
        return tuple([self._statement(node) for node in nodes])

    def _statement(self, node: ast.stmt) -> m.Statement:
        at = _at(node)
        match node:
            case ast.Expr():
                return m.ExpressionStatement(at, self._expression(node.value))
            case ast.Assign():
                value = self._expression(node.value)
                return m.Assignment(at, self._all(node.targets), value, None)
            case ast.AnnAssign():
                annotation = self._expression(node.annotation)
                assigned = self._optional(node.value)
                return m.Assignment(at, (self._expression(node.target),), assigned, annotation)
            case ast.AugAssign():
                return m.AugmentedAssignment(at, self._expression(node.target), self._expression(node.value))
            case ast.Return():
                return m.Return(at, self._optional(node.value))
            case ast.Raise():
                return m.Raise(at, self._optional(node.exc), self._optional(node.cause))
            case ast.If():
                return m.If(at, self._expression(node.test), self._block(node.body), self._block(node.orelse))
            case ast.For() | ast.AsyncFor():
                iterable = self._expression(node.iter)
                target = self._expression(node.target)
                return m.For(at, target, iterable, self._block(node.body), self._block(node.orelse))
            case ast.While():
                test = self._expression(node.test)
                return m.While(at, test, self._block(node.body), self._block(node.orelse))
            case ast.Try() | ast.TryStar():
                return self._try(node, at)
            case ast.With() | ast.AsyncWith():
                items = tuple([self._item(item) for item in node.items])
                statement = m.With(at, items, self._block(node.body), isinstance(node, ast.AsyncWith))
                self._stands_here(statement)
                return statement
            case ast.Match():
                subject = self._expression(node.subject)
                return m.Match(at, subject, tuple([self._case(case) for case in node.cases]))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._bind(node.name)
                return m.FunctionDefinition(at, self._function(node))
            case ast.ClassDef():
                self._bind(node.name)
                return m.ClassDefinition(at, self._class(node))
            case ast.Import() | ast.ImportFrom():
                return self._import(node, at)
            case ast.Global() | ast.Nonlocal():
                scope = self.scopes[-1]
                scope.declared.update(node.names)
                if isinstance(node, ast.Global):
                    scope.globals.update(node.names)
                return m.Scoping(at, tuple(node.names), isinstance(node, ast.Global))
            case ast.Delete():
                return m.Deletion(at, self._all(node.targets))
            case ast.Assert():
                return m.Assertion(at, self._expression(node.test), self._optional(node.msg))
            case ast.Break():
                return m.Break(at)
            case ast.Continue():
                return m.Continue(at)
        return self._other_statement(node, at)

    def _other_statement(self, node: ast.stmt, at: m.At) -> m.Statement:
        """`pass`, and statements newer than this: a `type` alias binds a name and runs nothing."""
        name = getattr(node, "name", None)
        if isinstance(name, ast.Name):
            self._bind(name.id)
        return m.Pass(at)

    def _try(self, node: ast.Try | ast.TryStar, at: m.At) -> m.Try:
        body = self._block(node.body)
        handlers = tuple([self._handler(handler) for handler in node.handlers])
        orelse = self._block(node.orelse)
        finalbody = self._block(node.finalbody)
        statement = m.Try(
            at,
            body,
            handlers,
            orelse,
            finalbody,
            isinstance(node, ast.TryStar),
            self._finally_keyword(node) if node.finalbody else None,
        )
        self._stands_here(statement)
        return statement

    def _finally_keyword(self, node: ast.Try | ast.TryStar) -> m.At:
        """Find the keyword, which `ast` does not place, above the first statement of its block.

        Only comments and blank lines stand between the end of the block before it and the keyword.
        """
        if self.lines is None:
            self.lines = self.source.lines
        before: ast.stmt = (node.orelse or (node.handlers[-1].body if node.handlers else node.body))[-1]
        start = before.end_lineno or before.lineno
        for row in range(start, node.finalbody[0].lineno + 1):
            found = _FINALLY.match(self.lines[row - 1])
            if found is not None:
                return m.At(row, found.start(1), row, found.end(1))
        first = node.finalbody[0]
        return m.At(first.lineno, first.col_offset, first.lineno, first.col_offset + 1)

    def _handler(self, node: ast.ExceptHandler) -> m.Handler:
        if node.name is not None:
            self._bind(node.name)
        handled = self._optional(node.type)
        return m.Handler(_at(node), handled, node.name, self._block(node.body))

    def _item(self, node: ast.withitem) -> m.Item:
        manager = self._expression(node.context_expr)
        target = self._optional(node.optional_vars)
        end = manager.at if target is None else target.at
        return m.Item(m.At(manager.at.row, manager.at.column, end.end_row, end.end_column), manager, target)

    def _case(self, node: ast.match_case) -> m.Case:
        names: list[str] = []
        values: list[m.Expression] = []
        for part in ast.walk(node.pattern):
            match part:
                case ast.MatchAs() | ast.MatchStar():
                    names += [part.name] if part.name else []
                case ast.MatchMapping():
                    names += [part.rest] if part.rest else []
                case ast.MatchValue():
                    values.append(self._expression(part.value))
                case ast.MatchClass():
                    values.append(self._expression(part.cls))
        for name in names:
            self._bind(name)
        pattern = node.pattern
        irrefutable = isinstance(pattern, ast.MatchAs) and pattern.pattern is None and node.guard is None
        guard = self._optional(node.guard)
        return m.Case(tuple(names), tuple(values), guard, irrefutable, self._block(node.body))

    def _import(self, node: ast.Import | ast.ImportFrom, at: m.At) -> m.Import:
        bindings = []
        for alias in node.names:
            if isinstance(node, ast.ImportFrom):
                local = alias.asname or alias.name
                bindings.append(m.Binding(local, node.module or "", alias.name, node.level))
            elif alias.asname is not None:
                local = alias.asname
                bindings.append(m.Binding(local, alias.name, None, 0))
            else:  # `import a.b` binds `a`; that `a.b` is loaded too is found when the attribute is read
                local = alias.name.partition(".")[0]
                bindings.append(m.Binding(local, local, None, 0))
            if local != "*":
                self._bind(local)
        return m.Import(at, tuple(bindings))

    # ------------------------------------------------ expressions

    def _all(self, nodes: Iterable[ast.expr]) -> tuple[m.Expression, ...]:
        return tuple([self._expression(node) for node in nodes])

    def _optional(self, node: ast.expr | None) -> m.Expression | None:
        return None if node is None else self._expression(node)

    def _keywords(self, nodes: Iterable[ast.keyword]) -> tuple[m.Keyword, ...]:
        return tuple([m.Keyword(node.arg, self._expression(node.value)) for node in nodes])

    def _expression(self, node: ast.expr) -> m.Expression:
        at = m.At(node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
        match node:
            case ast.Name():
                if isinstance(node.ctx, ast.Load):
                    self.mentions.add(node.id)
                else:
                    self._bind(node.id)
                return m.Name(at, node.id)
            case ast.Constant():
                return _constant(node, at)
            case ast.Attribute():
                if node.attr in ONLY_DURABLE and isinstance(node.value, ast.Name):
                    self.scopes[-1].evidence.add(node.value.id)
                self.mentions.add(node.attr)
                return m.Attribute(at, self._expression(node.value), node.attr)
            case ast.Call():
                function = self._expression(node.func)
                call = m.Call(at, function, self._all(node.args), self._keywords(node.keywords))
                self._stands_here(call)
                return call
            case ast.Tuple():
                return m.Sequence(at, "tuple", self._all(node.elts))
            case ast.List():
                return m.Sequence(at, "list", self._all(node.elts))
            case ast.Set():
                return m.Sequence(at, "set", self._all(node.elts))
            case ast.Dict():
                keys = tuple([self._optional(key) for key in node.keys])
                return m.Mapping(at, keys, self._all(node.values))
            case ast.Subscript():
                return m.Subscript(at, self._expression(node.value), self._expression(node.slice))
            case ast.Starred():
                return m.Starred(at, self._expression(node.value))
            case ast.Lambda():
                return m.LambdaExpression(at, self._function(node))
            case ast.IfExp():
                return m.Conditional(
                    at,
                    self._expression(node.test),
                    self._expression(node.body),
                    self._expression(node.orelse),
                )
            case ast.BoolOp():
                return m.Boolean(at, isinstance(node.op, ast.And), self._all(node.values))
            case ast.UnaryOp(op=ast.Not()):
                return m.Negation(at, self._expression(node.operand))
            case ast.Compare():
                operators = tuple([_OPERATORS[type(operator)] for operator in node.ops])
                return m.Comparison(at, self._expression(node.left), operators, self._all(node.comparators))
            case ast.Await():
                return m.Await(at, self._expression(node.value))
            case ast.Yield() | ast.YieldFrom():
                self.scopes[-1].is_generator = True
                return m.Yield(at, self._optional(node.value), isinstance(node, ast.YieldFrom))
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node, at)
            case ast.NamedExpr():
                value = self._expression(node.value)
                self._bind(node.target.id)
                return m.NamedExpression(at, m.Name(_at(node.target), node.target.id), value)
        return m.Compound(at, tuple(self._operands(node)))

    def _operands(self, node: ast.AST) -> list[m.Expression]:
        """Everything that is evaluated inside an operator, an f-string, a template or a slice."""
        found: list[m.Expression] = []
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                found.append(self._expression(child))
        return found

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, at: m.At
    ) -> m.Comprehension:
        clauses = tuple(
            [
                m.Clause(
                    iterable=self._expression(clause.iter),
                    target=self._expression(clause.target),
                    conditions=self._all(clause.ifs),
                )
                for clause in node.generators
            ]
        )
        if isinstance(node, ast.DictComp):
            return m.Comprehension(at, "dict", self._all((node.key, node.value)), clauses)
        kind = {ast.ListComp: "list", ast.SetComp: "set", ast.GeneratorExp: "generator"}[type(node)]
        return m.Comprehension(at, kind, (self._expression(node.elt),), clauses)


def _at(node: ast.stmt | ast.expr | ast.ExceptHandler) -> m.At:
    end_row = node.end_lineno if node.end_lineno is not None else node.lineno
    end_column = node.end_col_offset if node.end_col_offset is not None else node.col_offset
    return m.At(node.lineno, node.col_offset, end_row, end_column)


def _constant(node: ast.Constant, at: m.At) -> m.Constant:
    value = node.value
    if isinstance(value, (str, bool, int, float)):
        return m.Constant(at, value, type(value).__name__)
    return m.Constant(at, None, "none" if value is None else "other")
