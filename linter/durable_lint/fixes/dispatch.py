"""Which rewrite belongs to which rule."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from durable_lint.facts import model as m
from durable_lint.fixes import exits, handlers, managers, plugins, registrations, repeated, scope, stacks
from durable_lint.fixes.place import Place
from durable_lint.fixes.tree import Block, Refused, SourceTree
from durable_lint.project.values import Manager
from durable_lint.rules.view import suspension_kinds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from durable_lint.config.settings import Settings
    from durable_lint.project.frames import Frame
    from durable_lint.rules.finding import Finding, Fix
    from durable_lint.rules.view import ModuleView


class Proposer:
    """Works out the fixes of one module. Keeps the trees of the files that it has looked at."""

    def __init__(self, view: ModuleView, settings: Settings, tree: ast.Module | None) -> None:
        self.view = view
        self.settings = settings
        self._tree = tree
        self._trees: dict[Path, SourceTree] = {}

    def fix(self, finding: Finding) -> Fix | None:
        """Return the fix of a finding, None for a rule that has none. Raises `Refused`."""
        rule = _RULES.get(finding.code)
        if rule is None or not isinstance(finding.subject, tuple):
            return None
        return rule(self, finding)

    def tree(self, module: m.ModuleFacts) -> SourceTree:
        """Return the tree of a module of the project."""
        if module.path not in self._trees:
            tree = self._tree if module is self.view.module else None
            self._trees[module.path] = SourceTree(module.source, tree)
        return self._trees[module.path]

    def place(self, fact: m.Try | m.With, module: m.ModuleFacts | None = None) -> Place:
        """Return a block as the rewrites see it. Raises `Refused`."""
        module = module or self.view.module
        tree = self.tree(module)
        node = tree.find(fact.at, (ast.Try, ast.TryStar, ast.With, ast.AsyncWith))
        assert isinstance(node, Block)
        return Place(self.view, tree, module, fact, node, self.settings.fix_form == "callable")

    def is_first_party(self, module: str) -> bool:
        """Whether an import leads to a file of the project."""
        return self.view.solver.modules.named(module, self.view.module.path) is not None

    # ------------------------------------------------ the rules

    def _finally(self, finding: Finding) -> Fix:
        fact, _ = _subject(finding)
        if not isinstance(fact, m.Try):
            raise Refused("it is not a `try`")
        return scope.rewrite_finally(self.place(fact), self.is_first_party)

    def _with(self, finding: Finding) -> Fix:
        if not isinstance(_subject(finding)[0], tuple):
            raise Refused("it is a decorator: enter the manager inside the function")
        (statement, item), frame = _pair(finding, m.With, m.Item)
        return managers.rewrite_item(self.place(statement), item, frame, self.place, self.is_first_party)

    def _stack(self, finding: Finding) -> Fix:
        fact, inside = _subject(finding)
        if isinstance(fact, m.Try):
            return stacks.rewrite_finally(self.place(fact), inside, self.place, self.is_first_party)
        (statement, item), frame = _pair(finding, m.With, m.Item)
        return stacks.rewrite(self.place(statement), item, frame, self.place, self.is_first_party)

    def _leaves(self, finding: Finding) -> Fix:
        (statement, leaving), _ = _pair(finding, m.Try, m.Statement)
        return exits.move_out(self.place(statement), leaving)

    def _swallows(self, finding: Finding) -> Fix:
        (statement, item), frame = _pair(finding, m.With, m.Item)
        made = self._made(item, frame)
        if made is None:
            return handlers.narrow_suppress(self.place(statement), item, frame)
        function, module, inside = made
        for around in managers.around_yield(function.body):
            if isinstance(around, m.Try):
                for kind in suspension_kinds():
                    handler = self.view.unwinding.handler_of(inside, around, kind)
                    if handler is not None:
                        return handlers.narrow(self.place(around, module), handler, inside)
        raise Refused(f"what `{function.name}` swallows is written elsewhere: let it catch `Exception` there")

    def _made(self, item: m.Item, frame: Frame) -> tuple[m.Function, m.ModuleFacts, Frame] | None:
        """Return the generator of the project that makes a manager, None when none does."""
        for value in self.view.solver.value(frame, item.manager):
            if isinstance(value, Manager):
                return value.function.function, value.function.module, value.frame
        return None

    def _catches(self, finding: Finding) -> Fix:
        (statement, handler), frame = _pair(finding, m.Try, m.Handler)
        return handlers.narrow(self.place(statement), handler, frame)

    def _control_flow(self, finding: Finding) -> Fix:
        (statement, handler), frame = _pair(finding, m.Try, m.Handler)
        return handlers.remove(self.place(statement), handler, frame)

    def _undoes(self, finding: Finding) -> Fix:
        (statement, handler), frame = _pair(finding, m.Try, m.Handler)
        return handlers.undo(self.place(statement), handler, frame, self.is_first_party)

    def _outer_context(self, finding: Finding) -> Fix:
        found, frame = _subject(finding)
        assert isinstance(found, tuple)
        call, operation = found
        return registrations.use_own_context(self.view, self.tree(self.view.module), call, operation, frame)

    def _loop_variable(self, finding: Finding) -> Fix:
        found, _ = _subject(finding)
        assert isinstance(found, tuple)
        registration, action, rebound = found
        return registrations.bind_as_default(self.tree(self.view.module), registration, action, rebound)

    def _durable_action(self, finding: Finding) -> Fix:
        (registration, _), frame = _pair(finding, m.Call, m.Call)
        tree = self.tree(self.view.module)
        return registrations.use_context_form(self.view, tree, registration, frame, self.is_first_party)

    def _late(self, finding: Finding) -> Fix:
        (registration, name), _ = _pair(finding, m.Call, str)
        return registrations.move_up(self.tree(self.view.module), registration, name)

    def _repeats(self, finding: Finding) -> Fix:
        (statement, _, found), _ = _pair(finding, m.Try, m.Handler)
        return repeated.rewrite(self.place(statement), found, self.is_first_party)

    def _plugin(self, finding: Finding) -> tuple[plugins.Rewrite, tuple[Any, ...]]:
        subject: Any = _subject(finding)[0]  # a plugin, and what its rule adds
        tree = self.tree(self.view.module)
        return plugins.Rewrite(self.view, tree, subject[0], self.is_first_party), subject[1:]

    def _binds(self, finding: Finding) -> Fix:
        rewrite, (acquire,) = self._plugin(finding)
        return rewrite.bind(acquire)

    def _completes(self, finding: Finding) -> Fix:
        rewrite, _ = self._plugin(finding)
        return rewrite.complete()

    def _releases_first(self, finding: Finding) -> Fix:
        rewrite, (acquire, hook, statement) = self._plugin(finding)
        return rewrite.move_up(hook, acquire, statement)

    def _releases_at_end(self, finding: Finding) -> Fix:
        rewrite, (acquire, hook) = self._plugin(finding)
        return rewrite.move_to_end(hook, acquire)


def _by_hand(what: str) -> Callable[[Proposer, Finding], Fix]:
    """Return a rule without a rewrite, that says what to do."""

    def refuse(_: Proposer, __: Finding) -> Fix:
        raise Refused(f"only its author can tell: {what}")

    return refuse


# Not in the proposer: with methods bound to it in it, its trees would wait for the garbage collector.
_RULES: dict[str, Callable[[Proposer, Finding], Fix | None]] = {
    "LDC101": Proposer._finally,
    "LDC102": Proposer._with,
    "LDC103": Proposer._stack,
    "LDC104": Proposer._leaves,
    "LDC105": Proposer._swallows,
    "LDC201": Proposer._catches,
    "LDC202": Proposer._catches,
    "LDC203": Proposer._control_flow,
    "LDC204": Proposer._undoes,
    "LDC401": Proposer._outer_context,
    "LDC402": Proposer._durable_action,
    "LDC403": Proposer._loop_variable,
    "LDC404": Proposer._late,
    "LDC405": _by_hand("register in a scope around the `map` or `parallel`, or complete all branches"),
    "LDC406": _by_hand("open a scope inside the operation"),
    "LDC407": _by_hand("enter it by `with` where it is made"),
    "LDC301": Proposer._binds,
    "LDC302": Proposer._completes,
    "LDC303": Proposer._releases_first,
    "LDC304": Proposer._releases_at_end,
    "LDC205": Proposer._repeats,
}


def _subject(finding: Finding) -> tuple[object, Frame]:
    subject = finding.subject
    assert isinstance(subject, tuple)
    return subject[0], subject[1]


def _pair(finding: Finding, first: type, second: type) -> tuple[tuple, Frame]:  # type: ignore[type-arg]
    found, frame = _subject(finding)
    if isinstance(found, tuple) and isinstance(found[0], first) and isinstance(found[1], second):
        return found, frame
    raise Refused("its place in the file cannot be found")
