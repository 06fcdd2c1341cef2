"""Which files a run reads: paths from the command line to Python files, in a stable order, one at a time.

Knows directories, excludes and `.gitignore`; nothing of what is in the files.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SUFFIXES = (".py", ".pyi")

DEFAULT_EXCLUDE = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".git-rewrite",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pants.d",
    ".pyenv",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "__pypackages__",
    "_build",
    "buck-out",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)
"""What is left out of every directory unless `exclude` says otherwise. Virtual environments always are."""


@dataclass(frozen=True, slots=True)
class PathError:
    """A path that could not be walked or is no Python source. `message` is one line, without the path."""

    path: Path
    message: str


@dataclass(frozen=True)
class Selection:
    """Which entries of a directory are left out.

    `exclude` are patterns as in a `.gitignore`: one without a slash is tried on each name, others from
    `root`. They apply to what is found below a path that was given, not to that path itself, unless
    `force_exclude`.
    """

    root: Path
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    respect_gitignore: bool = True
    force_exclude: bool = False
    patterns: Patterns = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "patterns", compiled(self.exclude))

    def excludes(self, path: Path) -> bool:
        """Whether `exclude` leaves out the file `path` or a directory that it is in."""
        relative = os.path.relpath(path, self.root).replace(os.sep, "/")
        if relative.startswith("../"):
            relative = path.absolute().as_posix().strip("/")
        parts = relative.split("/")
        return any(
            self.patterns.verdict("/".join(parts[: end + 1]), end + 1 < len(parts))
            for end in range(len(parts))
        )


def python_files(paths: Iterable[Path], selection: Selection) -> Iterator[Path | PathError]:
    """The files that `paths` stand for, each once, sorted within each directory; errors for the unreadable.

    A file that is given by name is returned whatever it is called. Links to directories are not followed,
    except where one is given by name; a link to nothing or to itself is left out of a directory.
    """
    seen: set[str] = set()
    for path in paths:
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            yield PathError(path, "does not exist")
            continue
        except (OSError, ValueError) as error:
            yield PathError(path, f"cannot be read: {getattr(error, 'strerror', None) or error}")
            continue
        if selection.force_exclude and selection.excludes(path):
            continue
        if stat.S_ISDIR(mode):
            yield from _walk(os.fspath(path), selection, seen)
        elif not stat.S_ISREG(mode):
            yield PathError(path, "is not a regular file")
        elif _is_new(os.path.realpath(path), seen):
            yield path


def _is_new(real: str, seen: set[str]) -> bool:
    if real in seen:
        return False
    seen.add(real)
    return True


def _walk(top: str, selection: Selection, seen: set[str]) -> Iterator[Path | PathError]:
    real_top = os.path.realpath(top)
    root = os.path.realpath(selection.root)
    layers = _layers_above(real_top) if selection.respect_gitignore else ()
    shown_top = "" if top == "." else top.rstrip("/") + "/"
    pending: list[_Directory | str] = [_Directory(shown_top, real_top, layers)]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield Path(item)
            continue
        try:
            with os.scandir(item.real) as entries:
                listing = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            yield PathError(Path(item.shown or "."), f"cannot be read: {error.strerror or error}")
            continue
        names = {entry.name for entry in listing}
        if "pyvenv.cfg" in names and item.real != real_top:
            continue
        layers = item.layers
        if selection.respect_gitignore:
            layers = _layers_at(item.real, names, layers)
        base = _below(item.real, root)
        found: list[_Directory | str] = []
        for entry in listing:
            name = entry.name
            try:
                is_directory = entry.is_dir(follow_symlinks=False)
                if not is_directory and not (name.endswith(SUFFIXES) and entry.is_file()):
                    continue
                is_link = not is_directory and entry.is_symlink()
            except OSError:
                continue
            if selection.patterns.verdict(base + name, is_directory):
                continue
            path = f"{item.real.rstrip('/')}/{name}"
            if layers and _is_ignored(path, is_directory, layers):
                continue
            if is_directory:
                found.append(_Directory(f"{item.shown}{name}/", path, layers))
            elif _is_new(os.path.realpath(path) if is_link else path, seen):
                found.append(item.shown + name)
        pending.extend(reversed(found))


@dataclass(frozen=True, slots=True)
class _Directory:
    shown: str
    real: str
    layers: tuple[_Layer, ...]


def _below(real: str, root: str) -> str:
    """`real` as seen from `root`, with a slash at its end; the whole path where it is not below."""
    if real == root:
        return ""
    start = root.rstrip("/") + "/"
    return (real[len(start) :] if real.startswith(start) else real.strip("/")) + "/"


@dataclass(frozen=True, slots=True)
class _Layer:
    """One `.gitignore`: its patterns count below `directory`, which ends with a slash."""

    directory: str
    patterns: Patterns


def _is_ignored(path: str, is_directory: bool, layers: tuple[_Layer, ...]) -> bool:
    for layer in reversed(layers):
        verdict = layer.patterns.verdict(path[len(layer.directory) :], is_directory)
        if verdict is not None:
            return verdict
    return False


def _layers_above(real: str) -> tuple[_Layer, ...]:
    """What the `.gitignore` files of the directories above say, from the top of the repository down."""
    above: list[str] = []
    directory = Path(real)
    while not (directory / ".git").exists():
        if directory.parent == directory:
            return ()
        directory = directory.parent
        above.append(str(directory))
    layers: tuple[_Layer, ...] = ()
    for number, name in enumerate(reversed(above)):
        layers = _layers_at(name, {".gitignore"} if number else {".git", ".gitignore"}, layers)
    return layers


def _layers_at(directory: str, names: set[str], layers: tuple[_Layer, ...]) -> tuple[_Layer, ...]:
    start = directory.rstrip("/") + "/"
    if ".git" in names:
        # A repository inside another one answers for itself.
        layers = _layer(start, f"{start}.git/info/exclude")
    if ".gitignore" in names:
        layers += _layer(start, f"{start}.gitignore")
    return layers


def _layer(start: str, file: str) -> tuple[_Layer, ...]:
    try:
        text = Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    patterns = compiled(tuple(text.splitlines()))
    return (_Layer(start, patterns),) if patterns.groups else ()


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns as git reads them: the last one that matches decides, `!` takes a file back in."""

    groups: tuple[tuple[bool, re.Pattern[str], re.Pattern[str]], ...]
    """Last first: whether the group ignores, and what it matches among files and among directories."""

    def verdict(self, relative: str, is_directory: bool) -> bool | None:
        """Whether a path, as seen from where the patterns stand, is left out; None when none names it."""
        for ignores, files, directories in self.groups:
            if (directories if is_directory else files).match(relative):
                return ignores
        return None


