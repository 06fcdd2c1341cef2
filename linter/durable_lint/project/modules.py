"""Which modules there are and what their names lead to, without importing or running anything.

Modules are read when a question leads to them, and kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from durable_lint.facts import ModuleFacts, extract
from durable_lint.source.text import SourceError, SourceSyntaxError, SourceText, parse

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable
    from pathlib import Path


class ImportMap(Protocol):
    """What the project needs to know of its files; `gate.ImportIndex` is one."""

    def resolve(self, module: str, importer: Path, level: int = 0) -> Path | None:
        """Return the file of `module` as imported in `importer` with `level` leading dots, None outside the project."""

    def importers_of(self, path: Path) -> Iterable[Path]:
        """Return the files of the project that import `path`, directly."""

    def durable(self, path: Path) -> bool:
        """Whether a durable context can come from this file: it names the SDK, or is reached from one that does."""


class Modules:
    """Reads modules on demand and remembers them. A file that cannot be read is remembered as a gap."""

    def __init__(self, imports: ImportMap) -> None:
        self.imports = imports
        self.parsed = 0
        """How many modules were parsed: what a question costs."""
        self.gaps: dict[Path, str] = {}
        self._facts: dict[Path, ModuleFacts | None] = {}
        self._names: dict[tuple[Path, str, int], ModuleFacts | None] = {}

    def add(self, source: SourceText, tree: ast.Module) -> ModuleFacts:
        """Return the facts of a module that has been parsed already."""
        facts = self._facts.get(source.path)
        if facts is None or facts.source.raw != source.raw:
            facts = extract(source, tree)
            self.parsed += 1
            self._facts[source.path] = facts
        return facts

    def at(self, path: Path) -> ModuleFacts | None:
        """Return the module at `path`, None where it cannot be read (see `gaps`)."""
        if path not in self._facts:
            try:
                source = SourceText.read(path)
                self._facts[path] = extract(source, parse(source))
                self.parsed += 1
            except SourceError as error:
                self._facts[path] = None
                self.gaps[path] = str(error)
            except SourceSyntaxError as error:
                self._facts[path] = None
                self.gaps[path] = f"cannot be parsed (line {error.row}): {error.message}"
        return self._facts[path]

    def named(self, name: str, importer: Path, level: int = 0) -> ModuleFacts | None:
        """Return the project's module `name` as `importer` sees it, None where it is not the project's."""
        key = (importer.parent, name, level)
        if key not in self._names:
            path = self.imports.resolve(name, importer, level)
            self._names[key] = None if path is None else self.at(path)
        return self._names[key]

    def callers_of(self, path: Path) -> list[ModuleFacts]:
        """Return the modules that import `path`, directly or through others, and can hand it a durable context."""
        found: list[ModuleFacts] = []
        seen = {path}
        waiting = [path]
        while waiting:
            for importer in sorted(self.imports.importers_of(waiting.pop())):
                if importer in seen or not self.imports.durable(importer):
                    continue
                seen.add(importer)
                waiting.append(importer)
                module = self.at(importer)
                if module is not None:
                    found.append(module)
        return found
