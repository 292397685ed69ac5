"""Finds the proposals and hunks that a decision is about."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fairlead.edits.proposal import Proposal
from fairlead.edits.selection import Change
from fairlead.session.errors import Stale
from fairlead.workspace.files import Files

Result = Literal["applied", "rejected", "conflict", "failed"]

NO_PROPOSAL = "Nothing is proposed for this file anymore."
NO_HUNK = "This change is no longer proposed."
CHANGED = "The proposal changed. Review it again."


@dataclass(frozen=True, slots=True)
class Target:
    """What a decision is about: everything (no field is set), changes, a plan item, or what weakens tests."""

    changes: tuple[Change, ...] | None = None
    """A path may be the one before or after a rename. A change without a hunk id means the whole file."""
    item_id: str | None = None
    is_selection: bool = False
    """Whether `changes` were chosen together, so the user may not have looked at each of them."""
    weakened_tests: bool = False
    """Whether it is what weakens tests (docs/plan.md P22). `changes` names it when the decision is made."""


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


def resolve_target(files: Files, target: Target, seen_version: int | None) -> tuple[list[Selection], list[HunkOutcome]]:
    """Returns the selected hunks by file, and failed outcomes for named files and hunks that are no longer proposed.

    Args:
        seen_version: the version of the edits that the user saw. None: nothing is compared.

    Raises:
        Stale: the target changed after `seen_version`, or a file has ceased to belong to the plan item since. A named
            hunk that is still proposed and not in conflict counts as unchanged.
    """
    if target.changes is not None:
        return _resolve_changes(files, target.changes, seen_version)
    proposals, item_id = list(files.changes), target.item_id
    if item_id is None:
        _check_seen(files, seen_version, None)
        return [_selection(proposal, _ids(proposal)) for proposal in proposals], []
    if seen_version is not None and files.item_changed_since(seen_version, item_id):
        raise Stale(CHANGED)
    selected = [proposal for proposal in proposals if item_id in proposal.item_ids]
    return [_selection(proposal, proposal.hunks_of(item_id)) for proposal in selected], []


def target_paths(files: Files, target: Target) -> list[Path]:
    """The current paths of the proposed files that a decision may be about."""
    pending = files.changes
    if target.changes is not None:
        named = (pending.get(change.path) or pending.for_target(change.path) for change in target.changes)
        return list(dict.fromkeys(Path(proposal.path) for proposal in named if proposal is not None))
    item_id = target.item_id
    return [Path(proposal.path) for proposal in pending if item_id is None or item_id in proposal.item_ids]


def _resolve_changes(
    files: Files, changes: Sequence[Change], seen_version: int | None
) -> tuple[list[Selection], list[HunkOutcome]]:
    pending = files.changes
    wanted: dict[str, set[str | None]] = {}
    for change in changes:
        proposal = pending.get(change.path) or pending.for_target(change.path)
        wanted.setdefault(change.path if proposal is None else proposal.path, set()).add(change.hunk_id)
    selections: list[Selection] = []
    outcomes: list[HunkOutcome] = []
    for path, ids in wanted.items():
        proposal = pending.get(path)
        if proposal is None:
            _check_seen(files, seen_version, [Path(path)])
            outcomes += [HunkOutcome(Path(path), hunk_id, "failed", NO_PROPOSAL) for hunk_id in ids]
            continue
        is_whole = None in ids or proposal.decided_as_whole
        present = _ids(proposal) if is_whole else _ids(proposal) & ids
        # the id of a hunk is derived from its content, so a hunk that is still there is unchanged
        if is_whole or len(present) < len(ids) or not present.isdisjoint(proposal.conflicts):
            _check_seen(files, seen_version, [Path(path)])
        if not is_whole:
            outcomes += [HunkOutcome(Path(path), hunk_id, "failed", NO_HUNK) for hunk_id in ids - present]
        if is_whole or present:
            selections.append(_selection(proposal, present))
    return selections, outcomes


def _ids(proposal: Proposal) -> frozenset[str]:
    return frozenset(hunk.id for hunk in proposal.hunks)


def _selection(proposal: Proposal, hunk_ids: frozenset[str]) -> Selection:
    return Selection(Path(proposal.path), None if proposal.decided_as_whole else hunk_ids, proposal)


def _check_seen(files: Files, seen_version: int | None, paths: Collection[Path] | None) -> None:
    if seen_version is not None and files.changed_since(seen_version, paths):
        raise Stale(CHANGED)
