"""Which file of a project imports which, found out from bytes alone, for the gate and for `project`.

Nothing is parsed, nothing is read before it is asked for, and nothing outside the project's root, its
import roots and the files of the run. Knows nothing of rules.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from durable_lint.gate.scan import Import, Words, imports, searchable
from durable_lint.source.files import DEFAULT_EXCLUDE, PathError, Selection, python_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_PLUGIN_WORD = b"on_user_function_"
_SUFFIXES = ("/__init__.py", ".py", "/__init__.pyi", ".pyi")
_NOT_ROOTS = frozenset({"test", "tests", "testing", "stubs", "typings", "docs", "examples"})


@dataclass(frozen=True, slots=True)
class ImportedModules:
    """One import statement of a file and the project files it leads to (empty for other distributions)."""

    statement: Import
    paths: tuple[Path, ...]


@dataclass(slots=True)
class _Entry:
    durable: bool
    plugin: bool
    statements: tuple[Import, ...] | None = None


class ImportIndex:
    """The imports of one project. It has state because it reads the project once, when first asked.

    `root` is the project's directory, `src_roots` its import roots where the configuration names them,
    `files` what a run reads besides. Import roots are otherwise found by Python's own rules: the directory
    above the outermost package of the importing file, the directories above that up to `root`, `root/src`,
    and last any directory of the project in which exactly one module of that name can be found (Lambda
    layers, monorepos). Directories in `DEFAULT_EXCLUDE`, virtual environments and what git ignores are not
    part of a project; what the configuration excludes from linting is, because calls lead through it.

    Paths may be given relative or through links; paths that come back are absolute, in real directories.
    """

    def __init__(
        self,
        root: Path,
        src_roots: Sequence[Path] = (),
        *,
        files: Iterable[Path] = (),
        words: Words | None = None,
        respect_gitignore: bool = True,
    ) -> None:
        self.root = Path(os.path.realpath(root))
        self.src_roots = tuple(Path(os.path.realpath(self.root / src)) for src in src_roots)
        self.words = words or Words()
        self.respect_gitignore = respect_gitignore
        self._root = self.root.as_posix()
        shown = Path(os.path.abspath(root)).as_posix()  # noqa: PTH100
        self._shown_root = None if shown == self._root else shown
        self._src = tuple(src.as_posix() for src in self.src_roots)
        self._buffers: dict[str, bytes] = {}
        self._real: dict[str, str] = {}
        self._extra = {self._key(path) for path in files}
        self._reset()

    def _reset(self) -> None:
        self._keys: set[str] | None = None
        self._entries: dict[str, _Entry] = {}
        self._stamps: dict[str, tuple[int, int, int] | None] = {}
        self._contents: dict[str, bytes] = {}
        self._forget_names()

    def _forget_names(self) -> None:
        """Forget what follows from which files there are."""
        self._roots_of: dict[str, tuple[str, ...]] = {}
        self._found: dict[tuple[str, str], tuple[str, ...]] = {}
        self._tails: dict[str, list[str]] | None = None
        self._known_directories: set[str] | None = None
        self._forward: dict[str, tuple[ImportedModules, ...]] = {}
        self._forget_links()

    def _forget_links(self) -> None:
        """Forget what follows from what the files say of the SDK and of one another."""
        self._any_durable: bool | None = None
        self._namesakes: dict[str, bool] = {}
        self._digests: dict[str, str] = {}
        self._reverse: dict[str, tuple[str, ...]] | None = None
        self._components: dict[str, _Component] | None = None

    # ---------------------------------------------------------------- what the project holds

    def add(self, path: Path, raw: bytes | None = None) -> None:
        """Make a file part of the project; `raw` stands for its content (standard input, an unsaved buffer).

        Call it again when a file changed, with `raw` None to read it from disk again.
        """
        key = self._key(path)
        if raw is None:
            self._buffers.pop(key, None)
        else:
            self._buffers[key] = raw
        self._extra.add(key)
        self._digests = {}
        self._stamps.pop(key, None)
        self._contents.pop(key, None)
        entry, links = self._entries.pop(key, None), self._forward.pop(key, None)
        wrapped = self._namesakes.pop(key, None)
        if self._keys is not None and key not in self._keys:
            self._keys.add(key)
            self._forget_names()
        elif wrapped is not None and wrapped is not self._imports_its_name(key):
            self._forget_names()
        elif raw is None or not self._says_the_same(key, entry, links):
            self._forget_links()

    def _says_the_same(
        self, key: str, entry: _Entry | None, links: tuple[ImportedModules, ...] | None
    ) -> bool:
        """Whether a file says of the SDK and of the project's files what it said before it changed.

        Most fixes leave that as it is, and to join a project anew for each of them is quadratic.
        """
        if entry is None or links is None:
            return False
        new = self._entry(key)
        return (new.durable, new.plugin, _leads_to(self._imports(key))) == (
            entry.durable,
            entry.plugin,
            _leads_to(links),
        )

    def files(self) -> tuple[Path, ...]:
        """Every file of the project, sorted."""
        return tuple(map(self._path, sorted(self._all())))

    def read(self, path: Path) -> bytes:
        """The bytes of a file: its buffer, else what is on disk. Raises `OSError`."""
        return self._read(self._key(path))

    def has_durable_code(self) -> bool:
        """Whether any file of the project mentions the SDK. Reads the whole project once."""
        if self._any_durable is None:
            self._any_durable = any(self._entry(key).durable for key in self._all())
        return self._any_durable

    def mentions_sdk(self, path: Path) -> bool:
        """Whether this one file mentions the SDK, in code, string or comment."""
        return self._entry(self._key(path)).durable

    # ---------------------------------------------------------------- names to files and back

    def resolve(self, module: str, importer: Path, level: int = 0) -> Path | None:
        """The file of the project that `module` names in the file `importer`.

        `module` is dotted, with leading dots when it is relative (or with `level`, as `ast` has it). A
        package is its `__init__`; a stub (`.pyi`) counts where there is no source. None for other
        distributions, for the standard library, for a namespace package itself (its modules are found), and
        for a name that could mean several files.
        """
        candidates = self._candidates("." * level + module, self._key(importer))
        return self._path(candidates[0]) if len(candidates) == 1 else None

    def module_names(self, path: Path) -> tuple[str, ...]:
        """The dotted names under which the project can import a file, the usual one first."""
        key = self._key(path)
        stem = key.rpartition(".")[0].removesuffix("/__init__")
        names: dict[str, None] = {}
        for root in (self._own_root(_parent(key)), *self._roots(_parent(key))):
            if stem.startswith(root + "/"):
                names[stem[len(root) + 1 :].replace("/", ".")] = None
        return tuple(names)

    def imports_of(self, path: Path) -> tuple[ImportedModules, ...]:
        """The import statements of a file, and the files of the project that each leads to.

        `from pkg import name` leads to `pkg` and to `pkg.name` where that is a module.
        """
        return self._imports(self._key(path))

    def importers_of(self, path: Path) -> tuple[Path, ...]:
        """The files of the project that import this one directly, sorted. Reads the whole project once.

        A name may be passed on: who imports it from a package's `__init__` is an importer of that `__init__`.
        """
        if self._reverse is None:
            reverse: dict[str, dict[str, None]] = {}
            for key in sorted(self._all()):
                for imported in self._imports(key):
                    for target in imported.paths:
                        reverse.setdefault(self._key_of(target), {})[key] = None
            self._reverse = {target: tuple(sources) for target, sources in reverse.items()}
        return tuple(map(self._path, self._reverse.get(self._key(path), ())))

    def mentioning(self, name: str, paths: Iterable[Path]) -> tuple[Path, ...]:
        """Those of `paths` in which an identifier stands somewhere: worth loading to look for calls."""
        word = name.encode()
        return tuple(path for path in paths if word in self._bytes_or_nothing(self._key(path)))

    def is_connected(self, path: Path) -> bool:
        """Whether a durable context can reach the file: it mentions the SDK, or imports join it to one that
        does.

        Imports are followed in either direction: a helper that is handed a context need not mention the SDK,
        and neither need a caller of what suspends.
        """
        return self.mentions_sdk(path) or (self.has_durable_code() and self._component(path).durable)

    def is_connected_to_plugin(self, path: Path) -> bool:
        """Whether imports, followed in either direction, join the file to one with hooks of a plugin."""
        return self._entry(self._key(path)).plugin or (
            self.has_durable_code() and self._component(path).plugin
        )

    def may_hold(self, module: str, importer: Path) -> bool:
        """Whether `module`, as imported in the file `importer`, may be one of the project's."""
        key = self._key(importer)
        if self._candidates(module, key):
            return True
        tail = "/" + module.partition(".")[0]
        return any(f"{root}{tail}" in self._directories() for root in self._roots(_parent(key)))

    def holds(self, path: Path) -> bool:
        """Whether the file is part of the project."""
        return self._key(path) in self._all()

    def project_digest(self) -> str:
        """What stands for the names and contents of all files of the project. Reads it once."""
        return self._digest_of(self._all())

    def digest(self, path: Path) -> str:
        """What stands for all that a file's result can depend on in its project.

        That is the names of all files, and the contents of those that imports join to it.
        """
        if not self._digests:
            self._digests = self._digest_components()
        return self._digests.get(self._key(path), "")

    def is_unchanged(self) -> bool:
        """Whether every file that `digest` read is still the same one on disk."""
        return all(_stamp(key) == stamp for key, stamp in self._stamps.items())

    # ---------------------------------------------------------------- reading

    def _key(self, path: Path) -> str:
        directory, name = os.path.split(path)
        real = self._real.get(directory)
        if real is None:
            real = self._real[directory] = Path(os.path.realpath(directory)).as_posix().rstrip("/")
        return f"{real}/{name}"

    def _path(self, key: str) -> Path:
        """The path of a file as the root is spelled, which may lead through links."""
        if self._shown_root is not None and self._in_root(key):
            return Path(self._shown_root + key[len(self._root) :])
        return Path(key)

    def _key_of(self, path: Path) -> str:
        """The key of a path that `_path` gave."""
        return str(path) if self._shown_root is None else self._key(path)

    def _in_root(self, key: str) -> bool:
        return key.startswith(self._root.rstrip("/") + "/")

    def _all(self) -> set[str]:
        if self._keys is None:
            outside = [src for src in self.src_roots if not self._in_root(str(src)) and src != self.root]
            selection = Selection(self.root, DEFAULT_EXCLUDE, self.respect_gitignore)
            walked = python_files([self.root, *outside], selection)
            self._keys = {self._key(path) for path in walked if not isinstance(path, PathError)}
            self._keys |= self._extra
        return self._keys

    def _read(self, key: str) -> bytes:
        buffer = self._buffers.get(key)
        if buffer is not None:
            return buffer
        with open(key, "rb") as stream:  # noqa: PTH123 (three times as fast as Path.read_bytes)
            return stream.read()

    def _bytes_or_nothing(self, key: str) -> bytes:
        try:
            return self._read(key)
        except OSError:
            return b""

    def _entry(self, key: str) -> _Entry:
        entry = self._entries.get(key)
        if entry is None:
            raw = self._bytes_or_nothing(key)
            text = searchable(raw)
            entry = self._entries[key] = _Entry(self.words.in_bytes(text), _PLUGIN_WORD in text)
        return entry

    def _statements(self, key: str) -> tuple[Import, ...]:
        entry = self._entry(key)
        if entry.statements is None:
            entry.statements = imports(self._bytes_or_nothing(key))
        return entry.statements

    # ---------------------------------------------------------------- resolving

    def _imports(self, key: str) -> tuple[ImportedModules, ...]:
        found = self._forward.get(key)
        if found is None:
            found = self._forward[key] = tuple(
                ImportedModules(statement, tuple(map(self._path, self._targets(statement, key))))
                for statement in self._statements(key)
            )
        return found

    def _targets(self, statement: Import, key: str) -> list[str]:
        module, names = statement
        targets: dict[str, None] = {}
        if names:
            joint = "" if module.endswith(".") else "."
            for name in (module, *(f"{module}{joint}{name}" for name in names if name != "*")):
                targets.update(dict.fromkeys(self._candidates(name, key)))
        else:
            parts = module.split(".")
            for end in range(1, len(parts) + 1):
                targets.update(dict.fromkeys(self._candidates(".".join(parts[:end]), key)))
        targets.pop(key, None)
        return list(targets)

    def _candidates(self, module: str, key: str) -> tuple[str, ...]:
        directory = _parent(key)
        memo = (directory, module)
        found = self._found.get(memo)
        if found is None:
            found = self._found[memo] = self._look_up(module, directory)
        return found

    def _look_up(self, module: str, directory: str) -> tuple[str, ...]:
        name = module.lstrip(".")
        level = len(module) - len(name)
        tail = "/" + name.replace(".", "/") if name else ""
        if level:
            for _ in range(level - 1):
                directory = _parent(directory)
            hit = self._file(directory + tail)
            return (hit,) if hit else ()
        if not name or ".." in name:
            return ()
        if name.partition(".")[0] in sys.stdlib_module_names:
            roots: tuple[str, ...] = (*self._src, self._own_root(directory))
            return next(((hit,) for root in roots if (hit := self._top_level(root, tail))), ())
        for root in self._roots(directory):
            hit = self._top_level(root, tail)
            if hit:
                return (hit,)
        return tuple(hit for hit in self._anywhere(tail, directory) if not self._wraps_namesake(hit, tail))

    def _top_level(self, root: str, tail: str) -> str | None:
        hit = self._file(root + tail)
        return None if hit is None or self._wraps_namesake(hit, tail) else hit

    def _wraps_namesake(self, key: str, tail: str) -> bool:
        """Whether a module imports its own top-level name: then another one has it (`clients/redis.py` with
        `import redis`), and its folder, for want of an `__init__`, only looks like an import root.
        """
        if "/" in tail[1:] or not key.endswith((f"{tail}.py", f"{tail}.pyi")):
            return False
        known = self._namesakes.get(key)
        if known is None:
            known = self._namesakes[key] = self._imports_its_name(key)
        return known

    def _imports_its_name(self, key: str) -> bool:
        name = key.rpartition("/")[2].partition(".")[0]
        if all(statement.module.partition(".")[0] != name for statement in self._statements(key)):
            return False
        raw = self._bytes_or_nothing(key)
        found = re.finditer(rb"^[ \t]*(?:import|from)[ \t]+" + name.encode() + rb"\b", raw, re.MULTILINE)
        return any(_is_outside_strings(raw[: match.start()]) for match in found)

    def _directories(self) -> set[str]:
        if self._known_directories is None:
            self._known_directories = set()
            for key in self._all():
                directory = _parent(key)
                while directory not in self._known_directories:
                    self._known_directories.add(directory)
                    directory = _parent(directory)
        return self._known_directories

    def _file(self, stem: str) -> str | None:
        keys = self._all()
        return next((stem + suffix for suffix in _SUFFIXES if stem + suffix in keys), None)

    def _own_root(self, directory: str) -> str:
        keys = self._all()
        while f"{directory}/__init__.py" in keys or f"{directory}/__init__.pyi" in keys:
            directory = _parent(directory)
        return directory

    def _roots(self, directory: str) -> tuple[str, ...]:
        roots = self._roots_of.get(directory)
        if roots is None:
            own = self._own_root(directory)
            ordered = dict.fromkeys((*self._src, own))
            above = own
            while self._in_root(above):
                above = _parent(above)
                ordered[above] = None
            ordered[self._root] = None
            ordered[self._root + "/src"] = None
            roots = self._roots_of[directory] = tuple(ordered)
        return roots

    def _anywhere(self, tail: str, directory: str) -> tuple[str, ...]:
        if self._tails is None:
            self._tails = {}
            for key in sorted(self._all()):
                stem = key.rpartition(".")[0].removesuffix("/__init__")
                self._tails.setdefault(stem.rpartition("/")[2], []).append(key)
        best: list[str] = []
        most = -1
        for key in self._tails.get(tail.rpartition("/")[2], ()):
            stem = key.rpartition(".")[0].removesuffix("/__init__")
            if not stem.endswith(tail):
                continue
            root = stem.removesuffix(tail)
            if self._own_root(root) != root or self._is_apart(root, directory):
                continue
            shared = len(os.path.commonpath((root, directory)))
            if shared > most:
                best, most = [], shared
            if shared == most and not (best and best[-1] == key + "i") and key.removesuffix("i") not in best:
                best.append(key)
        return tuple(best)

    def _is_apart(self, root: str, directory: str) -> bool:
        """Whether a possible import root belongs to tests or examples that `directory` is not part of."""
        inside = root[len(self._root) :].split("/")
        return any(
            part in _NOT_ROOTS
            and not f"{directory}/".startswith("/".join([self._root, *inside[1 : end + 1]]) + "/")
            for end, part in enumerate(inside)
        )

    # ---------------------------------------------------------------- components

    def _component(self, path: Path) -> _Component:
        if self._components is None:
            self._components = self._connect()
        return self._components.get(self._key(path), _Component(False, False))

    def _content(self, key: str) -> bytes:
        import hashlib

        digest = self._contents.get(key)
        if digest is None:
            # The stamp comes first: a file that changes while it is read then counts as changed.
            self._stamps[key] = None if key in self._buffers else _stamp(key)
            digest = self._contents[key] = hashlib.blake2b(self._bytes_or_nothing(key)).digest()
        return digest

    def _digest_of(self, keys: Iterable[str]) -> str:
        import hashlib  # slow to load, and only the cache asks

        digest = hashlib.blake2b()
        for key in sorted(keys):
            digest.update(key.encode("utf-8", "surrogatepass") + b"\0" + self._content(key))
        return digest.hexdigest()

    def _digest_components(self) -> dict[str, str]:
        import hashlib

        names = hashlib.blake2b("\0".join(sorted(self._all())).encode("utf-8", "surrogatepass")).hexdigest()
        digests: dict[str, str] = {}
        for keys in self._members():
            digests.update(dict.fromkeys(keys, names + self._digest_of(keys)))
        return digests

    def _connect(self) -> dict[str, _Component]:
        components: dict[str, _Component] = {}
        for keys in self._members():
            entries = [self._entry(key) for key in keys]
            component = _Component(
                any(entry.durable for entry in entries), any(entry.plugin for entry in entries)
            )
            components.update(dict.fromkeys(keys, component))
        return components

    def _members(self) -> list[list[str]]:
        """The files of the project, those that imports join together."""
        parents = {key: key for key in self._all()}

        def top(key: str) -> str:
            while parents[key] != key:
                parents[key] = parents[parents[key]]
                key = parents[key]
            return key

        for key in parents:
            for imported in self._imports(key):
                for target in imported.paths:
                    parents[top(self._key_of(target))] = top(key)
        members: dict[str, list[str]] = {}
        for key in parents:
            members.setdefault(top(key), []).append(key)
        return list(members.values())


def _leads_to(links: tuple[ImportedModules, ...]) -> set[Path]:
    return {path for imported in links for path in imported.paths}


def _stamp(key: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(key)  # noqa: PTH116 (keys are strings)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _is_outside_strings(before: bytes) -> bool:
    """Whether code goes on after `before`, rather than a docstring with an example."""
    return before.count(b'"""') % 2 == 0 and before.count(b"'''") % 2 == 0


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class _Component:
    """What the files say that imports join."""

    durable: bool
    plugin: bool
