"""Writes docs/runtime/reference.md from the docstrings of durable_runtime.

Usage: python docs/tools/make_reference.py [--check]
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import enum
import importlib
import inspect
import itertools
import re
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, get_overloads

import durable_runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGE = Path(__file__).parents[1] / "runtime" / "reference.md"
INTRODUCTION = """\
# API reference: durable_runtime

<!-- made by docs/tools/make_reference.py from the docstrings; do not edit -->

The [guide](guide.md) tells how to use these names. The names of `durable_runtime.plugin` are for authors of
instrumentation plugins; they work without the rest of the package, on SDK 1.6 and later.
"""
GROUPS = {
    "Scopes": [
        "terminal_scope",
        "TerminalScopeConfig",
        "DurableTerminalActions",
        "InPlaceScope",
        "abandoned",
    ],
    "Outcomes and errors": [
        "ScopeOutcome",
        "ScopeStatus",
        "ScopeCancelled",
        "TerminalScopeError",
        "TerminalFailure",
        "RegistrationError",
    ],
    "Events": ["on_scope_event", "ScopeEvent", "ScopeEventKind"],
}
SECTIONS = ("Args", "Attributes", "Returns", "Raises", "Yields")


def page() -> str:
    """The whole page. Raises `SystemExit` when a public name belongs to no group."""
    groups = {
        title: [(name, getattr(durable_runtime, name)) for name in names] for title, names in GROUPS.items()
    }
    missing = set(durable_runtime.__all__) - {name for names in GROUPS.values() for name in names}
    if missing:
        raise SystemExit(f"make_reference.py: no group has {', '.join(sorted(missing))}")
    plugin = importlib.import_module("durable_runtime.plugin")
    groups["Plugins: `durable_runtime.plugin`"] = [(name, getattr(plugin, name)) for name in plugin.__all__]
    parts = [INTRODUCTION]
    for title, entries in groups.items():
        parts.append(f"- {title}: " + ", ".join(f"[`{name}`](#{_anchor(name)})" for name, _ in entries))
    for title, entries in groups.items():
        parts.append(f"\n## {title}")
        parts.extend(_entry(name, value) for name, value in entries)
    return "\n".join(parts) + "\n"


def _anchor(name: str) -> str:
    return name.lower()


def _entry(name: str, value: object) -> str:
    if inspect.isclass(value):
        return "\n".join(_class(name, value))
    if callable(value):
        return f"\n### {name}\n\n{_signatures(name, value)}\n\n{_prose(inspect.getdoc(value))}"
    return f"\n### {name}\n\n{_prose(inspect.getdoc(value))}"


def _class(name: str, cls: type) -> Iterator[str]:
    yield f"\n### {name}\n"
    bases = [base.__name__ for base in cls.__bases__ if base is not object]
    yield _code(f"class {name}" + (f"({', '.join(bases)})" if bases else "") + _fields(cls))
    yield "\n" + _prose(_own_doc(cls))
    if issubclass(cls, enum.Enum):
        meanings = _meanings(cls)
        yield "\n" + "\n".join(
            f"- `{member.name}`" + (f": {meanings[member.name]}" if member.name in meanings else "")
            for member in cls
        )
    for member_name, member in vars(cls).items():
        if member_name.startswith("_") or issubclass(cls, enum.Enum) or _internal(member):
            continue
        if isinstance(member, property):
            yield f"\n#### {name}.{member_name}\n\n{_prose(inspect.getdoc(member))}"
        elif inspect.isfunction(member):
            yield f"\n#### {name}.{member_name}\n\n{_signatures(member_name, member)}\n"
            yield _prose(inspect.getdoc(member))


def _internal(member: object) -> bool:
    return "For the scope alone." in (inspect.getdoc(member) or "")


def _own_doc(cls: type) -> str | None:
    return inspect.cleandoc(cls.__doc__) if cls.__doc__ else None


def _meanings(cls: type) -> dict[str, str]:
    """The strings that stand below the members of an enumeration, by member."""
    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(body, ast.ClassDef)
    return {
        member.targets[0].id: " ".join(str(text.value.value).split())
        for member, text in itertools.pairwise(body.body)
        if isinstance(member, ast.Assign)
        and isinstance(member.targets[0], ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }


def _fields(cls: type) -> str:
    """The fields that a dataclass declares, with their types and defaults, as lines of its body."""
    if not dataclasses.is_dataclass(cls):
        return ""
    lines = []
    for spec in (
        spec for spec in dataclasses.fields(cls) if spec.name in vars(cls).get("__annotations__", {})
    ):
        default = "" if spec.default is dataclasses.MISSING else f" = {_default(spec.default)}"
        lines.append(f"\n    {spec.name}: {spec.type}{default}")
    return ":" + "".join(lines)


def _default(value: object) -> str:
    return str(value) if isinstance(value, enum.Enum) else repr(value)


def _signatures(name: str, function: Callable[..., object]) -> str:
    overloads = get_overloads(function) or [function]
    return _code("\n\n".join(_signature(name, overload) for overload in overloads))


def _signature(name: str, function: Callable[..., object]) -> str:
    signature = inspect.signature(function)
    parameters = [p for p in signature.parameters.values() if p.name != "self"]
    if not parameters:
        return f"{name}() -> {_type(signature.return_annotation)}"
    short = f"{name}{signature.replace(parameters=parameters)}".replace("'", "")
    if len(short) <= 96:
        return short
    lines, starred = [], False
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            lines.append("    *,")
            starred = True
        lines.append(f"    {str(parameter).replace(chr(39), '')},")
    return f"{name}(\n" + "\n".join(lines) + f"\n) -> {_type(signature.return_annotation)}"


def _type(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _code(text: str) -> str:
    return f"```text\n{text}\n```"


def _prose(doc: str | None) -> str:
    """A docstring as Markdown: its sections become lists."""
    if not doc:
        raise SystemExit("make_reference.py: a public name has no docstring")
    out: list[str] = []
    section = ""
    for line in doc.splitlines():
        if line.rstrip(":") in SECTIONS and line.endswith(":"):
            section = line.rstrip(":")
            out.append(f"*{section}*\n")
        elif not section or not line.startswith("    "):
            section = section if not line else ""
            out.append(line)
        elif line.startswith("     "):
            out[-1] += f" {line.strip()}"
        elif entry := re.match(r"    \*{0,2}([\w.]+)(?: \([^)]*\))?: (.*)", line):
            out.append(f"- `{entry[1]}`: {entry[2]}")
        elif section and out[-1] and not out[-1].startswith("*"):
            out[-1] += f" {line.strip()}"
        else:
            out.append(line.strip())
    return "\n".join(out).strip()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with status 1 when out of date"
    )
    check = parser.parse_args().check
    text = page()
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    if not check:
        PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(f"docs/runtime/reference.md: {'out of date' if check else 'written'}\n")
    return 1 if check else 0


if __name__ == "__main__":
    sys.exit(main())
