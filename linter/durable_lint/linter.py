"""The one object behind the command line, the flake8 plugin, the language server and the library functions.

It takes files through the house (source, gate, facts, project, rules, suppressions, fixes) and gives plain
results; it prints nothing, and knows neither options nor formats.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from durable_lint.config.load import ConfigError, Resolver, absolute
from durable_lint.source.text import (
    SourceError,
    SourceSyntaxError,
    SourceText,
    declared_encoding,
    read_bytes,
)

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable, Iterator, Mapping

    from durable_lint.analysis import Analysis
    from durable_lint.cache import ResultCache
    from durable_lint.config.settings import Settings
    from durable_lint.report.run import Failure, Note
    from durable_lint.rules.finding import Finding

UNUSED_SUPPRESSION = "LDC901"
SYNTAX_ERROR = "LDC900"


@dataclass(frozen=True, slots=True)
class FileResult:
    """What one file came to. `findings` are sorted by place; those that a comment switches off are only
    counted.
    """

    path: Path
    findings: tuple[Finding, ...] = ()
    suppressed: tuple[Finding, ...] = ()
    failures: tuple[Failure, ...] = ()
    notes: tuple[Note, ...] = ()
    skipped: bool = False


class Linter:
    """Lints files of any number of projects, each with the settings that hold for it.

    It has state: the analysis of each project (modules that were read while following calls) and the contents
    of files that were handed in and not read from disk.
    """

    def __init__(
        self, settings: Settings | Resolver, *, with_fixes: bool = False, keep_results: bool = False
    ) -> None:
        """`keep_results` reads and writes the cache of each project that has durable code."""
        self._settings = settings
        self._with_fixes = with_fixes
        self._keep_results = keep_results
        self._caches: dict[Settings, ResultCache | None] = {}
        self._analyses: dict[Settings, Analysis] = {}
        self._contents: dict[Path, bytes] = {}

    def settings_for(self, path: Path) -> Settings:
        """Return the settings for a file (an absolute path). Raises `ConfigError`."""
        found = self._settings
        return found.for_directory(path.parent) if isinstance(found, Resolver) else found

    def settings_at(self, path: Path) -> Settings:
        """Return the settings for a path that may be a directory. Raises `ConfigError`."""
        return self._settings.for_path(path) if isinstance(self._settings, Resolver) else self._settings

    def lint(
        self,
        path: Path,
        raw: bytes | None = None,
        tree: ast.Module | None = None,
        *,
        stored: bool = False,
        passed: bool = False,
    ) -> FileResult:
        """Return what is to be reported in a file. `raw` is its content, read from disk when None.

        `tree` is the file's own tree where a caller has it already; `stored` says that `raw` is what the disk
        has, so that it need not be kept; `passed`, that `without_judging` gave no result. Never raises for
        what is in the file: a file that can't be read, or whose analysis fails, is a failure in the result.
        Raises `ConfigError`.
        """
        path = absolute(path)
        settings = self.settings_for(path)
        try:
            if raw is None and not passed and (kept := self.kept(path)) is not None:
                return kept
            is_handed_in = raw is not None or path in self._contents
            if raw is None:
                raw = self._contents[path] if path in self._contents else read_bytes(path)
            elif not stored:
                self.update(path, raw)
            result = None if passed else self._unjudged(path, raw, tree, settings)
            if result is None:
                result = self._lint(path, raw, tree, settings)
            if not is_handed_in:
                self.keep(result)
            return result
        except SourceError as error:
            return FileResult(path, failures=(_failure(path, str(error)),))
        except Exception as error:  # one file's crash must not take the others with it
            return FileResult(path, failures=(_failure(path, crash_message(error)),))

    def without_judging(self, path: Path) -> FileResult | int:
        """Return a file's result where it can be told at a glance, and else how many bytes are to be judged.

        That is where an earlier run kept it, or where nothing in the file could hold a finding. Raises `ConfigError`.
        """
        settings = self.settings_for(path)
        try:
            if path in self._contents:
                return len(self._contents[path])
            if (kept := self.kept(path)) is not None:
                return kept
            raw = read_bytes(path)
            result = self._unjudged(path, raw, None, settings)
            if result is None:
                return len(raw)
            self.keep(result)
            return result
        except SourceError as error:
            return FileResult(path, failures=(_failure(path, str(error)),))
        except Exception:
            return 0  # `lint` meets it again, and reports it

    def _unjudged(
        self, path: Path, raw: bytes, tree: ast.Module | None, settings: Settings
    ) -> FileResult | None:
        """Return a file's result where its content alone shows it."""
        if not raw.isascii() or b"coding" in raw[:4096]:
            SourceText.from_bytes(path, raw)
        may_suppress_idly = settings.is_enabled(UNUSED_SUPPRESSION) and may_suppress(raw)
        if not may_suppress_idly and not self.analysis(settings).could_hold_finding(path, raw, tree):
            return FileResult(path)
        if len(raw) > settings.max_file_size:
            size = f"{len(raw):,} bytes, and `max-file-size` is {settings.max_file_size:,}"
            note = _note(path, f"skipped: it has {size}", important=True)
            return FileResult(path, notes=(note,), skipped=True)
        return None

    def _lint(self, path: Path, raw: bytes, tree: ast.Module | None, settings: Settings) -> FileResult:
        analysis = self.analysis(settings)
        unused = settings.is_enabled(UNUSED_SUPPRESSION)
        source = SourceText.from_bytes(path, raw)
        try:
            found = analysis.findings(source, tree, every_rule=unused)
        except SourceSyntaxError as error:
            # What the rest of the file holds is not known, so no suppression in it is known to be idle.
            found, unused = [syntax_error(path, error)], False
        return self._judged(source, found, settings, analysis, unused=unused)

    def _judged(
        self,
        source: SourceText,
        found: list[Finding],
        settings: Settings,
        analysis: Analysis,
        *,
        unused: bool,
    ) -> FileResult:
        path = source.path
        if not found and not unused:
            return FileResult(path, notes=analysis.notes(path))
        from durable_lint.source.suppressions import Suppressions

        suppressions = Suppressions(source, _names())
        kept: list[Finding] = []
        suppressed: list[Finding] = []
        for finding in found:
            covering = suppressions.covering(finding)
            if not settings.reports(finding.code, path):
                continue
            (suppressed if covering else kept).append(finding)
        if unused and settings.reports(UNUSED_SUPPRESSION, path):
            from durable_lint.adoption.unused import unused_suppressions

            kept.extend(unused_suppressions(source, suppressions, found))
        if self._with_fixes and kept:
            kept = [_allowed(finding, settings) for finding in analysis.with_fixes(path, kept)]
        kept.sort(key=lambda finding: finding.sort_key)
        return FileResult(path, tuple(kept), tuple(suppressed), notes=analysis.notes(path))

    @property
    def parsed(self) -> int:
        """How many modules were parsed so far, those that calls led to included."""
        return sum(analysis.parsed for analysis in self._analyses.values())

    def analysis(self, settings: Settings) -> Analysis:
        """Return the analysis of the project that these settings belong to."""
        found = self._analyses.get(settings)
        if found is None:
            from durable_lint.analysis import Analysis

            found = self._analyses[settings] = Analysis(settings)
            for path, raw in self._contents.items():
                found.update(path, raw)
        return found

    def kept(self, path: Path) -> FileResult | None:
        """Return the result that an earlier run kept for a file on disk, if it still holds."""
        cache = None if path in self._contents else self._cache(self.settings_for(path))
        return None if cache is None else cache.get(path)

    def keep(self, result: FileResult) -> None:
        """Keep a result for the next run."""
        cache = self._cache(self.settings_for(result.path))
        if cache is not None:
            cache.put(result)

    def _cache(self, settings: Settings) -> ResultCache | None:
        if not self._keep_results:
            return None
        if settings not in self._caches:
            index = self.analysis(settings).index
            self._caches[settings] = None
            if index.has_durable_code():
                from durable_lint.cache import ResultCache

                self._caches[settings] = ResultCache(settings, index, with_fixes=self._with_fixes)
        return self._caches[settings]

    def for_worker(self) -> Linter:
        """Return a linter with the same settings for another process, which keeps no results."""
        return Linter(self._settings, with_fixes=self._with_fixes)

    def save_results(self) -> None:
        """Write what is to be kept for the next run. A cache that can't be written is no error."""
        for cache in self._caches.values():
            if cache is not None:
                cache.save()

    def update(self, path: Path, raw: bytes | None) -> None:
        """Say that a file now has this content, whatever is on disk; None gives it back to the disk."""
        if raw is None:
            self._contents.pop(path, None)
        elif self._contents.get(path) == raw:
            return
        else:
            self._contents[path] = raw
        for analysis in self._analyses.values():
            analysis.update(path, raw)

    def content(self, path: Path) -> bytes | None:
        """Return the content that was handed in for a file, None where the disk has it."""
        return self._contents.get(path)

    def files(self, paths: Iterable[Path], *, force_exclude: bool = False) -> Iterator[Path | Failure]:
        """Yield the files that paths stand for, absolute, each once; failures for paths that can't be used.

        With `force_exclude` the settings' `exclude` holds for files that are given by name too.
        """
        from durable_lint.source.files import PathError, python_files

        seen: set[str] = set()
        for given in paths:
            top = absolute(given)
            try:
                settings = self.settings_at(top)
            except ConfigError as error:
                yield from (_failure(None, message) for message in error.messages)
                continue
            for found in python_files([top], settings.selection(force=force_exclude)):
                if isinstance(found, PathError):
                    yield _failure(found.path, found.message)
                elif self._is_wanted(found, top, settings) and _is_new(found, seen):
                    yield found

    def _is_wanted(self, found: Path, top: Path, settings: Settings) -> bool:
        """Return whether a file's own settings keep it in, where they are not those of the walk."""
        if found == top:
            return True
        try:
            own = self.settings_for(found)
        except ConfigError:
            return True
        return own is settings or not own.selection().excludes(found)

    def forget(self) -> None:
        """Read configuration and files again when they are next asked for; what was handed in stays."""
        self._analyses.clear()
        if isinstance(self._settings, Resolver):
            from durable_lint.config import sdk_version

            self._settings.forget()
            sdk_version.forget()

    def source(self, path: Path) -> SourceText | None:
        """Return a file's text for showing, as it was linted; None when it can't be read."""
        try:
            raw = self._contents.get(path)
            return SourceText.read(path) if raw is None else SourceText.from_bytes(path, raw)
        except SourceError:
            return None


