"""What a suspension really runs: watches executions on the SDK's test runner, and reports like the linter.

`watch_suspensions` is a context manager for any test runner; `durable_lint.pytest_plugin` is the same for
pytest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from durable_lint.observed.suspensions import Suspensions, UnsafeSuspensions, watch_suspensions

__all__ = ["Suspensions", "UnsafeSuspensions", "watch_suspensions"]


def __getattr__(name: str) -> object:
    if name in __all__:
        from durable_lint.observed import suspensions

        return getattr(suspensions, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
