"""Implements the port `Editor` over LSP: workspace edits, and questions to the user."""

import asyncio
import base64
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast, get_args

from lsprotocol import types

from fairlead.display import escape_invisible
from fairlead.gate.request import (
    STARTS,
    ApprovalAnswer,
    ApprovalOption,
    ApprovalRequest,
    CallTool,
    ConfirmCall,
    FetchPage,
    RunCommand,
    RunHook,
    StartProgram,
    UseChangedTools,
    ValueRequest,
)
from fairlead.json_values import fields_of, is_list
from fairlead.lsp import convert, convert_edits
from fairlead.lsp.documents import Documents
from fairlead.lsp.initialization import ClientCapabilities
from fairlead.lsp.rpc import AgentProtocol
from fairlead.wire import protocol as wire
from fairlead.workspace.editor import (
    Applied,
    Claims,
    EditCapabilities,
    FileEdit,
    FileOperation,
)

log = logging.getLogger(__name__)

ANSWER_SECONDS = 120.0
"""How long an editor may take to apply an edit. It may ask the user first, and format on save."""

OPTIONS: tuple[ApprovalOption, ...] = ("allow_once", "allow_session", "reject")
SILENT = (
    "The editor did not answer within {seconds:.0f} s, so nothing was accepted. If it applies the edit later, that "
    "counts as your own change."
)
NO_CLAIMS = "The editor did not say whether {name} is open in it. Try again."
# Enter selects the first action in some editors (eglot 1.9), so it must not allow anything
ACTIONS: dict[str, ApprovalOption] = {
    wire.REJECT_COMMAND: "reject",
    wire.ALLOW_ONCE: "allow_once",
    wire.ALLOW_SESSION: "allow_session",
}


