"""The flake8 plugin: the findings of the command line, from flake8's own lines and tree.

It leaves `--select`, `--ignore` and `# noqa` to flake8. Its options stand in flake8's configuration beside
the others; what they don't say comes from the project's `[tool.durable-lint]`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from durable_lint import __version__

if TYPE_CHECKING:
    import argparse
    import ast
    from collections.abc import Iterator

    from durable_lint.linter import Linter

_LISTS = {
    "process-local": "managers and functions that are right to run on suspension",
    "effects": "managers and functions that are not",
    "suspending": "functions that suspend although it can't be seen",
    "context-types": "own wrappers of the durable context",
}
_OFF_BY_DEFAULT = ("LDC205", "LDC901")


class Plugin:
    """What flake8 makes for each file. The linter is shared by all files of a process."""

    name = "durable-lint"
    version = __version__
    _linter: ClassVar[Linter | None] = None
    _disable_noqa: ClassVar[bool] = False
    _stdin_name: ClassVar[str | None] = None

    def __init__(self, tree: ast.Module, filename: str, lines: list[str]) -> None:
        self._tree = tree
        self._filename = filename
        self._lines = lines

    @classmethod
    # flake8 gives no types that its versions 6 and 7 share.
    def add_options(cls, manager: Any) -> None:
        """Register the plugin's options with flake8's option manager."""
        manager.add_option(
            "--ldc-config", parse_from_config=True, metavar="FILE", help="durable-lint: use this file"
        )
        manager.add_option(
            "--ldc-strict",
            parse_from_config=True,
            action="store_true",
            help="durable-lint: report process-local cleanup too",
        )
        manager.add_option(
            "--ldc-sdk-version",
            parse_from_config=True,
            metavar="VERSION",
            help="durable-lint: the SDK version in use",
        )
        for key, meaning in _LISTS.items():
            manager.add_option(
                f"--ldc-{key}",
                parse_from_config=True,
                comma_separated_list=True,
                metavar="NAMES",
                default=[],
                help=f"durable-lint: {meaning} (qualified names or globs)",
            )

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Take the options over. Raises flake8's `ExecutionError` for a configuration that can't be used."""
        from flake8.exceptions import ExecutionError

        from durable_lint.config.load import ConfigError, Resolver
        from durable_lint.linter import Linter

        overrides: dict[str, object] = {
            key: given for key in _LISTS if (given := getattr(options, f"ldc_{key.replace('-', '_')}"))
        }
        if options.ldc_strict:
            overrides["strict"] = True
        if options.ldc_sdk_version:
            overrides["sdk-version"] = options.ldc_sdk_version
        selected = [*(options.select or ()), *(options.extend_select or ())]
        chosen = [code for code in _OFF_BY_DEFAULT if code in selected]
        if chosen:
            overrides["extend-select"] = chosen
        config = Path(options.ldc_config) if options.ldc_config else None
        cls._disable_noqa = bool(options.disable_noqa)
        cls._stdin_name = options.stdin_display_name if "-" in options.filenames else None
        try:
            resolver = Resolver(overrides, config=config)
            resolver.for_directory(Path.cwd())
        except ConfigError as error:
            raise ExecutionError(f"durable-lint: {'; '.join(error.messages)}") from None
        cls._linter = Linter(resolver)

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """Yield row, column (from 0, as flake8 wants it), text and type of each finding."""
        from durable_lint.config.load import absolute
        from durable_lint.linter import encoded

        if self._linter is None:
            return
        path = absolute(Path(self._filename))
        result = self._linter.lint(
            path, encoded("".join(self._lines)), self._tree, stored=self._filename != self._stdin_name
        )
        for failure in result.failures:
            print(f"durable-lint: {failure.line()}", file=sys.stderr)  # noqa: T201
        for note in result.notes:
            if note.important:
                print(f"durable-lint: {note.line()}", file=sys.stderr)  # noqa: T201
        for finding in result.findings + (result.suppressed if self._disable_noqa else ()):
            place = finding.start
            yield place.row, place.column - 1, f"{finding.code} {finding.message}", type(self)
