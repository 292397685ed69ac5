"""Where a run of changed lines is drawn, where equal lines leave a choice: as a person would draw it."""

from collections.abc import Sequence

Block = tuple[int, int, int, int]

_MAX_SLIDE = 100


def drawn_well(blocks: Sequence[Block], a: Sequence[str], b: Sequence[str]) -> list[Block]:
    """The same change with added and removed runs moved up or down to where they begin and end at a seam.

    A new function is shown from its own first line to the blank line behind it, not from the middle of the one before.
    """
    drawn: list[Block] = []
    for index, block in enumerate(blocks):
        floor = drawn[-1][1] + 1 if drawn else 0
        ceiling = blocks[index + 1][0] - 1 if index + 1 < len(blocks) else len(a)
        drawn.append(_slid(block, a, b, floor, ceiling))
    return drawn


def _slid(block: Block, a: Sequence[str], b: Sequence[str], floor: int, ceiling: int) -> Block:
    """`floor` and `ceiling` bound the block in `a`, so that it touches no other."""
    a0, a1, b0, b1 = block
    if a0 < a1 and b0 < b1:
        return block
    lines, start, end = (b, b0, b1) if a0 == a1 else (a, a0, a1)
    up = 0
    while up < min(_MAX_SLIDE, a0 - floor) and lines[start - up - 1] == lines[end - up - 1]:
        up += 1
    down = 0
    while down < min(_MAX_SLIDE, ceiling - a1) and lines[start + down] == lines[end + down]:
        down += 1
    by = max(range(-up, down + 1), key=lambda shift: (*_seam(lines, start + shift, end + shift), shift))
    return a0 + by, a1 + by, b0 + by, b1 + by


def _seam(lines: Sequence[str], start: int, end: int) -> tuple[bool, int, bool]:
    """How well a run of lines is cut out: behind a blank line or the start, little indented, itself ending blank."""
    first = lines[start]
    after_blank = start == 0 or not lines[start - 1].strip()
    indent = len(first) - len(first.lstrip()) if first.strip() else 1_000
    return after_blank and bool(first.strip()), -indent, not lines[end - 1].strip()
