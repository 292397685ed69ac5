"""The changeset: what the agent proposes, file by file, and what becomes of it. Pure functions on values.

A proposal holds the base (what it was computed against), the current text (what the person's file says now) and
the proposed text. Hunks are derived. Accepting moves a hunk's new lines into base and current; rejecting puts its
base lines back into the proposed text. A file whose current text is no longer its base is in conflict as a whole.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal

from fairlead.edits.diff import Hunk, apply_hunks, hunks, revert_hunks
from fairlead.edits.origins import Origin, Origins

Kind = Literal["create", "modify"]


@dataclass(frozen=True)
class Proposal:
    """One file's proposal. `base` and `current` are None where there is no file (a create)."""

    path: str
    base: str | None
    current: str | None
    proposed: str
    origins: Origins
    decided: frozenset[str] = frozenset()

    @property
    def kind(self) -> Kind:
        return "create" if self.base is None else "modify"

    @property
    def in_conflict(self) -> bool:
        return self.base != self.current

    @cached_property
    def hunks(self) -> tuple[Hunk, ...]:
        return hunks(self.base or "", self.proposed, self.decided)

    def origin(self, hunk: Hunk) -> Origin | None:
        return self.origins.of(hunk)

    @property
    def settled(self) -> bool:
        """Nothing is left to decide."""
        return self.base == self.proposed


@dataclass(frozen=True)
class Changeset:
    """All proposals by path, in the order in which they were first made."""

    files: Mapping[str, Proposal] = field(default_factory=lambda: MappingProxyType({}))
    order: int = 0

    def __iter__(self) -> Iterator[Proposal]:
        return iter(self.files.values())

    def __len__(self) -> int:
        return len(self.files)

    def get(self, path: str) -> Proposal | None:
        return self.files.get(path)

    def with_proposal(self, proposal: Proposal) -> "Changeset":
        """The changeset with this proposal in it, or without it where it is settled."""
        files = {**self.files, proposal.path: proposal}
        if proposal.settled:
            del files[proposal.path]
        return replace(self, files=MappingProxyType(files))


def propose(
    changes: Changeset,
    path: str,
    current: str | None,
    proposed: str,
    item_id: str | None,
    call_id: str | None,
) -> Changeset:
    """Adds a proposed text for a file.

    Args:
        current: what the person's file says now, None where there is none; used where the file has no proposal yet.
        item_id, call_id: the plan item in progress and the tool call that proposes it.
    """
    order = changes.order + 1
    old = changes.get(path)
    if old is None:
        old = Proposal(path, current, current, current or "", Origins.untouched(current or ""))
    origin = Origin(order, item_id, call_id)
    origins = old.origins.after(old.proposed, proposed, origin)
    if proposed == "" and old.kind == "create":
        origins = replace(origins, gaps=(origin,))  # an empty new file has no line that could say who made it
    return replace(changes, order=order).with_proposal(replace(old, proposed=proposed, origins=origins))


def observe(changes: Changeset, path: str, current: str | None) -> Changeset:
    """Notes what the person's file says now; a text other than the base is a conflict until it is the base again."""
    old = changes.get(path)
    if old is None or old.current == current:
        return changes
    return changes.with_proposal(replace(old, current=current))


def accept(changes: Changeset, path: str, text: str, hunk_ids: Collection[str] = ()) -> Changeset:
    """The editor has applied `text` (see `accepted_text`): it is base and current now, and these hunks are decided.

    What the agent proposed meanwhile stays proposed.
    """
    old = changes.get(path)
    if old is None:
        return changes
    decided = old.decided.union(hunk_ids)
    return changes.with_proposal(replace(old, base=text, current=text, decided=decided))


def accepted_text(proposal: Proposal, hunk_ids: Collection[str] | None) -> str:
    """What the person's file says once the chosen hunks (None: the whole file) are in it."""
    if hunk_ids is None or proposal.kind == "create":
        return proposal.proposed
    return apply_hunks(proposal.base or "", chosen(proposal, hunk_ids))


def reject(changes: Changeset, path: str, hunk_ids: Collection[str] | None) -> Changeset:
    """The chosen hunks (None: the whole file) leave the proposed text; base and current stay."""
    old = changes.get(path)
    if old is None:
        return changes
    if hunk_ids is None or old.kind == "create":
        files = {name: proposal for name, proposal in changes.files.items() if name != path}
        return replace(changes, files=MappingProxyType(files))
    proposed = revert_hunks(old.proposed, chosen(old, hunk_ids))
    origins = old.origins.after(old.proposed, proposed, None)
    decided = old.decided.union(hunk_ids)
    return changes.with_proposal(replace(old, proposed=proposed, origins=origins, decided=decided))


def chosen(proposal: Proposal, hunk_ids: Collection[str]) -> list[Hunk]:
    return [hunk for hunk in proposal.hunks if hunk.id in hunk_ids]


def hunks_of_item(proposal: Proposal, item_id: str) -> list[str]:
    """The ids of the hunks whose latest change was made under a plan item."""
    origins = ((hunk, proposal.origin(hunk)) for hunk in proposal.hunks)
    return [hunk.id for hunk, origin in origins if origin is not None and origin.item_id == item_id]


def item_ids(proposal: Proposal) -> tuple[str, ...]:
    """The plan items that the hunks of a file belong to, in the order of the hunks."""
    found = [proposal.origin(hunk) for hunk in proposal.hunks] or list(proposal.origins.gaps)
    return tuple(dict.fromkeys(o.item_id for o in found if o is not None and o.item_id is not None))
