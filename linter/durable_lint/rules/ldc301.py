"""LDC301 plugin-attach-without-release: attached when a user function starts, and let go of by no hook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.rules import RULES
from durable_lint.rules.plugins import Report, at_place, plugins_of, released_in
from durable_lint.sdk import plugins as sdk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.rules.finding import Finding
    from durable_lint.rules.plugins import Plugin
    from durable_lint.rules.view import ModuleView

_RULE = RULES["LDC301"]


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield one finding for each attaching call."""
    yield from at_place(_RULE, (found for plugin in plugins_of(view) for found in _judge(plugin)))


def _judge(plugin: Plugin) -> Iterator[Report]:
    for acquire in plugin.acquires():
        if released_in(plugin, acquire):
            continue
        advice = (
            "release it in `on_user_function_end` and `on_user_function_complete`, or use `self.bind`"
            if plugin.is_completion
            else "release it in `on_user_function_end` for every outcome, or use `CompletionPlugin.bind`"
        )
        message = f"`{acquire.label}` attaches {acquire.pair_name}, and no hook releases it"
        yield Report(plugin, acquire, message, advice, (acquire,))
        for again in plugin.actions(sdk.END):
            if again.kind == "acquire" and again.pair is acquire.pair:
                message = f"`{again.label}` attaches {again.pair_name} once more instead of releasing it"
                yield Report(plugin, again, message, advice, (again,))
