"""LDC305: not judged yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.rules.finding import Finding
    from durable_lint.rules.view import ModuleView


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield nothing."""
    return iter(())
