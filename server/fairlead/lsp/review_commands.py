"""The accept and reject commands that code lenses and code actions offer for a proposal."""

from pathlib import Path
from typing import Any

from fairlead.edits.proposal import Proposal
from fairlead.lsp.titles import Title
from fairlead.session.session import Session
from fairlead.wire import protocol as wire
from fairlead.workspace.errors import WorkspaceError

Command = dict[str, Any]
"""An LSP `Command`, without its title."""


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


CONFLICT_TITLES = Title("Accept Proposed (Replace Mine)"), Title("Keep Mine")
FILE_TITLES = Title("Accept File"), Title("Reject File")


def whole_titles(session: Session, proposal: Proposal) -> tuple[Title, Title] | None:
    """The titles of the commands that accept and reject a whole file; None if its hunks are decided separately."""
    if proposal.deleted_by_user:
        return Title("Restore File with Changes"), Title("Keep Deleted")
    if not proposal.decided_as_whole:
        return None
    return CONFLICT_TITLES if proposal.in_conflict else (_accept_title(session, proposal), Title("Reject"))


def _accept_title(session: Session, proposal: Proposal) -> Title:
    match proposal.kind:
        case "create":
            return Title("Accept New File")
        case "delete":
            return Title("Accept Deletion")
        case "rename":
            return Title("Accept Rename to {0}", (session.roots.relative(Path(proposal.target)),))
        case "modify":  # bytes, or new permissions
            return Title("Accept File")


def review_commands(session: Session, target: dict[str, str], *, conflict: bool = False) -> tuple[Command, Command]:
    """The commands that accept and reject a target, without titles.

    They are refused if the target changes before the user runs them. With `conflict`, accepting replaces the user's
    lines.
    """
    params: dict[str, Any] = {"sessionId": session.id, "target": target, "version": session.files.version}
    accept_params = {**params, "resolution": "proposed"} if conflict else params
    return (
        {"command": wire.COMMAND_ACCEPT, "arguments": [accept_params]},
        {"command": wire.COMMAND_REJECT, "arguments": [params]},
    )
