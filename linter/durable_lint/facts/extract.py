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
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from durable_lint.source.text import SourceText

_new = tuple.__new__
"""Half the time of the constructor of a named tuple."""

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
        return _STATEMENTS.get(type(node), _Extractor._other_statement)(self, node, _at(node))

    def _expression_statement(self, node: ast.Expr, at: m.At) -> m.Statement:
        return m.ExpressionStatement(at, self._expression(node.value))

    def _assignment(self, node: ast.Assign, at: m.At) -> m.Statement:
        value = self._expression(node.value)
        return m.Assignment(at, self._all(node.targets), value, None)

    def _annotated_assignment(self, node: ast.AnnAssign, at: m.At) -> m.Statement:
        annotation = self._expression(node.annotation)
        assigned = self._optional(node.value)
        return m.Assignment(at, (self._expression(node.target),), assigned, annotation)

    def _augmented_assignment(self, node: ast.AugAssign, at: m.At) -> m.Statement:
        return m.AugmentedAssignment(at, self._expression(node.target), self._expression(node.value))

    def _return(self, node: ast.Return, at: m.At) -> m.Statement:
        return m.Return(at, self._optional(node.value))

    def _raise(self, node: ast.Raise, at: m.At) -> m.Statement:
        return m.Raise(at, self._optional(node.exc), self._optional(node.cause))

    def _if(self, node: ast.If, at: m.At) -> m.Statement:
        return m.If(at, self._expression(node.test), self._block(node.body), self._block(node.orelse))

    def _for(self, node: ast.For | ast.AsyncFor, at: m.At) -> m.Statement:
        iterable = self._expression(node.iter)
        target = self._expression(node.target)
        return m.For(at, target, iterable, self._block(node.body), self._block(node.orelse))

    def _while(self, node: ast.While, at: m.At) -> m.Statement:
        test = self._expression(node.test)
        return m.While(at, test, self._block(node.body), self._block(node.orelse))

    def _with(self, node: ast.With | ast.AsyncWith, at: m.At) -> m.Statement:
        items = tuple([self._item(item) for item in node.items])
        statement = m.With(at, items, self._block(node.body), isinstance(node, ast.AsyncWith))
        self._stands_here(statement)
        return statement

    def _match(self, node: ast.Match, at: m.At) -> m.Statement:
        subject = self._expression(node.subject)
        return m.Match(at, subject, tuple([self._case(case) for case in node.cases]))

    def _function_definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef, at: m.At) -> m.Statement:
        self._bind(node.name)
        return m.FunctionDefinition(at, self._function(node))

    def _class_definition(self, node: ast.ClassDef, at: m.At) -> m.Statement:
        self._bind(node.name)
        return m.ClassDefinition(at, self._class(node))

    def _scoping(self, node: ast.Global | ast.Nonlocal, at: m.At) -> m.Statement:
        scope = self.scopes[-1]
        scope.declared.update(node.names)
        if isinstance(node, ast.Global):
            scope.globals.update(node.names)
        return m.Scoping(at, tuple(node.names), isinstance(node, ast.Global))

    def _deletion(self, node: ast.Delete, at: m.At) -> m.Statement:
        return m.Deletion(at, self._all(node.targets))

    def _assertion(self, node: ast.Assert, at: m.At) -> m.Statement:
        return m.Assertion(at, self._expression(node.test), self._optional(node.msg))

    def _break(self, _: ast.Break, at: m.At) -> m.Statement:
        return m.Break(at)

    def _continue(self, _: ast.Continue, at: m.At) -> m.Statement:
        return m.Continue(at)

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
        return _EXPRESSIONS.get(type(node), _Extractor._compound)(self, node, _at(node))

    def _name(self, node: ast.Name, at: m.At) -> m.Expression:
        if isinstance(node.ctx, ast.Load):
            self.mentions.add(node.id)
        else:
            self._bind(node.id)
        return m.Name(at, node.id)

    def _constant(self, node: ast.Constant, at: m.At) -> m.Expression:
        value = node.value
        if isinstance(value, (str, bool, int, float)):
            return m.Constant(at, value, type(value).__name__)
        return m.Constant(at, None, "none" if value is None else "other")

    def _attribute(self, node: ast.Attribute, at: m.At) -> m.Expression:
        if node.attr in ONLY_DURABLE and isinstance(node.value, ast.Name):
            self.scopes[-1].evidence.add(node.value.id)
        self.mentions.add(node.attr)
        return m.Attribute(at, self._expression(node.value), node.attr)

    def _call(self, node: ast.Call, at: m.At) -> m.Expression:
        function = self._expression(node.func)
        call = m.Call(at, function, self._all(node.args), self._keywords(node.keywords))
        self._stands_here(call)
        return call

    def _tuple(self, node: ast.Tuple, at: m.At) -> m.Expression:
        return m.Sequence(at, "tuple", self._all(node.elts))

    def _list(self, node: ast.List, at: m.At) -> m.Expression:
        return m.Sequence(at, "list", self._all(node.elts))

    def _set(self, node: ast.Set, at: m.At) -> m.Expression:
        return m.Sequence(at, "set", self._all(node.elts))

    def _dict(self, node: ast.Dict, at: m.At) -> m.Expression:
        keys = tuple([self._optional(key) for key in node.keys])
        return m.Mapping(at, keys, self._all(node.values))

    def _subscript(self, node: ast.Subscript, at: m.At) -> m.Expression:
        return m.Subscript(at, self._expression(node.value), self._expression(node.slice))

    def _starred(self, node: ast.Starred, at: m.At) -> m.Expression:
        return m.Starred(at, self._expression(node.value))

    def _lambda(self, node: ast.Lambda, at: m.At) -> m.Expression:
        return m.LambdaExpression(at, self._function(node))

    def _conditional(self, node: ast.IfExp, at: m.At) -> m.Expression:
        test = self._expression(node.test)
        return m.Conditional(at, test, self._expression(node.body), self._expression(node.orelse))

    def _boolean(self, node: ast.BoolOp, at: m.At) -> m.Expression:
        return m.Boolean(at, isinstance(node.op, ast.And), self._all(node.values))

    def _unary(self, node: ast.UnaryOp, at: m.At) -> m.Expression:
        if isinstance(node.op, ast.Not):
            return m.Negation(at, self._expression(node.operand))
        return self._compound(node, at)

    def _comparison(self, node: ast.Compare, at: m.At) -> m.Expression:
        operators = tuple([_OPERATORS[type(operator)] for operator in node.ops])
        return m.Comparison(at, self._expression(node.left), operators, self._all(node.comparators))

    def _await(self, node: ast.Await, at: m.At) -> m.Expression:
        return m.Await(at, self._expression(node.value))

    def _yield(self, node: ast.Yield | ast.YieldFrom, at: m.At) -> m.Expression:
        self.scopes[-1].is_generator = True
        return m.Yield(at, self._optional(node.value), isinstance(node, ast.YieldFrom))

    def _named_expression(self, node: ast.NamedExpr, at: m.At) -> m.Expression:
        value = self._expression(node.value)
        self._bind(node.target.id)
        return m.NamedExpression(at, m.Name(_at(node.target), node.target.id), value)

    def _compound(self, node: ast.expr, at: m.At) -> m.Expression:
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


