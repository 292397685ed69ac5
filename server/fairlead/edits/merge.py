"""Three-way merge by line: what two sides made of one base, stretch by stretch.

Our own and small, because a stretch must say where it lies in all three texts: a conflict is one hunk's, not the
file's, and an accept puts a stretch into the person's text at its place there. A merge that only returns a text with
markers could not do that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fairlead.edits.diff import changed_blocks
from fairlead.edits.slide import Block
from fairlead.edits.text import split_lines

Side = Literal["mine", "theirs", "same", "conflict"]
Span = tuple[int, int]


class MergeConflict(ValueError):
    """Both sides changed the same lines, each in its own way."""


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch that one side or both changed. Each span counts lines from 0 in its text, the end excluded.

    `side` says who: `mine` alone, `theirs` alone, both the `same` way, or both differently (`conflict`).
    """

    side: Side
    base: Span
    mine: Span
    theirs: Span


def compare(base: Sequence[str], mine: Sequence[str], theirs: Sequence[str]) -> list[Region]:
    """The changed stretches of three lists of lines, in order.

    Two changes are one stretch where they share a line of the base, or both put lines in at the same place. Changes
    that only lie side by side are two: their order is clear, so nothing of either is lost by having both. Only where
    the first leaves the text without a line end they are one: else two lines would become one.
    """
    return regions_of_blocks(changed_blocks(base, mine), changed_blocks(base, theirs), mine, theirs)


def regions_of_blocks(
    mine_blocks: Sequence[Block], theirs_blocks: Sequence[Block], mine: Sequence[str], theirs: Sequence[str]
) -> list[Region]:
    """`compare` for changes that are known already."""
    waiting = sorted([(*block, 0) for block in mine_blocks] + [(*block, 1) for block in theirs_blocks])
    regions: list[Region] = []
    offsets = [0, 0]  # of each side's text against the base, behind what was taken so far
    index = 0
    while index < len(waiting):
        start, end = waiting[index][:2]
        sides: list[list[tuple[int, int, int, int, int]]] = [[], []]
        runs_on = False  # a side's text ends here without a line end
        while index < len(waiting):
            block = waiting[index]
            lines = (mine, theirs)[block[4]]
            touches = _share(start, end, *block[:2]) or (runs_on and block[0] == end)
            if (sides[0] or sides[1]) and not touches:
                break
            end = max(end, block[1])
            sides[block[4]].append(block)
            runs_on = runs_on or (block[2] < block[3] and lines[block[3] - 1][-1] not in "\r\n")
            index += 1
        spans = [_span_of(start, end, sides[which], offsets[which]) for which in (0, 1)]
        offsets = [span[1] - end for span in spans]
        regions.append(Region(_side(sides, spans, mine, theirs), (start, end), spans[0], spans[1]))
    return regions


def _share(x0: int, x1: int, y0: int, y1: int) -> bool:
    """Whether two spans of the base have a line, or the place of an insertion, in common."""
    if x0 == x1 and y0 == y1:
        return x0 == y0
    if x0 == x1:
        return y0 < x0 < y1
    if y0 == y1:
        return x0 < y0 < x1
    return x0 < y1 and y0 < x1


def _span_of(start: int, end: int, blocks: Sequence[tuple[int, int, int, int, int]], offset: int) -> Span:
    """Where the base's lines from start to end lie in a side's text."""
    behind = blocks[-1][3] - blocks[-1][1] if blocks else offset
    return start + offset, end + behind


def _side(sides: Sequence[Sequence[object]], spans: Sequence[Span], mine: Sequence[str], theirs: Sequence[str]) -> Side:
    if not sides[1]:
        return "mine"
    if not sides[0]:
        return "theirs"
    same = mine[spans[0][0] : spans[0][1]] == theirs[spans[1][0] : spans[1][1]]
    return "same" if same else "conflict"


def replaced(lines: Sequence[str], changes: Sequence[tuple[Span, Sequence[str]]]) -> list[str]:
    """The lines with each span, in order and none overlapping, replaced by other lines."""
    result: list[str] = []
    at = 0
    for (start, end), new in changes:
        result += lines[at:start]
        result += new
        at = end
    result += lines[at:]
    return result


def merged(base: str, mine: str, theirs: str) -> str:
    """Both sides' changes in one text.

    Raises:
        MergeConflict: they changed the same lines, each in its own way.
    """
    if base == theirs or mine == theirs:
        return mine
    if base == mine:
        return theirs
    a, b, c = split_lines(base), split_lines(mine), split_lines(theirs)
    regions = compare(a, b, c)
    if any(region.side == "conflict" for region in regions):
        raise MergeConflict
    changes = [(region.mine, c[slice(*region.theirs)]) for region in regions if region.side == "theirs"]
    return "".join(replaced(b, changes))
