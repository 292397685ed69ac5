"""Accept and reject beside each hunk, as code lenses: in the person's file and in the proposed text."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lsprotocol import types

from fairlead.agent.errors import ToolError
from fairlead.edits.proposal import Proposal
from fairlead.edits.text import split_lines
from fairlead.lsp import protocol as wire
from fairlead.lsp.params import content_uri, file_path
from fairlead.lsp.rpc import AgentProtocol
from fairlead.session.host import RequestRefused, WrongRequest
from fairlead.session.session import Session
from fairlead.session.sessions import Sessions

log = logging.getLogger(__name__)

Lens = dict[str, Any]


class Lenses:
    """Answers `textDocument/codeLens`, and asks the client to ask again when the proposals change."""

    def __init__(self, protocol: AgentProtocol, sessions: Sessions) -> None:
        self._protocol = protocol
        self._sessions = sessions
        self._refreshing: asyncio.Task[None] | None = None
        self._again = False
        self.refreshable = False
        self.with_diffs = False
        """The client has a command that shows a change as a diff."""

    async def of(self, uri: str) -> list[Lens]:
        """The lenses of a document, top to bottom; none for what has no proposal."""
        content = content_uri(uri)
        if content is not None:
            if content.scheme != wire.PROPOSED_SCHEME or content.item_id is not None:
                return []
            try:
                session = await self._sessions.get(content.session_id)
            except (WrongRequest, RequestRefused):
                return []
            return list(_lenses(session, content.path, in_file=False))
        path = file_path(uri)
        if path is None:
            return []
        lenses = [lens for session in self._sessions for lens in _lenses(session, path, in_file=True)]
        return [lens for lens in lenses if self.with_diffs or lens["command"]["command"] != wire.CLIENT_SHOW]

    def refresh(self) -> None:
        """The proposals changed. One request is under way at a time."""
        if not self.refreshable:
            return
        if self._refreshing is not None and not self._refreshing.done():
            self._again = True
            return
        self._refreshing = asyncio.ensure_future(self._ask())

    async def _ask(self) -> None:
        while True:
            self._again = False
            try:
                await self._protocol.request(types.WORKSPACE_CODE_LENS_REFRESH, None)
            except wire.RequestError as error:
                log.info("code lens refresh refused: %s", error)
            if not self._again:
                return


def proposal_of(session: Session, path: Path) -> Proposal | None:
    """What a session proposes for a file, by its path or by the one that it is to get."""
    if not session.files.changes.files:
        return None
    try:
        path = session.root.resolve(str(path))
    except ToolError:
        return None
    return session.files.proposal(path) or session.files.changes.for_target(str(path))


def uri_of(proposal: Proposal) -> str:
    return Path(proposal.path).as_uri()


def _lenses(session: Session, path: Path, *, in_file: bool) -> Iterator[Lens]:
    """`in_file`: for the person's text, else for the proposed one."""
    proposal = proposal_of(session, path)
    if proposal is None:
        return
    lead = "Fairlead: " if in_file else ""
    uri = uri_of(proposal)
    if proposal.whole:
        yield from _pair(session, 0, {"uri": uri}, proposal.in_conflict, lead, whole_title(session, proposal))
        if in_file:
            yield _show(session, 0, {"uri": uri})
        return
    text = (proposal.current if in_file else proposal.proposed) or ""
    last = max(0, len(split_lines(text)) - (0 if text.endswith(("\n", "\r")) else 1))
    for hunk in proposal.hunks:
        start = proposal.region_of[hunk.id].mine[0] if in_file else hunk.new_start
        what = f"Accept +{len(hunk.new)} −{len(hunk.old)}" if in_file else "Accept"
        target = {"uri": uri, "hunk": hunk.id}
        yield from _pair(session, min(start, last), target, hunk.id in proposal.conflicts, lead, what)
        if in_file:
            yield _show(session, min(start, last), target)


def whole_title(session: Session, proposal: Proposal) -> str:
    """The title of an accept of a file that is decided as a whole."""
    match proposal.kind:
        case "create":
            return "Accept New File"
        case "delete":
            return "Accept Deletion"
        case "rename":
            return f"Accept Rename to {session.root.relative(Path(proposal.target))}"
        case "modify":  # a binary file, or one with other permissions
            return "Accept File"


def _pair(
    session: Session, line: int, target: dict[str, str], conflict: bool, lead: str, accept: str
) -> Iterator[Lens]:
    """An accept and a reject that stand side by side."""
    params: dict[str, Any] = {"sessionId": session.id, "target": target, "version": session.files.version}
    over_mine = {**params, "resolution": "proposed"}
    yield _lens(line, f"{lead}Accept Proposed (Replace Mine)" if conflict else lead + accept, wire.COMMAND_ACCEPT,
                over_mine if conflict else params)  # fmt: skip
    yield _lens(line, "Keep Mine" if conflict else "Reject", wire.COMMAND_REJECT, params)


def _show(session: Session, line: int, target: dict[str, str]) -> Lens:
    """The person's text does not say what is proposed; the diff does."""
    return _lens(line, "Show", wire.CLIENT_SHOW, {"sessionId": session.id, "target": target})


def _lens(line: int, title: str, command: str, params: dict[str, Any]) -> Lens:
    place = {"line": line, "character": 0}
    return {
        "range": {"start": place, "end": place},
        "command": {"title": title, "command": command, "arguments": [params]},
    }
