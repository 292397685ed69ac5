"""Finds the proposals and hunks that a decision is about."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fairlead.edits.changeset import Proposal
from fairlead.session.errors import Stale
from fairlead.session.session import Session

Result = Literal["applied", "rejected", "conflict", "failed"]

NO_PROPOSAL = "Nothing is proposed for this file anymore."
NO_HUNK = "This change is no longer proposed."


@dataclass(frozen=True, slots=True)
class Target:
    """What a decision is about: everything (all fields None), a file, a hunk of it, or a plan item."""

    path: Path | None = None
    hunk_id: str | None = None
    item_id: str | None = None


@dataclass(frozen=True, slots=True)
class HunkOutcome:
    """The outcome of a decision for one hunk, or for a whole file."""

    path: Path
    hunk_id: str | None
    """None: the file as a whole."""
    outcome: Result
    message: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """The hunks of one file that a decision is about."""

    path: Path
    hunk_ids: frozenset[str] | None
    """None: the file is decided as a whole."""
    seen: Proposal
    """The proposal when the user decided."""

    def outcomes(self, result: Result, message: str = "", ids: Collection[str] | None = None) -> list[HunkOutcome]:
        """One outcome for each hunk (of `ids`, if given), or one for the whole file."""
        if self.hunk_ids is None:
            return [HunkOutcome(self.path, None, result, message)]
        return [HunkOutcome(self.path, id, result, message) for id in (self.hunk_ids if ids is None else ids)]


def resolve_target(
    session: Session, target: Target, seen_version: int | None
) -> tuple[list[Selection], list[HunkOutcome]]:
    """Returns the selected hunks by file, and a failed outcome if the file or hunk is no longer proposed.

    Raises:
        Stale: the target changed after `seen_version`, the version of the edits that the user saw.
    """
    proposals = _proposals(session, target)
    _check_seen(session, target, proposals, seen_version)
    if target.path is not None and not proposals:
        return [], [HunkOutcome(target.path, target.hunk_id, "failed", NO_PROPOSAL)]
    selections: list[Selection] = []
    for proposal in proposals:
        ids = frozenset(hunk.id for hunk in proposal.hunks)
        if target.item_id is not None:
            ids = proposal.hunks_of(target.item_id)
        elif target.hunk_id is not None and not proposal.decided_as_whole:
            if target.hunk_id not in ids:
                return [], [HunkOutcome(Path(proposal.path), target.hunk_id, "failed", NO_HUNK)]
            ids = frozenset([target.hunk_id])
        selections.append(Selection(Path(proposal.path), None if proposal.decided_as_whole else ids, proposal))
    return selections, []


def _proposals(session: Session, target: Target) -> list[Proposal]:
    if target.item_id is not None:
        return [p for p in session.files.changes if target.item_id in p.item_ids]
    if target.path is None:
        return list(session.files.changes)
    found = session.files.proposal(target.path) or session.files.changes.for_target(str(target.path))
    return [found] if found is not None else []


def _has_same_hunk(target: Target, proposals: Collection[Proposal]) -> bool:
    """Whether the target is a hunk that is still proposed: its id is derived from its content, so it is unchanged."""
    if target.hunk_id is None:
        return False
    return any(
        hunk.id == target.hunk_id and hunk.id not in proposal.conflicts and not proposal.decided_as_whole
        for proposal in proposals
        for hunk in proposal.hunks
    )


def _check_seen(session: Session, target: Target, proposals: Collection[Proposal], seen_version: int | None) -> None:
    if seen_version is None or _has_same_hunk(target, proposals):
        return
    paths = None if target == Target() else [Path(proposal.path) for proposal in proposals]
    if target.path is not None:
        paths = [*(paths or []), target.path]
    if session.files.changed_since(seen_version, paths):
        raise Stale("The proposal changed. Review it again.")
