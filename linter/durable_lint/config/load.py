"""Finds the configuration of each file and reads it: the nearest file wins, `extend` builds on another one.

Every mistake in a configuration file is a `ConfigError` that says where it stands and what was probably
meant.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from durable_lint.config import selectors
from durable_lint.config.paths import shown
from durable_lint.config.settings import FIX_FORMS, OUTPUT_FORMATS, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

OWN_FILE = "durable-lint.toml"
PYPROJECT = "pyproject.toml"
TABLE = "durable-lint"
PROJECT_MARKS = (OWN_FILE, PYPROJECT, "setup.py", "setup.cfg", ".git", ".hg")
COMMAND_LINE = "command line"
_VERSION = re.compile(r"\d+(?:\.\d+){0,2}(?:\.post\d+)?")


class ConfigError(Exception):
    """A configuration that can't be used. `messages` are lines that each name the file, the key and the
    remedy.
    """

    def __init__(self, *messages: str) -> None:
        super().__init__("\n".join(messages))
        self.messages = messages


class Resolver:
    """Answers which settings hold for a file. It has state only to read each configuration file once.

    `overrides` are values from the command line, by key; they stand over every file. `asked` are the paths of
    a run. With `config`, that file holds for everything and the current directory is the root; with
    `isolated`, no configuration file is read.
    """

    def __init__(
        self,
        overrides: Mapping[str, object] | None = None,
        *,
        config: Path | None = None,
        isolated: bool = False,
        asked: Iterable[Path] = (),
    ) -> None:
        self._overrides = read_values(dict(overrides or {}), COMMAND_LINE, Path.cwd(), where=COMMAND_LINE)
        self._isolated = isolated
        self._asked = tuple(absolute(path) for path in asked)
        self._by_directory: dict[Path, Settings | ConfigError] = {}
        self._by_file: dict[Path, Settings | ConfigError] = {}
        self._file_in: dict[Path, Path | None] = {}
        self._read: set[Path] = set()
        self._base: Settings | None = None
        if config is not None:
            if not config.is_file():
                raise ConfigError(f"{shown(config)}: no such configuration file")
            self._base = self._with_overrides(load_file(config, root=Path.cwd(), read=self._read))

    def for_path(self, path: Path) -> Settings:
        """Return the settings for a file or a directory. Raises `ConfigError`, each time the same one."""
        path = absolute(path)
        return self.for_directory(path if path.is_dir() else path.parent)

    def for_directory(self, directory: Path) -> Settings:
        """Return the settings that hold in an absolute directory. Raises `ConfigError`."""
        found = self._by_directory.get(directory)
        if found is None:
            found = self._by_directory[directory] = self._find(directory)
        if isinstance(found, ConfigError):
            raise found
        return found

    @property
    def files(self) -> frozenset[Path]:
        """Every file that can change an answer given so far, also those that are not there yet."""
        names = [directory / name for directory in self._file_in for name in (OWN_FILE, PYPROJECT)]
        return frozenset([*names, *self._read])

    def forget(self) -> None:
        """Read the configuration files again when they are next asked for (editors, `--watch`)."""
        self._by_directory.clear()
        self._by_file.clear()
        self._file_in.clear()
        self._read.clear()

    def _find(self, directory: Path) -> Settings | ConfigError:
        if self._base is not None:
            inside = directory.is_relative_to(self._base.root)
            return self._base if inside else replace(self._base, root=project_root(directory, self._asked))
        try:
            file = None if self._isolated else self._nearest_file(directory)
            if file is None:
                return self._with_overrides(Settings(root=project_root(directory, self._asked)))
        except ConfigError as error:
            return error
        if file not in self._by_file:
            try:
                self._by_file[file] = self._with_overrides(load_file(file, root=file.parent, read=self._read))
            except ConfigError as error:
                self._by_file[file] = error
        return self._by_file[file]

    def _nearest_file(self, directory: Path) -> Path | None:
        for candidate in (directory, *directory.parents):
            if candidate not in self._file_in:
                self._file_in[candidate] = config_file_in(candidate)
            file = self._file_in[candidate]
            if file is not None:
                return file
        return None

    def _with_overrides(self, settings: Settings) -> Settings:
        return layered(settings, self._overrides, COMMAND_LINE)


def config_file_in(directory: Path) -> Path | None:
    """Return the file in this directory that configures durable-lint: durable-lint.toml, or a pyproject.toml
    with a table.
    """
    own = directory / OWN_FILE
    if own.is_file():
        return own
    pyproject = directory / PYPROJECT
    if not pyproject.is_file():
        return None
    raw = read_bytes(pyproject)
    if TABLE.encode() not in raw or table_of(pyproject, parse(pyproject, raw)) is None:
        return None
    return pyproject


def project_root(directory: Path, asked: Iterable[Path] = ()) -> Path:
    """Return the root of the project that a directory belongs to: the nearest one with a project file.

    Without any, what a run was `asked` for is a project (the outermost such directory), else the directory.
    Either way a package is never split from the directory it is imported from.
    """
    for candidate in (directory, *directory.parents):
        if any((candidate / mark).exists() for mark in PROJECT_MARKS):
            return candidate
    above = [path for path in asked if directory.is_relative_to(path) and path.is_dir()]
    root = min(above, key=lambda path: len(path.parts), default=directory)
    while (root / "__init__.py").exists() and root.parent != root:
        root = root.parent
    return root


def absolute(path: Path) -> Path:
    """Return an absolute path without `..`, symlinks left as they are."""
    return path if path.is_absolute() and ".." not in path.parts else Path(os.path.abspath(path))  # noqa: PTH100


def load_file(file: Path, *, root: Path, read: set[Path] | None = None) -> Settings:
    """Return the settings that a file gives, on top of those it extends. Raises `ConfigError`.

    `read` collects the files that they came from.
    """
    return _load(file, root, (), set() if read is None else read)


def _load(file: Path, root: Path, seen: tuple[Path, ...], read: set[Path]) -> Settings:
    resolved = file.resolve()
    read.add(file)
    if resolved in seen:
        chain = " -> ".join(shown(path) for path in (*seen[seen.index(resolved) :], resolved))
        raise ConfigError(f"{shown(file)}: `extend` goes round in a circle: {chain}")
    where = shown(file)
    table = table_of(file, parse(file, read_bytes(file)))
    if table is None:
        raise ConfigError(f"{where}: has no [tool.{TABLE}] table")
    values = read_values(
        table, where, file.parent, where=f"[tool.{TABLE}]" if file.name == PYPROJECT else "this file"
    )
    _check_inside(values, root, where)
    base = values.pop("extend", None)
    if base is None:
        below = Settings(root=root)
    elif not isinstance(base, Path) or not base.is_file():
        raise ConfigError(f"{where}: `extend` names {shown(Path(str(base)))}, and there is no such file")
    else:
        below = _load(base, root, (*seen, resolved), read)
    return layered(below, values, where)


def _check_inside(values: Mapping[str, object], root: Path, origin: str) -> None:
    """Raise `ConfigError` for a path outside the project: its repository, or where there is none, its root.

    A configuration comes with the code, so it may not make the linter read or write elsewhere. A command line
    may.
    """
    top = next((path for path in (root, *root.parents) if (path / ".git").exists()), root).resolve()
    wrong: list[str] = []
    for key in _STAY_INSIDE:
        value = values.get(key)
        for path in value if isinstance(value, tuple) else (value,):
            if isinstance(path, Path) and not path.resolve().is_relative_to(top):
                wrong.append(f"{origin}: `{key}` leads out of the project: {shown(path)}")
    if wrong:
        raise ConfigError(*wrong)


def parse(file: Path, raw: bytes) -> dict[str, object]:
    """Return what a TOML file says. Raises `ConfigError` with the line and column of a mistake."""
    import tomllib

    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ConfigError(f"{shown(file)}: is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{shown(file)}: is not valid TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{shown(file)}: is nested too deeply") from None


def read_bytes(file: Path) -> bytes:
    """Return a configuration file's bytes. Raises `ConfigError`."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise ConfigError(f"{shown(file)}: can't be read: {error.strerror or error}") from None


