"""Three-way merge by line: what two sides changed in one base, region by region.

This is our own code, because callers need the position of a region in all three texts. The only well-maintained
library is under the GPL, and the others return one text with markers (docs/decisions.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fairlead.edits.diff import changed_blocks
from fairlead.edits.sliders import Block
from fairlead.text_lines import split_lines

Side = Literal["mine", "theirs", "same", "conflict"]
Span = tuple[int, int]


class MergeConflict(ValueError):
    """Both sides changed the same region differently (`compare`)."""


@dataclass(frozen=True, slots=True)
class Region:
    """Lines that one side or both changed. Spans count lines from 0 in their text; the end is exclusive."""

    side: Side
    """Who changed it: only `mine`, only `theirs`, both in the `same` way, or both differently (`conflict`)."""
    base: Span
    mine: Span
    theirs: Span


def compare(base: Sequence[str], mine: Sequence[str], theirs: Sequence[str]) -> list[Region]:
    """The changed regions of three lists of lines, in order.

    Two changes, one from each side, are one region if they share a line of the base, if one inserts lines between lines
    that the other changes, or if both insert lines at the same position. Adjacent changes are two regions, because
    their order is clear. If the first one lacks a final line ending, they are one region, because otherwise the last
    line of the first and the first line of the second would be joined.
    """
    return regions_of_blocks(changed_blocks(base, mine), changed_blocks(base, theirs), mine, theirs)


def regions_of_blocks(
    mine_blocks: Sequence[Block], theirs_blocks: Sequence[Block], mine: Sequence[str], theirs: Sequence[str]
) -> list[Region]:
    """Like `compare`, for the changed runs of each side against the base, if they are already known."""
    blocks = sorted([(block, 0) for block in mine_blocks] + [(block, 1) for block in theirs_blocks])
    regions: list[Region] = []
    offsets = [0, 0]  # for each side: its line number minus that of the base, after the regions so far
    index = 0
    while index < len(blocks):
        start, end = blocks[index][0][:2]
        sides: list[list[Block]] = [[], []]
        lacks_line_end = False  # a side's text ends here without a line ending
        while index < len(blocks):
            block, which = blocks[index]
            base_start, base_end, side_start, side_end = block
            touches = _overlap(start, end, base_start, base_end) or (lacks_line_end and base_start == end)
            if (sides[0] or sides[1]) and not touches:
                break
            end = max(end, base_end)
            sides[which].append(block)
            lines = (mine, theirs)[which]
            lacks_line_end = lacks_line_end or (side_start < side_end and lines[side_end - 1][-1] not in "\r\n")
            index += 1
        spans = [_span_of(start, end, sides[which], offsets[which]) for which in (0, 1)]
        offsets = [span[1] - end for span in spans]
        regions.append(Region(_side(sides, spans, mine, theirs), (start, end), spans[0], spans[1]))
    return regions


def _overlap(x0: int, x1: int, y0: int, y1: int) -> bool:
    """Whether two spans of the base share a line, insert at the same position, or one inserts inside the other."""
    if x0 == x1 and y0 == y1:
        return x0 == y0
    if x0 == x1:
        return y0 < x0 < y1
    if y0 == y1:
        return x0 < y0 < x1
    return x0 < y1 and y0 < x1


def _span_of(start: int, end: int, blocks: Sequence[Block], offset: int) -> Span:
    """Where the base's lines from `start` to `end` are in a side's text."""
    offset_after = blocks[-1][3] - blocks[-1][1] if blocks else offset
    return start + offset, end + offset_after


def _side(sides: Sequence[Sequence[object]], spans: Sequence[Span], mine: Sequence[str], theirs: Sequence[str]) -> Side:
    if not sides[1]:
        return "mine"
    if not sides[0]:
        return "theirs"
    same = mine[spans[0][0] : spans[0][1]] == theirs[spans[1][0] : spans[1][1]]
    return "same" if same else "conflict"


def replaced(lines: Sequence[str], changes: Sequence[tuple[Span, Sequence[str]]]) -> list[str]:
    """The lines with each span replaced with other lines. Spans are in order and do not overlap."""
    result: list[str] = []
    copied = 0
    for (start, end), new in changes:
        result += lines[copied:start]
        result += new
        copied = end
    result += lines[copied:]
    return result


def merged(base: str, mine: str, theirs: str) -> str:
    """One text with the changes of both sides.

    Raises:
        MergeConflict: both sides changed the same region differently (`compare`).
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
