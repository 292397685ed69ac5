"""Open documents, and what is shown in them: both sides of a diff, code lenses and code actions."""

from pathlib import Path
from typing import Any, TypedDict

from fairlead.lsp.actions import CodeActionParams, DocumentParams, code_actions
from fairlead.lsp.server import AgentServer


class ContentParams(TypedDict):
    """LSP 3.18, `TextDocumentContentParams`."""

    uri: str


def did_open(server: AgentServer, params: Any) -> None:
    """`textDocument/didOpen`."""
    document = params["textDocument"]
    _report(server, server.documents.opened(document["uri"], document["text"], document["version"]))


def did_change(server: AgentServer, params: Any) -> None:
    """`textDocument/didChange`."""
    document = params["textDocument"]
    _report(server, server.documents.changed(document["uri"], document["version"], params["contentChanges"]))


def did_close(server: AgentServer, params: Any) -> None:
    """`textDocument/didClose`."""
    _report(server, server.documents.closed(params["textDocument"]["uri"]))


def did_save(server: AgentServer, params: Any) -> None:
    """`textDocument/didSave`."""
    _report(server, server.documents.saved(params["textDocument"]["uri"]))


def _report(server: AgentServer, path: Path | None) -> None:
    if path is not None:
        server.app.idle_checks.note_activity()
        server.sessions.on_document_event(path)
        server.file_problems.update(path)


async def text_content(server: AgentServer, params: ContentParams) -> dict[str, str]:
    """`workspace/textDocumentContent`: a side of a diff."""
    return {"text": await server.content.text(params["uri"])}


async def code_lenses(server: AgentServer, params: DocumentParams) -> list[dict[str, Any]]:
    """`textDocument/codeLens`: accept and reject at each hunk."""
    return await server.lenses.for_document(params["textDocument"]["uri"])


async def offer_actions(server: AgentServer, params: CodeActionParams) -> list[dict[str, Any]]:
    """`textDocument/codeAction`: accept and reject at the cursor."""
    return code_actions(server.sessions, params)
