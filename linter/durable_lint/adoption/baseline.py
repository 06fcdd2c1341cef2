"""A file that lists the findings a project lives with, so that only new ones are reported.

An entry is found again when its code was moved, reformatted, put into a renamed function or into another
file. What was fixed leaves the file by itself.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from durable_lint.options import UsageError
from durable_lint.report.fingerprints import identities
from durable_lint.report.run import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from durable_lint.report.run import Run
    from durable_lint.rules.finding import Finding

_VERSION = 1


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One kind of finding: in which file (relative to the baseline, with slashes), by which rule, where in
    the code.

    `scope` is the dotted name of the function around it; `syntax` is a hash of the code at its place.
    """

    path: str
    code: str
    scope: str
    syntax: str


class Baseline:
    """The entries of a baseline file, each with how often it occurs."""

    def __init__(self, file: Path, entries: Counter[Entry]) -> None:
        self.file = file
        self.entries = entries

    @classmethod
    def of(cls, run: Run, file: Path) -> Baseline:
        """Return the baseline that hides everything that a run found."""
        return cls(file, Counter(entry for entry, _ in _entries(run, file)))

    @classmethod
    def read(cls, file: Path) -> Baseline:
        """Return what a baseline file holds. Raises `UsageError`."""
        try:
            document = json.loads(file.read_text("utf-8-sig"))
            if document["version"] != _VERSION:
                raise UsageError(
                    f"{file}: has version {document['version']!r}, and only {_VERSION} is understood"
                )
            entries: Counter[Entry] = Counter()
            for item in document["findings"]:
                entry = Entry(*(str(item[key]) for key in ("path", "code", "scope", "syntax")))
                entries[entry] += int(item["count"])
        except FileNotFoundError:
            raise UsageError(f"{file}: no such baseline; make one with --write-baseline") from None
        except OSError as error:
            raise UsageError(f"{file}: can't be read: {error.strerror or error}") from None
        except (ValueError, LookupError, TypeError, RecursionError):
            raise UsageError(f"{file}: is not a baseline; make one with --write-baseline") from None
        return cls(file, entries)

    def write(self) -> None:
        """Write the file, in an order that keeps its history readable. Raises `UsageError`."""
        from durable_lint.source.write import write_atomically

        findings = [
            {"path": one.path, "code": one.code, "scope": one.scope, "syntax": one.syntax, "count": count}
            for one, count in sorted(self.entries.items())
        ]
        text = json.dumps({"version": _VERSION, "findings": findings}, indent=2) + "\n"
        try:
            write_atomically(self.file, text.encode())
        except OSError as error:
            raise UsageError(f"{self.file}: can't be written: {error.strerror or error}") from None

    def without_known(
        self, run: Run, is_judged: Callable[[Path, str], bool], say: Callable[[str], None]
    ) -> Run:
        """Return the run without the findings that are listed here, and drop from the file what is gone.

        `is_judged` tells whether a rule was looked for in a file in this run: only then can an entry be gone.
        `say` is told what changed.
        """
        left = self.entries.copy()
        found = _entries(run, self.file)
        hidden: list[Entry] = []
        for same in (_exactly, _in_renamed_function, _in_other_file):
            found = list(self._take(found, left, same, hidden))
        base = self.file.absolute().parent
        kept = Counter(
            {entry: count for entry, count in left.items() if not self._is_gone(entry, base, is_judged)}
        )
        gone = left.total() - kept.total()
        entries = kept + Counter(hidden)
        if entries != self.entries:
            self.entries = entries
            try:
                self.write()
            except UsageError as error:
                say(str(error))
            else:
                if gone:
                    say(f"{plural(gone, 'finding')} of {self.file} no longer there, and taken out of it")
        return replace(run, findings=tuple(finding for _, finding in found), hidden=len(hidden))

    @staticmethod
    def _take(
        found: Iterable[tuple[Entry, Finding]],
        left: Counter[Entry],
        same: Callable[[Entry], tuple[str, ...] | None],
        hidden: list[Entry],
    ) -> Iterator[tuple[Entry, Finding]]:
        """Yield what matches no entry that is left; note what does, and use that entry up."""
        by_key: dict[tuple[str, ...], list[Entry]] = {}
        for entry in left.elements():
            key = same(entry)
            if key is not None:
                by_key.setdefault(key, []).append(entry)
        for entry, finding in found:
            key = same(entry)
            candidates = by_key.get(key) if key is not None else None
            if candidates:
                left[candidates.pop()] -= 1
                hidden.append(entry)
            else:
                yield entry, finding

    @staticmethod
    def _is_gone(entry: Entry, base: Path, is_judged: Callable[[Path, str], bool]) -> bool:
        path = Path(os.path.normpath(base / entry.path))
        return is_judged(path, entry.code) or not path.exists()


def _exactly(entry: Entry) -> tuple[str, ...]:
    return (entry.path, entry.code, entry.scope, entry.syntax)


def _in_renamed_function(entry: Entry) -> tuple[str, ...] | None:
    return (entry.path, entry.code, entry.syntax) if entry.syntax else None


def _in_other_file(entry: Entry) -> tuple[str, ...] | None:
    return (entry.code, entry.scope, entry.syntax) if entry.syntax else None


def _entries(run: Run, file: Path) -> list[tuple[Entry, Finding]]:
    base = file.absolute().parent
    by_path: dict[Path, list[Finding]] = {}
    for finding in run.findings:
        by_path.setdefault(finding.path, []).append(finding)
    entries: list[tuple[Entry, Finding]] = []
    for path, findings in by_path.items():
        name = Path(os.path.relpath(path, base)).as_posix()
        for finding, identity in zip(findings, identities(findings, run.source(path)), strict=True):
            entries.append((Entry(name, identity.code, identity.scope, identity.syntax), finding))
    return entries
