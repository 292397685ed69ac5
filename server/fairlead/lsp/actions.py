"""Accept and reject at the cursor as code actions, for editors that show no code lenses by default."""

from collections.abc import Iterable, Iterator
from typing import Any, NotRequired, TypedDict

from lsprotocol import types

from fairlead.edits.diff import Hunk
from fairlead.edits.proposal import Proposal
from fairlead.lsp.protocol_states import RangeWire
from fairlead.lsp.review_commands import proposal_of, review_commands, uri_of, whole_titles
from fairlead.session.session import Session
from fairlead.uris import file_path

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
        line = proposal.region_of[hunk.id].mine[0] + 1
        which = "This Change" if len(touched) == 1 else f"the Change at Line {line}"
        accept, reject = f"Accept {which} (+{len(hunk.new)} −{len(hunk.old)})", f"Reject {which}"
        conflict = hunk.id in proposal.conflicts
        if conflict:
            at = "" if len(touched) == 1 else f" at Line {line}"
            accept, reject = f"Accept Proposed{at} (Replace Mine)", f"Keep Mine{at}"
        yield from _pair(session, {"uri": uri, "hunk": hunk.id}, accept, reject, conflict=conflict)
    if touched and len(proposal.hunks) > 1:
        all_changes = f"All {len(proposal.hunks)} Changes in This File"
        yield from _pair(session, {"uri": uri}, f"Accept {all_changes}", f"Reject {all_changes}")


def _touches(proposal: Proposal, hunk: Hunk, first: int, last: int) -> bool:
    """Whether a hunk touches these lines of the user's text. An insertion touches the lines before and after it."""
    start, end = proposal.region_of[hunk.id].mine
    return (start <= last and first < end) if start < end else start - 1 <= last and first <= start


def _pair(
    session: Session, target: dict[str, str], accept: str, reject: str, *, conflict: bool = False
) -> Iterator[Action]:
    """The actions to accept and to reject."""
    titles = (f"Fairlead: {accept}", f"Fairlead: {reject}")
    for command in review_commands(session, target, *titles, conflict=conflict):
        yield {"title": command["title"], "kind": KIND, "command": command}
