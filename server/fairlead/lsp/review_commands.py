"""The accept and reject commands that code lenses and code actions offer for a proposal."""

from pathlib import Path
from typing import Any

from fairlead.edits.proposal import Proposal
from fairlead.lsp import protocol as wire
from fairlead.session.session import Session
from fairlead.workspace.errors import WorkspaceError

Command = dict[str, Any]
"""An LSP `Command`."""


def proposal_of(session: Session, path: Path) -> Proposal | None:
    """A session's proposal for a file, found by the file's current or proposed path; None if there is none."""
    if not session.files.changes.files:
        return None
    try:
        path = session.roots.resolve(str(path))
    except WorkspaceError:
        return None
    return session.files.proposal(path) or session.files.changes.for_target(str(path))


def uri_of(proposal: Proposal) -> str:
    """The URI of a proposal's file, at its current path."""
    return Path(proposal.path).as_uri()


CONFLICT_TITLES = ("Accept Proposed (Replace Mine)", "Keep Mine")


def whole_titles(session: Session, proposal: Proposal) -> tuple[str, str] | None:
    """The titles of the commands that accept and reject a whole file; None if its hunks are decided separately."""
    if proposal.deleted_by_user:
        return "Restore File with Changes", "Keep Deleted"
    if not proposal.decided_as_whole:
        return None
    return CONFLICT_TITLES if proposal.in_conflict else (_accept_title(session, proposal), "Reject")


def _accept_title(session: Session, proposal: Proposal) -> str:
    match proposal.kind:
        case "create":
            return "Accept New File"
        case "delete":
            return "Accept Deletion"
        case "rename":
            return f"Accept Rename to {session.roots.relative(Path(proposal.target))}"
        case "modify":  # bytes, or new permissions
            return "Accept File"


def review_commands(
    session: Session, target: dict[str, str], accept: str, reject: str, *, conflict: bool = False
) -> tuple[Command, Command]:
    """The commands that accept and reject a target, with the titles `accept` and `reject`.

    They are refused if the target changes before the user runs them. With `conflict`, accepting replaces the user's
    lines.
    """
    params: dict[str, Any] = {"sessionId": session.id, "target": target, "version": session.files.version}
    accept_params = {**params, "resolution": "proposed"} if conflict else params
    return (
        {"title": accept, "command": wire.COMMAND_ACCEPT, "arguments": [accept_params]},
        {"title": reject, "command": wire.COMMAND_REJECT, "arguments": [params]},
    )
