"""LDC305 plugin-incomplete-as-success: a span is ended, or a success counted, for a function that is
incomplete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.facts import model as m
from durable_lint.rules import RULES
from durable_lint.rules.plugins import Known, Report, at_place, ends_span, plugins_of, releases
from durable_lint.sdk import plugins as sdk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from durable_lint.rules.finding import Finding
    from durable_lint.rules.plugins import Action, Plugin
    from durable_lint.rules.view import ModuleView

_RULE = RULES["LDC305"]
_STATUS = "set_status"


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield one finding for each call that ends or counts."""
    yield from at_place(_RULE, (found for plugin in plugins_of(view) for found in _judge(plugin)))


def _judge(plugin: Plugin) -> Iterator[Report]:
    outcome = sdk.incomplete_outcome(plugin.view.sdk_version)
    end = plugin.hooks.get(sdk.END)
    if end is not None and outcome is not None and not end.is_two_valued:
        for action in _wrong(plugin, plugin.reached(sdk.END, Known(outcome))):
            message = f"{_what(action)}, but `on_user_function_end` is also called with {outcome}"
            advice = "do it for SUCCEEDED and FAILED only: the function may still resume"
            yield Report(plugin, action, message, advice)
    if plugin.is_completion:
        for action in _wrong(plugin, plugin.actions(sdk.COMPLETE)):
            message = f"{_what(action)}, but the function has not ended"
            advice = "do it in `on_user_function_end`: the function may still resume"
            yield Report(plugin, action, message, advice)


def _wrong(plugin: Plugin, actions: list[Action]) -> list[Action]:
    """Return the actions that end or count; where a span is ended, its status is not reported besides."""
    ending = [acquire for acquire in plugin.acquires() if ends_span(acquire)]
    found = [
        action
        for action in actions
        if action.kind in ("end", "success")
        or action.ends
        or (action.kind == "release" and any(releases(action, acquire, plugin) for acquire in ending))
    ]
    if any(action.kind != "success" for action in found):
        found = [action for action in found if not _sets_status(action)]
    return found


def _sets_status(action: Action) -> bool:
    return isinstance(action.fact, m.Call) and m.last_name(action.fact.function) == _STATUS


def _what(action: Action) -> str:
    verb = "counts a success" if action.kind == "success" else "ends the span"
    return f"`{action.label}` {verb}"
