"""Keeps results between runs, for files of which nothing that the result depended on has changed.

A result depends on the file, on every module that calls can lead to, on which files the project has, on
the settings, on the SDK version, on Python, and on this program. All of that is in the key. Keys are made
with a secret of the user's, so that a cache that came with a repository, or that somebody else wrote, fits
nothing. Only data is kept, as JSON; nothing that is read from a cache is run.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from durable_lint.rules.finding import Applicability, Edit, Finding, Fix, Position, Related
from durable_lint.source.write import write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from durable_lint.config.settings import Settings
    from durable_lint.gate import ImportIndex
    from durable_lint.linter import FileResult

    Data = dict[str, Any]  # JSON has no better type

_FORMAT = 1
_NAME = "results.json"
_DIGEST_SIZE = 16


class ResultCache:
    """The results of one project. It has state: what was kept, and what is to be kept.

    A cache that cannot be read, trusted or written is no cache: nothing fails because of it.
    """

    def __init__(self, settings: Settings, index: ImportIndex, *, with_fixes: bool) -> None:
        self._settings = settings
        self._index = index
        self._directory = settings.cache_directory
        self._secret = _secret()
        self._base = self._digest(
            json.dumps([_FORMAT, with_fixes, sys.version, _own_version(), _settings_as_data(settings)])
        )
        self._kept: dict[str, Data] = {}
        self._known_keys: dict[str, list[str]] = {}
        self._new: dict[str, Data] = {}
        self._keys: dict[str, list[str]] = {}
        self._has_changed = False
        if self._secret is not None:
            self._project = self._digest(self._base + index.project_digest())
            self._load()

    def get(self, path: Path) -> FileResult | None:
        """The result that was kept for a file, if everything it depended on is as it was."""
        if self._secret is None or not self._index.holds(path):
            return None
        key = self._key(path)
        data = self._kept.get(key)
        if data is not None:
            try:
                result = _result(path, data)
            except (LookupError, TypeError, ValueError, AttributeError):
                pass
            else:
                self._new[key] = data
                return result
        self._has_changed = True
        return None

    def put(self, result: FileResult) -> None:
        """Keep a result of this run. One that says that something went wrong is not kept."""
        if self._secret is not None and not result.failures and self._index.holds(result.path):
            self._new[self._key(result.path)] = _as_data(result)

    def save(self) -> None:
        """Write what this run has used and made, unless a file of the project changed meanwhile."""
        if not self._has_changed or not self._index.is_unchanged():
            return
        data = {"format": _FORMAT, "project": self._project, "keys": self._keys, "results": self._new}
        with suppress(OSError):
            self._make_directory()
            if _is_trusted(self._directory, stat.S_ISDIR):
                text = json.dumps(data, separators=(",", ":"))
                write_atomically(self._directory / _NAME, text.encode("utf-8", "surrogatepass"))

    def _make_directory(self) -> None:
        if not self._directory.exists():
            self._directory.mkdir(mode=0o700)
            (self._directory / ".gitignore").write_text("*\n")

    def _load(self) -> None:
        file = self._directory / _NAME
        if not (_is_trusted(self._directory, stat.S_ISDIR) and _is_trusted(file, stat.S_ISREG)):
            return
        try:
            data = json.loads(file.read_bytes())
            if data["format"] == _FORMAT:
                self._kept = dict(data["results"])
                if data["project"] == self._project:
                    self._known_keys = dict(data["keys"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            self._kept = {}

    def _key(self, path: Path) -> str:
        from durable_lint.config.sdk_version import detect

        name = str(path)
        version = detect(path, self._settings).version
        if name not in self._keys:
            known = self._known_keys.get(name)
            if isinstance(known, list) and len(known) == 2 and known[0] == version:
                # Nothing in the project has changed, so its imports need not be followed.
                self._keys[name] = known
            else:
                parts = (self._base, name, version, self._index.digest(path))
                self._keys[name] = [version, self._digest("\0".join(parts))]
        return self._keys[name][1]

    def _digest(self, text: str) -> str:
        raw = text.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(raw, digest_size=_DIGEST_SIZE, key=self._secret or b"").hexdigest()


def _is_trusted(path: Path, kind: Callable[[int], bool]) -> bool:
    """Whether a path is what it should be, belongs to this user, and can be written by nobody else."""
    try:
        status = path.lstat()
    except OSError:
        return False
    is_own = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    return kind(status.st_mode) and is_own and not status.st_mode & 0o022


def _secret() -> bytes | None:
    """The user's key, made once. None where there is no place to keep it: then nothing is cached."""
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    directory = Path(home) / "durable-lint"
    file = directory / "key"
    try:
        if not file.exists():
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(file, secrets.token_bytes(32))
            file.chmod(0o600)
        if _is_trusted(directory, stat.S_ISDIR) and _is_trusted(file, stat.S_ISREG):
            key = file.read_bytes()
            return key if len(key) == 32 else None
    except (OSError, RuntimeError):
        pass
    return None


