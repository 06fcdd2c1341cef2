"""LDC303 plugin-release-skips-incomplete: an end hook that can leave, or pass by, before it lets go."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from durable_lint.facts import model as m
from durable_lint.project.flags import expressions_of
from durable_lint.rules import RULES
from durable_lint.rules.plugins import (
    Known,
    Scope,
    calls_in,
    depends_on_notification,
    plugins_of,
    reachable_cases,
    released_in,
    runs,
)
from durable_lint.rules.view import blocks_of
from durable_lint.sdk import plugins as sdk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from durable_lint.rules.finding import Finding
    from durable_lint.rules.plugins import Action, Hook, Plugin
    from durable_lint.rules.view import ModuleView

_RULE = RULES["LDC303"]
_DEEPEST = 6


def check(view: ModuleView) -> Iterator[Finding]:
    """Yield one finding for each condition, `return` or `raise` that skips a release."""
    seen: set[m.At] = set()
    for plugin in plugins_of(view):
        for acquire in plugin.acquires():
            for culprit in _culprits(plugin, acquire):
                at = _keyword(culprit.statement)
                if culprit.module is not view.module or at in seen:
                    continue
                seen.add(at)
                how = {
                    m.If: "this condition passes by",
                    m.Match: "this `match` passes by",
                    m.Return: "this `return` leaves before",
                    m.Raise: "this `raise` leaves before",
                }[type(culprit.statement)]
                release = plugin.releases_in(culprit.hook, acquire)[0]
                end = culprit.hook == sdk.END
                end = culprit.hook == sdk.END
                when = "the outcome is INCOMPLETE" if end else "a function does not complete"
                yield view.finding(
                    _RULE,
                    at,
                    f"{how} `{release.label}` (line {release.fact.at.row}) when {when}:"
                    f" `{acquire.label}` (line {acquire.fact.at.row}) stays attached",
                    help="release first, whatever the outcome is",
                    subject=(plugin, acquire, culprit.hook, culprit.statement),
                )


class Culprit(NamedTuple):
    """What keeps a hook from its release."""

    statement: m.Statement
    module: m.ModuleFacts
    hook: str


def _culprits(plugin: Plugin, acquire: Action) -> list[Culprit]:
    hooks = released_in(plugin, acquire)
    if not acquire.thread_bound and hooks & set(sdk.ELSEWHERE):
        return []
    found: list[Culprit] = []
    end = plugin.hooks.get(sdk.END)
    if end is not None and sdk.END in hooks and not end.is_two_valued and plugin.view.sdk_version >= (2, 0):
        found += Search(plugin, acquire, end, "INCOMPLETE").culprits()
    complete = plugin.hooks.get(sdk.COMPLETE)
    if complete is not None and sdk.COMPLETE in hooks:
        found += Search(plugin, acquire, complete, None).culprits()
    return found


class _Way(NamedTuple):
    """One way through a block: whether it leaves the function, whether it has released, and what kept it from
    that.
    """

    leaves: bool
    released: bool
    culprit: tuple[m.Statement, m.ModuleFacts] | None


_Kept = tuple[m.Statement, "m.ModuleFacts"]
_Block = tuple[m.Statement, ...]


class Search:
    """Looks for a way through a hook, when a function is incomplete, that does not let go of one thing."""

    def __init__(self, plugin: Plugin, acquire: Action, hook: Hook, outcome: str | None) -> None:
        self.hook = hook
        releasing = plugin.releases_in(hook.name, acquire)
        self.facts = {action.fact for action in releasing}
        self.sources = frozenset[str]().union(*(action.sources for action in releasing))
        # What held when it was attached still holds, but for what is known of the attachment itself.
        self.known = Known(
            outcome, tuple(one for one in acquire.conditions if not one.sources & self.sources)
        )
        self._active: list[m.Function] = []

    def culprits(self) -> list[Culprit]:
        """Return what keeps the hook from its release, in the order of the source."""
        kept = [way.culprit for way in self._function(self.hook.scope) if not way.released and way.culprit]
        kept.sort(key=lambda one: (one[0].at.row, one[0].at.column))
        return [Culprit(statement, module, self.hook.name) for statement, module in dict.fromkeys(kept)]

    def _function(self, scope: Scope) -> set[_Way]:
        function = scope.frame.function
        if function is None or function in self._active or len(self._active) >= _DEEPEST:
            return {_Way(False, False, None)}
        self._active.append(function)
        ways = self._block(scope, function.body, _Way(False, False, None))
        self._active.pop()
        return ways

    def _block(self, scope: Scope, block: Iterable[m.Statement], way: _Way) -> set[_Way]:
        ways, left = {way}, set()
        for statement in block:
            ways = {after for before in ways for after in self._statement(scope, statement, before)}
            left |= {one for one in ways if one.leaves}
            ways -= left
        return ways | left

    def _statement(self, scope: Scope, statement: m.Statement, way: _Way) -> set[_Way]:
        way = self._own(scope, statement, way)
        here = (statement, scope.frame.module)
        match statement:
            case m.Return() | m.Raise():
                blamed = way.culprit if way.released or way.culprit else here
                return {_Way(True, way.released, blamed)}
            case m.If():
                return self._if(scope, statement, way)
            case m.Match():
                return self._match(scope, statement, way)
            case m.With():
                return self._block(scope, statement.body, way)
            case m.For() | m.While():
                return {one._replace(leaves=False) for one in self._block(scope, statement.body, way)}
            case m.Try():
                return self._try(scope, statement, way)
        return {way}

    def _if(self, scope: Scope, statement: m.If, way: _Way) -> set[_Way]:
        truth = self.known.truth(scope, statement.test)
        taken = [statement.body] if truth is not False else []
        if truth is not True:
            taken.append(statement.orelse)
        about_it = bool(scope.sources(statement.test) & self.sources)
        asked = depends_on_notification(scope, statement.test)
        excuse = truth is None and (about_it or (self.known.outcome is None and not asked))
        here = (statement, scope.frame.module)
        ways = self._branches(scope, here, taken, (statement.body, statement.orelse), way, excuse=excuse)
        following = _elif_of(statement)  # of a chain, the first `if` is blamed
        return {
            one._replace(culprit=here) if one.culprit is not None and one.culprit[0] is following else one
            for one in ways
        }

    def _match(self, scope: Scope, statement: m.Match, way: _Way) -> set[_Way]:
        taken = [case.body for case in reachable_cases(scope, statement, self.known)]
        about_outcome = scope.symbol(statement.subject) == "outcome" and self.known.outcome is not None
        if not any(case.irrefutable for case in statement.cases) and not (about_outcome and taken):
            taken.append(())
        every = tuple(case.body for case in statement.cases)
        here = (statement, scope.frame.module)
        return self._branches(scope, here, taken, every, way, excuse=False)

    def _branches(
        self,
        scope: Scope,
        here: _Kept,
        taken: Iterable[_Block],
        every: Iterable[_Block],
        way: _Way,
        *,
        excuse: bool,
    ) -> set[_Way]:
        """Return the ways through the branches that can be taken.

        One that passes by a release in another branch is kept from it by the condition. With `excuse` it is
        not: the condition asks whether there is something to let go of.
        """
        somewhere = any(self._contains(scope, body) for body in every)
        found: set[_Way] = set()
        for body in taken:
            passes_by = somewhere and not self._contains(scope, body)
            for one in self._block(scope, body, way):
                if one.released:
                    found.add(one)
                elif excuse and not self._contains(scope, body):
                    found.add(one._replace(released=True, culprit=None))
                elif passes_by and not one.leaves and one.culprit is None:
                    found.add(one._replace(culprit=here))
                else:
                    found.add(one)
        return found

    def _try(self, scope: Scope, statement: m.Try, way: _Way) -> set[_Way]:
        ways = self._block(scope, statement.body, way)
        if statement.handlers:
            raised = {
                one for one in ways if one.leaves and one.culprit and isinstance(one.culprit[0], m.Raise)
            }
            ways -= raised
            for one in raised:
                for handler in statement.handlers:
                    ways |= self._block(scope, handler.body, one._replace(leaves=False))
        falling = {one for one in ways if not one.leaves}
        ways -= falling
        for one in falling:
            ways |= self._block(scope, statement.orelse, one)
        found: set[_Way] = set()
        for one in ways:
            for after in self._block(scope, statement.finalbody, one._replace(leaves=False)):
                culprit = None if after.released else after.culprit or one.culprit
                found.add(_Way(after.leaves or one.leaves, after.released, culprit))
        return found

    def _own(self, scope: Scope, statement: m.Statement, way: _Way) -> _Way:
        """What the statement's own expressions change: they release, or call what may."""
        if statement in self.facts:
            return way._replace(released=True, culprit=None)
        for expression in expressions_of(statement):
            for call in calls_in(expression):
                if call in self.facts:
                    return way._replace(released=True, culprit=None)
                for inner in runs(scope, call):
                    if inner.frame.function is None or not self._contains(inner, inner.frame.function.body):
                        continue
                    ways = self._function(inner)
                    kept = next((one.culprit for one in ways if not one.released), None)
                    way = way._replace(released=way.released or kept is None, culprit=way.culprit or kept)
        return way

    def _contains(self, scope: Scope, block: Iterable[m.Statement], depth: int = 0) -> bool:
        """Whether a block lets go somewhere, itself or through what it calls."""
        if depth > _DEEPEST:
            return False
        for statement in block:
            if statement in self.facts:
                return True
            for expression in expressions_of(statement):
                for call in calls_in(expression):
                    if call in self.facts:
                        return True
                    for inner in runs(scope, call):
                        function = inner.frame.function
                        if function is not None and self._contains(inner, function.body, depth + 1):
                            return True
            if any(self._contains(scope, inside, depth) for inside in blocks_of(statement)):
                return True
        return False


def _elif_of(statement: m.If) -> m.Statement | None:
    """Return the `elif` that follows an `if`; an `if` inside its `else` stands further to the right."""
    if len(statement.orelse) == 1 and statement.orelse[0].at.column == statement.at.column:
        return statement.orelse[0]
    return None


def _keyword(statement: m.Statement) -> m.At:
    """Return the place of a statement's first line."""
    at = statement.at
    if isinstance(statement, m.If):
        return m.At(at.row, at.column, statement.test.at.end_row, statement.test.at.end_column)
    if isinstance(statement, m.Match):
        return m.At(at.row, at.column, statement.subject.at.end_row, statement.subject.at.end_column)
    return at
