"""Imports that a rewrite needs, put where isort would put them, and imports that it no longer needs."""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING

from durable_lint.fixes import names
from durable_lint.fixes.tree import Refused, walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from durable_lint.fixes.tree import Change, SourceTree

_SECTIONS = ("future", "standard", "third", "first", "relative")


def imported_as(tree: SourceTree, module: str, name: str, around: ast.AST | None = None) -> str | None:
    """Return how code can name `module.name` already at run time, None when it cannot.

    `around` is the outermost function that will use it: a name that it binds itself hides the import.
    """
    hidden = set() if around is None else _bound_anywhere(around)
    for statement in tree.tree.body:
        match statement:
            case ast.ImportFrom(module=found, names=aliases, level=0) if _is_from(found or "", module):
                for alias in aliases:
                    local = alias.asname or alias.name
                    if alias.name == name and local not in hidden and not _rebound(tree, local):
                        return local
            case ast.Import(names=aliases):
                for alias in aliases:
                    if alias.name == module and (alias.asname or module) not in hidden:
                        return f"{alias.asname or module}.{name}"
    return None


def _is_from(found: str, module: str) -> bool:
    return found == module or found.startswith(module + ".")


def _bound_anywhere(function: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in walk(function):
        if isinstance(node, ast.arg):
            found.add(node.arg)
        else:
            found.update(names.bound_by(node))
    return found


def _rebound(tree: SourceTree, name: str) -> bool:
    """Whether the module binds a name otherwise than by one import."""
    count = 0
    for node in _top_level(tree.tree):
        count += name in set(names.bound_by(node))
    return count > 1


def _top_level(module: ast.Module) -> list[ast.AST]:
    from durable_lint.fixes.tree import own_nodes

    return list(own_nodes(*module.body))


def need(
    change: Change, module: str, name: str, around: ast.AST, is_first_party: Callable[[str], bool]
) -> str:
    """Return how to name `module.name` in the function `around`, adding an import where there is none."""
    tree = change.tree
    known = imported_as(tree, module, name, around)
    if known is not None:
        return known
    local = name
    if name in tree.mentioned:
        local = names.fresh(f"durable_{name}", tree.mentioned)
    alias = name if local == name else f"{name} as {local}"
    if not _extend(change, module, alias, name):
        _add(change, module, f"from {module} import {alias}", is_first_party)
    return local


def need_all(
    change: Change,
    module: str,
    wanted: tuple[str, ...],
    around: ast.AST,
    is_first_party: Callable[[str], bool],
) -> None:
    """Make names of a module usable under their own names. Raises `Refused` when one means something else."""
    tree = change.tree
    missing = [name for name in wanted if imported_as(tree, module, name, around) != name]
    for name in missing:
        if name in tree.mentioned:
            raise Refused(f"`{name}` means something else in this module")
    if missing and not _extend(change, module, ", ".join(missing), missing[0]):
        _add(change, module, f"from {module} import {', '.join(missing)}", is_first_party)


def _extend(change: Change, module: str, alias: str, name: str) -> bool:
    """Add a name to an import of the same module that stands on one line."""
    tree = change.tree
    for statement in tree.tree.body:
        if not isinstance(statement, ast.ImportFrom) or statement.module != module or statement.level:
            continue
        text = tree.slice(statement)
        if "\n" in text or "\r" in text or "(" in text or "*" in text:
            continue
        for existing in statement.names:
            if _alias_key(existing.name) > _alias_key(name):
                change.insert(tree.start(existing), f"{alias}, ")
                return True
        change.insert(tree.end(statement), f", {alias}")
        return True
    return False


def _alias_key(name: str) -> tuple[int, str]:
    """isort's order inside an import: constants, classes, functions."""
    if name.isupper() and len(name) > 1:
        return 0, name
    return (1, name) if name[:1].isupper() else (2, name)


def _add(change: Change, module: str, line: str, is_first_party: Callable[[str], bool]) -> None:
    tree = change.tree
    newline = tree.source.newline
    found = _leading_imports(tree.tree)
    order = _order(module, is_first_party)
    before = [s for s in found if _statement_order(s, is_first_party) < order]
    same = [s for s in found if _statement_order(s, is_first_party)[0] == order[0]]
    if before:
        after = (
            before[-1]
            if not same
            else max((s for s in before if s in same), key=lambda s: s.lineno, default=None)
        )
        if after is not None:
            row = after.end_lineno or after.lineno
            blank = newline if _statement_order(after, is_first_party)[0] != order[0] else ""
            text = f"{blank}{line}{newline}"
            if blank and not _is_blank_or_end(tree, row + 1):
                text += newline
            change.insert(tree.row_end(row), text)
            return
    if same:
        change.insert(tree.row_start(_first_row(tree, same[0])), line + newline)
        return
    if found:
        change.insert(tree.row_start(_first_row(tree, found[0])), line + newline + newline)
        return
    _add_first(change, line)


def _first_row(tree: SourceTree, statement: ast.stmt) -> int:
    """Return the row at which to insert before a statement: above the comments that stand right above it."""
    row = statement.lineno
    while row > 3 and tree.source.lines[row - 2].lstrip().startswith("#"):
        row -= 1
    return row


def _add_first(change: Change, line: str) -> None:
    """Add the only import: under the docstring and `__future__`, else under the comment at the top."""
    tree = change.tree
    newline = tree.source.newline
    body = tree.tree.body
    if body and _is_docstring(body[0]):
        row = body[0].end_lineno or 1
        text = f"{newline}{line}{newline}"
        if not _is_blank_or_end(tree, row + 1):
            text += newline
        change.insert(tree.row_end(row), text)
        return
    row = 1
    lines = tree.source.lines
    while row <= len(lines) and lines[row - 1].lstrip().startswith("#"):
        row += 1
    if row > 1 and row <= len(lines) and not lines[row - 1].strip():
        row += 1  # the blank line under the comment
    text = f"{line}{newline}"
    if not _is_blank_or_end(tree, row):
        text += newline
    change.insert(tree.row_start(row), text)


def _is_blank_or_end(tree: SourceTree, row: int) -> bool:
    lines = tree.source.lines
    return row > len(lines) or not lines[row - 1].strip()


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _leading_imports(module: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    """Return the module's own imports above its first function or class."""
    found: list[ast.Import | ast.ImportFrom] = []
    for statement in module.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            found.append(statement)
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            break
    return found


def _statement_order(
    statement: ast.Import | ast.ImportFrom, is_first_party: Callable[[str], bool]
) -> tuple[int, int, str]:
    if isinstance(statement, ast.Import):
        section, _, name = _order(statement.names[0].name, is_first_party)
        return section, 0, name
    if statement.level:
        return _SECTIONS.index("relative"), 1, ""
    return _order(statement.module or "", is_first_party)


def _order(module: str, is_first_party: Callable[[str], bool]) -> tuple[int, int, str]:
    top = module.partition(".")[0]
    if top == "__future__":
        section = "future"
    elif top in sys.stdlib_module_names:
        section = "standard"
    elif is_first_party(module):
        section = "first"
    else:
        section = "third"
    return _SECTIONS.index(section), 1, module.lower()


def drop_unused(change: Change, removed: dict[str, int]) -> None:
    """Take out imports of names that nothing reads any more.

    `removed` says how many reads of each name the rewrite removes.
    """
    tree = change.tree
    unused = {name for name, gone in removed.items() if _uses(tree, name) <= gone}
    for statement in tree.tree.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            aliases = [alias for alias in statement.names if (alias.asname or alias.name) in unused]
            if aliases:
                _drop(change, statement, aliases)


def _uses(tree: SourceTree, name: str) -> int:
    """Count what looks like a use of a name, in strings too (annotations, `__all__`)."""
    count = 0
    word = re.compile(rf"\b{re.escape(name)}\b")
    for node in tree.nodes:
        if (isinstance(node, ast.Name) and node.id == name) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and word.search(node.value)
        ):
            count += 1
    return count


def _drop(change: Change, statement: ast.Import | ast.ImportFrom, aliases: list[ast.alias]) -> None:
    """Take names out of an import, or the import where they are all of it; not where comments stand beside it."""
    tree = change.tree
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    line_start, line_end = tree.row_start(first), tree.row_end(last)
    alone = tree.text[line_start:line_end].strip() == tree.slice(statement)
    if tree.comments_in(line_start, line_end) or not alone:
        return
    kept = [alias for alias in statement.names if alias not in aliases]
    if not kept:
        change.replace(line_start, line_end, "")
        _join_sections(change, statement, first, last)
        return
    for alias in aliases:
        index = statement.names.index(alias)
        after = statement.names[index + 1 :]
        if any(other in kept for other in statement.names[:index]):
            change.replace(tree.end(statement.names[index - 1]), tree.end(alias), "")
        elif after:
            change.replace(tree.start(alias), tree.start(after[0]), "")


def _join_sections(change: Change, statement: ast.stmt, first: int, last: int) -> None:
    """Take out the blank line too that an import leaves behind between two others or at the top."""
    tree = change.tree
    body = tree.tree.body
    index = body.index(statement)
    before = body[index - 1] if index else None
    alone = not _is_blank_or_end(tree, last + 1)
    if alone or (before is not None and before.end_lineno == first - 1):
        return
    after = body[index + 1] if index + 1 < len(body) else None
    if isinstance(after, (ast.Import, ast.ImportFrom)) and after.lineno == last + 2:
        change.replace(tree.row_start(last + 1), tree.row_end(last + 1), "")