def _own_version() -> list[object]:
    """This program's files by size and time: its version alone does not change while it is worked on."""
    root = Path(__file__).parent
    found: list[object] = []
    for path in sorted(root.rglob("*.py")):
        status = path.stat()
        found.append((path.name, status.st_size, status.st_mtime_ns))
    return found


def _settings_as_data(settings: Settings) -> str:
    return repr(dataclasses.replace(settings, origins=(), output_format=None))


# ---------------------------------------------------------------- results as data


def _as_data(result: FileResult) -> Data:
    data: Data = {}
    if result.findings:
        data["findings"] = [_finding_data(finding) for finding in result.findings]
    if result.suppressed:
        data["suppressed"] = [_finding_data(finding) for finding in result.suppressed]
    if result.notes:
        data["notes"] = [[_text(note.path), note.message, note.important] for note in result.notes]
    if result.skipped:
        data["skipped"] = True
    return data


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _place(position: Position) -> list[int]:
    return [position.row, position.column]


def _finding_data(finding: Finding) -> Data:
    return {
        "code": finding.code,
        "name": finding.name,
        "path": str(finding.path),
        "start": _place(finding.start),
        "end": _place(finding.end),
        "message": finding.message,
        "help": finding.help,
        "related": [
            [str(one.path), _place(one.start), _place(one.end), one.message, one.call]
            for one in finding.related
        ],
        "noqa_rows": sorted(finding.noqa_rows),
        "no_fix": finding.no_fix,
        "fix": None
        if finding.fix is None
        else [
            finding.fix.applicability.value,
            finding.fix.message,
            [
                [_place(edit.start), _place(edit.end), edit.content, _text(edit.path)]
                for edit in finding.fix.edits
            ],
        ],
    }


def _result(path: Path, data: Data) -> FileResult:
    from durable_lint.linter import FileResult
    from durable_lint.report.run import Note

    return FileResult(
        path,
        findings=tuple(_finding(one) for one in data.get("findings", ())),
        suppressed=tuple(_finding(one) for one in data.get("suppressed", ())),
        notes=tuple(Note(_path(one[0]), one[1], one[2]) for one in data.get("notes", ())),
        skipped=data.get("skipped") is True,
    )


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


def _finding(data: Data) -> Finding:
    fix = data["fix"]
    return Finding(
        code=data["code"],
        name=data["name"],
        path=Path(data["path"]),
        start=Position(*data["start"]),
        end=Position(*data["end"]),
        message=data["message"],
        help=data["help"],
        related=tuple(
            Related(Path(file), Position(*start), Position(*end), message, call)
            for file, start, end, message, call in data["related"]
        ),
        noqa_rows=frozenset(data["noqa_rows"]),
        no_fix=data["no_fix"],
        fix=None
        if fix is None
        else Fix(
            Applicability(fix[0]),
            fix[1],
            tuple(
                Edit(Position(*start), Position(*end), content, _path(file))
                for start, end, content, file in fix[2]
            ),
        ),
    )
