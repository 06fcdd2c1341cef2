"""Takes one project's modules through gate, facts, project and rules. The only place that knows all of them.

It has state: the import index and the modules that were read. It knows nothing of suppressions, output or
options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from durable_lint.source.text import parse

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable
    from pathlib import Path

    from durable_lint.config.settings import Settings
    from durable_lint.gate import ImportIndex
    from durable_lint.project.modules import Modules
    from durable_lint.project.solver import Solver
    from durable_lint.report.run import Note
    from durable_lint.rules.finding import Finding
    from durable_lint.rules.view import ModuleView
    from durable_lint.source.text import SourceText


class Analysis:
    """The judgement of one project's files, as its settings want it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._index: ImportIndex | None = None
        self._modules: Modules | None = None
        self._solver: Solver | None = None
        self._views: dict[Path, ModuleView] = {}
        self._notes: dict[Path, tuple[Note, ...]] = {}
        self._passed: dict[Path, tuple[bytes, bool]] = {}
        """Whether the gate let a content through by its tree."""
        self._last: tuple[SourceText, ast.Module] | None = None
        """The last module that was parsed for its own sake: the one whose fixes are asked for next."""

    @property
    def index(self) -> ImportIndex:
        """The imports of the project, read when first asked for."""
        if self._index is None:
            from durable_lint.gate import ImportIndex, Words

            settings = self.settings
            self._index = ImportIndex(
                settings.root,
                settings.src,
                words=Words.with_names((*settings.suspending, *settings.context_types)),
                respect_gitignore=settings.respect_gitignore,
            )
        return self._index

    @property
    def modules(self) -> Modules:
        """The modules that questions have led to."""
        if self._modules is None:
            from durable_lint.project.modules import Modules

            self._modules = Modules(self.index, self._look_at)
        return self._modules

    @property
    def parsed(self) -> int:
        """How many modules were parsed to answer what was asked so far."""
        return 0 if self._modules is None else self._modules.parsed

    def could_hold_finding(self, path: Path, raw: bytes, tree: ast.Module | None) -> bool:
        """Return False only where a file certainly holds no finding.

        `tree` is its tree where one is at hand.
        """
        from durable_lint.gate import could_hold_finding

        settings = self.settings
        return could_hold_finding(
            self.index,
            path,
            raw,
            tree,
            strict=settings.strict or bool(settings.effects),
            repeated=settings.is_enabled("LDC205"),
        )

    def update(self, path: Path, raw: bytes | None) -> None:
        """Say that a file's content is now `raw`, or again what is on disk where it is None."""
        self.index.add(path, raw)
        self._passed.pop(path, None)
        if self._modules is not None:
            self._modules.forget(path)
        self._solver = None
        self._views.clear()
        self._notes.clear()

    def findings(
        self, source: SourceText, tree: ast.Module | None = None, *, every_rule: bool = False
    ) -> list[Finding]:
        """Return what the enabled rules (with `every_rule`: all rules) find in a module, suppressed ones
        included. `tree` is its tree where one is at hand. Raises `SourceSyntaxError`.
        """
        content, passes = self._passed.get(source.path, (None, False))
        if content != source.raw or self._modules is None or not self._modules.has(source):
            tree = parse(source) if tree is None else tree
            self._last = source, tree
            passes = self._look_at(source, tree)
        if not passes:
            return []
        from durable_lint.rules import RULES, check
        from durable_lint.sdk.aws import PACKAGE, RUNTIME

        if not {PACKAGE, RUNTIME}.isdisjoint(source.path.parts):
            return []  # the SDK and the runtime are what raises the control flow and tells it from an outcome
        if not self.modules.may_hold_context(source.path):
            return []
        codes = [code for code in RULES if every_rule or self.settings.is_enabled(code)]
        return check(self.view(source, tree), codes)

    def _look_at(self, source: SourceText, tree: ast.Module) -> bool:
        """Return, and remember, whether a module that was just parsed passes the gate: its tree is not kept."""
        from durable_lint.gate import passes_tree

        settings = self.settings
        passes = passes_tree(
            self.index,
            source.path,
            source.raw,
            tree,
            strict=settings.strict or bool(settings.effects),
            repeated=settings.is_enabled("LDC205") or settings.is_enabled("LDC901"),
        )
        self._passed[source.path] = source.raw, passes
        return passes

    def with_fixes(self, path: Path, findings: Iterable[Finding]) -> list[Finding]:
        """Return findings of a module judged before, each with a fix or the reason why there is none."""
        from durable_lint.fixes import propose

        view = self._views.get(path)
        found = list(findings)
        if view is None:
            return found
        tree = self._last[1] if self._last and self._last[0] is view.module.source else None
        return propose(view, found, self.settings, tree)

    def notes(self, path: Path) -> tuple[Note, ...]:
        """Return what could not be resolved in a module judged before."""
        if path not in self._notes:
            self._notes[path] = tuple(self._unresolved(path))
        return self._notes[path]

    def _unresolved(self, path: Path) -> Iterable[Note]:
        from durable_lint.project.unwinding import source_text
        from durable_lint.report.run import Note

        view = self._views.get(path)
        if view is None:
            return
        for call, why in view.solver.unresolved(view.module):
            shown = source_text(view.module, call.function.at, 40)
            yield Note(path, f"line {call.at.row}: `{shown}` could not be resolved: {why}")
        if view.solver.gave_up:
            yield Note(
                path, "calls were followed only in part: too many lead into one another", important=True
            )
        for gap, why in self.modules.gaps.items():
            yield Note(gap, f"could not be followed: {why}")

    def view(self, source: SourceText, tree: ast.Module | None = None) -> ModuleView:
        """Return a module as the rules see it, whether or not it could hold a finding. Raises
        `SourceSyntaxError`.
        """
        from durable_lint.config.sdk_version import detect
        from durable_lint.project.solver import Names, Solver, pattern_matcher
        from durable_lint.project.suspension import Suspensions
        from durable_lint.project.unwinding import Settled, Unwinding
        from durable_lint.rules.view import ModuleView

        settings = self.settings
        module = self.modules.add(source, tree)
        solver = self._solver
        if solver is None:
            names = Names(settings.suspending, settings.context_types)
            solver = self._solver = Solver(self.modules, names)
        solver.solve(module)
        settled = Settled(
            pattern_matcher(settings.process_local), pattern_matcher(settings.effects), settings.strict
        )
        version = detect(source.path, settings).version
        major, minor = (int(part) for part in version.split(".")[:2])
        view = ModuleView(module, solver, Suspensions(), Unwinding(solver, settled), (major, minor))
        self._views[source.path] = view
        return view
