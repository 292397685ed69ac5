"""The proposed changes to a file, as they would change the user's text."""

from collections.abc import Iterator
from pathlib import Path

from fairlead.lsp.review_commands import proposal_of, uri_of, whole_titles
from fairlead.session.session import Session
from fairlead.wire import protocol as wire


def changes_in_file(session: Session, path: Path) -> Iterator[wire.ChangeInFileWire]:
    """The changes of a session's proposal for a file, from top to bottom, without conflicts.

    None if the file is decided as a whole.
    """
    proposal = proposal_of(session, path)
    if proposal is None or whole_titles(session, proposal) is not None:
        return
    for number, hunk in enumerate(proposal.hunks, 1):
        region = proposal.region_of.get(hunk.id)
        if region is None or region.side == "conflict":
            continue
        origin = proposal.origin(hunk)
        yield {
            "sessionId": session.id,
            "uri": uri_of(proposal),
            "hunk": hunk.id,
            # outside of conflicts, the user's text has the lines of the base
            "line": region.mine[0] + hunk.old_start - region.base[0],
            "removed": len(hunk.old),
            "added": [line.rstrip("\r\n") for line in hunk.new],
            "itemId": origin.item_id if origin is not None else None,
            "number": number,
            "count": len(proposal.hunks),
        }


def is_compared_with(session: Session, path: Path, text: str) -> bool:
    """Whether the changes of a session belong to this text of the file. True if it has none."""
    proposal = proposal_of(session, path)
    return proposal is None or proposal.current == text
