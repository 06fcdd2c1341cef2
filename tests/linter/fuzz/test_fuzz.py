"""Sources that nobody wrote: no crash, no hang, the same with and without the gate, and fixes that parse.

`DURABLE_LINT_FUZZ_SECONDS` and `DURABLE_LINT_FUZZ_INPUTS` set how long it goes on (60 seconds in all by
default, a longer run for docs/validation.md), `DURABLE_LINT_FUZZ_SEED` where it starts.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesmith
import pytest
from durable_lint import gate
from durable_lint.config.settings import Settings
from durable_lint.gate import ImportIndex
from durable_lint.linter import Linter
from durable_lint.rewrite import Rewriter
from durable_lint.source.text import SourceText, parse
from hypothesis import HealthCheck, given, seed, settings

from tests.linter.fuzz import mutate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from durable_lint.linter import FileResult
    from durable_lint.rules.finding import Position

SECONDS = float(os.environ.get("DURABLE_LINT_FUZZ_SECONDS", "60"))
INPUTS = int(os.environ.get("DURABLE_LINT_FUZZ_INPUTS", "1000000"))
SEED = int(os.environ.get("DURABLE_LINT_FUZZ_SEED", "20261129"))
A_FILE_TAKES_AT_MOST = 20.0
"""Seconds of processor time."""

KINDS: dict[str, Callable[[random.Random], bytes]] = {
    "mutated tokens of handlers": mutate.tokens,
    "mutated statements of handlers": mutate.statements,
    "mutated bytes of handlers": mutate.some_bytes,
    "random bytes": mutate.noise,
    "handlers joined": mutate.joined,
}


@contextmanager
def without_gate() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate, "could_hold_finding", lambda *_, **__: True)
        patch.setattr(gate, "passes_tree", lambda *_, **__: True)
        patch.setattr(ImportIndex, "is_connected", lambda *_: True)
        yield


def check(path: Path, raw: bytes) -> None:
    """Hold one source to all that must be true of any."""
    started = time.process_time()
    chosen = Settings(root=path.parent).with_every_rule()
    result = Linter(chosen).lint(path, raw)
    crashes = [failure.message for failure in result.failures if "analysis failed" in failure.message]
    assert not crashes, crashes
    with without_gate():
        ungated = Linter(chosen).lint(path, raw)
    assert places(result) == places(ungated)
    if result.findings:
        rewritten = Rewriter(Linter(chosen, with_fixes=True), unsafe_fixes=True).rewrite(path, raw)
        assert not [one for one in rewritten.result.failures if "analysis failed" in one.message]
        for changed, content in rewritten.contents.items():
            parse(SourceText.from_bytes(changed, content))
    assert time.process_time() - started < A_FILE_TAKES_AT_MOST


def places(result: FileResult) -> set[tuple[str, Position]]:
    """The findings about what a file does: the gate may stop a file that cannot be parsed."""
    return {(finding.code, finding.start) for finding in result.findings if finding.code != "LDC900"}


@pytest.mark.parametrize("kind", KINDS)
def test_no_source_crashes_or_hangs_the_linter(tmp_path: Path, kind: str) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    chance = random.Random(f"{SEED} {kind}")
    ends = time.monotonic() + SECONDS / len(KINDS)
    count = 0
    while count < INPUTS and (count < 3 or time.monotonic() < ends):
        raw = KINDS[kind](chance)
        count += 1
        try:
            check(tmp_path / "handler.py", raw)
        except BaseException:
            kept = Path(os.environ.get("DURABLE_LINT_FUZZ_KEEP", tmp_path)) / "failed.py"
            kept.write_bytes(raw)
            pytest.fail(f"input {count} of seed {SEED}, kept as {kept}:\n{raw[:2000]!r}", pytrace=True)
    print(f"{kind}: {count} inputs")


@seed(SEED)
@settings(
    max_examples=max(10, min(INPUTS, int(SECONDS / 3))),
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(hypothesmith.from_node(auto_target=False))
def test_no_source_of_the_grammar_crashes_or_hangs_the_linter(text: str) -> None:
    body = "".join(f"    {line}\n" for line in text.splitlines())
    for source in (text, f"def f(context):\n    context.wait(1)\n{body}"):
        raw = f"{mutate.DURABLE}{source}\n".encode("utf-8", "surrogatepass")
        check(Path(__file__).with_name("generated.py"), raw)