# The nodes are `Any`: each method takes the kind that it is listed under.

_STATEMENTS: dict[type[ast.stmt], Callable[[_Extractor, Any, m.At], m.Statement]] = {
    ast.Expr: _Extractor._expression_statement,
    ast.Assign: _Extractor._assignment,
    ast.AnnAssign: _Extractor._annotated_assignment,
    ast.AugAssign: _Extractor._augmented_assignment,
    ast.Return: _Extractor._return,
    ast.Raise: _Extractor._raise,
    ast.If: _Extractor._if,
    ast.For: _Extractor._for,
    ast.AsyncFor: _Extractor._for,
    ast.While: _Extractor._while,
    ast.Try: _Extractor._try,
    ast.TryStar: _Extractor._try,
    ast.With: _Extractor._with,
    ast.AsyncWith: _Extractor._with,
    ast.Match: _Extractor._match,
    ast.FunctionDef: _Extractor._function_definition,
    ast.AsyncFunctionDef: _Extractor._function_definition,
    ast.ClassDef: _Extractor._class_definition,
    ast.Import: _Extractor._import,
    ast.ImportFrom: _Extractor._import,
    ast.Global: _Extractor._scoping,
    ast.Nonlocal: _Extractor._scoping,
    ast.Delete: _Extractor._deletion,
    ast.Assert: _Extractor._assertion,
    ast.Break: _Extractor._break,
    ast.Continue: _Extractor._continue,
}

_EXPRESSIONS: dict[type[ast.expr], Callable[[_Extractor, Any, m.At], m.Expression]] = {
    ast.Name: _Extractor._name,
    ast.Constant: _Extractor._constant,
    ast.Attribute: _Extractor._attribute,
    ast.Call: _Extractor._call,
    ast.Tuple: _Extractor._tuple,
    ast.List: _Extractor._list,
    ast.Set: _Extractor._set,
    ast.Dict: _Extractor._dict,
    ast.Subscript: _Extractor._subscript,
    ast.Starred: _Extractor._starred,
    ast.Lambda: _Extractor._lambda,
    ast.IfExp: _Extractor._conditional,
    ast.BoolOp: _Extractor._boolean,
    ast.UnaryOp: _Extractor._unary,
    ast.Compare: _Extractor._comparison,
    ast.Await: _Extractor._await,
    ast.Yield: _Extractor._yield,
    ast.YieldFrom: _Extractor._yield,
    ast.ListComp: _Extractor._comprehension,
    ast.SetComp: _Extractor._comprehension,
    ast.GeneratorExp: _Extractor._comprehension,
    ast.DictComp: _Extractor._comprehension,
    ast.NamedExpr: _Extractor._named_expression,
}


def _at(node: ast.stmt | ast.expr | ast.ExceptHandler) -> m.At:
    return _new(
        m.At, (node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0)
    )
