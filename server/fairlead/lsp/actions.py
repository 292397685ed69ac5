"""Accept and reject at the cursor as code actions, for editors that show no code lenses by default."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NotRequired, TypedDict

from lsprotocol import types

from fairlead.edits.diff import Hunk
from fairlead.edits.proposal import Proposal
from fairlead.lsp.review_commands import CONFLICT_TITLES, proposal_of, review_commands, uri_of, whole_titles
from fairlead.lsp.titles import Title, hunk_size
from fairlead.session.session import Session
from fairlead.uris import file_path
from fairlead.wire.states import RangeWire

KIND = types.CodeActionKind.QuickFix.value

Action = dict[str, Any]


class DocumentId(TypedDict):
    """LSP 3.18, `TextDocumentIdentifier`."""

    uri: str


class DocumentParams(TypedDict):
    """The part that the params of LSP's requests about a document have in common."""

    textDocument: DocumentId


class CodeActionContext(TypedDict):
    """LSP 3.18, `CodeActionContext`."""

    only: NotRequired[list[str]]


class CodeActionParams(DocumentParams):
    """LSP 3.18, `CodeActionParams`."""

    range: RangeWire
    context: NotRequired[CodeActionContext]


def code_actions(sessions: Iterable[Session], params: CodeActionParams) -> list[Action]:
    """The actions for the proposed changes in the range of `textDocument/codeAction`.

    A file that is decided as a whole has its actions at any range.
    """
    path = file_path(params["textDocument"]["uri"])
    if path is None or not _is_requested(params):
        return []
    first, last = _lines(params["range"])
    actions: list[Action] = []
    for session in sessions:
        proposal = proposal_of(session, path)
        if proposal is not None:
            actions += _actions(session, proposal, first, last)
    return actions


def _is_requested(params: CodeActionParams) -> bool:
    """Whether the client requests `KIND` or all kinds (LSP 3.18, `CodeActionContext.only`)."""
    only = params.get("context", {}).get("only")
    return not only or not {"", KIND}.isdisjoint(only)


def _lines(range_: RangeWire) -> tuple[int, int]:
    """The first and the last line of a range, counted from 0.

    If a range of several lines ends at the start of a line, that line is not included.
    """
    first, last = range_["start"]["line"], range_["end"]["line"]
    return first, last - 1 if last > first and range_["end"]["character"] == 0 else last


def _actions(session: Session, proposal: Proposal, first: int, last: int) -> Iterator[Action]:
    uri = uri_of(proposal)
    whole = whole_titles(session, proposal)
    if whole is not None:
        yield from _pair(session, {"uri": uri}, *whole, conflict=proposal.in_conflict)
        return
    touched = [hunk for hunk in proposal.hunks if _touches(proposal, hunk, first, last)]
    for hunk in touched:
        at = (str(proposal.region_of[hunk.id].mine[0] + 1),)
        size, conflict, is_only = hunk_size(hunk), hunk.id in proposal.conflicts, len(touched) == 1
        if conflict and is_only:
            accept, reject = CONFLICT_TITLES
        elif conflict:
            accept, reject = Title("Accept Proposed at Line {0} (Replace Mine)", at), Title("Keep Mine at Line {0}", at)
        elif is_only:
            accept, reject = Title("Accept This Change ({0})", (size,)), Title("Reject This Change")
        else:
            accept = Title("Accept the Change at Line {0} ({1})", (*at, size))
            reject = Title("Reject the Change at Line {0}", at)
        yield from _pair(session, {"uri": uri, "hunk": hunk.id}, accept, reject, conflict=conflict)
    if touched and len(proposal.hunks) > 1:
        count = (str(len(proposal.hunks)),)
        accept = Title("Accept All {0} Changes in This File", count)
        reject = Title("Reject All {0} Changes in This File", count)
        yield from _pair(session, {"uri": uri}, accept, reject)


def _touches(proposal: Proposal, hunk: Hunk, first: int, last: int) -> bool:
    """Whether a hunk touches these lines of the user's text. An insertion touches the lines before and after it."""
    start, end = proposal.region_of[hunk.id].mine
    return (start <= last and first < end) if start < end else start - 1 <= last and first <= start


def _pair(
    session: Session, target: dict[str, str], accept: Title, reject: Title, *, conflict: bool = False
) -> Iterator[Action]:
    """The actions to accept and to reject."""
    for title, command in zip((accept, reject), review_commands(session, target, conflict=conflict), strict=True):
        title = replace(title, prefix="Fairlead: ")
        command = {"title": title.text, **command}
        yield {"title": title.text, "kind": KIND, "command": command, "data": title.wire}
