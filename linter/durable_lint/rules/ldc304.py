"""LDC304 plugin-release-on-other-thread: thread-bound state, let go of only where another thread may run."""

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

_RULE = RULES["LDC304"]


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield one finding for each releasing call."""
    yield from at_place(_RULE, (found for plugin in plugins_of(view) for found in _judge(plugin)))


def _judge(plugin: Plugin) -> Iterator[Report]:
    for acquire in plugin.acquires():
        hooks = released_in(plugin, acquire)
        if not acquire.thread_bound or not hooks or hooks & {sdk.END, sdk.COMPLETE}:
            continue
        for hook in sdk.ELSEWHERE:
            for release in plugin.releases_in(hook, acquire):
                message = (
                    f"`{release.label}` runs in `{hook}`, which can run on another thread than"
                    f" `{acquire.label}` (line {acquire.fact.at.row}), which attached {acquire.pair_name}"
                )
                advice = (
                    "release it in `on_user_function_end` for every outcome, or use `CompletionPlugin.bind`"
                )
                yield Report(plugin, release, message, advice, (acquire, hook))