def lint_source(source: bytes, path: str | os.PathLike[str], settings: Settings | None) -> list[Finding]:
    """Do what `durable_lint.lint` says."""
    where = absolute(Path(path))
    result = Linter(settings or Resolver(), with_fixes=True).lint(where, source)
    for failure in result.failures:
        raise ValueError(failure.line())
    return list(result.findings)


def fix_source(
    source: bytes, path: str | os.PathLike[str], settings: Settings | None, *, unsafe_fixes: bool
) -> bytes:
    """Do what `durable_lint.fix` says."""
    from durable_lint.rewrite import Rewriter

    where = absolute(Path(path))
    linter = Linter(settings or Resolver(), with_fixes=True)
    rewritten = Rewriter(linter, unsafe_fixes=unsafe_fixes, only=where).rewrite(where, source)
    for failure in rewritten.result.failures:
        raise ValueError(failure.line())
    return rewritten.contents.get(where, source)


def encoded(text: str) -> bytes:
    """Return the bytes that a file with this text would have, as far as its own cookie lets it."""
    try:
        encoding = "utf-8" if text.isascii() else declared_encoding(text[:4096].encode("utf-8", "replace"))
        return text.encode(encoding)
    except (SourceError, UnicodeEncodeError):
        return text.encode("utf-8", "replace")


