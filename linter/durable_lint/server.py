"""The language server: findings while people type, fixes as quick fixes, a rule's page on hover.

`durable-lint-server` speaks the Language Server Protocol (3.17) on standard input and output. It needs the
extra `lsp`.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from durable_lint import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

try:
    from lsprotocol import types as lsp
    from pygls.lsp.server import LanguageServer
    from pygls.uris import from_fs_path, to_fs_path
except ImportError as error:
    raise SystemExit(
        f"durable-lint-server: needs the extra `lsp` (pip install 'durable-lint[lsp]'): {error}"
    ) from None

from durable_lint.config.load import OWN_FILE, PYPROJECT, ConfigError, Resolver, absolute
from durable_lint.linter import Linter, encoded
from durable_lint.report.addresses import portable, rule_url
from durable_lint.report.explain import page
from durable_lint.rewrite import Rewriter
from durable_lint.rules.finding import Applicability
from durable_lint.source.text import SourceError, SourceText

if TYPE_CHECKING:
    from durable_lint.rules.finding import Edit, Finding, Position

SOURCE = "durable-lint"
FIX_ALL = "source.fixAll.durable-lint"
_PAUSE_SECONDS = 0.15
_WATCHED = (f"**/{PYPROJECT}", f"**/{OWN_FILE}", "**/*requirements*.txt", "**/*.lock", "**/*.{py,pyi}")
_ACTIONS = [lsp.CodeActionKind.QuickFix, FIX_ALL]


@dataclass(frozen=True, slots=True)
class Open:
    """What was last found in an open document, with its text at that time."""

    path: Path
    source: SourceText
    findings: tuple[Finding, ...]


class Server(LanguageServer):
    """Keeps a linter and the open documents.

    State is what the protocol asks for: documents live here until closed.
    """

    def __init__(self) -> None:
        super().__init__("durable-lint-server", __version__)
        self.linter = Linter(Resolver(), with_fixes=True)
        self.open: dict[str, Open] = {}
        self._waiting: asyncio.TimerHandle | None = None

    def soon(self) -> None:
        """Lint every open document when typing pauses: a change in one file can be what another's calls lead
        to.
        """
        if self._waiting is not None:
            self._waiting.cancel()
        self._waiting = asyncio.get_running_loop().call_later(_PAUSE_SECONDS, self.lint_all)

    def lint_all(self) -> None:
        """Lint every open document, and publish what was found."""
        for uri in list(self.workspace.text_documents):
            self.lint(uri)

    def lint(self, uri: str) -> None:
        """Lint one document, and publish what was found. What keeps a file from being judged is logged."""
        document = self.workspace.get_text_document(uri)
        path = path_of(uri)
        raw = encoded(document.source)
        try:
            result = self.linter.lint(path, raw)
            source = SourceText.from_bytes(path, raw)
        except (ConfigError, SourceError) as error:
            self.log(str(error))
            self.open.pop(uri, None)
            self.publish(uri, document.version, [])
            return
        for failure in result.failures:
            self.log(failure.line())
        self.open[uri] = Open(path, source, result.findings)
        self.publish(uri, document.version, [self.diagnostic(finding, source) for finding in result.findings])

    def refresh(self, changes: Iterable[lsp.FileEvent]) -> None:
        """Read again what has changed on disk: one source file, or else everything (configuration, new files)."""
        for change in changes:
            path = path_of(change.uri)
            if change.type != lsp.FileChangeType.Changed or path.suffix not in {".py", ".pyi"}:
                self.linter.forget()
            elif self.linter.content(path) is None:
                self.linter.update(path, None)

    def publish(self, uri: str, version: int | None, diagnostics: list[lsp.Diagnostic]) -> None:
        """Replace the diagnostics that the editor shows for a document."""
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, diagnostics, version))

    def log(self, message: str) -> None:
        """Write to the editor's log of this server."""
        self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Error, f"durable-lint: {message}"))

    def configure(self, options: object) -> None:
        """Take over what the editor says: `{"config": "FILE"}`, else the projects' own files hold."""
        config = options.get("config") if isinstance(options, dict) else None
        try:
            resolver = Resolver(config=Path(config) if isinstance(config, str) and config else None)
        except ConfigError as error:
            self.log(str(error))
            self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, f"durable-lint: {error}"))
            return
        linter = Linter(resolver, with_fixes=True)
        for document in self.open.values():
            linter.update(document.path, document.source.raw)
        self.linter = linter

    def diagnostic(self, finding: Finding, source: SourceText) -> lsp.Diagnostic:
        """Return a finding as the protocol has it, with the places that explain it."""
        related = []
        for other in finding.related:
            text = source if other.path == finding.path else self.linter.source(other.path)
            if text is not None:
                place = lsp.Location(uri_of(other.path), self.range(text, other.start, other.end))
                said = f"{other.call}: {other.message}" if other.call else other.message
                related.append(lsp.DiagnosticRelatedInformation(place, said))
        url = rule_url(finding.code)
        return lsp.Diagnostic(
            range=self.range(source, finding.start, finding.end),
            severity=lsp.DiagnosticSeverity.Warning,
            code=finding.code,
            code_description=lsp.CodeDescription(url) if url else None,
            source=SOURCE,
            message=finding.message if not finding.help else f"{finding.message}\nhelp: {finding.help}",
            tags=[lsp.DiagnosticTag.Unnecessary] if finding.code == "LDC901" else None,
            related_information=related or None,
        )

    def range(self, source: SourceText, start: Position, end: Position) -> lsp.Range:
        """Return a place in the units that the editor counts in (UTF-16 unless it said otherwise)."""
        return lsp.Range(self._position(source, start), self._position(source, end))

    def _position(self, source: SourceText, place: Position) -> lsp.Position:
        lines = source.lines
        line = lines[place.row - 1] if place.row <= len(lines) else ""
        units = self.workspace.position_codec.client_num_units(line[: place.column - 1])
        return lsp.Position(place.row - 1, units)

    def actions(self, params: lsp.CodeActionParams) -> Iterator[lsp.CodeAction]:
        """Yield what can be done about the findings at a place: fix one, fix all of a rule, suppress."""
        document = self.open.get(params.text_document.uri)
        if document is None:
            return
        only = params.context.only
        if _asked_for(lsp.CodeActionKind.QuickFix, only):
            here = [
                finding
                for finding in document.findings
                if overlaps(self.range(document.source, finding.start, finding.end), params.range)
            ]
            for finding in here:
                yield from self._fix_one(document, finding)
            for code in dict.fromkeys(finding.code for finding in here):
                yield from self._fix_rule(document, code)
            for finding in here:
                yield from self._suppress(document, finding)
        if _asked_for(FIX_ALL, only) and only:
            yield from self._fix_all(document)

    def _fix_one(self, document: Open, finding: Finding) -> Iterator[lsp.CodeAction]:
        fix = finding.fix
        if fix is None:
            return
        safe = fix.applicability is Applicability.SAFE
        by_path: dict[Path, list[Edit]] = {}
        for edit in fix.edits:
            by_path.setdefault(edit.path or finding.path, []).append(edit)
        changes: dict[str, list[lsp.TextEdit]] = {}
        for path, edits in by_path.items():
            source = document.source if path == document.path else self.linter.source(path)
            if source is None:
                return
            changes[self._uri(path)] = [
                lsp.TextEdit(self.range(source, edit.start, edit.end), edit.content) for edit in edits
            ]
        yield lsp.CodeAction(
            title=f"{finding.code}: {fix.message}{'' if safe else ' (unsafe)'}",
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=[self.diagnostic(finding, document.source)],
            is_preferred=safe,
            edit=lsp.WorkspaceEdit(changes=changes),
        )

    def _fix_rule(self, document: Open, code: str) -> Iterator[lsp.CodeAction]:
        of_rule = [finding for finding in document.findings if finding.code == code]
        if sum(finding.fix is not None for finding in of_rule) < 2:
            return
        unsafe = all(
            finding.fix is None or finding.fix.applicability is Applicability.UNSAFE for finding in of_rule
        )
        edit = self._rewritten(document, unsafe_fixes=unsafe, codes=frozenset({code}))
        if edit is not None:
            yield lsp.CodeAction(
                title=f"{code}: fix all in this file{' (unsafe)' if unsafe else ''}",
                kind=lsp.CodeActionKind.QuickFix,
                diagnostics=[self.diagnostic(finding, document.source) for finding in of_rule],
                edit=edit,
            )

    def _fix_all(self, document: Open) -> Iterator[lsp.CodeAction]:
        edit = self._rewritten(document, unsafe_fixes=False, codes=None)
        if edit is not None:
            yield lsp.CodeAction(title="durable-lint: apply all safe fixes", kind=FIX_ALL, edit=edit)

    def _suppress(self, document: Open, finding: Finding) -> Iterator[lsp.CodeAction]:
        from durable_lint.adoption.noqa import suppression_edits

        edits, _ = suppression_edits(document.source, [finding])
        if edits:
            changes = [
                lsp.TextEdit(self.range(document.source, edit.start, edit.end), edit.content)
                for edit in edits
            ]
            yield lsp.CodeAction(
                title=f"{finding.code}: suppress here with `# noqa`",
                kind=lsp.CodeActionKind.QuickFix,
                diagnostics=[self.diagnostic(finding, document.source)],
                edit=lsp.WorkspaceEdit(changes={self._uri(document.path): changes}),
            )

    def _rewritten(
        self, document: Open, *, unsafe_fixes: bool, codes: frozenset[str] | None
    ) -> lsp.WorkspaceEdit | None:
        """Return the edit that rewrites a document as `--fix` would; files other than this one are left
        alone.
        """
        raw = document.source.raw
        rewriter = Rewriter(self.linter, unsafe_fixes=unsafe_fixes, only=document.path, codes=codes)
        rewritten = rewriter.rewrite(document.path, raw).contents.get(document.path)
        self.linter.update(document.path, raw)
        if rewritten is None or rewritten == raw:
            return None
        text = SourceText.from_bytes(document.path, rewritten).text
        lines = document.source.lines
        end = lsp.Position(len(lines) - 1, self.workspace.position_codec.client_num_units(lines[-1]))
        whole = lsp.TextEdit(lsp.Range(lsp.Position(0, 0), end), text)
        return lsp.WorkspaceEdit(changes={self._uri(document.path): [whole]})

    def _uri(self, path: Path) -> str:
        return next((uri for uri, document in self.open.items() if document.path == path), uri_of(path))

    def hover(self, params: lsp.HoverParams) -> lsp.Hover | None:
        """Return the page of the rule whose finding is under the pointer."""
        document = self.open.get(params.text_document.uri)
        if document is None:
            return None
        at = lsp.Range(params.position, params.position)
        for finding in document.findings:
            place = self.range(document.source, finding.start, finding.end)
            text = page(finding.code)
            if overlaps(place, at) and text is not None:
                return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, portable(text)), place)
        return None


