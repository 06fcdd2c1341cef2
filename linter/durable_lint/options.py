"""The options of the command line, and what they say about settings."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, NoReturn

from durable_lint.config.selectors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

_RULES = "RULES"


class UsageError(Exception):
    """Something about the command line that can't work. The message is one line."""


class _Help(argparse.HelpFormatter):
    """The usual help, without the modules that the usual one loads to ask for the terminal's width."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    try:
        return max(60, int(os.environ.get("COLUMNS") or os.get_terminal_size().columns))
    except (ValueError, OSError):
        return 100


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}{self._hint(message)} (see `durable-lint --help`)")

    def _hint(self, message: str) -> str:
        if not message.startswith("unrecognized arguments: -"):
            return ""
        option = message.removeprefix("unrecognized arguments: ").split()[0].split("=")[0]
        return did_you_mean(option, [name for name in self._option_string_actions if name.startswith("--")])


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options. Raises `UsageError`, and `SystemExit` after `--help` and `--version`."""
    options = parser().parse_intermixed_args(arguments)
    for first, second in _NOT_TOGETHER:
        if _given(options, first) and _given(options, second):
            raise UsageError(f"{first} and {second} can't be used together")
    return options


_NOT_TOGETHER = (
    ("--add-noqa", "--fix"),
    ("--add-noqa", "--diff"),
    ("--add-noqa", "--write-baseline"),
    ("--add-noqa", "--watch"),
    ("--baseline", "--write-baseline"),
    ("--write-baseline", "--fix"),
    ("--write-baseline", "--diff"),
    ("--config", "--isolated"),
    ("--statistics", "--diff"),
    ("--watch", "--write-baseline"),
    ("--quiet", "--verbose"),
)


def _given(options: argparse.Namespace, option: str) -> bool:
    return bool(getattr(options, option.removeprefix("--").replace("-", "_")))


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = _Parser(
        prog="durable-lint",
        usage="durable-lint [OPTIONS] [PATHS]...",
        description="Finds cleanup that is unsafe in AWS Lambda durable functions, and rewrites it.",
        epilog="Exit status: 0 clean, 1 findings left, 2 usage, configuration, I/O or internal error.",
        allow_abbrev=False,
        formatter_class=_Help,
    )
    made.add_argument(
        "paths", nargs="*", metavar="PATHS", help="files and directories (default: .); - is standard input"
    )

    fixes = made.add_argument_group("fixes")
    fixes.add_argument("--fix", action="store_true", help="apply safe fixes")
    fixes.add_argument(
        "--unsafe-fixes",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="with --fix or --diff, apply unsafe fixes too",
    )
    fixes.add_argument("--diff", action="store_true", help="print what fixes would change, and write nothing")
    fixes.add_argument("--fix-only", action="store_true", help="apply fixes, and report nothing else")
    fixes.add_argument("--show-fixes", action="store_true", help="list the fixes that were applied")
    fixes.add_argument(
        "--exit-non-zero-on-fix",
        action="store_true",
        help="exit with 1 when something was fixed, even if nothing is left",
    )

    rules = made.add_argument_group(
        "rules (codes, prefixes such as LDC1, names, or ALL; separated by commas)"
    )
    rules.add_argument("--select", action="append", metavar=_RULES, help="run these rules, and no others")
    rules.add_argument("--ignore", action="append", metavar=_RULES, help="do not run these rules")
    rules.add_argument("--extend-select", action="append", metavar=_RULES, help="run these rules as well")
    rules.add_argument("--explain", metavar="CODE", help="print a rule's page")
    rules.add_argument("--list-rules", action="store_true", help="print all rules")

    output = made.add_argument_group("output")
    output.add_argument(
        "--output-format",
        action="append",
        metavar="FORMAT[=FILE]",
        help="full (default on a terminal), concise (default elsewhere), json, sarif, github, gitlab, junit;"
        " several may be given, each with a file of its own",
    )
    output.add_argument("--output-file", metavar="FILE", help="write the report to a file")
    output.add_argument("--statistics", action="store_true", help="print counts by rule instead of findings")
    output.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="(default: auto)"
    )
    output.add_argument("-q", "--quiet", action="store_true", help="print findings and errors, nothing else")
    output.add_argument("-v", "--verbose", action="store_true", help="also print what could not be resolved")
    output.add_argument("--exit-zero", action="store_true", help="exit with 0 when there are findings")

    adopt = made.add_argument_group("adopting the tool on code that has findings")
    adopt.add_argument("--add-noqa", action="store_true", help="add suppression comments for what is found")
    adopt.add_argument("--baseline", metavar="FILE", help="report only what is not in this file")
    adopt.add_argument("--write-baseline", metavar="FILE", help="write what is found to this file")

    files = made.add_argument_group("files and configuration")
    files.add_argument(
        "--stdin-filename", metavar="NAME", help="with -, the name of the file that standard input holds"
    )
    files.add_argument("--config", metavar="FILE", help="use this configuration file for everything")
    files.add_argument("--isolated", action="store_true", help="read no configuration file")
    files.add_argument(
        "--force-exclude", action="store_true", help="apply `exclude` to files given by name too"
    )
    files.add_argument(
        "--show-settings", action="store_true", help="print each setting and where it came from"
    )
    files.add_argument("--show-files", action="store_true", help="print the files that would be linted")
    files.add_argument(
        "--jobs", type=_jobs, metavar="N", help="how many processes to use (default: as many as pay)"
    )
    files.add_argument("--no-cache", action="store_true", help="neither read nor write a cache")
    files.add_argument("--cache-dir", metavar="DIR", help="where to keep the cache")
    files.add_argument("--watch", action="store_true", help="lint again whenever a file changes")

    made.add_argument("--version", action="version", version=_version())
    return made


def _jobs(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a number of at least 1, not {text!r}")
    return number


def _version() -> str:
    from durable_lint import __version__

    return f"durable-lint {__version__}"


def overrides(options: argparse.Namespace) -> dict[str, object]:
    """Return what the options say about settings, by the key of the configuration file."""
    values: dict[str, object] = {}
    for key in ("select", "ignore", "extend-select"):
        given: list[str] | None = getattr(options, key.replace("-", "_"))
        if given is not None:
            values[key] = words(given)
    if options.unsafe_fixes is not None:
        values["unsafe-fixes"] = options.unsafe_fixes
    if options.cache_dir is not None:
        values["cache-dir"] = options.cache_dir
    return values


def words(given: Sequence[str]) -> list[str]:
    """Return the parts of options whose values are separated by commas or blanks."""
    return [word for text in given for word in text.replace(",", " ").split()]
