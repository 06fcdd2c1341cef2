"""What the tool says about itself: its rules, one rule's page, and the settings in force."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from durable_lint.config.load import KEYS, toml
from durable_lint.config.paths import shown
from durable_lint.config.selectors import rules as known_rules
from durable_lint.report.addresses import rule_url
from durable_lint.report.explain import page, render

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from durable_lint.config.selectors import RuleInfo
    from durable_lint.config.settings import Settings
    from durable_lint.report.style import Style


def rules(style: Style) -> Iterator[str]:
    """Yield a line for each rule: code, whether it has fixes, name, what it reports."""
    known = list(known_rules().values())
    width = max((len(rule.name) for rule in known), default=0)
    for rule in known:
        code = style.link(style.paint(rule.code, "red", "bold"), rule_url(rule.code))
        off = "" if rule.default else " (off by default)"
        mark = "[*]" if rule.fixable else "[ ]"
        yield f"{code} {mark} {style.paint(f'{rule.name:<{width}}', 'bold')}  {rule.summary}{off}\n"


def rules_json() -> Iterator[str]:
    """Yield all rules as a JSON list."""
    yield json.dumps([_about(rule) for rule in known_rules().values()], indent=2) + "\n"


def explanation(rule: RuleInfo, style: Style) -> Iterator[str]:
    """Yield a rule's page for a terminal."""
    yield from render(_page(rule), style)


def explanation_json(rule: RuleInfo) -> Iterator[str]:
    """Yield a rule with its page as a JSON object."""
    yield json.dumps({**_about(rule), "explanation": _page(rule)}, indent=2) + "\n"


def _page(rule: RuleInfo) -> str:
    return page(rule.code) or f"# {rule.code} {rule.name}\n\n{rule.summary}\n"


def _about(rule: RuleInfo) -> dict[str, object]:
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": rule.summary,
        "default": rule.default,
        "fixable": rule.fixable,
        "url": rule_url(rule.code),
    }


def settings(current: Settings, path: Path, style: Style) -> Iterator[str]:
    """Yield each setting as a configuration file would write it, with where its value came from."""
    yield style.paint(f"# settings for {shown(path)}", "dim") + "\n"
    yield style.paint(f"# project root: {current.root}", "dim") + "\n"
    for key, (value, origin) in _values(current, path).items():
        written = f"# {key} is not set" if value is None else f"{key} = {toml(value)}"
        yield f"{written}{style.paint(f'  # {origin}', 'dim')}\n"


def settings_json(current: Settings, path: Path) -> Iterator[str]:
    """Yield the settings as a JSON object: value and origin by key."""
    values = {
        key: {"value": json.loads(json.dumps(value, default=str)), "origin": origin}
        for key, (value, origin) in _values(current, path).items()
    }
    yield json.dumps({"path": str(path), "root": str(current.root), "settings": values}, indent=2) + "\n"


def _values(current: Settings, path: Path) -> dict[str, tuple[object, str]]:
    from durable_lint.config.sdk_version import detect

    found: dict[str, tuple[object, str]] = {}
    for key in KEYS:
        if key == "extend":
            continue
        value: object = getattr(current, key.replace("-", "_"))
        origin = current.origin(key)
        if key == "select" and value is None:
            value = [rule.code for rule in known_rules().values() if rule.default]
        elif key == "per-file-ignores":
            value = {glob: list(codes) for glob, codes in current.per_file_ignores}
        elif key == "sdk-version":
            version = detect(path, current)
            value, origin = version.version, version.origin
        elif key == "cache-dir":
            value = current.cache_directory
        found[key] = (value, origin)
    return found
