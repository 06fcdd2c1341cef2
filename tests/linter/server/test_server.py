"""The language server over the real protocol: a client opens, changes, asks and applies."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from durable_lint import __version__
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from tests.linter.cli.project import CLEAN, HAZARD, write

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

SECONDS = 60
SUPPRESSION = HAZARD.replace("    finally:", "    finally:  # noqa: LDC101")


class Editor:
    """A client that keeps what the server publishes, and applies edits as an editor does."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.published: dict[str, list[lsp.Diagnostic]] = {}
        self.log: list[str] = []
        self.registered: list[lsp.Registration] = []
        self.news = asyncio.Condition()
        self.versions: dict[str, int] = {}

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something that the server sent makes a condition true."""
        async with self.news:
            await asyncio.wait_for(self.news.wait_for(holds), SECONDS)

    async def tell(self) -> None:
        async with self.news:
            self.news.notify_all()

    async def open(self, path: Path, text: str) -> list[lsp.Diagnostic]:
        uri = path.absolute().as_uri()
        self.published.pop(uri, None)
        self.versions[uri] = 1
        item = lsp.TextDocumentItem(uri, lsp.LanguageKind.Python, 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return await self.diagnostics(path)

    async def change(self, path: Path, text: str) -> list[lsp.Diagnostic]:
        uri = path.absolute().as_uri()
        self.published.pop(uri, None)
        self.versions[uri] += 1
        document = lsp.VersionedTextDocumentIdentifier(self.versions[uri], uri)
        whole = [lsp.TextDocumentContentChangeWholeDocument(text)]
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, whole))
        return await self.diagnostics(path)

    async def diagnostics(self, path: Path) -> list[lsp.Diagnostic]:
        """Return what is published for a file, as soon as something is."""
        uri = path.absolute().as_uri()
        await self.until(lambda: uri in self.published)
        return self.published[uri]

    async def actions(self, path: Path, row: int, only: list[str] | None = None) -> list[lsp.CodeAction]:
        place = lsp.Range(lsp.Position(row - 1, 0), lsp.Position(row - 1, 100))
        context = lsp.CodeActionContext(self.published[path.absolute().as_uri()], only)
        document = lsp.TextDocumentIdentifier(path.absolute().as_uri())
        answer = await self.client.text_document_code_action_async(
            lsp.CodeActionParams(document, place, context)
        )
        return [action for action in answer or [] if isinstance(action, lsp.CodeAction)]


@asynccontextmanager
async def editor(options: object = None, *, dynamic: bool = False) -> AsyncIterator[Editor]:
    """Start a server in a process of its own, shake hands, and end it properly."""
    client = LanguageClient("test-editor", "1")
    opened = Editor(client)

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    async def published(params: lsp.PublishDiagnosticsParams) -> None:
        opened.published[params.uri] = list(params.diagnostics)
        await opened.tell()

    @client.feature(lsp.WINDOW_LOG_MESSAGE)
    async def logged(params: lsp.LogMessageParams) -> None:
        opened.log.append(params.message)
        await opened.tell()

    @client.feature(lsp.WINDOW_SHOW_MESSAGE)
    async def shown(_params: lsp.ShowMessageParams) -> None:
        await opened.tell()

    @client.feature(lsp.CLIENT_REGISTER_CAPABILITY)
    async def register(params: lsp.RegistrationParams) -> None:
        opened.registered.extend(params.registrations)
        await opened.tell()

    await client.start_io(sys.executable, "-m", "durable_lint.server", "--stdio")
    watching = lsp.DidChangeWatchedFilesClientCapabilities(dynamic_registration=dynamic)
    capabilities = lsp.ClientCapabilities(
        workspace=lsp.WorkspaceClientCapabilities(did_change_watched_files=watching)
    )
    answer = await client.initialize_async(
        lsp.InitializeParams(capabilities, root_uri=Path.cwd().as_uri(), initialization_options=options)
    )
    assert answer.server_info is not None
    assert answer.server_info.name == "durable-lint-server"
    client.initialized(lsp.InitializedParams())
    try:
        yield opened
    finally:
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()


def talk(
    conversation: Callable[[Editor], Awaitable[None]], options: object = None, *, dynamic: bool = False
) -> None:
    """Run a conversation with a server."""

    async def run() -> None:
        async with editor(options, dynamic=dynamic) as opened:
            await conversation(opened)

    asyncio.run(asyncio.wait_for(run(), 2 * SECONDS))


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)


def codes(diagnostics: list[lsp.Diagnostic]) -> list[tuple[object, int, int]]:
    return [(one.code, one.range.start.line + 1, one.range.start.character) for one in diagnostics]


def test_findings_are_published_on_open_change_and_close() -> None:
    async def conversation(editor: Editor) -> None:
        file = Path("review.py")
        (diagnostic,) = await editor.open(file, HAZARD)
        assert codes([diagnostic]) == [("LDC101", 16, 4)]
        assert diagnostic.source == "durable-lint"
        assert diagnostic.code_description is None  # until the site has an address
        assert diagnostic.related_information is not None
        assert diagnostic.related_information[0].location.range.start == lsp.Position(14, 8)
        assert await editor.change(file, CLEAN) == []
        assert codes(await editor.change(file, f"\n{HAZARD}")) == [("LDC101", 17, 4)]
        editor.published.clear()
        document = lsp.TextDocumentIdentifier(file.absolute().as_uri())
        editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(document))
        assert await editor.diagnostics(file) == []

    talk(conversation)


def test_columns_count_utf_16_units_as_the_protocol_wants() -> None:
    async def conversation(editor: Editor) -> None:
        text = HAZARD.replace(
            "    try:\n        context.wait(Duration.from_minutes(5))\n    finally:\n"
            '        context.step(lambda _: terminate(vm), name="terminate-microvm")\n',
            '    with open("\N{SNOWMAN}\N{PILE OF POO}"), lease("x"):\n        context.wait(event)\n',
        ).replace("from aws", "from leases import lease\nfrom aws", 1)
        assert codes(await editor.open(Path("review.py"), text)) == [("LDC102", 15, 22)]

    talk(conversation)


def test_a_quick_fix_of_one_finding_leaves_clean_code() -> None:
    async def conversation(editor: Editor) -> None:
        file = Path("review.py")
        await editor.open(file, HAZARD)
        actions = await editor.actions(file, 16)
        fixes = [action for action in actions if action.is_preferred]
        (fix,) = fixes
        assert fix.kind == lsp.CodeActionKind.QuickFix
        assert fix.title.startswith("LDC101: ")
        fixed = applied(HAZARD, fix, file)
        assert "with terminal_scope(context" in fixed
        assert await editor.change(file, fixed) == []
        assert await editor.actions(file, 1) == []

    talk(conversation)


def applied(text: str, action: lsp.CodeAction, file: Path) -> str:
    """Apply an action's edits to a text of characters that take one unit each."""
    assert action.edit is not None
    assert action.edit.changes is not None
    edits = action.edit.changes[file.absolute().as_uri()]
    lines = text.splitlines(keepends=True)

    def offset(position: lsp.Position) -> int:
        return sum(map(len, lines[: position.line])) + position.character

    for edit in sorted(edits, key=lambda edit: offset(edit.range.start), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


def test_all_findings_of_a_rule_in_a_file_are_fixed_at_once() -> None:
    async def conversation(editor: Editor) -> None:
        file = Path("review.py")
        second = HAZARD[HAZARD.index("@durable_execution") :].replace("def handler", "def other_handler")
        text = f"{HAZARD}\n\n{second}"
        assert len(await editor.open(file, text)) == 2
        (action,) = [one for one in await editor.actions(file, 16) if "fix all in this file" in one.title]
        fixed = applied(text, action, file)
        assert fixed.count("with terminal_scope(") == 2
        assert await editor.change(file, fixed) == []
        assert codes(await editor.change(file, text)) == [("LDC101", 16, 4), ("LDC101", 25, 4)]
        (whole,) = await editor.actions(file, 1, ["source.fixAll"])
        assert applied(text, whole, file) == fixed

    talk(conversation)


def test_a_finding_can_be_suppressed_where_it_stands() -> None:
    async def conversation(editor: Editor) -> None:
        file = Path("review.py")
        await editor.open(file, HAZARD)
        (action,) = [one for one in await editor.actions(file, 16) if "suppress" in one.title]
        assert applied(HAZARD, action, file) == SUPPRESSION
        assert await editor.change(file, SUPPRESSION) == []

    talk(conversation)


def test_hovering_over_a_finding_shows_the_rules_page_and_elsewhere_nothing() -> None:
    async def conversation(editor: Editor) -> None:
        file = Path("review.py")
        await editor.open(file, HAZARD)
        document = lsp.TextDocumentIdentifier(file.absolute().as_uri())
        hover = await editor.client.text_document_hover_async(lsp.HoverParams(document, lsp.Position(15, 6)))
        assert hover is not None
        assert isinstance(hover.contents, lsp.MarkupContent)
        assert hover.contents.kind == lsp.MarkupKind.Markdown
        assert "finally-around-suspension" in hover.contents.value
        assert (
            await editor.client.text_document_hover_async(lsp.HoverParams(document, lsp.Position(0, 0)))
            is None
        )

    talk(conversation)


def test_an_unsaved_change_in_another_file_counts_at_once() -> None:
    async def conversation(editor: Editor) -> None:
        helper, file = Path("pauses.py"), Path("review.py")
        write(helper, "def pause(c):\n    return None\n")
        text = "from pauses import pause\n" + HAZARD.replace("context.wait(", "pause(context) or (")
        await editor.open(helper, helper.read_text())
        assert await editor.open(file, text) == []
        editor.published.clear()
        await editor.change(helper, "def pause(c):\n    c.wait(1)\n")
        assert codes(await editor.diagnostics(file)) == [("LDC101", 17, 4)]
        document = lsp.TextDocumentIdentifier(helper.absolute().as_uri())
        editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(document))
        assert await editor.change(file, text + "\n") == []

    talk(conversation)


