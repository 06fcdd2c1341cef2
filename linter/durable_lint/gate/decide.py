"""The decision itself: whether a file could hold a finding, first on its bytes, then on its `ast` tree.

Both answers may only err towards True. Nothing heavy is imported here.
"""

from __future__ import annotations

import ast
import builtins
import re
from typing import TYPE_CHECKING

from durable_lint.gate.scan import searchable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from durable_lint.gate.index import ImportIndex

_SDK = ("aws_durable_execution_sdk_python", "durable_runtime")
_CATCHES_SUSPENSION = frozenset(
    {"BaseException", "SuspendExecution", "TimedSuspendExecution"}
    | {"OrphanedChildException", "BackgroundThreadError"}
)
_BLOCKS = re.compile(rb"\b(?:finally|except|with)\b|@|on_user_function_|Plugin")
_SCOPES = re.compile(
    rb"terminal|run_in_child_context|with_child_context|with_retry|parallel|\bmap\b|Branch|_in_context"
    rb"|\bacquire\b|\bcleanup\b|\bcompensate\b"
)
"""Without one of these words there is no scope, no registration, and no body with a context of its own."""

_CALLABLES = re.compile(rb"\b(?:lambda|partial|terminal)")
_NARROW_BUILTINS = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException) and value is not BaseException
)
_PLAIN_LIBRARIES = frozenset(
    {"abc", "dataclasses", "enum", "functools", "pytest", "typing", "typing_extensions"}
)
"""Their decorators are not context managers."""


def could_hold_finding(
    index: ImportIndex,
    path: Path,
    raw: bytes,
    tree: ast.Module | None = None,
    *,
    strict: bool = False,
    repeated: bool = False,
) -> bool:
    """Whether a file may hold a finding: by its bytes, and by its tree when that is given.

    `strict` says that process-local cleanup counts (also when the configuration's `effects` may name some),
    `repeated` that LDC205 is selected, which judges every handler.
    """
    if not passes_bytes(index, path, raw):
        return False
    return tree is None or passes_tree(index, path, raw, tree, strict=strict, repeated=repeated)


def passes_bytes(index: ImportIndex, path: Path, raw: bytes) -> bool:
    """Whether the bytes leave a finding possible: durable code in reach, and a block that could hold one."""
    text = searchable(raw)
    if not (_BLOCKS.search(text) or _SCOPES.search(text)):
        return index.is_connected_to_plugin(path)
    return index.words.in_bytes(text) or index.is_connected(path)


def passes_tree(
    index: ImportIndex,
    path: Path,
    raw: bytes,
    tree: ast.Module,
    *,
    strict: bool = False,
    repeated: bool = False,
) -> bool:
    """Whether the tree leaves a finding possible in a file whose bytes do.

    Any `finally` does, any handler that may catch a suspension, any manager and decorator that is not known
    to be plain, any class with hooks, and any nested function where scopes and child contexts are in use.
    """
    if index.is_connected_to_plugin(path):
        return True
    module = _Module(tree)
    scopes = _SCOPES.search(searchable(raw)) is not None
    if scopes and (module.has_nested_function or _CALLABLES.search(raw)):
        return True
    if module.has_finally or module.has_hooks or (repeated and module.handlers):
        return True
    names = _Names(module, index, path)
    return (
        any(not names.is_narrow(handler.type) for handler in module.handlers)
        or any(strict or not names.is_plain_manager(item.context_expr) for item in module.items)
        or any(not names.is_plain_decorator(decorator) for decorator in module.decorators)
    )


class _Module:
    """What one iterative walk over a module's statements collects; expressions are not entered."""

    def __init__(self, tree: ast.Module) -> None:
        self.handlers: list[ast.ExceptHandler] = []
        self.items: list[ast.withitem] = []
        self.decorators: list[ast.expr] = []
        self.imports: list[ast.Import | ast.ImportFrom] = []
        self.assigned: set[str] = set()
        self.classes: set[str] = set()
        self.has_finally = False
        self.has_hooks = False
        self.has_nested_function = False
        self._walk(tree)

    def _walk(self, tree: ast.Module) -> None:
        pending: list[tuple[Sequence[ast.AST], bool]] = [(tree.body, False)]
        while pending:
            statements, in_function = pending.pop()
            for statement in statements:
                self._look_at(statement, in_function)
                inside = in_function or isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))
                for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                    children = getattr(statement, field, None)
                    if children:
                        pending.append((children, inside))

    def _look_at(self, statement: ast.AST, in_function: bool) -> None:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self.decorators.extend(statement.decorator_list)
            self.assigned.add(statement.name)
            self.has_nested_function |= in_function
            arguments = statement.args
            every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            self.assigned.update(argument.arg for argument in every)
        elif isinstance(statement, ast.ClassDef):
            self.classes.add(statement.name)
            self.has_hooks |= _has_hooks(statement)
        elif isinstance(statement, ast.ExceptHandler):
            self.handlers.append(statement)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            self.items.extend(statement.items)
            for item in statement.items:
                self._assign(item.optional_vars)
        elif isinstance(statement, (ast.Try, ast.TryStar)):
            self.has_finally |= bool(statement.finalbody)
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            self.imports.append(statement)
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                self._assign(target)
        elif isinstance(statement, (ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor)):
            self._assign(statement.target)

    def _assign(self, target: ast.expr | None) -> None:
        pending = [target]
        while pending:
            part = pending.pop()
            if isinstance(part, ast.Name):
                self.assigned.add(part.id)
            elif isinstance(part, (ast.Tuple, ast.List)):
                pending.extend(part.elts)
            elif isinstance(part, ast.Starred):
                pending.append(part.value)


