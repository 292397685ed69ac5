"""The proposed changes to a file, as they would change the user's text."""

from collections.abc import Iterator
from pathlib import Path

from fairlead.edits.merge import Region
from fairlead.lsp.review_commands import proposal_of, uri_of, whole_titles
from fairlead.session.session import Session
from fairlead.wire import protocol as wire


def changes_in_file(session: Session, path: Path) -> Iterator[wire.ChangeInFileWire]:
    """The changes of a session's proposal for a file, from top to bottom. None if the file is decided as a whole.

    The changes of one conflict are decided together, so only the first of them is there.
    """
    proposal = proposal_of(session, path)
    if proposal is None or whole_titles(session, proposal) is not None:
        return
    conflicts = set[Region]()
    for number, hunk in enumerate(proposal.hunks, 1):
        region = proposal.region_of.get(hunk.id)
        if region is None or region in conflicts:
            continue
        is_conflict = region.side == "conflict"
        if is_conflict:
            conflicts.add(region)
        first, end = region.mine
        origin = proposal.origin(hunk)
        yield {
            "sessionId": session.id,
            "uri": uri_of(proposal),
            "hunk": hunk.id,
            # outside of conflicts, the user's text has the lines of the base
            "line": first if is_conflict else first + hunk.old_start - region.base[0],
            "removed": end - first if is_conflict else len(hunk.old),
            "added": [line.rstrip("\r\n") for line in hunk.new],
            "state": "conflict" if is_conflict else "pending",
            "itemId": origin.item_id if origin is not None else None,
            "number": number,
            "count": len(proposal.hunks),
        }


def is_compared_with(session: Session, path: Path, text: str) -> bool:
    """Whether the changes of a session belong to this text of the file. True if it has none."""
    proposal = proposal_of(session, path)
    return proposal is None or proposal.current == text
