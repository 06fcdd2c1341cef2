"""Which modules there are and what their names lead to, without importing or running anything.

Modules are read when a question leads to them, and kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from durable_lint.facts import ModuleFacts, extract
from durable_lint.sdk import aws
from durable_lint.source.text import SourceError, SourceSyntaxError, SourceText, parse

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from durable_lint.gate import ImportedModules


class ImportMap(Protocol):
    """What the project needs to know of its files; `gate.ImportIndex` is one."""

    def resolve(self, module: str, importer: Path, level: int = 0) -> Path | None:
        """Return the file of `module` as imported in `importer` with `level` dots, None outside the
        project.
        """

    def importers_of(self, path: Path) -> Iterable[Path]:
        """Return the files of the project that import `path`, directly."""

    def imports_of(self, path: Path) -> Iterable[ImportedModules]:
        """Return the import statements of a file with the project's files that they lead to."""

    def mentions_sdk(self, path: Path) -> bool:
        """Whether a file names the SDK or the runtime."""

    def read(self, path: Path) -> bytes:
        """Return a file's content. Raises `OSError`."""


class Modules:
    """Reads modules on demand and remembers them. A file that cannot be read is remembered as a gap."""

    def __init__(self, imports: ImportMap, met: Callable[[SourceText, ast.Module], object]) -> None:
        """`met` is called with each module that is parsed here, while its tree is at hand."""
        self.imports = imports
        self._met = met
        self.parsed = 0
        """How many modules were parsed: what a question costs."""
        self.gaps: dict[Path, str] = {}
        self._facts: dict[Path, ModuleFacts | None] = {}
        self._names: dict[tuple[Path, str, int], ModuleFacts | None] = {}
        self._real: dict[Path, Path] = {}
        self._keys: dict[Path, Path] = {}
        self._directories: dict[Path, Path] = {}
        self._above: dict[Path, bool] = {}
        self._below: dict[Path, bool] = {}

    def has(self, source: SourceText) -> bool:
        """Whether a question has led to this module already, as this file with this content."""
        return self._same(source) is not None

    def _same(self, source: SourceText) -> ModuleFacts | None:
        facts = self._facts.get(self._key(source.path))
        if facts is None or facts.path != source.path or facts.source.raw != source.raw:
            return None
        return facts

    def add(self, source: SourceText, tree: ast.Module | None = None) -> ModuleFacts:
        """Return the facts of a module; `tree` is its tree where one is at hand. Raises `SourceSyntaxError`."""
        facts = self._same(source)
        if facts is None:
            facts = extract(source, parse(source) if tree is None else tree)
            self.parsed += 1
            self._facts[self._key(source.path)] = facts
            self._names.clear()
        return facts

    def forget(self, path: Path) -> None:
        """Read a file again when it is next asked for: its content has changed."""
        self._facts.pop(self._key(path), None)
        self.gaps.pop(path, None)
        self._names.clear()
        self._above.clear()
        self._below.clear()

    def at(self, path: Path) -> ModuleFacts | None:
        """Return the module at `path`, None where it cannot be read (see `gaps`)."""
        key = self._key(path)
        if key not in self._facts:
            self._facts[key] = None
            try:
                source = SourceText.from_bytes(path, self.imports.read(path))
                tree = parse(source)
                self._facts[key] = extract(source, tree)
                self.parsed += 1
                self._met(source, tree)
            except OSError as error:
                self.gaps[path] = f"cannot be read: {error.strerror}"
            except SourceError as error:
                self.gaps[path] = str(error)
            except SourceSyntaxError as error:
                self.gaps[path] = f"cannot be parsed (line {error.row}): {error.message}"
        return self._facts[key]

    def _key(self, path: Path) -> Path:
        """Return one path for each file: links above it are followed."""
        key = self._keys.get(path)
        if key is None:
            parent = self._real.get(path.parent)
            if parent is None:
                parent = self._real[path.parent] = path.parent.resolve()
            key = self._keys[path] = parent / path.name
        return key

    def named(self, name: str, importer: Path, level: int = 0) -> ModuleFacts | None:
        """Return the project's module `name` as `importer` sees it, None where it is not the project's."""
        directory = self._directories.get(importer)
        if directory is None:
            directory = self._directories[importer] = importer.parent
        key = (directory, name, level)
        if key not in self._names:
            path = self.imports.resolve(name, importer, level)
            self._names[key] = None if path is None else self.at(path)
        return self._names[key]

    def callers_of(self, path: Path) -> list[ModuleFacts]:
        """Return the modules that import `path`, directly or through others, and can hand it a durable
        context.
        """
        if not {aws.PACKAGE, aws.RUNTIME}.isdisjoint(path.parts):
            return []  # imports of the SDK and of the runtime are known by name and not followed
        start = self._key(path)
        found: list[ModuleFacts] = []
        seen = {start}
        waiting = [start]
        while waiting:
            for importer in sorted(self.imports.importers_of(waiting.pop())):
                if importer in seen:
                    continue
                seen.add(importer)
                if not self.may_hold_context(importer):
                    continue
                waiting.append(importer)
                module = self.at(importer)
                if module is not None:
                    found.append(module)
        return found

    def imports_directly(self, path: Path, imported: Path) -> bool:
        """Whether one file of the project imports another one itself."""
        key = self._key(imported)
        return any(self._key(found) == key for found in self._imported(path))

    def may_hold_context(self, path: Path) -> bool:
        """Whether a durable context can be in a file: it, a file that imports it, or one that it imports is
        durable.

        Imports are followed through any number of files, in either direction but not in both.
        """
        return self._reaches(path, self._importers, self._above) or self._reaches(
            path, self._imported, self._below
        )

    def _importers(self, path: Path) -> Iterable[Path]:
        return self.imports.importers_of(path)

    def _imported(self, path: Path) -> Iterable[Path]:
        return [found for statement in self.imports.imports_of(path) for found in statement.paths]

    def _reaches(
        self, start: Path, following: Callable[[Path], Iterable[Path]], known: dict[Path, bool]
    ) -> bool:
        if start in known:
            return known[start]
        seen = {start}
        waiting = [start]
        found = False
        while waiting and not found:
            path = waiting.pop()
            if self.imports.mentions_sdk(path) or known.get(path, False):
                found = True
            for further in following(path):
                if further not in seen and known.get(further) is not False:
                    seen.add(further)
                    waiting.append(further)
        if not found:
            known.update(dict.fromkeys(seen, False))
        known[start] = found
        return found
