"""The outcome of each proposed change, by file, author and hunk: accepted, rejected, undone or still to review."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

from fairlead.edits.changeset import Changeset
from fairlead.edits.diff import Hunk, HunkPosition
from fairlead.edits.item_accepts import ItemAccepts
from fairlead.edits.origins import Origin
from fairlead.edits.proposal import Proposal
from fairlead.edits.undo import DecisionLog, FileDecision

ReviewStatus = Literal["accepted", "review", "undone", "rejected"]


@dataclass(frozen=True, slots=True)
class ReviewOutcome:
    """The outcome of the changes that one author made in a file, or of one hunk of them."""

    file: str
    """The file's path now, which identifies it."""
    path: str
    """As in the proposal (`Proposal.path`)."""
    new_path: str | None
    """As in the proposal (`Proposal.new_path`)."""
    item_id: str | None
    """The author's plan item (`Origin`); None if there is none, or the author is unknown."""
    call_id: str | None
    """The author's tool call; None as for `item_id`."""
    decided_as_whole: bool
    outcome: ReviewStatus
    hunk: HunkPosition | None = None
    """None in `review_outcomes`, and in `hunk_outcomes` for a change to the file itself, such as a rename."""


@dataclass(frozen=True, slots=True)
class ReviewCount:
    """How many changes (hunks, or files that are decided as a whole) were accepted, of how many in total."""

    accepted: int
    total: int


def count_review(changes: Changeset, decisions: DecisionLog) -> ReviewCount:
    """Counts the accepted changes, and all changes that were decided or are left to review.

    A change that was decided several times counts once, with its last outcome. Undone changes do not count.
    """
    last: dict[tuple[str, str], ReviewStatus] = {}
    for result in _all_outcomes(changes, decisions):
        last[result.file, _part(result)] = result.outcome
    outcomes = [outcome for outcome in last.values() if outcome != "undone"]
    return ReviewCount(outcomes.count("accepted"), len(outcomes))


def _part(result: ReviewOutcome) -> str:
    """The id of the hunk; "" if the file is decided as a whole."""
    return "" if result.decided_as_whole or result.hunk is None else result.hunk.id


def review_outcomes(changes: Changeset, decisions: DecisionLog) -> list[ReviewOutcome]:
    """The outcomes by file and author, without duplicates, in the order of `hunk_outcomes`."""
    return list(dict.fromkeys(replace(result, hunk=None) for result in hunk_outcomes(changes, decisions)))


def hunk_outcomes(changes: Changeset, decisions: DecisionLog) -> list[ReviewOutcome]:
    """The outcomes of the decisions in order, then the changes left to review.

    Decisions that the user has undone are left out. Accepted changes that were undone with their plan item are included
    as `undone`.
    """
    return list(dict.fromkeys(_all_outcomes(changes, decisions)))


def _all_outcomes(changes: Changeset, decisions: DecisionLog) -> list[ReviewOutcome]:
    """As `hunk_outcomes`, with duplicates."""
    found: list[tuple[FileDecision, ReviewOutcome]] = []
    accepts = ItemAccepts()
    for decision in decisions.done:
        for undone in accepts.add(decision):
            found = [(file, _after_undo(file, result, undone, decision.item_id)) for file, result in found]
        for file in decision.files:
            if decision.kind == "accept":
                found += ((file, result) for result in _decided(file, "accepted"))
                if file.before.new_path is not None:
                    found = [(each, _moved(result, file.before.path, file.before.target)) for each, result in found]
            elif decision.kind == "reject":
                found += ((file, result) for result in _decided(file, "rejected"))
    pending = (_outcomes(proposal, _authored(proposal), "review") for proposal in changes)
    return [*(result for _, result in found), *chain.from_iterable(pending)]


def _decided(file: FileDecision, outcome: ReviewStatus) -> list[ReviewOutcome]:
    return _outcomes(file.before, _authored(file.before, file.hunk_ids), outcome)


_AuthoredChange = tuple[Origin | None, HunkPosition | None]


def _authored(proposal: Proposal, hunk_ids: frozenset[str] | None = None) -> list[_AuthoredChange]:
    """Some hunks (None: all), each with its author; first the file itself if it is decided as a whole."""

    def authored(hunk: Hunk) -> _AuthoredChange:
        return proposal.origin(hunk), hunk.position

    found = [authored(hunk) for hunk in proposal.hunks if hunk_ids is None or hunk.id in hunk_ids]
    return [(proposal.file_origin, None), *found] if proposal.decided_as_whole else found


def _outcomes(proposal: Proposal, changes: Iterable[_AuthoredChange], outcome: ReviewStatus) -> list[ReviewOutcome]:
    path, new_path, as_whole = proposal.path, proposal.new_path, proposal.decided_as_whole
    return [
        ReviewOutcome(
            path,
            path,
            new_path,
            author.item_id if author is not None else None,
            author.call_id if author is not None else None,
            as_whole,
            outcome,
            hunk,
        )
        for author, hunk in changes
    ]


def _moved(result: ReviewOutcome, path: str, new_path: str) -> ReviewOutcome:
    return replace(result, file=new_path) if result.file == path else result


def _after_undo(file: FileDecision, result: ReviewOutcome, undone: FileDecision, item_id: str | None) -> ReviewOutcome:
    """The result of a decision on a file after a plan item was undone in an accept."""
    if file is undone and (file.as_whole or result.item_id == item_id):
        result = replace(result, outcome="undone")
    if undone.before.new_path is not None:
        result = _moved(result, undone.before.target, undone.before.path)
    return result