def test_a_changed_configuration_is_taken_over_without_a_restart() -> None:
    async def conversation(editor: Editor) -> None:
        await editor.until(lambda: bool(editor.registered))
        file, config = Path("review.py"), Path("durable-lint.toml")
        assert len(await editor.open(file, HAZARD)) == 1
        for text, count in (('ignore = ["LDC1"]\n', 0), ("", 1), ("selct = 1\n", 0), ("", 1)):
            config.write_text(text)
            editor.published.clear()
            event = lsp.FileEvent(config.absolute().as_uri(), lsp.FileChangeType.Changed)
            editor.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([event]))
            assert len(await editor.diagnostics(file)) == count
        assert any("did you mean `select`?" in line for line in editor.log)

    talk(conversation, dynamic=True)


def test_what_another_program_changes_on_disk_is_read_again() -> None:
    async def conversation(editor: Editor) -> None:
        helper, file = write("pauses.py", "def pause(c):\n    return None\n"), Path("review.py")
        text = "from pauses import pause\n" + HAZARD.replace("context.wait(", "pause(context) or (")
        assert await editor.open(file, text) == []
        waits = "def pause(c):\n    c.wait(1)\n"
        steps: list[tuple[str | None, lsp.FileChangeType, int]] = [
            (waits, lsp.FileChangeType.Changed, 1),
            ("def pause(c):\n    return 1\n", lsp.FileChangeType.Changed, 0),
            (
                None,
                lsp.FileChangeType.Deleted,
                1,
            ),  # a context given to what can't be seen is assumed to suspend
            ("def pause(c):\n    return 2\n", lsp.FileChangeType.Created, 0),
        ]
        for content, kind, count in steps:
            if content is None:
                helper.unlink()
            else:
                helper.write_text(content)
            editor.published.clear()
            event = lsp.FileEvent(helper.absolute().as_uri(), kind)
            editor.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([event]))
            assert len(await editor.diagnostics(file)) == count, kind

    talk(conversation)


