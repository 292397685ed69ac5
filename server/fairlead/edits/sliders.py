"""Chooses where added or removed lines are shown if equal lines allow several positions (a slider)."""

from collections.abc import Sequence

Block = tuple[int, int, int, int]
"""A change from `a` to `b`: the start and the end of the changed lines in `a`, then in `b`. The ends are exclusive."""

_MAX_SLIDE = 100  # lines, up or down


def align_blocks(blocks: Sequence[Block], a: Sequence[str], b: Sequence[str]) -> list[Block]:
    """The same changes, with added or removed lines moved to the boundaries that a reader expects.

    For example, a new function is shown from its first line to the blank line after it, and not from the last lines of
    the function before it.
    """
    aligned: list[Block] = []
    for index, block in enumerate(blocks):
        floor = aligned[-1][1] + 1 if aligned else 0
        ceiling = blocks[index + 1][0] - 1 if index + 1 < len(blocks) else len(a)
        aligned.append(_aligned(block, a, b, floor, ceiling))
    return aligned


def _aligned(block: Block, a: Sequence[str], b: Sequence[str], floor: int, ceiling: int) -> Block:
    """The block at its best position between `floor` and `ceiling` in `a`, which keep it apart from other blocks.

    A block that removes lines and adds others stays where it is.
    """
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
    best = max(range(-up, down + 1), key=lambda shift: (*_boundary_score(lines, start + shift, end + shift), shift))
    return a0 + best, a1 + best, b0 + best, b1 + best


def _boundary_score(lines: Sequence[str], start: int, end: int) -> tuple[bool, int, bool]:
    """How natural a position of added or removed lines is: the greater, the more natural.

    It is natural that they begin after a blank line, that the first one has little indentation, and that the last one
    is blank, in this order of importance.
    """
    first = lines[start]
    after_blank = start == 0 or not lines[start - 1].strip()
    indent = len(first) - len(first.lstrip()) if first.strip() else 1_000
    return after_blank and bool(first.strip()), -indent, not lines[end - 1].strip()
