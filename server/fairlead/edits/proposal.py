"""The proposal for one file: three texts (base, current, proposed) and everything that is derived from them."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, TypeVarTuple

from fairlead.edits.cached_derivation import cached_derivation
from fairlead.edits.diff import Hunk, changed_blocks, hunks_of_blocks
from fairlead.edits.merge import Region, regions_of_blocks, replaced
from fairlead.edits.origins import Origin, Origins
from fairlead.edits.sliders import Block
from fairlead.text_lines import split_lines

Kind = Literal["create", "modify", "delete", "rename"]

T = TypeVar("T")
Inputs = TypeVarTuple("Inputs")

# the maximum number of passes of a rebase. One may not be enough: if lines are repeated, the diff may find the
# remaining changes at other lines after some were moved into the base
_MAX_PASSES = 10


@dataclass(frozen=True)
class Conflict:
    """The versions of lines that both the user and the agent changed; of the whole file if it cannot be merged."""

    base: str
    current: str
    proposed: str


@dataclass(frozen=True, slots=True)
class Raw:
    """What is proposed besides text."""

    data: bytes | None = None
    """The bytes of a file that is binary, or that gets another encoding; None means those of the proposed text."""
    mode: int | None = None
    """The permission bits; None means unchanged."""
    bom: bool = False
    """Whether the file begins with a UTF-8 byte order mark if it is new. An existing file keeps its own format."""


PLAIN = Raw()


@dataclass(frozen=True)
class Proposal:
    """What the agent proposes for one file.

    For a binary file, each text is a single line that identifies the content.
    """

    path: str
    """The current path of the file."""
    base: str | None
    """The text that the agent's changes are compared with; None for a create."""
    current: str | None
    """The text of the user's file; None if there is no file."""
    proposed: str | None
    """The text that the agent proposes; None for a delete."""
    origins: Origins
    """The origins of the proposed text."""
    new_path: str | None = None
    """The destination of a rename."""
    file_origin: Origin | None = None
    """The origin of a create, delete or rename, or of a change to `raw`."""
    decided: frozenset[str] = frozenset()
    """The ids of hunks that the user has decided on."""
    raw: Raw = PLAIN

    @property
    def kind(self) -> Kind:
        """What the proposal does to the file as a whole."""
        if self.base is None:
            return "create"
        if self.proposed is None:
            return "delete"
        return "modify" if self.new_path is None else "rename"

    @property
    def decided_as_whole(self) -> bool:
        """Whether it can only be accepted or rejected as a whole, not by hunk."""
        return self.kind != "modify" or self.raw != PLAIN

    @property
    def is_atomic(self) -> bool:
        """Whether it cannot be merged with the user's changes."""
        return self.kind in ("create", "delete") or self.raw.data is not None

    @property
    def deleted_by_user(self) -> bool:
        """Whether the user deleted the file that it changes, so that accepting it restores the file."""
        return self.current is None and self.base is not None

    @property
    def target(self) -> str:
        """The path of the proposed text."""
        return self.new_path or self.path

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to decide."""
        raw = self.raw
        return self.base == self.proposed and self.new_path is None and raw.mode is None and raw.data is None

    @cached_derivation
    def _lines(self) -> tuple[list[str], list[str], list[str]]:
        """The lines of the base, the current and the proposed text."""
        base = split_lines(self.base or "")
        current = base if self.current == self.base else split_lines(self.current or "")
        return base, current, split_lines(self.proposed or "")

    @cached_derivation
    def _proposed_blocks(self) -> list[Block]:
        return changed_blocks(self._lines[0], self._lines[2])

    @cached_derivation
    def hunks(self) -> tuple[Hunk, ...]:
        """The changes from the base to the proposed text, in order."""
        return hunks_of_blocks(self._proposed_blocks, self._lines[0], self._lines[2], self.decided)

    @cached_derivation
    def regions(self) -> list[Region]:
        """Where the user's text (mine) or the proposed text (theirs) differs from the base."""
        base, mine, theirs = self._lines
        if self.deleted_by_user:  # the file can only be restored as a whole
            return [Region("conflict", (0, len(base)), (0, 0), (0, len(theirs)))]
        return regions_of_blocks(changed_blocks(base, mine), self._proposed_blocks, mine, theirs)

    @cached_derivation
    def conflicts(self) -> dict[str, Conflict]:
        """The conflicts with the user's changes, by the id of the hunk.

        If the user deleted the file, or the proposal is atomic, each hunk has the same conflict: the whole texts.
        """
        if self.base == self.current:
            return {}
        if self.current is None or self.is_atomic:
            whole = Conflict(self.base or "", self.current or "", self.proposed or "")
            return {hunk.id: whole for hunk in self.hunks}
        base, mine, theirs = self._lines
        found: dict[str, Conflict] = {}
        for hunk_id, region in self.region_of.items():
            if region.side == "conflict":
                found[hunk_id] = Conflict(
                    "".join(base[slice(*region.base)]),
                    "".join(mine[slice(*region.mine)]),
                    "".join(theirs[slice(*region.theirs)]),
                )
        return found

    @cached_derivation
    def region_of(self) -> dict[str, Region]:
        """The region of each hunk, by the hunk's id."""
        regions = iter(region for region in self.regions if region.side != "mine")
        found: dict[str, Region] = {}
        region = next(regions, None)
        for hunk in self.hunks:
            old_end, new_end = hunk.old_start + len(hunk.old), hunk.new_start + len(hunk.new)
            while region is not None and (region.base[1] < old_end or region.theirs[1] < new_end):
                region = next(regions, None)
            if region is not None:
                found[hunk.id] = region
        return found

    @property
    def in_conflict(self) -> bool:
        """Whether accepting all of it would discard a change by the user, such as a changed line or a deletion."""
        if self.base == self.current:
            return False
        return self.current is None or self.is_atomic or bool(self.conflicts)

    @cached_derivation
    def _origin_by_hunk(self) -> dict[str, Origin | None]:
        return {hunk.id: self.origins.of(hunk) or self.file_origin for hunk in self.hunks}

    def origin(self, hunk: Hunk) -> Origin | None:
        """The origin of the latest change in a hunk (`Origins.of`), else of the file; None if both are unknown."""
        return self._origin_by_hunk[hunk.id]

    def call_ids(self, hunk: Hunk) -> list[str]:
        """The tool calls that the lines of a hunk are from, the latest one last."""
        found = [*self.origins.within(hunk), self.origin(hunk)]
        calls = sorted({(o.order, o.call_id) for o in found if o is not None and o.call_id is not None})
        return [call_id for _, call_id in calls]

    @cached_derivation
    def item_ids(self) -> tuple[str, ...]:
        """The plan items that it belongs to: the one of `file_origin` first, then in the order of the hunks."""
        found = [self.file_origin, *(self.origin(hunk) for hunk in self.hunks)]
        return tuple(dict.fromkeys(o.item_id for o in found if o is not None and o.item_id is not None))

    @cached_derivation
    def overtaken(self) -> dict[str, str | None]:
        """The plan items whose changes were changed again, each with the item that did so last (None: no item)."""
        found = [o for o in (self.file_origin, *self.origins.lines, *self.origins.gaps) if o is not None and o.over]
        for hunk in self.hunks:  # adjacent changes are decided as one and belong to the latest
            latest = self.origin(hunk)
            if latest is not None:
                found.append(latest.replacing(self.origins.within(hunk)))
        return {item: o.item_id for o in sorted(found, key=lambda o: o.order) for item in o.over}

    def hunks_of(self, item_id: str) -> frozenset[str]:
        """The ids of the hunks whose latest change was made under a plan item."""
        origins = ((hunk, self.origin(hunk)) for hunk in self.hunks)
        return frozenset(hunk.id for hunk, origin in origins if origin is not None and origin.item_id == item_id)

    def of_item(self, item_id: str) -> tuple[str, dict[str, int]]:
        """The base with only a plan item's changes, and the line (from 0) at which each of its hunks begins there."""
        wanted = self.hunks_of(item_id)
        regions = self.regions_of_hunks(wanted)
        begins, shift = dict[Region, int](), 0
        for region in self._in_order(regions):
            begins[region] = region.base[0] + shift
            shift += (region.theirs[1] - region.theirs[0]) - (region.base[1] - region.base[0])
        lines = {
            hunk.id: begins[region] + hunk.new_start - region.theirs[0]
            for hunk in self.hunks
            if hunk.id in wanted and (region := self.region_of[hunk.id]) in begins
        }
        return self.applied(regions)[0], lines

    def regions_of_hunks(self, hunk_ids: Collection[str]) -> list[Region]:
        """The regions of some hunks. A conflict may contain several hunks; any of them selects it."""
        return list(dict.fromkeys(region for one, region in self.region_of.items() if one in hunk_ids))

    def hunk_ids_in(self, regions: Collection[Region]) -> frozenset[str]:
        """The ids of the hunks in some regions."""
        wanted = set(regions)
        return frozenset(hunk_id for hunk_id, region in self.region_of.items() if region in wanted)

    def applied(self, regions: Collection[Region]) -> tuple[str, str]:
        """The base and the user's text after the proposed lines of some regions are written into both."""
        base, mine, theirs = self._lines
        ordered = self._in_order(regions)
        new_base = replaced(base, [(region.base, theirs[slice(*region.theirs)]) for region in ordered])
        new_mine = replaced(mine, [(region.mine, theirs[slice(*region.theirs)]) for region in ordered])
        return "".join(new_base), "".join(new_mine)

    def reverted(self, regions: Collection[Region]) -> str:
        """The proposed text with the base's lines restored in some regions."""
        base, _, theirs = self._lines
        changes = [(region.theirs, base[slice(*region.base)]) for region in self._in_order(regions)]
        return "".join(replaced(theirs, changes))

    def _in_order(self, regions: Collection[Region]) -> list[Region]:
        wanted = set(regions)
        return [region for region in self.regions if region in wanted]

    def with_text(self, proposed: str, origin: Origin | None, *, by_hand: bool = False) -> "Proposal":
        """The proposal with another proposed text, and without proposed bytes.

        Args:
            origin: the origin of the changed lines; None: they get none.
            by_hand: whether the user made the change. If so, `origin` is ignored, and the changed lines get the origin
                of the lines that they replace (`Origins.amended`).
        """
        old = self.proposed or ""
        origins = self.origins.amended(old, proposed) if by_hand else self.origins.after(old, proposed, origin)
        return replace(self, proposed=proposed, origins=origins, raw=replace(self.raw, data=None))

    @cached_derivation
    def _derived(self) -> dict[Any, tuple[Any, Any]]:
        return {}

    def derive(self, compute: "Callable[[Proposal, *Inputs], T]", *inputs: *Inputs) -> T:
        """The result of a pure function of the proposal and these inputs. Caches the last result of each function."""
        known = self._derived.get(compute)
        if known is None or known[0] != inputs:
            known = self._derived[compute] = inputs, compute(self, *inputs)
        return known[1]

    def know(self, compute: "Callable[[Proposal], T]", result: T) -> None:
        """Caches the result of a function for `derive`. Call it only if the function would return the same."""
        self._derived[compute] = (), result

    def precompute(self) -> None:
        """Computes and caches what clients show of it. Slow for long texts; may run in a thread."""
        _ = self.hunks, self.conflicts, self.item_ids, self.overtaken

    def rebased(self, current: str | None) -> "Proposal":
        """The proposal rebased on a text of the user's file (None: there is no file).

        The user's changes that share no region with a hunk (`merge.compare`) become part of the base and the proposed
        text. Where the user made the same change as the agent, the hunk disappears. All other changes conflict with the
        hunks in their region.

        If the file is missing or the proposal is atomic, nothing is merged: if the user made the same change, only a
        proposed rename and permissions remain; otherwise the base stays.
        """
        moved = replace(self, current=current)
        moved.__dict__["_proposed_blocks"] = self._proposed_blocks  # those texts did not change
        if current is None or self.base is None or self.proposed is None or self.raw.data is not None:
            settled = current == self.proposed != self.base
            return replace(moved, base=current, raw=Raw(None, self.raw.mode)) if settled else moved
        for _ in range(_MAX_PASSES):
            free = [region for region in moved.regions if region.side in ("mine", "same")]
            if not free:
                break
            base, mine, theirs = moved._lines
            new_base = replaced(base, [(region.base, mine[slice(*region.mine)]) for region in free])
            new_theirs = replaced(theirs, [(region.theirs, mine[slice(*region.mine)]) for region in free])
            moved = replace(moved, base="".join(new_base)).with_text("".join(new_theirs), None)
        return moved


def empty_proposal(path: str, text: str | None) -> Proposal:
    """A proposal that changes nothing in a file with this text."""
    return Proposal(path, text, text, text, Origins.empty(text or ""))
