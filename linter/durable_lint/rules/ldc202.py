"""LDC202 bare-except: `except:` that does not raise a suspension again on every path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.rules.ldc201 import discarding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.rules.finding import Finding
    from durable_lint.rules.view import ModuleView


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield one finding for each such handler, at its `except` keyword."""
    yield from discarding(view, "LDC202", bare=True)
