"""Combines the proposals of several changesets, which were made on the same files. Pure functions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from fairlead.edits.changeset import Changeset
from fairlead.edits.merge import MergeConflict, Span, compare, merged
from fairlead.edits.origins import Origins
from fairlead.edits.proposal import Proposal, Raw
from fairlead.text_lines import split_lines


@dataclass(frozen=True, slots=True)
class CombineConflict:
    """Two changesets that change the same lines differently, or the same file in ways that exclude each other."""

    path: str
    """The path of the file in the proposed state."""
    sides: tuple[int, int]
    """The numbers of the two changesets, from 0."""
    lines: tuple[Span, Span] | None = None
    """The lines in the proposed text of each side. Counted from 0, the end is exclusive. None: the whole file."""


@dataclass(frozen=True, slots=True)
class Combined:
    """One changeset with the changes of several, without those in conflict."""

    changes: Changeset
    conflicts: tuple[CombineConflict, ...]


_Side = tuple[int, Proposal]
"""The number of a changeset, and its proposal for a file."""


def combine(changesets: Sequence[Changeset]) -> Combined:
    """Combines changesets whose proposals are for the same user's files, by a three-way merge with the user's text.

    A conflict of a proposal with the user's text is not one of these: as in the sandbox, the proposed lines count.
    """
    sides: dict[str, list[_Side]] = {}
    for number, changes in enumerate(changesets):
        for proposal in changes:
            sides.setdefault(proposal.path, []).append((number, proposal))
    found = dict[str, _Side]()
    conflicts: list[CombineConflict] = []
    for path, each in sides.items():
        in_conflict = _conflicts(each)
        if in_conflict:
            conflicts += in_conflict
        else:
            found[path] = each[0][0], _combined([proposal for _, proposal in each])
    collisions = list(_collisions(found))
    combined = Changeset(empty_folders=frozenset[str]().union(*(changes.empty_folders for changes in changesets)))
    for path, (_, proposal) in found.items():
        if not any(path in paths for paths, _ in collisions):
            combined = combined.with_proposal(proposal)
    return Combined(combined, (*conflicts, *(conflict for _, conflict in collisions)))


def _conflicts(sides: Sequence[_Side]) -> list[CombineConflict]:
    """The conflicts between the proposals for one file."""
    found = [conflict for one, other in combinations(sides, 2) for conflict in _between(one, other)]
    if found or len(sides) < 3:
        return found
    # adjacent changes of two sides can together be in conflict with those of a third
    for count in range(3, len(sides) + 1):
        try:
            _combined([proposal for _, proposal in sides[:count]])
        except MergeConflict:
            (before, _), (number, proposal) = sides[count - 2 : count]
            return [CombineConflict(proposal.target, (before, number))]
    return []


def _between(one: _Side, other: _Side) -> Iterator[CombineConflict]:
    """The conflicts between two proposals for one file."""
    (number, mine), (other_number, theirs) = one, other
    numbers = number, other_number
    if _effect(mine) == _effect(theirs):
        return
    if not (_is_mergeable(mine) and _is_mergeable(theirs)) or _exclude(mine, theirs):
        yield CombineConflict(mine.target, numbers)
        return
    texts = mine.current, mine.proposed, _rebased_text(theirs, mine)
    for region in compare(*(split_lines(text or "") for text in texts)):
        if region.side == "conflict":
            yield CombineConflict(mine.target, numbers, (region.mine, region.theirs))


def _rebased_text(proposal: Proposal, first: Proposal) -> str:
    """A proposed text, made from the same text of the user's file as another: the user may have typed in between."""
    return proposal.rebased(first.current).proposed or ""


def _effect(proposal: Proposal) -> tuple[object, ...]:
    """What accepting a proposal leaves on disk."""
    return proposal.target, proposal.proposed, proposal.raw


def _is_mergeable(proposal: Proposal) -> bool:
    """Whether it can be merged line by line: it changes the text of an existing file, and may move it."""
    return not proposal.is_atomic and proposal.current is not None and proposal.proposed is not None


def _exclude(one: Proposal, other: Proposal) -> bool:
    """Whether two proposals move a file to different paths, or give it different permissions."""
    moves = one.new_path is not None and other.new_path is not None and one.new_path != other.new_path
    modes = one.raw.mode is not None and other.raw.mode is not None and one.raw.mode != other.raw.mode
    return moves or modes


def _combined(proposals: Sequence[Proposal]) -> Proposal:
    """One proposal for a file with the changes of several. Raises MergeConflict if they are in conflict."""
    first, *others = proposals
    text, new_path, mode = first.proposed, first.new_path, first.raw.mode
    if all(_effect(first) == _effect(other) for other in others):
        return first
    for other in others:
        text = merged(first.current or "", text or "", _rebased_text(other, first))
        new_path, mode = new_path or other.new_path, mode if mode is not None else other.raw.mode
    origins = Origins.empty(text or "")
    return replace(
        first,
        base=first.current,
        proposed=text,
        origins=origins,
        new_path=new_path,
        raw=Raw(None, mode),
        decided=frozenset(),
    )


def _collisions(found: Mapping[str, _Side]) -> Iterator[tuple[set[str], CombineConflict]]:
    """The files that cannot exist together: two at one path, or a file where another needs a folder.

    Returns the current paths of both, and the conflict.
    """
    by_target: dict[str, tuple[str, int]] = {}
    for path, (number, proposal) in found.items():
        if proposal.proposed is None:
            continue
        if proposal.target in by_target:
            other, other_number = by_target[proposal.target]
            yield {path, other}, CombineConflict(proposal.target, (other_number, number))
        else:
            by_target[proposal.target] = path, number
    for target, (path, number) in by_target.items():
        for end in (index for index, letter in enumerate(target) if letter in "/\\"):
            if target[:end] in by_target:
                other, other_number = by_target[target[:end]]
                if other_number != number:
                    yield {path, other}, CombineConflict(target[:end], (other_number, number))
