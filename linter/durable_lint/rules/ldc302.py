"""LDC302 plugin-release-misses-suspension: let go of only in an end hook that is not called for a
suspension.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.rules import RULES
from durable_lint.rules.plugins import header_of, plugins_of, released_in
from durable_lint.sdk import plugins as sdk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.facts import model as m
    from durable_lint.rules.finding import Finding
    from durable_lint.rules.view import ModuleView

_RULE = RULES["LDC302"]


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield one finding for each end hook, at its `def`."""
    seen: set[m.At] = set()
    for plugin in plugins_of(view):
        end = plugin.hooks.get(sdk.END)
        if end is None or not (end.is_two_valued or sdk.incomplete_outcome(view.sdk_version) is None):
            continue
        for acquire in plugin.acquires():
            hooks = released_in(plugin, acquire)
            if sdk.END not in hooks or sdk.COMPLETE in hooks:
                continue
            if end.is_two_valued and any(
                plugin.is_told_behind_the_mixin(release) for release in plugin.releases_in(sdk.END, acquire)
            ):
                continue
            if not acquire.thread_bound and hooks & set(sdk.ELSEWHERE):
                continue
            at = header_of(plugin, end)
            if at in seen:
                continue
            seen.add(at)
            why = (
                "a `CompletionPlugin` is not called there for a function that does not complete"
                if end.is_two_valued
                else "SDK {}.{} does not call it for a function that is suspended".format(*view.sdk_version)
            )
            yield view.finding(
                _RULE,
                at,
                f"only `on_user_function_end` releases `{acquire.label}` (line {acquire.fact.at.row}): {why}",
                help="release in `CompletionPlugin.on_user_function_complete` too, and call `install()`",
                subject=(plugin, acquire),
            )
