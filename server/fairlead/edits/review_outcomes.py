"""The outcome of each proposed change, by file, author and hunk: accepted, rejected, undone or still to review."""

from collections import defaultdict
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
    """Counts the accepted changes, and all that were decided or are left to review. Undone ones do not count."""
    outcomes = [last.outcome for last in last_outcomes(changes, decisions) if last.outcome != "undone"]
    return ReviewCount(outcomes.count("accepted"), len(outcomes))


def last_outcomes(changes: Changeset, decisions: DecisionLog) -> list[ReviewOutcome]:
    """The last outcome of each change: of each hunk, and of each file that is decided as a whole."""
    last = {(result.file, _part(result)): result for result in _all_outcomes(changes, decisions)}
    return list(last.values())


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
    decided = _DecidedOutcomes()
    accepts = ItemAccepts()
    for decision in decisions.done:
        for undone in accepts.add(decision):
            decided.undo(undone, decision.item_id)
        for file in decision.files:
            if decision.kind == "accept":
                decided.add(file, "accepted")
                if file.before.new_path is not None:
                    decided.move(file.before.path, file.before.target)
            elif decision.kind == "reject":
                decided.add(file, "rejected")
    pending = (_outcomes(proposal, _authored(proposal), "review") for proposal in changes)
    return [*decided.all, *chain.from_iterable(pending)]


class _DecidedOutcomes:
    """The outcomes of decisions. Finds those of one decision or file without a look at the others."""

    def __init__(self) -> None:
        self.all: list[ReviewOutcome] = []
        self._by_decision: dict[int, range] = {}
        """The indexes of the outcomes of a decision on a file, by the id of the object."""
        self._by_file = defaultdict[str, list[int]](list)
        """The indexes of the outcomes of a file, by `ReviewOutcome.file`."""

    def add(self, file: FileDecision, outcome: ReviewStatus) -> None:
        first = len(self.all)
        self.all += _outcomes(file.before, _authored(file.before, file.hunk_ids), outcome)
        self._by_decision[id(file)] = range(first, len(self.all))
        self._by_file[file.before.path] += range(first, len(self.all))

    def move(self, path: str, new_path: str) -> None:
        """Records that a file was moved."""
        indexes = self._by_file.pop(path, [])
        for index in indexes:
            self.all[index] = replace(self.all[index], file=new_path)
        self._by_file[new_path] += indexes

    def undo(self, accepted: FileDecision, item_id: str | None) -> None:
        """Records that an accept of a file was undone because of a plan item."""
        for index in self._by_decision[id(accepted)]:
            if accepted.as_whole or self.all[index].item_id == item_id:
                self.all[index] = replace(self.all[index], outcome="undone")
        if accepted.before.new_path is not None:
            self.move(accepted.before.target, accepted.before.path)


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
