"""Which version of the SDK a file's project uses, read from the project's own dependency files.

Nothing is installed or asked for: only files between the linted one and the project's root are read, and only
when a rule needs the version.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from durable_lint.config import load
from durable_lint.config.paths import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from durable_lint.config.settings import Settings

SDK = "aws-durable-execution-sdk-python"
RELEASES = (
    "1.0.0",
    "1.0.0.post1",
    "1.1.0",
    "1.1.1",
    "1.1.2",
    "1.3.0",
    "1.4.0",
    "1.5.0",
    "1.6.0",
    "1.7.0",
    "2.0.0",
    "2.0.1",
    "2.1.0",
    "3.0.0",
)
"""Every release on the package index, oldest first (read on 2026-11-29)."""

_NAME = re.compile(
    r"^\s*aws[-_.]+durable[-_.]+execution[-_.]+sdk[-_.]+python\s*(?:\[[^\]]*\])?\s*(?P<rest>.*)$",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"^(===|==|~=|!=|<=|>=|<|>|\^|~)?\s*v?([0-9][0-9A-Za-z.]*(?:\.\*)?|\*)$")
_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml")


@dataclass(frozen=True, slots=True)
class SdkVersion:
    """A version of the SDK and, for people, where it was read."""

    version: str
    origin: str


def detect(path: Path, settings: Settings) -> SdkVersion:
    """Return the version that holds for a file: configured, else the lowest that the project allows, else the
    newest known.

    The nearest directory whose dependency files name the SDK decides. A requirement that allows every release
    says nothing. A configured version is taken as it is.
    """
    if settings.sdk_version is not None:
        return SdkVersion(settings.sdk_version, settings.origin("sdk-version"))
    start = path if path.is_dir() else path.parent
    return _detect(start, settings.root)


@lru_cache(maxsize=1024)
def _detect(directory: Path, root: Path) -> SdkVersion:
    found = lowest_allowed(directory)
    if found is not None:
        return found
    if directory == root or directory.parent == directory or not directory.is_relative_to(root):
        return SdkVersion(RELEASES[-1], "the newest known release")
    return _detect(directory.parent, root)


def forget() -> None:
    """Read dependency files again when they are next asked for."""
    _detect.cache_clear()


def lowest_allowed(directory: Path) -> SdkVersion | None:
    """Return the lowest release that the dependency files of this directory allow, or None when they don't
    say.

    Every file has to allow it; where they contradict each other, one is enough.
    """
    allowed = [
        (releases, file)
        for file in dependency_files(directory)
        if (releases := allowed_by(file)) and len(releases) < len(RELEASES)
    ]
    if not allowed:
        return None
    common = frozenset.intersection(*(releases for releases, _ in allowed))
    lowest = min(common or frozenset.union(*(releases for releases, _ in allowed)), key=key_of)
    tightest = min((entry for entry in allowed if lowest in entry[0]), key=lambda entry: len(entry[0]))
    return SdkVersion(lowest, shown(tightest[1]))


def dependency_files(directory: Path) -> Iterator[Path]:
    """Yield the files in a directory (and its `requirements` folder) that can name dependencies."""
    for name in (load.PYPROJECT, "setup.cfg", "Pipfile", "Pipfile.lock", *_LOCKS):
        if (directory / name).is_file():
            yield directory / name
    for pattern in ("*requirements*.txt", "constraints*.txt", "requirements/*.txt"):
        yield from sorted(file for file in directory.glob(pattern) if file.is_file())


def allowed_by(file: Path) -> frozenset[str]:
    """Return the releases that a file allows; empty when it does not name the SDK or can't be read.

    Several requirements in one file (extras, groups, markers) each count: any of them may be what is
    installed.
    """
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return frozenset()
    if not re.search(r"aws[-_.]+durable", text, re.IGNORECASE):
        return frozenset()
    try:
        constraints = list(_constraints(file, text))
    except (ValueError, RecursionError):
        return frozenset()
    return frozenset(release for one in constraints for release in RELEASES if allows(one, release))


def _constraints(file: Path, text: str) -> Iterator[str]:
    import tomllib

    if file.name == load.PYPROJECT:
        yield from _in_pyproject(tomllib.loads(text))
    elif file.name in _LOCKS:
        document = tomllib.loads(text)
        for package in [*_list(document.get("package")), *_list(document.get("packages"))]:
            if (
                isinstance(package, dict)
                and _is_sdk(package.get("name"))
                and isinstance(package.get("version"), str)
            ):
                yield f"=={package['version']}"
    elif file.name == "Pipfile":
        document = tomllib.loads(text)
        yield from _in_tables(document.get("packages"), document.get("dev-packages"))
    elif file.name == "Pipfile.lock":
        import json

        document = json.loads(text)
        yield from _in_tables(document.get("default"), document.get("develop"))
    else:
        yield from _in_lines(text.splitlines())


def _in_pyproject(document: dict[str, object]) -> Iterator[str]:
    project = _dict(document.get("project"))
    yield from _in_lines(_list(project.get("dependencies")))
    for group in [
        *_dict(project.get("optional-dependencies")).values(),
        *_dict(document.get("dependency-groups")).values(),
    ]:
        yield from _in_lines(_list(group))
    tool = _dict(document.get("tool"))
    poetry = _dict(tool.get("poetry"))
    groups = [_dict(group).get("dependencies") for group in _dict(poetry.get("group")).values()]
    yield from _in_tables(poetry.get("dependencies"), poetry.get("dev-dependencies"), *groups)
    for group in _dict(_dict(tool.get("pdm")).get("dev-dependencies")).values():
        yield from _in_lines(_list(group))


def _in_lines(lines: Iterable[object]) -> Iterator[str]:
    for line in lines:
        match = _NAME.match(line) if isinstance(line, str) else None
        if match is not None:
            rest = re.split(r"\s+#|;|\s--|\\$", match["rest"])[0].strip()
            if not rest.startswith("@"):
                yield rest.strip("()")


def _in_tables(*tables: object) -> Iterator[str]:
    for table in tables:
        for name, wanted in _dict(table).items():
            if not _is_sdk(name):
                continue
            for one in wanted if isinstance(wanted, list) else [wanted]:
                version = _dict(one).get("version") if isinstance(one, dict) else one
                if isinstance(version, str):
                    yield from (part.strip() for part in version.split("||"))


def _is_sdk(name: object) -> bool:
    return isinstance(name, str) and re.sub(r"[-_.]+", "-", name).lower() == SDK


def _dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def allows(constraint: str, release: str) -> bool:
    """Return whether a version constraint (PEP 440, or Poetry's `^` and `~`) admits a release; an unreadable
    part admits it.
    """
    return all(_clause_allows(clause.strip(), release) for clause in constraint.split(",") if clause.strip())


def _clause_allows(clause: str, release: str) -> bool:
    match = _CLAUSE.match(clause)
    if match is None or match[2] == "*":
        return True
    operator, written = match[1] or "==", match[2]
    wild = written.endswith(".*")
    wanted, have = key_of(written.removesuffix(".*")), key_of(release)
    digits = len(written.removesuffix(".*").split(".post")[0].split("."))
    same_start = have[:digits] == wanted[:digits]
    if operator in {"==", "===", "!="}:
        equal = same_start if wild else have == wanted
        return equal != (operator == "!=")
    if operator in {"~=", "~", "^"}:
        if operator == "^":
            kept = next((at + 1 for at, number in enumerate(wanted[:digits]) if number), digits)
        else:
            kept = max(1, digits - 1) if operator == "~=" else min(digits, 2)
        return have >= wanted and have[:kept] == wanted[:kept]
    return {">=": have >= wanted, "<=": have <= wanted, ">": have > wanted, "<": have < wanted}[operator]


def key_of(version: str) -> tuple[int, int, int, int]:
    """Return numbers that order versions: major, minor, patch, post-release. A pre-release counts as its
    release.
    """
    main, _, post = version.partition(".post")
    numbers = [int(match[0]) if (match := re.match(r"\d+", part)) else 0 for part in main.split(".")[:3]]
    numbers += [0] * (3 - len(numbers))
    return numbers[0], numbers[1], numbers[2], int(post) if post.isdigit() else 0
