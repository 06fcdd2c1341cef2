"""Finds cleanup that is unsafe in AWS Lambda durable functions, and rewrites it.

`lint` and `fix` are the tool as a library; the command line, the flake8 plugin and the language server stand
on the same `durable_lint.linter.Linter`.
"""

from __future__ import annotations

# `typing` may not be imported yet: `python -m durable_lint` would take it from the linted project.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike

    from durable_lint.config.settings import Settings
    from durable_lint.rules.finding import Finding

__version__ = "0.1.0"
__all__ = ["__version__", "fix", "lint"]


def lint(source: bytes, path: str | PathLike[str], *, settings: Settings | None = None) -> list[Finding]:
    """Return the findings in a file's bytes, sorted by place, without those that a comment switches off.

    `path` says where the file lies (it need not exist): calls into other modules are followed from there, and
    the nearest configuration file holds unless `settings` are given. Raises `ValueError` when the bytes can't
    be decoded, and `durable_lint.config.load.ConfigError` when the configuration can't be used.
    """
    from durable_lint.linter import lint_source

    return lint_source(source, path, settings)


def fix(
    source: bytes, path: str | PathLike[str], *, unsafe_fixes: bool = False, settings: Settings | None = None
) -> bytes:
    """Return the bytes with every safe fix applied (with `unsafe_fixes` all of them), unchanged where there
    is none.

    Only this file is rewritten: a fix that belongs in another module is left to the command line. Raises what
    `lint` raises.
    """
    from durable_lint.linter import fix_source

    return fix_source(source, path, settings, unsafe_fixes=unsafe_fixes)