def table_of(file: Path, document: dict[str, object]) -> dict[str, object] | None:
    """Return the table that is ours: `[tool.durable-lint]`, or the whole of a file that is not a
    pyproject.toml.
    """
    tool = document.get("tool")
    ours = tool.get(TABLE) if isinstance(tool, dict) else None
    if ours is None:
        return None if file.name == PYPROJECT else document
    if not isinstance(ours, dict):
        raise ConfigError(f"{shown(file)}: `tool.{TABLE}` must be a table")
    if file.name == OWN_FILE:
        raise ConfigError(f"{shown(file)}: keys stand at the top of this file, without [tool.{TABLE}]")
    return ours


def read_values(raw: Mapping[str, object], origin: str, directory: Path, *, where: str) -> dict[str, object]:
    """Return checked values by key. Raises one `ConfigError` for all that is wrong with them.

    Paths are taken from `directory`; `where` says in a message what the keys stand in.
    """
    values: dict[str, object] = {}
    wrong: list[str] = []
    for key, value in raw.items():
        reader = KEYS.get(key)
        if reader is None:
            wrong.append(f"{origin}: unknown key `{key}` in {where}{selectors.did_you_mean(key, KEYS)}")
            continue
        try:
            values[key] = reader(value, directory)
        except selectors.UnknownRule as error:
            wrong.append(f"{origin}: `{key}` names an {error}")
        except ValueError as error:
            wrong.append(f"{origin}: `{key}` {error}")
    if wrong:
        raise ConfigError(*wrong)
    return values


