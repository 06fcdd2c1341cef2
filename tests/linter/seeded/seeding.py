"""Puts one unsafe cleanup at a time around a durable call of clean, real code, and counts what is found.

Where a durable call is, is told by `ast` alone and not by the linter: a call of one of the SDK's suspending
methods on a parameter that is annotated `DurableContext`, or that is the second one of a function decorated with
`durable_execution`, or on an expression that a person named with `--on`.

    python -m tests.linter.seeded.seeding [--on EXPRESSION] ... FOLDER_OR_FILE ...

prints a line for each fault that is missed or reported elsewhere, then a table by kind. Exit status 1 when there
is one.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

from durable_lint.config.settings import Settings
from durable_lint.linter import Linter

if TYPE_CHECKING:
    from collections.abc import Iterator

SUSPENDING = {
    "wait",
    "step",
    "invoke",
    "map",
    "parallel",
    "run_in_child_context",
    "wait_for_callback",
    "wait_for_condition",
}
KINDS = {
    "finally": ("LDC101", "try:\n{body}\nfinally:  # seeded\n    seeded_world.release()\n"),
    "with": ("LDC102", "with seeded_world.held():  # seeded\n{body}\n"),
    "exit stack": (
        "LDC103",
        (
            "with contextlib.ExitStack() as seeded_stack:  # seeded\n"
            "    seeded_stack.callback(seeded_world.release)\n{body}\n"
        ),
    ),
    "return in a finally": ("LDC104", "try:\n{body}\nfinally:\n    return None  # seeded\n"),
    "suppress": ("LDC105", "with contextlib.suppress(BaseException):  # seeded\n{body}\n"),
    "except BaseException": ("LDC201", "try:\n{body}\nexcept BaseException:  # seeded\n    pass\n"),
    "bare except": ("LDC202", "try:\n{body}\nexcept:  # seeded\n    pass\n"),
    "except SuspendExecution": (
        "LDC203",
        "try:\n{body}\nexcept seeded_sdk.SuspendExecution:  # seeded\n    print('suspended')\n    raise\n",
    ),
    "cleanup on BaseException": (
        "LDC204",
        "try:\n{body}\nexcept BaseException:  # seeded\n    seeded_world.release()\n    raise\n",
    ),
}
HEADER = "import contextlib\nimport seeded_world\nimport aws_durable_execution_sdk_python.exceptions as seeded_sdk\n"


@dataclass(frozen=True)
class Seeded:
    """One fault: where, which kind, and what came of it (`found`, `missed` or `elsewhere`)."""

    path: Path
    row: int
    kind: str
    outcome: str


def durable_statements(tree: ast.Module, named: frozenset[str] = frozenset()) -> Iterator[ast.stmt]:
    """Yield the simple statements that make a durable call in the function whose parameter the context is."""
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names = _contexts(function) | named
            if names:
                yield from _statements(function.body, names)


def _contexts(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    found = {
        p.arg
        for p in parameters
        if p.annotation is not None and "DurableContext" in ast.unparse(p.annotation)
    }
    decorators = [ast.unparse(d).partition("(")[0].rpartition(".")[2] for d in function.decorator_list]
    if "durable_execution" in decorators and len(parameters) > 1:
        found.add(parameters[1].arg)
    return set() if "durable_step" in decorators else found


def _statements(block: list[ast.stmt], names: set[str]) -> Iterator[ast.stmt]:
    for statement in block:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(statement, (ast.Expr, ast.Assign, ast.Return, ast.AnnAssign)):
            if _calls(statement, names):
                yield statement
        for field in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, field, []), names)
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            yield from _statements(part.body, names)


def _calls(node: ast.AST, names: set[str]) -> bool:
    if isinstance(node, ast.Lambda):
        return False
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in SUSPENDING:
            if ast.unparse(owner) in names:
                return True
    return any(_calls(child, names) for child in ast.iter_child_nodes(node))


def seed(text: str, statement: ast.stmt, kind: str) -> str:
    """Return the module with the statement wrapped in the faulty cleanup of this kind."""
    lines = text.splitlines()
    first, last = statement.lineno - 1, (statement.end_lineno or statement.lineno) - 1
    margin = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    body = "\n".join("    " + line if line.strip() else line for line in lines[first : last + 1])
    body = "\n".join(
        line.removeprefix(margin) if line.startswith(margin) else line for line in body.split("\n")
    )
    wrapped = HEADER + KINDS[kind][1].format(body=body)
    return "\n".join([*lines[:first], indent(wrapped, margin).rstrip("\n"), *lines[last + 1 :], ""])


def play(
    root: Path, path: Path, kinds: tuple[str, ...] = tuple(KINDS), named: frozenset[str] = frozenset()
) -> Iterator[Seeded]:
    """Seed every durable statement of a file with every kind of fault, one at a time."""
    text = path.read_text(encoding="utf-8")
    clean = Counter(f.code for f in Linter(Settings(root=root)).lint(path).findings)
    for statement in durable_statements(ast.parse(text), named):
        line = text.splitlines()[statement.lineno - 1]
        if line[: statement.col_offset].strip():
            continue  # `if x: context.wait()` on one line
        for kind in kinds:
            faulty = seed(text, statement, kind)
            ast.parse(faulty)
            linter = Linter(Settings(root=root))
            result = linter.lint(path, faulty.encode())
            rows = [i for i, found in enumerate(faulty.splitlines(), start=1) if found.endswith("# seeded")]
            code = KINDS[kind][0]
            hits = [f for f in result.findings if f.code == code and f.start.row in rows]
            rest = Counter(f.code for f in result.findings if f not in hits)
            outcome = "missed" if len(hits) != 1 else "found" if rest == clean else "elsewhere"
            yield Seeded(path, statement.lineno, kind, outcome)


def files(given: list[Path]) -> Iterator[tuple[Path, Path]]:
    """Yield each file with the root of its project: the folder that was given, or the file's own."""
    for each in given:
        root = each if each.is_dir() else each.parent
        for path in sorted(each.rglob("*.py")) if each.is_dir() else [each]:
            yield root.resolve(), path.resolve()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Seed unsafe cleanup into clean code.")
    parser.add_argument("--on", action="append", default=[], help="an expression that is a durable context")
    parser.add_argument("paths", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    named = frozenset(options.on)
    table: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    bad = 0
    for root, path in files(options.paths):
        for seeded in play(root, path, named=named):
            table[seeded.kind][seeded.outcome] += 1
            if seeded.outcome != "found":
                bad += 1
                print(f"{path}:{seeded.row}: {seeded.kind}: {seeded.outcome}", flush=True)
    print(f"{'kind':<28}{'seeded':>8}{'found':>8}{'missed':>8}{'new elsewhere':>15}")
    for kind, counts in table.items():
        row = (counts.total(), counts["found"], counts["missed"], counts["elsewhere"])
        print(f"{kind:<28}{row[0]:>8}{row[1]:>8}{row[2]:>8}{row[3]:>15}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