def overlaps(one: lsp.Range, other: lsp.Range) -> bool:
    """Return whether two ranges touch."""
    return _key(one.start) <= _key(other.end) and _key(other.start) <= _key(one.end)


def _key(position: lsp.Position) -> tuple[int, int]:
    return position.line, position.character


def _asked_for(kind: str, only: Iterable[str] | None) -> bool:
    return only is None or any(kind == wanted or kind.startswith(f"{wanted}.") for wanted in only)


def path_of(uri: str) -> Path:
    """Return the path of a document; one that is not a file is taken to lie in the current directory."""
    path = to_fs_path(uri) if uri.startswith("file:") else None
    return absolute(Path(path or uri.rpartition(":")[2].replace("/", "_") or "untitled"))


def uri_of(path: Path) -> str:
    """Return the URI of a file."""
    return from_fs_path(str(path)) or path.as_uri()


def make_server() -> Server:
    """Return a server with everything registered that it answers."""
    server = Server()

    @server.feature(lsp.INITIALIZE)
    def initialize(ls: Server, params: lsp.InitializeParams) -> None:
        ls.configure(params.initialization_options)

    @server.feature(lsp.INITIALIZED)
    async def initialized(ls: Server, _params: lsp.InitializedParams) -> None:
        workspace = ls.client_capabilities.workspace
        watched = workspace.did_change_watched_files if workspace is not None else None
        if watched is None or not watched.dynamic_registration:
            return
        globs = (
            f"**/{PYPROJECT}",
            f"**/{OWN_FILE}",
            "**/*requirements*.txt",
            "**/*.lock",
            "**/*.py",
            "**/*.pyi",
        )
        watchers = [lsp.FileSystemWatcher(glob) for glob in globs]
        registration = lsp.Registration(
            "durable-lint-files",
            lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES,
            lsp.DidChangeWatchedFilesRegistrationOptions(watchers),
        )
        await ls.client_register_capability_async(lsp.RegistrationParams([registration]))

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(ls: Server, params: lsp.DidOpenTextDocumentParams) -> None:
        ls.lint(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(ls: Server, _params: lsp.DidChangeTextDocumentParams) -> None:
        ls.soon()

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(ls: Server, _params: lsp.DidSaveTextDocumentParams) -> None:
        ls.lint_all()

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: Server, params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        ls.open.pop(uri, None)
        ls.linter.update(path_of(uri), None)
        ls.publish(uri, None, [])

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def files_changed(ls: Server, params: lsp.DidChangeWatchedFilesParams) -> None:
        ls.refresh(params.changes)
        ls.soon()

    @server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def settings_changed(ls: Server, params: lsp.DidChangeConfigurationParams) -> None:
        settings = params.settings
        ls.configure(settings.get("durable-lint") if isinstance(settings, dict) else None)
        ls.soon()

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=_ACTIONS))
    def code_action(ls: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        return list(ls.actions(params))

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(ls: Server, params: lsp.HoverParams) -> lsp.Hover | None:
        return ls.hover(params)

    return server


def main() -> int:
    """Serve on standard input and output until the editor says goodbye."""
    if sys.argv[1:] == ["--version"]:
        print(f"durable-lint-server {__version__}")  # noqa: T201
        return 0
    if sys.argv[1:] not in ([], ["--stdio"]):
        print("durable-lint-server: takes no options but --stdio and --version", file=sys.stderr)  # noqa: T201
        return 2
    make_server().start_io()
    return 0


if __name__ == "__main__":
    sys.exit(main())
