"""What a run is asked to do: one frozen value for each project, and where each part of it came from.

It knows nothing of files, formats or the command line; `config.load` fills it in.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from durable_lint.config import selectors
from durable_lint.source.files import DEFAULT_EXCLUDE, Selection

FIX_FORMS = ("in-place", "callable")
OUTPUT_FORMATS = ("full", "concise", "json", "sarif", "github", "gitlab", "junit")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one project. Defaults are the tool's own; see docs/configuration.md for each key.

    Codes are held as prefixes (`LDC1`); names have been turned into codes. Paths are absolute.
    """

    root: Path = field(default_factory=Path.cwd)
    """The project's root directory: where the configuration was found, else the nearest project file."""

    select: tuple[str, ...] | None = None
    """Prefixes of the rules to run; None means the rules that are on by default."""

    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    fixable: tuple[str, ...] | None = None
    """Prefixes of the rules that may be fixed; None means all."""

    unfixable: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    src: tuple[Path, ...] = ()
    """Import roots; empty means that they are found from the packages themselves."""

    strict: bool = False
    sdk_version: str | None = None
    """The SDK version that was configured; `config.sdk_version.detect` answers when it was not."""

    process_local: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    suspending: tuple[str, ...] = ()
    context_types: tuple[str, ...] = ()
    fix_form: str = "in-place"
    unsafe_fixes: bool = False
    cache_dir: Path | None = None
    """Where a cache may be kept; None means `.durable_lint_cache` in the root."""

    max_file_size: int = 1_000_000
    """A durable file of more bytes is skipped, with a note."""

    output_format: str | None = None
    """None means `full` on a terminal and `concise` elsewhere."""

    origins: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """For each key that is not at its default: where its value came from."""

    def origin(self, key: str) -> str:
        """Return where the value of a key (as it is written in the file) came from."""
        return dict(self.origins).get(key, "default")

    def is_enabled(self, code: str) -> bool:
        """Return whether the rule runs at all: the longer of two prefixes decides, `ignore` wins a tie.

        A rule that is off by default has to be named itself, or by `ALL`: a prefix alone does not switch it
        on.
        """
        wanted = (*(() if self.select is None else self.select), *self.extend_select)
        if code not in default_codes():
            wanted = tuple(prefix for prefix in wanted if prefix in {code, selectors.ALL})
        chosen = selectors.strength(code, wanted)
        if self.select is None and code in default_codes():
            chosen = max(chosen, 0)
        return chosen > selectors.strength(code, self.ignore)

    def ignored_in(self, path: Path) -> tuple[str, ...]:
        """Return the prefixes that `per-file-ignores` switches off in a file."""
        if not self.per_file_ignores:
            return ()
        prefixes: list[str] = []
        for pattern, codes in self.per_file_ignores:
            negated = pattern.startswith("!")
            if self.selection((pattern.removeprefix("!"),)).excludes(path) != negated:
                prefixes.extend(codes)
        return tuple(prefixes)

    def selection(self, exclude: tuple[str, ...] | None = None, *, force: bool = False) -> Selection:
        """Return which files these settings leave out; with `force` also of those that are given by name."""
        patterns = self.exclude + self.extend_exclude if exclude is None else exclude
        return Selection(self.root, patterns, self.respect_gitignore, force)

    def reports(self, code: str, path: Path) -> bool:
        """Return whether a finding with this code is to be reported in this file."""
        return self.is_enabled(code) and selectors.strength(code, self.ignored_in(path)) < 0

    def is_fixable(self, code: str) -> bool:
        """Return whether `fixable` and `unfixable` allow a fix for the rule."""
        allowed = 0 if self.fixable is None else selectors.strength(code, self.fixable)
        return allowed > selectors.strength(code, self.unfixable)

    def with_every_rule(self) -> Settings:
        """Return the same settings with no rule switched off, to learn what a suppression suppresses."""
        return replace(self, select=(selectors.ALL,), ignore=(), extend_select=(), per_file_ignores=())

    @property
    def cache_directory(self) -> Path:
        """Where a cache may be kept."""
        return self.cache_dir if self.cache_dir is not None else self.root / ".durable_lint_cache"


@lru_cache(maxsize=1)
def default_codes() -> frozenset[str]:
    """Return the codes of the rules that run when nothing is selected."""
    return frozenset(code for code, rule in selectors.rules().items() if rule.default)
