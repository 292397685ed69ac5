"""Tracks which plan item and tool call produced which lines of a proposed text."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from fairlead.edits.diff import Hunk, changed_blocks
from fairlead.edits.text import split_lines


@dataclass(frozen=True, slots=True)
class Author:
    """The plan item in progress and the tool call that propose a change; None if there is none."""

    item_id: str | None = None
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """The plan item and tool call that made a change.

    `order` grows with each change, so the latest one is known. `over` are the other plan items whose changes it
    replaced.
    """

    order: int
    item_id: str | None
    call_id: str | None
    over: tuple[str, ...] = ()

    def overtaking(self, made: Iterable["Origin | None"]) -> "Origin":
        """This origin, for a change that replaced others."""
        items = [item for o in made if o is not None for item in (*o.over, o.item_id)]
        over = tuple(dict.fromkeys(item for item in (*self.over, *items) if item not in (None, self.item_id)))
        return replace(self, over=over) if over != self.over else self


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins of a text: `lines[i]` of line i, `gaps[i]` of the gap before line i (one more than lines).

    Gaps record the removal of lines: a diff to the base may show the removed lines on either side of added ones.
    """

    lines: tuple[Origin | None, ...]
    gaps: tuple[Origin | None, ...]

    @staticmethod
    def empty(text: str) -> "Origins":
        """The origins of a text in which nothing was changed."""
        count = len(split_lines(text))
        return Origins((None,) * count, (None,) * (count + 1))

    def after(self, old: str, new: str, origin: Origin | None) -> "Origins":
        """The origins of `new`, which a change of `origin` made from `old`."""
        lines: list[Origin | None] = []
        gaps: list[Origin | None] = []
        touched: list[tuple[int, Origin | None]] = []
        kept = 0
        for a0, a1, b0, b1 in changed_blocks(split_lines(old), split_lines(new)):
            taken = (*self.lines[a0:a1], *self.gaps[a0 : a1 + 1])
            made = origin.overtaking(taken) if origin is not None else None
            lines += self.lines[kept:a0] + (made,) * (b1 - b0)
            gaps += self.gaps[kept:a0] + (None,) * (b1 - b0)
            touched += ((gap, made) for gap in range(b0, b1 + 1))
            kept = a1
        lines += self.lines[kept:]
        gaps += self.gaps[kept:]
        for gap, made in touched:
            gaps[gap] = made
        return Origins(tuple(lines), tuple(gaps))

    def amended(self, old: str, new: str) -> "Origins":
        """The origins of `new`, which the user made from `old`: changed lines keep their plan item."""
        result = self.after(old, new, None)
        lines, gaps = list(result.lines), list(result.gaps)
        for a0, a1, b0, b1 in changed_blocks(split_lines(old), split_lines(new)):
            made = [o for o in (*self.lines[a0:a1], *self.gaps[a0 : a1 + 1]) if o is not None]
            latest = max(made, key=lambda o: o.order, default=None)
            lines[b0:b1] = [latest] * (b1 - b0)
            gaps[b0 : b1 + 1] = [latest] * (b1 - b0 + 1)
        return Origins(tuple(lines), tuple(gaps))

    def filled_from(self, other: "Origins") -> "Origins":
        """These origins; where they have none, those of `other` for the same text."""
        lines = tuple(mine or theirs for mine, theirs in zip(self.lines, other.lines, strict=True))
        return Origins(lines, tuple(mine or theirs for mine, theirs in zip(self.gaps, other.gaps, strict=True)))

    def within(self, hunk: Hunk) -> list[Origin]:
        """The origins of all lines and gaps of a hunk."""
        start, end = hunk.new_start, hunk.new_start + len(hunk.new)
        return [o for o in (*self.lines[start:end], *self.gaps[start : end + 1]) if o is not None]

    def of(self, hunk: Hunk) -> Origin | None:
        """The latest origin in a hunk, else the nearest one, because a diff may mark another of several equal lines."""
        start, made = hunk.new_start, self.within(hunk)
        if made:
            return max(made, key=lambda o: o.order)
        known = [(abs(gap - start), o) for gap, o in enumerate(self.gaps) if o is not None]
        return min(known, key=lambda pair: pair[0])[1] if known else None
