"""Whose code a file is: the user's, the durable SDK's (and ours), or a library's."""

from __future__ import annotations

import importlib.util
import linecache
import os
import sysconfig
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from durable_lint.sdk import aws

if TYPE_CHECKING:
    from collections.abc import Iterable

_MACHINERY = (aws.PACKAGE, f"{aws.PACKAGE}_testing", aws.RUNTIME, "durable_lint")
"""Packages through which a suspension passes by design."""


_MADE = frozenset({"<string>", "<stdin>"})


class Owner(Enum):
    """Who wrote a piece of code."""

    USER = "user"
    SDK = "sdk"
    LIBRARY = "library"


class Territory:
    """Tells whose a file is. `source` are directories that are the user's wherever they lie: installed
    packages.

    It has state only to answer the same question faster.
    """

    def __init__(self, source: Iterable[Path] = ()) -> None:
        self._source = tuple(_folder(path) for path in source)
        self._known: dict[str, Owner] = {}

    def owner(self, filename: str) -> Owner:
        """Return whose code a code object's file name stands for."""
        found = self._known.get(filename)
        if found is None:
            found = self._known[filename] = self._judge(filename)
        return found

    def _judge(self, filename: str) -> Owner:
        if filename.startswith("<"):
            if filename.startswith(("<frozen ", "<attrs ")):
                return Owner.LIBRARY
            # What `dataclass`, `namedtuple` and `attrs` make has no source; what is compiled from a text
            # may have.
            return Owner.USER if linecache.getlines(filename) or filename not in _MADE else Owner.LIBRARY
        path = os.path.abspath(filename)  # noqa: PTH100 - symlinks stay as they are
        if path.startswith(_machinery()):
            return Owner.SDK
        if path.startswith(self._source):
            return Owner.USER
        parts = Path(path).parts
        if path.startswith(_libraries()) or "site-packages" in parts or "dist-packages" in parts:
            return Owner.LIBRARY
        return Owner.USER


def is_test_code(filename: str) -> bool:
    """Return whether a file belongs to a test suite: what stands there may stand in for the real thing."""
    path = Path(filename)
    name = path.stem
    return (
        name == "conftest"
        or name.startswith("test_")
        or name.endswith("_test")
        or not {"test", "tests"}.isdisjoint(path.parts[:-1])
    )


def _folder(path: Path) -> str:
    return os.path.abspath(path) + os.sep  # noqa: PTH100


@lru_cache(maxsize=1)
def _machinery() -> tuple[str, ...]:
    found: list[str] = []
    for name in _MACHINERY:
        spec = importlib.util.find_spec(name)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            found += [_folder(Path(folder)), _folder(Path(os.path.realpath(folder)))]
    return tuple(found)


@lru_cache(maxsize=1)
def _libraries() -> tuple[str, ...]:
    found = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return tuple(_folder(Path(path)) for path in sorted(found | {os.path.realpath(path) for path in found}))
