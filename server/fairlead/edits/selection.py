"""Parts of a changeset, such as the changes that a check runs with."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import chain

from fairlead.edits.changeset import Changeset
from fairlead.edits.diff import content_key, hunks
from fairlead.edits.merge import Region
from fairlead.edits.proposal import Proposal


@dataclass(frozen=True, slots=True)
class Change:
    """A change that the user can decide on: a hunk, or a file that is decided as a whole."""

    path: str
    """The current path of the file."""
    hunk_id: str | None = None
    """None: the file as a whole."""


def pending(changes: Changeset) -> list[Change]:
    """All changes that are left to decide, in the order of the changeset."""
    return list(chain.from_iterable(units(changes)))


def units(changes: Changeset) -> list[tuple[Change, ...]]:
    """Like `pending`, in groups that can only be chosen together: the hunks of one conflict are a group."""
    found: list[tuple[Change, ...]] = []
    for proposal in changes:
        if proposal.decided_as_whole:
            found.append((Change(proposal.path),))
            continue
        by_region: dict[Region, list[Change]] = {}
        for hunk in proposal.hunks:
            by_region.setdefault(proposal.region_of[hunk.id], []).append(Change(proposal.path, hunk.id))
        found += map(tuple, by_region.values())
    return found


def only(changes: Changeset, chosen: Collection[Change]) -> Changeset:
    """The changeset with only the chosen changes: its texts are those that accepting them would write.

    A chosen change in a conflict includes the other hunks of the conflict, and replaces the user's lines. Changes that
    are no longer pending are ignored.
    """
    wanted = set(chosen)
    for proposal in changes:
        if proposal.decided_as_whole:
            if Change(proposal.path) not in wanted:
                changes = changes.without(proposal.path)
            continue
        ids = {hunk.id for hunk in proposal.hunks if Change(proposal.path, hunk.id) in wanted}
        if len(ids) < len(proposal.hunks):
            changes = changes.with_proposal(_with_hunks(proposal, ids))
    return changes


def differs_only_by(changes: Changeset, without: Collection[Change], path: str, text: str | None) -> bool:
    """Whether a changed text is the proposed text of a file, except that changes in `without` may be missing from it.

    This is the case after the user has accepted changes and rejected some of those in `without`. For a file that is
    decided as a whole, it is the case if the file is in `without` and was rejected.

    Args:
        path: the path of the text: before or after a proposed rename.
        text: None: there is no file.
    """
    proposal = changes.for_target(path) or changes.get(path)
    if proposal is None:
        return False
    if proposal.decided_as_whole:
        before = proposal.current if path == proposal.path else None
        return Change(proposal.path) in without and text == before
    ids = {change.hunk_id for change in without if change.path == proposal.path}
    missing = {content_key(hunk.old, hunk.new) for hunk in proposal.hunks if hunk.id in ids}
    return all(content_key(hunk.old, hunk.new) in missing for hunk in hunks(text or "", proposal.proposed or ""))


def _with_hunks(proposal: Proposal, hunk_ids: Collection[str]) -> Proposal:
    """The proposal with only some hunks, based on the user's current text."""
    if not hunk_ids:
        return replace(proposal, base=proposal.current, proposed=proposal.current)
    _, text = proposal.applied(proposal.regions_of_hunks(hunk_ids))
    return replace(proposal, base=proposal.current).with_text(text, None)
