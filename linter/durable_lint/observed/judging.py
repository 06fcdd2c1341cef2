"""Tells what of all that ran is not process-local: by the linter's own analysis and tables, under its
configuration.

A call is judged by what the linter makes of it where it stands. Where the linter can't see what is called,
the names that it went by at run time decide, and where the user's own code ran, that code is judged line by
line instead.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from durable_lint.config.load import ConfigError, absolute
from durable_lint.facts import model as m
from durable_lint.observed.model import Effect, Kind, Part, Place, Suspension
from durable_lint.observed.source import span_of
from durable_lint.observed.territory import Owner, is_test_code
from durable_lint.project.solver import pattern_matcher
from durable_lint.project.suspension import Step
from durable_lint.sdk import aws, effects
from durable_lint.source.text import SourceError, SourceSyntaxError, SourceText, parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from durable_lint.config.settings import Settings
    from durable_lint.linter import Linter
    from durable_lint.observed.following import Record, Region, Site
    from durable_lint.observed.naming import Named
    from durable_lint.observed.territory import Territory
    from durable_lint.project.unwinding import Effect as Foreseen
    from durable_lint.rules.view import ModuleView

_LOSING = (ast.Return, ast.Break, ast.Continue, ast.Raise)
_CANNOT = "cannot be seen"
_CONTROL_FLOW = frozenset(name.removeprefix("sdk.") for name in aws.CONTROL_FLOW)


class Judge:
    """Judges what was recorded. It has state: the modules that were read for it."""

    def __init__(self, linter: Linter, territory: Territory) -> None:
        self._linter = linter
        self._territory = territory
        self._modules: dict[Path, _Module | None] = {}

    def judged(self, record: Record) -> Suspension:
        """Return a record as a suspension, each of its parts with the rule that it breaks."""
        return Suspension(
            cause=record.cause,
            call=record.call,
            thread=record.thread,
            ran=tuple(record.ran),
            durable_calls=tuple(record.durable_calls),
            swallowed=record.swallowed,
            parts=tuple(self._part(region) for region in record.regions),
            passed=tuple(record.passed),
        )

    def _part(self, region: Region) -> Part:
        found = tuple(self._effects(region))
        rule, lost_rule = _rules(region, found)
        return Part(region.kind, region.place, rule, found, region.lost, lost_rule, _header(region))

    def _effects(self, region: Region) -> Iterator[Effect]:
        settings = self._settings(region.place.path)
        for call in region.calls:
            yield Effect(call.name or call.text, "is a durable operation", call.place)
        seen: set[Place] = set()
        for site in region.sites:
            if site.place in seen:
                continue
            seen.add(site.place)
            yield from self._of_site(site, settings)

    def _of_site(self, site: Site, settings: Settings) -> Iterator[Effect]:
        configured = _Configured(settings)
        for function in site.chain[1:]:
            owner = function.rpartition(".")[0]
            for name in (function, owner):
                if configured.effects(name):
                    yield Effect(name, "the configuration says so", site.place)
                    return
                if configured.local(name):
                    return
        if site.callee == "stack":
            for named in site.registered:
                effect = self._registered(named, configured, site.path)
                if effect is not None:
                    yield Effect(named.label, effect, site.place, effect == _CANNOT)
            return
        known = configured.decide(site.names)
        if known is not None:
            if known:
                yield Effect(site.text, "the configuration says so", site.place)
            return
        if site.callee == Owner.SDK.value:
            return
        seen = site.callee == Owner.USER.value
        foreseen, judged = self._foreseen(site, follow=not seen)
        if foreseen is None if judged else seen:
            return
        if seen and foreseen is not None and foreseen.unseen:
            return  # it was seen to run, line by line
        label = f"{site.text}.__exit__" if site.item is not None else site.text
        if foreseen is not None and not foreseen.unseen:
            yield Effect(foreseen.label, foreseen.reason, site.place)
            return
        reason = _by_name(site, configured.strict)
        if reason is not None:
            yield Effect(label, reason, site.place, reason == _CANNOT)

    def _registered(self, named: Named, configured: _Configured, path: Path) -> str | None:
        """Return why something on an `ExitStack` is not process-local, None when it is."""
        known = configured.decide(named.names)
        if known is not None:
            return "the configuration says so" if known else None
        if self._was_watched(named.filename, path):
            return None
        for name in named.names:
            entry = effects.call(name) or effects.manager(name)
            if entry is not None:
                return None if entry.local and not configured.strict else entry.reason
        return _CANNOT

    def _was_watched(self, filename: str, caller: Path) -> bool:
        """Return whether the lines of a function were watched: the user's own, and not a stand-in."""
        if not filename or self._territory.owner(filename) is not Owner.USER:
            return False
        return is_test_code(str(caller)) or not is_test_code(filename)

    # ---------------------------------------------------------------- the linter's view

    def _settings(self, path: Path) -> Settings:
        try:
            return self._linter.settings_for(absolute(path))
        except ConfigError:
            from durable_lint.config.settings import Settings

            return Settings(root=absolute(path).parent)

    def _foreseen(self, site: Site, *, follow: bool) -> tuple[Foreseen | None, bool]:
        """Return the effect that the linter sees in a call, and whether it could judge it at all.

        With `follow`, it looks into functions of the project, which did not run because something stood in
        for them.
        """
        module = self.module(site.path)
        if module is None:
            return None, False
        if site.item is not None:
            return (None, True) if not follow else module.of_item(site.item)
        assert site.call is not None
        return module.of_call(site.call, follow=follow)

    def module(self, path: Path) -> _Module | None:
        """Return a file as the linter sees it, None when it can't be read."""
        if path not in self._modules:
            self._modules[path] = self._read(path)
        return self._modules[path]

    def _read(self, path: Path) -> _Module | None:
        try:
            source = SourceText.read(absolute(path))
            view = self._linter.analysis(self._settings(path)).view(source, parse(source))
        except (SourceError, SourceSyntaxError, ConfigError):
            return None
        return _Module(view)


