"""Tracks which plan item and tool call wrote which lines of a proposed text."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from fairlead.edits.diff import Hunk, changed_blocks
from fairlead.text_lines import split_lines


@dataclass(frozen=True, slots=True)
class Author:
    """The plan item in progress and the tool call that a proposed change belongs to. Each is None if there is none."""

    item_id: str | None = None
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """The plan item and tool call that made a change; None as in `Author`."""

    order: int
    """The later the change, the greater."""
    item_id: str | None
    call_id: str | None
    over: tuple[str, ...] = ()
    """The other plan items whose changes this one replaced, directly or in several steps."""

    def replacing(self, replaced: Iterable["Origin | None"]) -> "Origin":
        """This origin, with the plan items of the replaced changes added to `over`."""
        items = [item for o in replaced if o is not None for item in (*o.over, o.item_id)]
        over = tuple(dict.fromkeys(item for item in (*self.over, *items) if item not in (None, self.item_id)))
        return replace(self, over=over) if over != self.over else self


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins of the changes in a text; None where nothing was changed, or only by the user."""

    lines: tuple[Origin | None, ...]
    """By line."""
    gaps: tuple[Origin | None, ...]
    """By gap between lines, where lines may have been removed. `gaps[i]` is before line i; there is one after the last.

    All gaps of a changed run are set, because a diff may show removed lines before or after added ones.
    """

    @staticmethod
    def empty(text: str) -> "Origins":
        """The origins of a text in which nothing was changed."""
        count = len(split_lines(text))
        return Origins((None,) * count, (None,) * (count + 1))

    @property
    def latest(self) -> Origin | None:
        """The latest origin in the text; None if the text has none."""
        return max((o for o in (*self.lines, *self.gaps) if o is not None), key=lambda o: o.order, default=None)

    def after(self, old: str, new: str, origin: Origin | None) -> "Origins":
        """The origins after a change of the text.

        Args:
            old: the text that these origins are for.
            origin: the origin of the change; None: the changed lines get none.
        """
        lines: list[Origin | None] = []
        gaps: list[Origin | None] = []
        changed_gaps: list[tuple[int, Origin | None]] = []
        copied = 0
        for a0, a1, b0, b1 in changed_blocks(split_lines(old), split_lines(new)):
            replaced = (*self.lines[a0:a1], *self.gaps[a0 : a1 + 1])
            new_origin = origin.replacing(replaced) if origin is not None else None
            lines += self.lines[copied:a0] + (new_origin,) * (b1 - b0)
            gaps += self.gaps[copied:a0] + (None,) * (b1 - b0)
            changed_gaps += ((gap, new_origin) for gap in range(b0, b1 + 1))
            copied = a1
        lines += self.lines[copied:]
        gaps += self.gaps[copied:]
        for gap, new_origin in changed_gaps:
            gaps[gap] = new_origin
        return Origins(tuple(lines), tuple(gaps))

    def amended(self, old: str, new: str) -> "Origins":
        """Like `after`, for a change by the user to the proposed text.

        Changed lines get the latest origin of the lines and gaps that they replace; None if these have none.
        """
        result = self.after(old, new, None)
        lines, gaps = list(result.lines), list(result.gaps)
        for a0, a1, b0, b1 in changed_blocks(split_lines(old), split_lines(new)):
            replaced = [o for o in (*self.lines[a0:a1], *self.gaps[a0 : a1 + 1]) if o is not None]
            latest = max(replaced, key=lambda o: o.order, default=None)
            lines[b0:b1] = [latest] * (b1 - b0)
            gaps[b0 : b1 + 1] = [latest] * (b1 - b0 + 1)
        return Origins(tuple(lines), tuple(gaps))

    def filled_from(self, other: "Origins") -> "Origins":
        """These origins, and where they have none, those of `other`, which are for the same text."""
        lines = tuple(mine or theirs for mine, theirs in zip(self.lines, other.lines, strict=True))
        return Origins(lines, tuple(mine or theirs for mine, theirs in zip(self.gaps, other.gaps, strict=True)))

    def within(self, hunk: Hunk) -> list[Origin]:
        """The origins of the lines and gaps of a hunk in the new text, without None."""
        start, end = hunk.new_start, hunk.new_start + len(hunk.new)
        return [o for o in (*self.lines[start:end], *self.gaps[start : end + 1]) if o is not None]

    def of(self, hunk: Hunk) -> Origin | None:
        """The latest origin in a hunk. If the hunk has none, the nearest one in the text; None if the text has none.

        A hunk may have none if the text has equal lines: the diff may show a different one of them as changed.
        """
        start, found = hunk.new_start, self.within(hunk)
        if found:
            return max(found, key=lambda o: o.order)
        known = [(abs(gap - start), o) for gap, o in enumerate(self.gaps) if o is not None]
        return min(known, key=lambda pair: pair[0])[1] if known else None
