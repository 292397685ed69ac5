"""The two sides of a diff as virtual documents (LSP 3.18, `workspace/textDocumentContent`)."""

import asyncio
import contextlib
import logging
from pathlib import Path
from urllib.parse import quote

from lsprotocol import types

from fairlead.edits.changeset import Changeset, changed_paths
from fairlead.lsp.params import parse_content_uri
from fairlead.lsp.rpc import AgentProtocol
from fairlead.session.errors import RequestRefused, WrongRequest
from fairlead.session.sessions import Sessions
from fairlead.wire import protocol as wire
from fairlead.workspace.errors import WorkspaceError

log = logging.getLogger(__name__)


class ProposedContent:
    """Serves `fairlead-base:` and `fairlead-proposed:` URIs and tells the client when their text changes."""

    def __init__(self, protocol: AgentProtocol, sessions: Sessions) -> None:
        self._protocol = protocol
        self._sessions = sessions
        self._sent: dict[str, Changeset] = {}
        """The proposals of each session at the last `refresh`, by session id."""
        self._fetched: set[tuple[str, str, str]] = set()
        """The texts that the client has requested, as (scheme, session id, path). Others need no refresh."""
        self._pending: set[asyncio.Task[None]] = set()
        self.registered = False
        """Whether the client accepted the schemes. Otherwise it gets texts on request, but no refreshes."""

    async def register(self) -> None:
        """Registers the URI schemes, which the answer to `initialize` does not announce. A refusal is only logged."""
        registration = {
            "id": "fairlead-content",
            "method": types.WORKSPACE_TEXT_DOCUMENT_CONTENT,
            "registerOptions": {"schemes": [wire.BASE_SCHEME, wire.PROPOSED_SCHEME]},
        }
        try:
            await self._protocol.request(types.CLIENT_REGISTER_CAPABILITY, {"registrations": [registration]})
            self.registered = True
        except wire.RequestError as error:
            log.info("the client does not accept text document content: %s", error)

    async def text(self, uri: str) -> str:
        """The text of a URI. If it cannot be shown, a text that says why: VS Code would show an error as a popup."""
        parsed = parse_content_uri(uri)
        if parsed is None:
            return f"Fairlead does not know this URI: {uri}\n"
        try:
            files = (await self._sessions.get(parsed.session_id)).files
        except WrongRequest:
            return "This session no longer exists, so its proposed changes cannot be shown.\n"
        except RequestRefused as error:  # another window has it open, for example
            return f"The proposed changes of this session cannot be shown. {error}\n"
        path = parsed.path
        # a proposal in a folder that was removed from the workspace is still shown
        with contextlib.suppress(WorkspaceError):
            path = files.roots.resolve(str(path))
        self._fetched.add((parsed.scheme, parsed.session_id, str(path)))
        proposal = files.proposal(path) or files.changes.for_target(str(path))
        if proposal is None:
            try:
                return files.current(path) or ""
            except WorkspaceError as error:
                return f"{error}\n"
        if parsed.scheme == wire.BASE_SCHEME:
            return proposal.current or ""
        if parsed.item_id is None or proposal.decided_as_whole:
            return proposal.proposed or ""
        return proposal.of_item(parsed.item_id)[0]

    def refresh(self, session_id: str, changes: Changeset) -> None:
        """Requests a refresh of the texts that the client has requested and that have changed since the last call.

        Their URIs are sent without a query, so texts that are limited with `?item=ID` are not refreshed.
        """
        old = self._sent.get(session_id, Changeset())
        self._sent[session_id] = changes
        if not self.registered:
            return
        for path in changed_paths(old, changes):
            before, after = old.get(path), changes.get(path)
            for scheme, attribute in ((wire.BASE_SCHEME, "current"), (wire.PROPOSED_SCHEME, "proposed")):
                fetched = (scheme, session_id, path) in self._fetched
                if fetched and getattr(before, attribute, None) != getattr(after, attribute, None):
                    self._request_refresh(proposal_uri(scheme, session_id, Path(path)))

    def _request_refresh(self, uri: str) -> None:
        task = asyncio.ensure_future(self._refresh(uri))
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    async def _refresh(self, uri: str) -> None:
        try:
            await self._protocol.request(types.WORKSPACE_TEXT_DOCUMENT_CONTENT_REFRESH, {"uri": uri})
        except wire.RequestError as error:
            log.info("content refresh refused: %s", error)


def proposal_uri(scheme: str, session_id: str, path: Path) -> str:
    """The URI `scheme://session/abs/path` of a side of a file's diff."""
    posix = path.as_posix()
    return f"{scheme}://{session_id}{quote(posix if posix.startswith('/') else f'/{posix}')}"
