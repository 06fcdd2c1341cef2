"""One way to write a scope for a test that is true of both forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from durable_runtime import terminal_scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_durable_execution_sdk_python import DurableContext
    from durable_runtime import DurableTerminalActions, TerminalScopeConfig

T = TypeVar("T")

FORMS = ("in place", "isolated")


def run_scope(
    context: DurableContext,
    form: str,
    body: Callable[[DurableContext, DurableTerminalActions], T],
    *,
    name: str = "scope",
    config: TerminalScopeConfig | None = None,
) -> T:
    """Run `body` in a scope of the given form, and return its value."""
    if form == "isolated":
        return terminal_scope(context, body, name=name, config=config)
    with terminal_scope(context, name=name, config=config) as terminal:
        return body(context, terminal)
