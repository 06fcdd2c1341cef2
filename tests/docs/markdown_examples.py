"""Reads the examples of Markdown files and runs them as docs/contributing-docs.md says. Knows no pytest."""

from __future__ import annotations

import ast
import builtins
import json
import re
import shlex
import symtable
import textwrap
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any  # an example's names can hold anything

from stage import Handler, Played, Rejection, play, unordered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType

COMMENT = re.compile(r"<!--\s*example:\s*(?P<text>.*?)\s*-->", re.DOTALL)
FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>[\w-]*)[^\n]*$")
KINDS = {"fragment", "handler", "body", "module", "setup", "prints"}
KEYS = {"lint", "event", "status", "error", "result", "unordered", "python"}
WRAPPER = """\
from aws_durable_execution_sdk_python import DurableContext, durable_execution


@durable_execution
def handler(event, context: DurableContext):
"""


class ExampleError(Exception):
    """An example that breaks the convention or does not do what its page says."""


@dataclass(frozen=True)
class Marker:
    """What a comment says about the block below it: a kind, and keys with their values."""

    kind: str = "fragment"
    options: dict[str, str] = field(default_factory=dict)

    def prefixed(self, prefix: str) -> dict[str, str]:
        return {
            key.removeprefix(prefix): value for key, value in self.options.items() if key.startswith(prefix)
        }


@dataclass(frozen=True)
class Example:
    """A fenced block of Python. `prints` is what the page says it logs, None where it says nothing."""

    path: Path
    row: int
    code: str
    marker: Marker
    heading: str = ""
    setup: str = ""
    prints: str | None = None

    @property
    def place(self) -> str:
        return f"{self.path.name}:{self.row}"


def examples_in(path: Path) -> list[Example]:
    """The Python blocks of a Markdown file, in order. Raises `ExampleError` for a malformed comment."""
    found: list[Example] = []
    marker, heading, setup = Marker(), "", ""
    for kind, row, text in _pieces(path.read_text(encoding="utf-8")):
        if kind == "heading":
            heading = text
        elif kind == "comment":
            marker, hidden = _marker(text, f"{path.name}:{row}")
            if marker.kind == "setup":
                marker, setup = Marker(), f"{setup}\n{hidden}"
        elif kind == "python":
            if marker.kind == "prints":
                raise ExampleError(f"{path.name}:{row}: a `prints` block is not Python")
            found.append(Example(path, row, text, marker, heading, setup))
            marker = Marker()
        elif marker.kind == "prints":
            last = found.pop()
            options = {**last.marker.options, **marker.options}
            found.append(replace(last, marker=replace(last.marker, options=options), prints=_log(text)))
            marker = Marker()
        else:
            marker = Marker()
    return found


def _log(block: str) -> str:
    """What a block says is logged. `(nothing)` stands for an empty log, which a reader would take for a gap."""
    text = block.strip("\n")
    return "" if text == "(nothing)" else text


def _pieces(text: str) -> Iterator[tuple[str, int, str]]:
    """Headings, example comments and fenced blocks, with row and text; a block's kind is its language."""
    lines = text.splitlines()
    row = 0
    while row < len(lines):
        line = lines[row]
        if fence := FENCE.match(line):
            end = row + 1
            while end < len(lines) and lines[end].strip() != fence["ticks"]:
                end += 1
            body = textwrap.dedent("\n".join(lines[row + 1 : end])) + "\n"
            yield fence["language"] or "text", row + 2, body
            row = end + 1
        elif line.lstrip().startswith("<!--"):
            end = row
            while "-->" not in lines[end]:
                end += 1
            if comment := COMMENT.search("\n".join(lines[row : end + 1])):
                yield "comment", row + 1, comment["text"]
            row = end + 1
        else:
            if line.startswith("#"):
                yield "heading", row + 1, line.lstrip("#").strip()
            row += 1


def _marker(text: str, place: str) -> tuple[Marker, str]:
    first, _, rest = text.partition("\n")
    words = shlex.split(first)
    kind = words.pop(0) if words and "=" not in words[0] else "fragment"
    options = {key: value for key, _, value in (word.partition("=") for word in words)}
    unknown = {key for key in options if key not in KEYS and not key.startswith(("answer.", "fail."))}
    if kind not in KINDS or unknown:
        raise ExampleError(f"{place}: `{first}` is no example comment; see docs/contributing-docs.md")
    return Marker(kind, options), rest


# ---------------------------------------------------------------- running


def run(example: Example) -> Played | None:
    """Do with an example what its kind says.

    Raises `ExampleError` when it does not do what the page says, and lets errors of the example through.
    """
    if example.marker.kind == "fragment":
        _check_fragment(example)
        return None
    log: list[str] = []
    names = _namespace(example, log)
    exec(_compiled(_source(example), example), names)
    if example.marker.kind == "module":
        return None
    options = example.marker.options
    answers: dict[str, str | Rejection] = {
        key.partition(".")[2]: Rejection(value) if key.startswith("fail.") else value
        for key, value in options.items()
        if key.startswith(("answer.", "fail."))
    }
    played = play(
        _handler(example, names),
        json.loads(options.get("event", "{}")),
        log=log,
        answers=answers,
        functions=names.get("FUNCTIONS"),
    )
    _check_outcome(example, played)
    return played


