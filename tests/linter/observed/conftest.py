"""Coverage of what runs while a suspension is followed.

On Python 3.11 that is called by a trace function, where Python traces nothing else, coverage included: unless it is
called with `sys.call_tracing`, as a debugger debugs itself.
"""

from __future__ import annotations

import functools
import sys
import threading
from typing import TYPE_CHECKING, Any  # the methods are handed through as they are

import pytest
from durable_lint.observed.following import Following
from durable_lint.observed.tracing import Tracing
from durable_lint.observed.watcher import WATCHER

if TYPE_CHECKING:
    from collections.abc import Callable

EVENTS = ("raised", "instruction", "entered", "left")
"""What the engine calls from inside its trace function."""


def traced(event: Callable[..., Any]) -> Callable[..., Any]:
    def with_tracer(tracer: Any, *arguments: Any) -> Any:
        sys.settrace(tracer)  # only from here on does Python 3.11 trace
        return event(*arguments)

    @functools.wraps(event)
    def call(following: Following, *arguments: Any) -> Any:
        engine = WATCHER._engine
        thread = engine._threads.get(threading.get_ident()) if isinstance(engine, Tracing) else None
        if thread is None or thread._previous is None:
            return event(following, *arguments)
        engines = sys.gettrace()
        try:
            return sys.call_tracing(with_tracer, (thread._previous, following, *arguments))
        finally:
            if not following.ended:  # else the engine has given the thread back
                sys.settrace(engines)

    return call


@pytest.fixture(autouse=True)
def _measured(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.version_info < (3, 12) and request.config.pluginmanager.hasplugin("_cov"):
        for event in EVENTS:
            monkeypatch.setattr(Following, event, traced(getattr(Following, event)))