def _allowed(finding: Finding, settings: Settings) -> Finding:
    if finding.fix is None or settings.is_fixable(finding.code):
        return finding
    return replace(finding, fix=None, no_fix="switched off by `fixable` or `unfixable`")


def _is_new(path: Path, seen: set[str]) -> bool:
    real = os.path.realpath(path)
    if real in seen:
        return False
    seen.add(real)
    return True


def may_suppress(raw: bytes) -> bool:
    """Return whether a file may hold a suppression of ours, from its bytes alone."""
    lowered = raw.lower()
    return b"noqa" in lowered and (b"ldc" in lowered or b"durable-lint" in lowered or b"-" in lowered)


def syntax_error(path: Path, error: SourceSyntaxError) -> Finding:
    """Return the finding for a file that can't be parsed."""
    from durable_lint.rules.finding import Finding, Position

    place = Position(error.row, error.column)
    return Finding(
        code=SYNTAX_ERROR,
        name="syntax-error",
        path=path,
        start=place,
        end=Position(error.row, error.column + 1),
        message=f"can't be parsed: {error.message}",
        help="mend the syntax; nothing else in this file was judged",
        noqa_rows=frozenset({error.row}),
    )


def crash_message(error: BaseException) -> str:
    """Return one line for a crash: what it was and where in the tool it happened."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = "" if at is None else f" at {Path(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno}"
    said = " ".join(str(error).split())
    return f"analysis failed ({type(error).__name__}{f': {said}' if said else ''}{where}); please report this"


def _failure(path: Path | None, message: str) -> Failure:
    from durable_lint.report.run import Failure

    return Failure(path, message)


def _note(path: Path, message: str, *, important: bool) -> Note:
    from durable_lint.report.run import Note

    return Note(path, message, important)


def _names() -> Mapping[str, str]:
    from durable_lint.config.selectors import rules

    return {rule.name: code for code, rule in rules().items()}