def test_an_editor_can_name_a_configuration_file() -> None:
    write("ci/lint.toml", 'ignore = ["LDC1"]\n')

    async def conversation(editor: Editor) -> None:
        file = Path("review.py")
        assert await editor.open(file, HAZARD) == []
        editor.published.clear()
        editor.client.workspace_did_change_configuration(
            lsp.DidChangeConfigurationParams({"durable-lint": {}})
        )
        assert len(await editor.diagnostics(file)) == 1

    talk(conversation, {"config": str(Path("ci/lint.toml").absolute())})


def test_broken_code_and_documents_that_are_no_files_do_not_end_the_server() -> None:
    async def conversation(editor: Editor) -> None:
        broken = "import aws_durable_execution_sdk_python\nwith x(:\n"
        assert codes(await editor.open(Path("broken.py"), broken)) == [("LDC900", 2, 7)]
        item = lsp.TextDocumentItem("untitled:Untitled-1", lsp.LanguageKind.Python, 1, HAZARD)
        editor.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        await editor.until(lambda: "untitled:Untitled-1" in editor.published)
        assert len(editor.published["untitled:Untitled-1"]) == 1
        assert await editor.open(Path("empty.py"), "") == []

    talk(conversation)


def test_the_command_says_its_version_and_refuses_what_it_does_not_know() -> None:
    command = [sys.executable, "-m", "durable_lint.server"]
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"durable-lint-server {__version__}\n")
    done = subprocess.run([*command, "--tcp"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "takes no options but --stdio and --version" in done.stderr