class _Configured:
    """What the configuration says about names."""

    def __init__(self, settings: Settings) -> None:
        self.local = pattern_matcher(settings.process_local)
        self.effects = pattern_matcher(settings.effects)
        self.strict = settings.strict

    def decide(self, names: tuple[str, ...]) -> bool | None:
        """Return True for an effect, False for what is process-local, None when nothing is said."""
        for name in names:
            owner = name.rpartition(".")[0]
            for one in (name, owner):
                if one and self.effects(one):
                    return True
                if one and self.local(one):
                    return False
        return None


class _Module:
    """One module's calls and `with` items, by their place."""

    def __init__(self, view: ModuleView) -> None:
        self._view = view
        self._calls: dict[tuple[int, ...], m.Call] = {}
        self._items: dict[tuple[int, ...], tuple[m.With, m.Item]] = {}
        for fact in view.module.function_of:
            if isinstance(fact, m.Call):
                self._calls[tuple(fact.at)] = fact
            elif isinstance(fact, m.With):
                for item in fact.items:
                    self._items[tuple(item.manager.at)] = (fact, item)

    def of_call(self, node: ast.Call, *, follow: bool) -> tuple[Foreseen | None, bool]:
        call = self._calls.get(tuple(span_of(node)))
        function = None if call is None else self._view.module.function_of.get(call)
        judged = False
        for frame in self._view.solver.frames_of.get(function, ()) if function is not None else ():
            record = frame.records.get(call)
            if record is None or call is None:
                continue
            if record.durable or record.registration or (record.targets and not follow):
                return None, True  # seen as a durable call, or line by line
            judged = True
            found = self._view.unwinding.step_effect(frame, Step(call, record))
            if found is not None:
                return found, True
        return None, judged

    def of_item(self, node: ast.withitem) -> tuple[Foreseen | None, bool]:
        found = self._items.get(tuple(span_of(node.context_expr)))
        if found is None:
            return None, False
        statement, item = found
        function = self._view.module.function_of.get(statement)
        judged = False
        for frame in self._view.solver.frames_of.get(function, ()) if function is not None else ():
            judged = True
            for kind in aws.SUSPENSIONS:
                effect = self._view.unwinding.item_exit(frame, item, kind).effect
                if effect is not None:
                    return effect, True
        return None, judged


def _header(region: Region) -> frozenset[int]:
    if region.clause is not None:
        return frozenset({region.clause.statement.lineno} if region.clause.handler is None else ())
    if region.statement is None:
        return frozenset()
    last = max(item.context_expr.end_lineno or 0 for item in region.statement.items)
    return frozenset((region.statement.lineno, last))


def _by_name(site: Site, strict: bool) -> str | None:
    """Return why a call of what the linter can't see is not process-local, None when it is."""
    for name in site.names:
        entry = effects.manager(name) if site.item is not None else effects.call(name)
        if entry is not None:
            return None if entry.local and not strict else entry.reason
    if site.item is None and site.names and not strict:
        last = site.names[0].rpartition(".")[2]
        if "." not in site.names[0] or site.names[0].startswith("builtins.") or last[:1].isupper():
            return None  # building a value, or a built-in
    return _CANNOT


def _rules(region: Region, found: tuple[Effect, ...]) -> tuple[str, str]:
    """Return the codes for what a part did, and for losing the suspension."""
    clause = region.clause
    if region.kind is Kind.EXCEPT and clause is not None and clause.handler is not None:
        named = _named(clause.handler)
        if named and region.acted:
            return "LDC203", ""
        if region.lost is not None:
            return "", "LDC202" if clause.handler.type is None else "LDC201"
        return ("LDC204" if found else ""), ""
    if region.kind is Kind.EXIT:
        rule = "LDC103" if region.is_stack else "LDC102"
        return (rule if found else ""), ("LDC105" if region.lost is not None else "")
    if region.kind in {Kind.FINALLY, Kind.CLOSING}:
        rule = "LDC103" if region.is_stack else "LDC101"
        lost = region.lost is not None and region.last is not None and isinstance(region.last[0], _LOSING)
        return (rule if found else ""), ("LDC104" if lost else "")
    return "", ("LDC201" if region.lost is not None else "")


def _named(handler: ast.ExceptHandler) -> str:
    """Return the SDK's control-flow exception that a handler names, "" when it names `BaseException` or
    none.
    """
    if handler.type is None:
        return ""
    names = [
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in ast.walk(handler.type)
        if isinstance(node, ast.Attribute | ast.Name)
    ]
    if "BaseException" in names:
        return ""
    return next((name for name in names if name in _CONTROL_FLOW), "")
