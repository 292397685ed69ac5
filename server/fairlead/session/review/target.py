"""What a decision is about, found among the proposals, and what came of it."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fairlead.edits.changeset import Proposal
from fairlead.session.host import Stale
from fairlead.session.session import Session

Result = Literal["applied", "rejected", "conflict", "failed"]


@dataclass(frozen=True, slots=True)
class Target:
    """What a decision is about: everything (all None), a file, a hunk of it, or a plan item."""

    path: Path | None = None
    hunk_id: str | None = None
    item_id: str | None = None


@dataclass(frozen=True, slots=True)
class Decided:
    """What came of one hunk, or of a file as a whole (`hunk_id` None)."""

    path: Path
    hunk_id: str | None
    outcome: Result
    message: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A file's chosen hunks; None where the file is decided as a whole. `seen` is the proposal that was looked at."""

    path: Path
    hunk_ids: frozenset[str] | None
    seen: Proposal

    def decided(self, outcome: Result, message: str = "", ids: Collection[str] | None = None) -> list[Decided]:
        """One entry for each hunk (`ids`: of these only), or one for the whole file."""
        if self.hunk_ids is None:
            return [Decided(self.path, None, outcome, message)]
        return [Decided(self.path, one, outcome, message) for one in (self.hunk_ids if ids is None else ids)]


def choose(session: Session, target: Target, seen: int | None) -> tuple[list[Choice], list[Decided]]:
    """The files and hunks that a target means, and what of it is not there.

    Raises:
        Stale: the target changed since version `seen`.
    """
    proposals = _proposals(session, target)
    _check_seen(session, target, proposals, seen)
    if target.path is not None and not proposals:
        return [], [Decided(target.path, target.hunk_id, "failed", "Nothing is proposed for this file (any more).")]
    choices: list[Choice] = []
    for proposal in proposals:
        ids = frozenset(hunk.id for hunk in proposal.hunks)
        if target.item_id is not None:
            ids = proposal.hunks_of(target.item_id)
        elif target.hunk_id is not None and not proposal.whole:
            if target.hunk_id not in ids:
                missing = "There is no such change (any more)."
                return [], [Decided(Path(proposal.path), target.hunk_id, "failed", missing)]
            ids = frozenset([target.hunk_id])
        choices.append(Choice(Path(proposal.path), None if proposal.whole else ids, proposal))
    return choices, []


def _proposals(session: Session, target: Target) -> list[Proposal]:
    if target.item_id is not None:
        return [p for p in session.files.changes if target.item_id in p.item_ids]
    if target.path is None:
        return list(session.files.changes)
    found = session.files.proposal(target.path) or session.files.changes.for_target(str(target.path))
    return [found] if found is not None else []


def _same_hunk(target: Target, proposals: Collection[Proposal]) -> bool:
    """A hunk's id says what it changes: one that is still there is the one that was seen, whatever else came about."""
    if target.hunk_id is None:
        return False
    return any(
        hunk.id == target.hunk_id and hunk.id not in proposal.conflicts and not proposal.whole
        for proposal in proposals
        for hunk in proposal.hunks
    )


def _check_seen(session: Session, target: Target, proposals: Collection[Proposal], seen: int | None) -> None:
    if seen is None or _same_hunk(target, proposals):
        return
    paths = None if target == Target() else [Path(proposal.path) for proposal in proposals]
    if target.path is not None:
        paths = [*(paths or []), target.path]
    if session.files.changed_since(seen, paths):
        raise Stale("The proposed changes are not those that were shown. Look at them again; nothing was done.")
