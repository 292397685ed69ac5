"""Accept and reject at each hunk as code lenses, in the user's file and in the proposed text."""

import asyncio
import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from lsprotocol import types

from fairlead.display import shorten
from fairlead.edits.proposal import Proposal
from fairlead.lsp.params import parse_content_uri
from fairlead.lsp.review_commands import (
    CONFLICT_TITLES,
    FILE_TITLES,
    Command,
    proposal_of,
    review_commands,
    uri_of,
    whole_titles,
)
from fairlead.lsp.rpc import AgentProtocol
from fairlead.lsp.titles import Title, hunk_size
from fairlead.session.errors import RequestRefused, WrongRequest
from fairlead.session.session import Session
from fairlead.session.sessions import Sessions
from fairlead.text_lines import split_lines
from fairlead.uris import file_path
from fairlead.wire import protocol as wire

log = logging.getLogger(__name__)

Lens = dict[str, Any]
OPEN_DIFF = Title("Open Diff")


class Lenses:
    """Answers `textDocument/codeLens`, and asks the client to refresh when the proposals change."""

    def __init__(self, protocol: AgentProtocol, sessions: Sessions) -> None:
        self._protocol = protocol
        self._sessions = sessions
        self._refreshing: asyncio.Task[None] | None = None
        self._refresh_again = False
        self.can_refresh = False
        """Whether the client supports `workspace/codeLens/refresh`."""
        self.has_diffs = False
        """Whether the client has commands that show a change."""

    async def for_document(self, uri: str) -> list[Lens]:
        """The lenses of a file or of a proposed text, by session and then from top to bottom.

        Other documents have no lenses. The proposed text of a plan item has those of the item's hunks.
        """
        content = parse_content_uri(uri)
        if content is not None:
            if content.scheme != wire.PROPOSED_SCHEME:
                return []
            try:
                session = await self._sessions.get(content.session_id)
            except (WrongRequest, RequestRefused):
                return []
            proposal = proposal_of(session, content.path)
            found = _in_proposed(session, proposal, content.item_id, with_file=self.has_diffs) if proposal else ()
            return self._supported(found)
        path = file_path(uri)
        if path is None:
            return []
        sessions = [session for session in self._sessions if proposal_of(session, path) is not None]
        lenses: list[Lens] = []
        for session in sessions:
            name = f"Fairlead ({shorten(session.title, 30)})" if len(sessions) > 1 else "Fairlead"
            lenses += _in_file(session, path, f"{name}: ")
        return self._supported(lenses)

    def _supported(self, lenses: Iterable[Lens]) -> list[Lens]:
        return [lens for lens in lenses if self.has_diffs or lens["command"]["command"] != wire.CLIENT_SHOW]

    def refresh(self) -> None:
        """Asks the client to refresh its lenses, if it can, with one request at a time."""
        if not self.can_refresh:
            return
        if self._refreshing is not None and not self._refreshing.done():
            self._refresh_again = True
            return
        self._refreshing = asyncio.ensure_future(self._request_refresh())

    async def _request_refresh(self) -> None:
        while True:
            self._refresh_again = False
            try:
                await self._protocol.request(types.WORKSPACE_CODE_LENS_REFRESH, None)
            except wire.RequestError as error:
                log.info("code lens refresh refused: %s", error)
            if not self._refresh_again:
                return


def _in_file(session: Session, path: Path, prefix: str) -> Iterator[Lens]:
    """The lenses of a user's file. Those that accept have titles with this prefix."""
    proposal = proposal_of(session, path)
    if proposal is None:
        return
    uri = uri_of(proposal)
    whole = whole_titles(session, proposal)
    if whole is not None:
        yield from _pair(session, 0, {"uri": uri}, whole, prefix, conflict=proposal.in_conflict)
        yield _show(session, 0, {"uri": uri})
        yield from _reasons(session, proposal, None, 0)
        return
    last = _last_line(proposal.current or "")
    for hunk in proposal.hunks:
        line = min(proposal.region_of[hunk.id].mine[0], last)
        conflict = hunk.id in proposal.conflicts
        titles = CONFLICT_TITLES if conflict else (Title("Accept {0}", (hunk_size(hunk),)), Title("Reject"))
        target = {"uri": uri, "hunk": hunk.id}
        yield from _pair(session, line, target, titles, prefix, conflict=conflict)
        yield _show(session, line, target)
        yield from _reasons(session, proposal, hunk.id, line)


def _in_proposed(session: Session, proposal: Proposal, item_id: str | None, *, with_file: bool) -> Iterator[Lens]:
    """The lenses of a proposed text.

    Args:
        item_id: the plan item whose changes alone the text has; None: it has all changes.
        with_file: whether the first of several hunks has lenses for the whole file too, if the text has all changes.
    """
    uri = uri_of(proposal)
    whole = whole_titles(session, proposal)
    if whole is not None:
        yield from _pair(session, 0, {"uri": uri}, whole, conflict=proposal.in_conflict)
        yield from _reasons(session, proposal, None, 0)
        return
    if item_id is None:
        text, lines = proposal.proposed or "", {hunk.id: hunk.new_start for hunk in proposal.hunks}
    else:
        text, lines = proposal.of_item(item_id)
    last = _last_line(text)
    for index, (hunk_id, begin) in enumerate(lines.items()):
        line = min(begin, last)
        conflict = hunk_id in proposal.conflicts
        titles = CONFLICT_TITLES if conflict else (Title("Accept"), Title("Reject"))
        yield from _pair(session, line, {"uri": uri, "hunk": hunk_id}, titles, conflict=conflict)
        yield from _reasons(session, proposal, hunk_id, line)
        if with_file and item_id is None and index == 0 and len(lines) > 1:
            yield from _pair(session, line, {"uri": uri}, FILE_TITLES, conflict=False)


def _last_line(text: str) -> int:
    """The number of the last line with text, from 0."""
    return max(0, len(split_lines(text)) - (0 if text.endswith(("\n", "\r")) else 1))


def _pair(
    session: Session,
    line: int,
    target: dict[str, str],
    titles: tuple[Title, Title],
    prefix: str = "",
    *,
    conflict: bool,
) -> Iterator[Lens]:
    """The lenses to accept and to reject, on one line."""
    accept, reject = review_commands(session, target, conflict=conflict)
    yield _lens(line, replace(titles[0], prefix=prefix), accept)
    yield _lens(line, titles[1], reject)


def _reasons(session: Session, proposal: Proposal, hunk_id: str | None, line: int) -> Iterator[Lens]:
    """The lenses that say why a change weakens tests. They open the diff."""
    target = {"uri": uri_of(proposal)} if hunk_id is None else {"uri": uri_of(proposal), "hunk": hunk_id}
    for reason in session.weakened().get(proposal.path, {}).get(hunk_id, ()):
        title = Title(reason.template, reason.arguments, prefix="⚠ ")
        yield _show(session, line, target, title)


def _show(session: Session, line: int, target: dict[str, str], title: Title = OPEN_DIFF) -> Lens:
    """The lens that opens the diff."""
    params = {"sessionId": session.id, "target": target}
    return _lens(line, title, {"command": wire.CLIENT_SHOW, "arguments": [params]})


def _lens(line: int, title: Title, command: Command) -> Lens:
    position = {"line": line, "character": 0}
    range_ = {"start": position, "end": position}
    return {"range": range_, "command": {"title": title.text, **command}, "data": title.wire}
