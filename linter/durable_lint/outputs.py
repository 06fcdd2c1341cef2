"""Where reports go: which formats a run writes, each to a file or to standard output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from durable_lint.config.selectors import did_you_mean
from durable_lint.config.settings import OUTPUT_FORMATS
from durable_lint.options import UsageError, words
from durable_lint.report import LINE_BY_LINE, SHOWS_FIXES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Output(NamedTuple):
    """One report: its format, and its file or None for standard output."""

    format: str
    file: Path | None = None

    @property
    def shows_fixes(self) -> bool:
        """Whether the report says which findings can be fixed."""
        return self.format in SHOWS_FIXES


def plan(given: Sequence[str] | None, file: str | None, configured: str | None) -> tuple[Output, ...]:
    """Return the reports to write. `given` is `--output-format`, `file` is `--output-file`. Raises
    `UsageError`.
    """
    common = None if file is None else Path(file)
    wanted = words(given) if given is not None else [configured or default_format(common)]
    outputs: list[Output] = []
    for word in wanted:
        name, _, own = word.partition("=")
        if name not in OUTPUT_FORMATS:
            hint = did_you_mean(name, OUTPUT_FORMATS) or f"; it is one of {', '.join(OUTPUT_FORMATS)}"
            raise UsageError(f"--output-format: unknown format `{name}`{hint}")
        outputs.append(Output(name, Path(own) if own else common))
    for output in outputs:
        sharing = [other for other in outputs if other.file == output.file]
        if len(sharing) > 1 and output.format not in LINE_BY_LINE:
            where = "standard output" if output.file is None else str(output.file)
            raise UsageError(
                f"--output-format: {output.format} can't share {where} with another format;"
                f" give it a file (`{output.format}=FILE`)"
            )
    return tuple(outputs)


def default_format(file: Path | None) -> str:
    """Return the format when none was asked for: `full` where a person reads it, else `concise`."""
    return "full" if file is None and sys.stdout.isatty() else "concise"


def write(output: Output, pieces: Iterable[str]) -> None:
    """Write a report. Raises `UsageError` when its file can't be written."""
    if output.file is None:
        for piece in pieces:
            sys.stdout.write(piece)
        return
    from durable_lint.source.write import write_atomically

    try:
        write_atomically(output.file, "".join(pieces).encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise UsageError(f"{output.file}: can't be written: {error.strerror or error}") from None