_NEVER = re.compile(r"(?!)")


@lru_cache(maxsize=128)
def compiled(lines: tuple[str, ...]) -> Patterns:
    """The patterns of a `.gitignore` with these lines. A line that is no pattern is left out, as git does."""
    groups: list[tuple[bool, list[str], list[str]]] = []
    for line in lines:
        pattern = re.sub(r"(?<!\\)\s+$", "", line)
        ignores = not pattern.startswith("!")
        pattern = pattern[0 if ignores else 1 :]
        if not pattern or pattern.startswith("#"):
            continue
        expression = _expression(pattern.rstrip("/") if pattern.endswith("/") else pattern)
        if expression is None:
            continue
        if not groups or groups[-1][0] != ignores:
            groups.append((ignores, [], []))
        groups[-1][2].append(expression)
        if not pattern.endswith("/"):
            groups[-1][1].append(expression)
    return Patterns(
        tuple((ignores, _any(files), _any(directories)) for ignores, files, directories in reversed(groups))
    )


def _any(expressions: list[str]) -> re.Pattern[str]:
    return re.compile("(?s:" + "|".join(expressions) + r")\Z") if expressions else _NEVER


def _expression(pattern: str) -> str | None:
    """A regular expression for one pattern without its trailing slash, or None when it is malformed."""
    anchored = "/" in pattern
    rest = pattern.removeprefix("/")
    parts = [] if anchored else ["(?:.*/)?"]
    at = 0
    while at < len(rest):
        if rest.startswith("**/", at) and (at == 0 or rest[at - 1] == "/"):
            parts.append("(?:.*/)?")
            at += 3
        elif rest.startswith("**", at) and at + 2 == len(rest) and (at == 0 or rest[at - 1] == "/"):
            parts.append(".+")
            at += 2
        elif rest[at] == "*":
            while at < len(rest) and rest[at] == "*":
                at += 1
            parts.append("[^/]*")
        elif rest[at] == "?":
            parts.append("[^/]")
            at += 1
        elif rest[at] == "[":
            match = _CLASS.match(rest, at)
            if match is None:
                return None
            inside = re.sub(r"([\[&~|])", r"\\\1", match.group(2))
            parts.append(f"(?!/)[{'^' if match.group(1) else ''}{inside}]")
            at = match.end()
        elif rest[at] == "\\":
            if at + 1 == len(rest):
                return None
            parts.append(re.escape(rest[at + 1]))
            at += 2
        else:
            parts.append(re.escape(rest[at]))
            at += 1
    expression = "".join(parts)
    try:
        re.compile(expression)
    except re.error:
        return None
    return f"(?:{expression})"


_CLASS = re.compile(r"\[([!^]?)(\]?(?:\\.|[^\]\\])*)\]")