class LspEditor:
    """The editor of the client."""

    def __init__(self, protocol: AgentProtocol, documents: Documents, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._protocol = protocol
        self._documents = documents
        self._answer_seconds = answer_seconds
        self.capabilities = ClientCapabilities()

    @property
    def edit_capabilities(self) -> EditCapabilities:
        client = self.capabilities
        operations: frozenset[FileOperation] = frozenset(get_args(FileOperation)) & {*client.file_operations}
        return EditCapabilities(client.apply_edit, client.checks_edits, operations)

    async def apply(self, label: str, edits: Sequence[FileEdit]) -> Applied:
        """Sends one workspace edit (LSP 3.18, `workspace/applyEdit`).

        If the client supports `documentChanges`, the edits of open documents are versioned. A client that checks edits
        also gets the digest of each file that has one.
        """
        client = self.capabilities
        change = self._document_changes(edits) if client.document_changes else self._plain_changes(edits)
        params: dict[str, Any] = {"label": label, "edit": change}
        if client.checks_edits:
            params["digests"] = {self._documents.uri(edit.path): edit.digest for edit in edits if edit.digest}
        try:
            async with asyncio.timeout(self._answer_seconds):
                answer = fields_of(await self._protocol.request(types.WORKSPACE_APPLY_EDIT, params))
        except wire.RequestError as error:
            return Applied(False, f"The editor refused the edit: {error}")
        except TimeoutError:
            return Applied(False, SILENT.format(seconds=self._answer_seconds), timed_out=True)
        if answer.get("applied") is True:
            return Applied(True)
        reason = answer.get("failureReason")
        return Applied(False, str(reason) if reason else "The editor did not apply the edit and gave no reason.")

    async def claims(self, paths: Sequence[Path]) -> Claims:
        if not self.capabilities.claims_files:
            return Claims()
        uris = {self._documents.uri(path): path for path in paths}
        params: wire.ClaimsParams = {"uris": list(uris)}
        try:
            async with asyncio.timeout(self._answer_seconds):
                answer = fields_of(await self._protocol.request(wire.CLAIMS, params))
        except (wire.RequestError, TimeoutError) as error:
            log.warning("the editor did not say which files it has open: %s", error)
            return Claims(refused={path: NO_CLAIMS.format(name=path.name) for path in paths})
        claimed, refused = answer.get("claimed"), answer.get("refused")
        reasons = {each.get("uri"): each.get("reason") for each in map(fields_of, refused if is_list(refused) else ())}
        return Claims(
            {uris[uri] for uri in (claimed if is_list(claimed) else ()) if uri in uris},
            {path: str(reasons[uri]) for uri, path in uris.items() if uri in reasons},
        )

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        try:
            if self.capabilities.approvals:
                answer = await self._protocol.request(wire.APPROVE, convert.approval(request))
                return _decision(answer)
            action = await self._protocol.request(types.WINDOW_SHOW_MESSAGE_REQUEST, _question(request))
        except wire.RequestError as error:
            log.info("approval not answered: %s", error)
            return ApprovalAnswer("reject", "The editor could not ask the user.")
        title = fields_of(action).get("title")
        return ApprovalAnswer(ACTIONS.get(cast("str", title), "reject"))

    async def ask(self, session_id: str, call_id: str, question: str, options: Sequence[str]) -> str | None:
        params = {"sessionId": session_id, "toolCallId": call_id, "question": question, "options": list(options)}
        try:
            if self.capabilities.questions:
                answer = await self._protocol.request(wire.ASK, params)
                text = fields_of(answer).get("answer")
            elif options:
                action = await self._protocol.request(types.WINDOW_SHOW_MESSAGE_REQUEST, _choice(question, options))
                title = fields_of(action).get("title")
                text = next((option for option in options if escape_invisible(option) == title), None)
            else:
                text = None
        except wire.RequestError as error:
            log.info("question not answered: %s", error)
            return None
        return text if isinstance(text, str) and text.strip() else None

    async def show_output(self, session_id: str, data: bytes) -> None:
        """Shows what a program wrote to its terminal. Returns when more can be shown."""
        params: wire.TerminalOutputParams = {"sessionId": session_id, "data": base64.b64encode(data).decode()}
        try:
            await self._protocol.request(wire.TERMINAL_OUTPUT, params)
        except wire.RequestError as error:
            log.info("the output of a program was not shown: %s", error)

    async def enter(self, request: ValueRequest) -> str | None:
        if not self.capabilities.sign_ins:
            return None
        params: wire.EnterParams = {
            "server": request.server,
            "question": request.question,
            "isSecret": request.is_secret,
            "default": request.default,
            "options": list(request.options),
        }
        try:
            answer = await self._protocol.request(wire.ENTER, params)
        except wire.RequestError as error:
            log.info("value not entered: %s", error)
            return None
        value = fields_of(answer).get("value")
        return value if isinstance(value, str) else None

    async def authorize(self, server: str, url: str) -> str | None:
        """The address that the user's browser was sent back to from the page of a sign-in; None: they gave up."""
        params: wire.AuthorizeParams = {"server": server, "url": url}
        try:
            answer = fields_of(await self._protocol.request(wire.AUTHORIZE, params)).get("callbackUrl")
        except wire.RequestError as error:
            log.info("sign-in not answered: %s", error)
            return None
        return answer if isinstance(answer, str) else None

    def _document_changes(self, edits: Sequence[FileEdit]) -> dict[str, Any]:
        """The edits as documentChanges. Deletes come first, because a new file may have the path of a deleted one."""
        changes: list[dict[str, Any]] = []
        for edit in sorted(edits, key=lambda edit: edit.new is not None):
            uri = self._documents.uri(edit.path)
            if edit.old is None:
                changes.append({"kind": "create", "uri": uri, "options": {"overwrite": False, "ignoreIfExists": False}})
            text_edits = [] if edit.new is None else convert_edits.text_edits(edit, self._documents.encoding)
            # an open document gets a TextDocumentEdit even without edits: a delete or a rename cannot name a version
            if text_edits or edit.version is not None:
                changes.append({"textDocument": {"uri": uri, "version": edit.version}, "edits": text_edits})
            if edit.new is None:
                changes.append({"kind": "delete", "uri": uri})
                continue
            if edit.new_path is not None:
                changes.append({"kind": "rename", "oldUri": uri, "newUri": edit.new_path.as_uri()})
        return {"documentChanges": changes}

    def _plain_changes(self, edits: Sequence[FileEdit]) -> dict[str, Any]:
        encoding = self._documents.encoding
        return {"changes": {self._documents.uri(edit.path): convert_edits.text_edits(edit, encoding) for edit in edits}}


def _decision(answer: Any) -> ApprovalAnswer:
    fields = fields_of(answer)
    option, reason = fields.get("option"), fields.get("reason")
    return ApprovalAnswer(option if option in OPTIONS else "reject", str(reason) if reason else "")


def _choice(question: str, options: Sequence[str]) -> dict[str, Any]:
    return {
        "type": int(types.MessageType.Info),
        "message": escape_invisible(question),
        "actions": [{"title": escape_invisible(option)} for option in options],
    }


def _question(request: ApprovalRequest) -> dict[str, Any]:
    reasons, action = "\n".join(request.reasons), request.action
    if isinstance(action, RunCommand | StartProgram):
        question = f"Run this command in {action.cwd}?\n\n{action.command}"
    elif isinstance(action, FetchPage):
        question = f"Fetch this from {action.host}?\n\n{action.url}"
    elif isinstance(action, STARTS | UseChangedTools | CallTool | RunHook | ConfirmCall):
        question = f"Allow this?\n\n{action.command}"
    else:
        question = f"Allow this?\n\n{action.path}"
    message = f"{reasons}\n\n{question}"
    return {
        "type": int(types.MessageType.Warning),
        "message": escape_invisible(message.strip()),
        "actions": [{"title": title} for title in ACTIONS],
    }
