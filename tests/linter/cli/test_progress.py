"""A long run shows how far it has come, on a terminal only, and leaves no trace of it."""

from __future__ import annotations

import io

import pytest
from durable_lint import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return a list whose only number is the time in seconds."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_run_that_takes_long_shows_how_many_files_are_done_and_wipes_it(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress.Progress(shown=True) as shown:
        shown(1)
        assert terminal.getvalue() == ""
        clock[0] = 5.0
        shown(250)
        shown(251)
        assert terminal.getvalue().endswith("250 files judged")
    assert terminal.getvalue().endswith("\r\x1b[2K")


@pytest.mark.parametrize(("stream", "wanted"), [(io.StringIO(), True), (Terminal(), False)])
def test_nothing_is_shown_in_a_pipe_or_when_it_is_to_be_quiet(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, wanted: bool
) -> None:
    monkeypatch.setattr("sys.stderr", stream)
    with progress.Progress(shown=wanted) as shown:
        clock[0] = 5.0
        shown(250)
    assert stream.getvalue() == ""