def _source(example: Example) -> str:
    if example.marker.kind == "body":
        return WRAPPER + textwrap.indent(example.code, "    ")
    return example.code


def _compiled(source: str, example: Example) -> CodeType:
    return compile(source, f"<{example.place}>", "exec")


def _namespace(example: Example, log: list[str]) -> dict[str, Any]:
    """The names that an example finds: its page's setup, and an effect for each undefined function."""

    def effect(
        name: str, returns: object = None, raises: BaseException | None = None
    ) -> Callable[..., object]:
        def called(*args: object, **kwargs: object) -> object:
            shown = [repr(arg) for arg in args] + [f"{key}={value!r}" for key, value in kwargs.items()]
            log.append(f"{name}({', '.join(shown)})")
            if raises is not None:
                raise raises
            return returns

        called.__name__ = name
        return called

    names: dict[str, Any] = {"__name__": "example", "effect": effect, "log": log.append}
    exec(compile(example.setup, f"<setup of {example.path.name}>", "exec"), names)
    names.update({name: effect(name) for name in _undefined(_source(example)) - names.keys()})
    return names


def _undefined(source: str) -> set[str]:
    """Functions that the source calls and neither defines nor imports."""

    def tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
        yield table
        for child in table.get_children():
            yield from tables(child)

    module = symtable.symtable(source, "<example>", "exec")
    defined = {
        symbol.get_name() for symbol in module.get_symbols() if symbol.is_assigned() or symbol.is_imported()
    }
    defined |= {symbol.get_name() for symbol in module.get_symbols() if symbol.is_namespace()}
    used = {
        s.get_name()
        for table in tables(module)
        for s in table.get_symbols()
        if s.is_referenced() and s.is_global()
    }
    called = {
        n.func.id
        for n in ast.walk(ast.parse(source))
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    called |= {
        arg.id
        for n in ast.walk(ast.parse(source))
        if isinstance(n, ast.Call)
        for arg in n.args
        if isinstance(arg, ast.Name)
    }
    return (used & called) - defined - set(dir(builtins))


def _handler(example: Example, names: dict[str, Any]) -> Handler:
    for node in reversed(ast.parse(_source(example)).body):
        if isinstance(node, ast.FunctionDef) and any(
            "durable_execution" in ast.unparse(d) for d in node.decorator_list
        ):
            handler: Handler = names[node.name]
            return handler
    raise ExampleError(f"{example.place}: no function is decorated with @durable_execution")


def _check_fragment(example: Example) -> None:
    """A fragment is Python, and every import in it works."""
    code = example.code
    try:
        tree = ast.parse(code)
        compile(code, example.place, "exec")
    except SyntaxError:  # `return`, `await` or `yield` of a function that is not shown
        code = "async def example():\n" + textwrap.indent(code, "    ")
        tree = ast.parse(code)
        compile(code, example.place, "exec")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and _checked(node):
            exec(compile(ast.Module([node], []), example.place, "exec"), {})


def _checked(node: ast.Import | ast.ImportFrom) -> bool:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    return all(
        name.split(".")[0] in {"durable_runtime", "durable_lint", "aws_durable_execution_sdk_python"}
        for name in names
    )


def _check_outcome(example: Example, played: Played) -> None:
    options = example.marker.options
    status = options.get("status", "SUCCEEDED")
    if played.status != status:
        raise ExampleError(
            f"{example.place}: {played.status} ({played.error}: {played.message}), the page says {status}; "
            f"it logged {played.log}"
        )
    if "error" in options and played.error != options["error"]:
        raise ExampleError(f"{example.place}: failed with {played.error}, the page says {options['error']}")
    if "result" in options and played.result != json.loads(options["result"]):
        raise ExampleError(f"{example.place}: gave {played.result!r}, the page says {options['result']}")
    if example.prints is None:
        return
    compared: Callable[[list[str]], object] = unordered if "unordered" in options else list
    if compared(played.log) != compared(example.prints.splitlines()):
        shown = "\n".join(played.log)
        raise ExampleError(
            f"{example.place}: the page says it prints\n{example.prints}\n\nbut it prints\n{shown}"
        )


# ---------------------------------------------------------------- linting


def check_lint(example: Example, lint: Callable[[bytes, Path], list[str]]) -> None:
    """Compare the codes that the page promises with those that `lint` finds. Raises `ExampleError`.

    The linter sees the example below the imports of the page's setup.
    """
    promised = example.marker.options["lint"]
    imports = [
        node for node in ast.parse(example.setup).body if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    source = "\n".join([*map(ast.unparse, imports), _source(example)])
    found = sorted(set(lint(source.encode(), Path(f"example_{example.row}.py"))))
    expected = [] if promised == "clean" else sorted(promised.split(","))
    if found != expected:
        raise ExampleError(f"{example.place}: the linter reports {found}, the page says {expected}")