def _has_hooks(definition: ast.ClassDef) -> bool:
    hooks = ("on_user_function", "on_operation", "on_invocation")
    return any(
        isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) and child.name.startswith(hooks)
        for child in definition.body
    ) or any("Plugin" in part for base in definition.bases for part in _dotted(base))


class _Names:
    """What the names of a module mean, as far as its own imports tell."""

    def __init__(self, module: _Module, index: ImportIndex, path: Path) -> None:
        self.module = module
        self.origins: dict[str, set[str | None]] = {}
        for statement in module.imports:
            if isinstance(statement, ast.Import):
                for alias in statement.names:
                    shown = alias.name if alias.asname else alias.name.partition(".")[0]
                    outside = not index.may_hold(alias.name, path)
                    self._bind(alias.asname or shown, shown if outside else None)
            else:
                origin = statement.module or ""
                outside = not statement.level and not index.may_hold(origin, path)
                for alias in statement.names:
                    self._bind(alias.asname or alias.name, f"{origin}.{alias.name}" if outside else None)

    def _bind(self, name: str, origin: str | None) -> None:
        self.origins.setdefault(name, set()).add(origin)

    def origin(self, expression: ast.expr) -> str | None:
        """The qualified name of what an import of another distribution binds, None for all else."""
        parts = _dotted(expression)
        if not parts or parts[0] in self.module.assigned or parts[0] in self.module.classes:
            return None
        origins = self.origins.get(parts[0], set())
        if len(origins) != 1:
            return None
        (origin,) = origins
        return None if origin is None else ".".join((origin, *parts[1:]))

    def is_builtin(self, name: str) -> bool:
        """Whether nothing in the module gives the name another meaning."""
        bound = self.module.assigned | self.module.classes | self.origins.keys()
        return name not in bound and "*" not in self.origins

    def is_narrow(self, caught: ast.expr | None) -> bool:
        """Whether a handler of this type surely lets a suspension through."""
        if caught is None:
            return False
        if isinstance(caught, ast.Tuple):
            return all(self.is_narrow(element) for element in caught.elts)
        if isinstance(caught, ast.Name):
            name = caught.id
            if name in _NARROW_BUILTINS and self.is_builtin(name):
                return True
            if name in self.module.classes and name not in self.module.assigned | self.origins.keys():
                return True
        origin = self.origin(caught)
        if origin is None:
            return False
        root, last = origin.partition(".")[0], origin.rpartition(".")[2]
        return root not in (*_SDK, "builtins") and last not in _CATCHES_SUSPENSION

    def is_plain_manager(self, manager: ast.expr) -> bool:
        """Whether the exit of a manager surely has no effect outside this process and swallows nothing."""
        if not isinstance(manager, ast.Call):
            return False
        if isinstance(manager.func, ast.Name) and manager.func.id == "open":
            return self.is_builtin("open")
        origin = self.origin(manager.func)
        if origin == "contextlib.suppress":
            return all(self.is_narrow(argument) for argument in manager.args)
        return origin == "contextlib.nullcontext"

    def is_plain_decorator(self, decorator: ast.expr) -> bool:
        """Whether a decorator surely is no context manager around the function."""
        if isinstance(decorator, ast.Call):
            decorator = decorator.func
        parts = _dotted(decorator)
        if not parts:
            return False
        origin = self.origin(decorator)
        if origin is not None:
            root = origin.partition(".")[0]
            if root in _SDK or root in _PLAIN_LIBRARIES:
                return True
        if len(parts) == 2 and parts[1] in ("setter", "getter", "deleter"):
            return True
        plain = ("staticmethod", "classmethod", "property")
        return len(parts) == 1 and parts[0] in plain and self.is_builtin(parts[0])


def _dotted(expression: ast.expr) -> tuple[str, ...]:
    """The parts of `a.b.c`, or nothing for any other expression."""
    parts: list[str] = []
    while isinstance(expression, ast.Attribute):
        parts.append(expression.attr)
        expression = expression.value
    if not isinstance(expression, ast.Name):
        return ()
    return (expression.id, *reversed(parts))
