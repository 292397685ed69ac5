"""One file's proposal: what it was computed against, what the person's file says, what the agent proposes. A value."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from fairlead.edits.derived import derived
from fairlead.edits.diff import Hunk, changed_blocks, hunks_of_blocks
from fairlead.edits.merge import Region, regions_of_blocks, replaced
from fairlead.edits.origins import Origin, Origins
from fairlead.edits.slide import Block
from fairlead.edits.text import split_lines

Kind = Literal["create", "modify", "delete", "rename"]

# where lines repeat, what is left may be seen at other lines once some of it has moved into the base
_MAX_PASSES = 10


@dataclass(frozen=True)
class Conflict:
    """What the person and the agent made of the same lines."""

    base: str
    current: str
    proposed: str


@dataclass(frozen=True, slots=True)
class Raw:
    """What no text says of a file: its bytes, where they are no text, and its permission bits; None: nothing."""

    data: bytes | None = None
    mode: int | None = None


PLAIN = Raw()


@dataclass(frozen=True)
class Proposal:
    """What the agent proposes for one file, under the path that it has now.

    `base` and `current` are None where there is no file (a create), `proposed` is None where there shall be none (a
    delete). `new_path` is where a rename leads. `made` is who created, deleted or renamed the file; who made which
    lines of it say `origins`. Of a binary file the texts are one line that tells its content from others, and the
    proposed bytes are in `raw`, as are new permissions. Everything else is derived from the three texts.
    """

    path: str
    base: str | None
    current: str | None
    proposed: str | None
    origins: Origins
    new_path: str | None = None
    made: Origin | None = None
    decided: frozenset[str] = frozenset()
    raw: Raw = PLAIN

    @property
    def kind(self) -> Kind:
        if self.base is None:
            return "create"
        if self.proposed is None:
            return "delete"
        return "modify" if self.new_path is None else "rename"

    @property
    def whole(self) -> bool:
        """It is decided as a whole, not hunk by hunk."""
        return self.kind != "modify" or self.raw != PLAIN

    @property
    def in_one_piece(self) -> bool:
        """Nothing of the person's can be merged into it."""
        return self.kind in ("create", "delete") or self.raw.data is not None

    @property
    def target(self) -> str:
        """The path that the proposed text is for."""
        return self.new_path or self.path

    @property
    def settled(self) -> bool:
        """Nothing is left to decide."""
        return self.base == self.proposed and self.new_path is None and self.raw.mode is None

    @derived
    def _lines(self) -> tuple[list[str], list[str], list[str]]:
        """The lines of base, current and proposed text."""
        base = split_lines(self.base or "")
        current = base if self.current == self.base else split_lines(self.current or "")
        return base, current, split_lines(self.proposed or "")

    @derived
    def _proposed_blocks(self) -> list[Block]:
        return changed_blocks(self._lines[0], self._lines[2])

    @derived
    def hunks(self) -> tuple[Hunk, ...]:
        return hunks_of_blocks(self._proposed_blocks, self._lines[0], self._lines[2], self.decided)

    @derived
    def regions(self) -> list[Region]:
        """Where the person's text (mine) and the proposed one (theirs) are not the base."""
        base, mine, theirs = self._lines
        if self.current is None and self.base is not None:  # the file is gone: no part of it comes back by itself
            return [Region("conflict", (0, len(base)), (0, 0), (0, len(theirs)))]
        return regions_of_blocks(changed_blocks(base, mine), self._proposed_blocks, mine, theirs)

    @derived
    def conflicts(self) -> dict[str, Conflict]:
        """The hunks that the person's own changes touch, by id."""
        if self.base == self.current:
            return {}
        if self.current is None or self.in_one_piece:
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

    @derived
    def region_of(self) -> dict[str, Region]:
        """The region that each hunk lies in, by the hunk's id: a hunk is a change of the proposed text."""
        regions = iter(region for region in self.regions if region.side != "mine")
        found: dict[str, Region] = {}
        region = next(regions, None)
        for hunk in self.hunks:
            ends = (hunk.old_start + len(hunk.old), hunk.new_start + len(hunk.new))
            while region is not None and (region.base[1] < ends[0] or region.theirs[1] < ends[1]):
                region = next(regions, None)
            if region is not None:
                found[hunk.id] = region
        return found

    @property
    def in_conflict(self) -> bool:
        """Some of it cannot be accepted without a word on what the person wrote there."""
        if self.base == self.current:
            return False
        return self.current is None or self.in_one_piece or bool(self.conflicts)

    @derived
    def _made_by(self) -> dict[str, Origin | None]:
        return {hunk.id: self.origins.of(hunk) or self.made for hunk in self.hunks}

    def origin(self, hunk: Hunk) -> Origin | None:
        """Who made the latest change in one of the hunks."""
        return self._made_by[hunk.id]

    @derived
    def item_ids(self) -> tuple[str, ...]:
        """The plan items that made it, in the order of the hunks."""
        found = [self.made, *(self.origin(hunk) for hunk in self.hunks)]
        return tuple(dict.fromkeys(o.item_id for o in found if o is not None and o.item_id is not None))

    @derived
    def overtaken(self) -> dict[str, str | None]:
        """The plan items whose changes a later one changed again, each with the latest that did (None: no item)."""
        found = [o for o in (self.made, *self.origins.lines, *self.origins.gaps) if o is not None and o.over]
        for hunk in self.hunks:  # what stands side by side is decided as one, and belongs to the latest
            latest = self.origin(hunk)
            if latest is not None:
                found.append(latest.taking(self.origins.within(hunk)))
        return {item: o.item_id for o in sorted(found, key=lambda o: o.order) for item in o.over}

    def hunks_of(self, item_id: str) -> frozenset[str]:
        """The ids of the hunks whose latest change was made under a plan item."""
        origins = ((hunk, self.origin(hunk)) for hunk in self.hunks)
        return frozenset(hunk.id for hunk, origin in origins if origin is not None and origin.item_id == item_id)

    def chosen(self, hunk_ids: Collection[str]) -> list[Region]:
        """The regions of some hunks. A conflict may hold several hunks; it is chosen with any of them."""
        return list(dict.fromkeys(region for one, region in self.region_of.items() if one in hunk_ids))

    def ids_in(self, regions: Collection[Region]) -> frozenset[str]:
        wanted = set(regions)
        return frozenset(hunk_id for hunk_id, region in self.region_of.items() if region in wanted)

    def applied(self, regions: Collection[Region]) -> tuple[str, str]:
        """The base and the person's text with the proposed lines of some regions in both."""
        base, mine, theirs = self._lines
        wanted = set(regions)
        ordered = [region for region in self.regions if region in wanted]
        new_base = replaced(base, [(region.base, theirs[slice(*region.theirs)]) for region in ordered])
        new_mine = replaced(mine, [(region.mine, theirs[slice(*region.theirs)]) for region in ordered])
        return "".join(new_base), "".join(new_mine)

    def reverted(self, regions: Collection[Region]) -> str:
        """The proposed text with the base's lines in some regions again."""
        base, _, theirs = self._lines
        wanted = set(regions)
        ordered = [region for region in self.regions if region in wanted]
        return "".join(replaced(theirs, [(region.theirs, base[slice(*region.base)]) for region in ordered]))

    def saying(self, proposed: str, origin: Origin | None, *, by_hand: bool = False) -> "Proposal":
        """Another proposed text. `origin` made the difference; made by hand, it stays with the step that it is in."""
        old = self.proposed or ""
        origins = self.origins.amended(old, proposed) if by_hand else self.origins.after(old, proposed, origin)
        return replace(self, proposed=proposed, origins=origins, raw=replace(self.raw, data=None))

    def work_out(self) -> None:
        """Works out what is shown of it, which takes long for long texts; for a thread of its own."""
        _ = self.hunks, self.conflicts, self.item_ids, self.overtaken

    def rebased(self, current: str | None) -> "Proposal":
        """The proposal on what the person's file says now.

        The person's changes that touch no hunk move into the base and the proposed text; what they changed as the
        agent did is no hunk any more; the rest stays a conflict on the hunks that it touches.
        """
        moved = replace(self, current=current)
        moved.__dict__["_proposed_blocks"] = self._proposed_blocks  # of the same two texts
        if current is None or self.base is None or self.proposed is None or self.raw.data is not None:
            settled = moved.current == moved.proposed
            return replace(moved, base=current, new_path=None, raw=PLAIN) if settled else moved
        for _ in range(_MAX_PASSES):
            free = [region for region in moved.regions if region.side in ("mine", "same")]
            if not free:
                break
            base, mine, theirs = moved._lines
            new_base = replaced(base, [(region.base, mine[slice(*region.mine)]) for region in free])
            new_theirs = replaced(theirs, [(region.theirs, mine[slice(*region.mine)]) for region in free])
            moved = replace(moved, base="".join(new_base)).saying("".join(new_theirs), None)
        return moved


def untouched(path: str, text: str | None) -> Proposal:
    """Nothing proposed for a file that says this."""
    return Proposal(path, text, text, text, Origins.untouched(text or ""))