def layered(below: Settings, values: Mapping[str, object], origin: str) -> Settings:
    """Return settings with a layer on top: a value replaces the one below; `extend-*` and `ignore` add to it.

    A layer with `select` starts the choice of rules afresh. One that only ignores or adds has the last word
    on the rules that it names.
    """
    changes: dict[str, object] = {key.replace("-", "_"): value for key, value in values.items()}
    if "extend-exclude" in values:
        changes["extend_exclude"] = below.extend_exclude + strings(values["extend-exclude"])
    if "select" not in values:
        added, ignored = strings(values.get("extend-select", ())), strings(values.get("ignore", ()))
        changes["extend_select"] = _without(below.extend_select, ignored) + added
        changes["ignore"] = _without(below.ignore, added) + ignored
        if below.select is not None:
            changes["select"] = _without(below.select, ignored)
    else:
        changes.setdefault("extend_select", ())
        changes.setdefault("ignore", ())
    origins = dict(below.origins)
    for key in values:
        adds = key in ADDING and key in origins and "select" not in values
        origins[key] = f"{origins[key]}, {origin}" if adds else origin
    if "select" in values:
        for key in ("extend-select", "ignore"):
            if key not in values:
                origins.pop(key, None)
    return replace(below, **changes, origins=tuple(origins.items()))  # type: ignore[arg-type]  # checked by `KEYS`


def _without(prefixes: tuple[str, ...], covered: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(one for one in prefixes if not any(selectors.covers(wide, one) for wide in covered))


def strings(value: object) -> tuple[str, ...]:
    """Return a value of `KEYS` that holds strings as what it is."""
    return tuple(str(item) for item in value) if isinstance(value, tuple) else ()


def _boolean(value: object, _directory: Path) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {toml(value)}")
    return value


def _text(value: object, _directory: Path) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"must be a string, not {toml(value)}")
    return value


def _texts(value: object, directory: Path) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"must be a list of strings, not {toml(value)}")
    return tuple(_text(item, directory) for item in value)


def _path(value: object, directory: Path) -> Path:
    written = Path(os.path.expandvars(_text(value, directory))).expanduser()
    return Path(os.path.normpath(directory / written))


def _paths(value: object, directory: Path) -> tuple[Path, ...]:
    return tuple(_path(item, directory) for item in _texts(value, directory))


def _rules(value: object, directory: Path) -> tuple[str, ...]:
    return selectors.to_prefixes(_texts(value, directory))


def _ignores(value: object, directory: Path) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise ValueError(f"must be a table of globs and lists of rules, not {toml(value)}")
    try:
        return tuple((_text(glob, directory), _rules(codes, directory)) for glob, codes in value.items())
    except selectors.UnknownRule:
        raise
    except ValueError as error:
        raise ValueError(f"has a value that {error}") from None


def _size(value: object, _directory: Path) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ValueError(f"must be a number of bytes above 0, not {toml(value)}")
    return value


def _version_text(value: object, directory: Path) -> str:
    version = _text(value, directory)
    if not _VERSION.fullmatch(version):
        raise ValueError(f"must be a version of the SDK such as `2.1.0`, not {toml(value)}")
    return version


def _one_of(allowed: tuple[str, ...]) -> Callable[[object, Path], str]:
    def read(value: object, directory: Path) -> str:
        word = _text(value, directory)
        if word not in allowed:
            hint = selectors.did_you_mean(word, allowed) or f"; it is one of {', '.join(allowed)}"
            raise ValueError(f"has the unknown value {toml(value)}{hint}")
        return word

    return read


def toml(value: object) -> str:
    """Return a value as a TOML file shows it."""
    import json

    if isinstance(value, Path):
        return toml(shown(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml(item) for item in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(key)} = {toml(item)}" for key, item in value.items()) + "}"
    try:
        return json.dumps(value, ensure_ascii=False)
    except TypeError:
        return str(value)


_STAY_INSIDE = ("src", "cache-dir")
ADDING = frozenset({"extend-select", "ignore", "extend-exclude"})
KEYS: dict[str, Callable[[object, Path], object]] = {
    "select": _rules,
    "ignore": _rules,
    "extend-select": _rules,
    "fixable": _rules,
    "unfixable": _rules,
    "extend": _path,
    "per-file-ignores": _ignores,
    "exclude": _texts,
    "extend-exclude": _texts,
    "respect-gitignore": _boolean,
    "src": _paths,
    "strict": _boolean,
    "sdk-version": _version_text,
    "process-local": _texts,
    "effects": _texts,
    "suspending": _texts,
    "context-types": _texts,
    "fix-form": _one_of(FIX_FORMS),
    "unsafe-fixes": _boolean,
    "cache-dir": _path,
    "max-file-size": _size,
    "output-format": _one_of(OUTPUT_FORMATS),
}
