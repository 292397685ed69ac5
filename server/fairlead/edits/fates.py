"""What became of what was proposed: by file and by who proposed it, out of the decisions and what is left to decide."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from fairlead.edits.changeset import Changeset
from fairlead.edits.origins import Origin
from fairlead.edits.proposal import Proposal
from fairlead.edits.undo import Steps

Outcome = Literal["accepted", "review", "undone", "rejected"]


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of the changes that one author made in a file.

    `file` is the path that the file has by now, which tells it from others; `path` and `new_path` are those of the
    proposal. `item_id` and `call_id` are the author's (`Origin`), None where that is not known. `whole`: the file was
    decided as a whole.
    """

    file: str
    path: str
    new_path: str | None
    item_id: str | None
    call_id: str | None
    whole: bool
    outcome: Outcome


def fates(changes: Changeset, steps: Steps) -> list[Fate]:
    """The decisions in their order, then what is left to review. A decision that was taken back is none."""
    found: list[Fate] = []
    for step in steps.done:
        for one in step.files:
            if step.kind == "accept":
                found += _decided(one.before, one.after, "accepted")
                found = [_moved(fate, one.before) for fate in found]
            elif step.kind == "reject":
                found += _decided(one.before, one.after, "rejected")
            elif step.kind == "undo":
                found = _undone(found, one.before.path, step.item_id)
    for proposal in changes:
        found += _fates(proposal, _authors(proposal), "review")
    return list(dict.fromkeys(found))


def _decided(before: Proposal, after: Proposal, outcome: Outcome) -> list[Fate]:
    ids = None if before.whole else after.decided - before.decided
    return _fates(before, _authors(before, ids), outcome)


def _authors(proposal: Proposal, hunk_ids: frozenset[str] | None = None) -> list[Origin | None]:
    """Who made some hunks; None: all there is."""
    made = [proposal.origin(hunk) for hunk in proposal.hunks if hunk_ids is None or hunk.id in hunk_ids]
    return made if hunk_ids is not None or proposal.made is None else [proposal.made, *made]


def _fates(proposal: Proposal, authors: Iterable[Origin | None], outcome: Outcome) -> list[Fate]:
    names = [(made.item_id, made.call_id) if made is not None else (None, None) for made in authors]
    return [Fate(proposal.path, proposal.path, proposal.new_path, *name, proposal.whole, outcome) for name in names]


def _moved(fate: Fate, accepted: Proposal) -> Fate:
    moved = accepted.new_path is not None and fate.file == accepted.path
    return replace(fate, file=accepted.target) if moved else fate


def _undone(found: list[Fate], path: str, item_id: str | None) -> list[Fate]:
    """What was accepted of an item in a file is out again; where the file was decided as a whole, all of that is."""
    there = [fate for fate in found if (fate.file, fate.outcome) == (path, "accepted")]
    own = [fate for fate in there if fate.item_id == item_id]
    whole = bool(own) and own[-1].whole
    gone = {fate for fate in there if fate.whole == whole and (whole or fate.item_id == item_id)}
    return [replace(fate, outcome="undone") if fate in gone else fate for fate in found]
