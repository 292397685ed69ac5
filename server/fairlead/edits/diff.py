"""Line hunks between two texts: always derived, never stored."""

import hashlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from math import ceil
from operator import lt

from fairlead.edits.sliders import Block, align_blocks
from fairlead.text_lines import split_lines

# Limits of a comparison. A section counts as changed as a whole if it is longer than `_MAX_LINES`, or if its pairs and
# those of the sections before it are more than `_MAX_PAIRS`.
_MAX_PAIRS = 100_000  # pairs of equal lines that SequenceMatcher looks at, in all sections together
_MAX_LINES = 300_000  # lines of a section, both sides together
_MAX_DEPTH = 20  # nested sections; deeper ones are not divided by anchors
_MAX_BLOCKS = 5_000  # runs of changed lines; if there are more, the nearest ones are joined


@dataclass(frozen=True, slots=True)
class Hunk:
    """A run of changed lines."""

    id: str
    """A digest of its lines and of a number that tells equal hunks apart (docs/protocol.md, `Hunk`)."""
    old_start: int
    """The index of its first old line, from 0. For an empty `old`, that of the line before which lines are added."""
    old: tuple[str, ...]
    """The lines with their line endings, like `new`."""
    new_start: int
    """Like `old_start`, in the new text."""
    new: tuple[str, ...]

    @property
    def position(self) -> "HunkPosition":
        """The lines that it covers, without their text."""
        return HunkPosition(
            self.id,
            self.old_start + (1 if self.old else 0),
            len(self.old),
            self.new_start + (1 if self.new else 0),
            len(self.new),
        )


@dataclass(frozen=True, slots=True)
class HunkPosition:
    """The lines of a hunk, as in a unified diff: counted from 1, and an empty side names the line before it."""

    id: str
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int


def changed_blocks(a: Sequence[str], b: Sequence[str]) -> list[Block]:
    """The changed runs `(a_start, a_end, b_start, b_end)` between two lists of lines: in order, and never adjacent.

    Lines that occur exactly once on each side anchor the comparison, so its time grows with the size of the files, not
    with the square of the size. If there are more than 5,000 runs, the nearest ones are joined: nobody reviews so many.
    """
    if a == b:
        return []
    found: list[Block] = []
    pairs_left = _MAX_PAIRS
    waiting = [(0, len(a), 0, len(b), 0)]
    while waiting:
        a0, a1, b0, b1, depth = waiting.pop()
        while a0 < a1 and b0 < b1 and a[a0] == b[b0]:
            a0, b0 = a0 + 1, b0 + 1
        while a0 < a1 and b0 < b1 and a[a1 - 1] == b[b1 - 1]:
            a1, b1 = a1 - 1, b1 - 1
        if a0 == a1 or b0 == b1:
            if a0 < a1 or b0 < b1:
                found.append((a0, a1, b0, b1))
            continue
        if (a1 - a0 == 1 and b1 - b0 == 1) or a1 - a0 + b1 - b0 > _MAX_LINES:
            found.append((a0, a1, b0, b1))
            continue
        anchors = _anchors(a[a0:a1], b[b0:b1]) if depth < _MAX_DEPTH else []
        if not anchors:
            pairs_left -= _equal_pairs(a[a0:a1], b[b0:b1])
            runs = _compared(a[a0:a1], b[b0:b1]) if pairs_left >= 0 else [(0, a1 - a0, 0, b1 - b0)]
            found += [(a0 + i, a0 + j, b0 + k, b0 + m) for i, j, k, m in runs]
            continue
        starts = [(a0, b0), *((a0 + i + 1, b0 + j + 1) for i, j in anchors)]
        ends = [*((a0 + i, b0 + j) for i, j in anchors), (a1, b1)]
        pairs = zip(starts, ends, strict=True)
        gaps = [(i, j, k, m, depth + 1) for (i, k), (j, m) in pairs if i < j or k < m]
        waiting += reversed(gaps)
    return _joined(align_blocks(found, a, b))


def _joined(blocks: list[Block]) -> list[Block]:
    """At most `_MAX_BLOCKS` runs. If there are more, those with the smallest gaps between them are joined.

    If only some of the gaps of one size must be closed, those that stay open are spread evenly. If they were closed in
    order, many changes at equal distances would become one run, which can only be decided as a whole.
    """
    excess = len(blocks) - _MAX_BLOCKS
    if excess <= 0:
        return blocks
    gaps = [later[0] - earlier[1] for earlier, later in pairwise(blocks)]
    ordered = sorted(gaps)
    widest = ordered[excess - 1]
    smaller, equal = bisect_left(ordered, widest), gaps.count(widest)
    interval = ceil((equal + 1) / (smaller + equal - excess + 1))  # one in this many of the equal gaps stays
    seen = 0
    joined = blocks[:1]
    for gap, block in zip(gaps, blocks[1:], strict=True):
        seen += gap == widest
        if gap < widest or (gap == widest and seen % interval):
            last = joined[-1]
            joined[-1] = (last[0], block[1], last[2], block[3])
        else:
            joined.append(block)
    return joined


def _anchors(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """The longest sequence of lines that occur once in `a` and once in `b`, in the same order: their index pairs."""
    count_a, count_b = Counter(a), Counter(b)
    index_in_b = {line: j for j, line in enumerate(b) if count_b[line] == 1}
    pairs = [(i, index_in_b[line]) for i, line in enumerate(a) if count_a[line] == 1 and line in index_in_b]
    if all(map(lt, (j for _, j in pairs), (j for _, j in pairs[1:]))):
        return pairs
    # patience sorting: of the sequences with each length, the one that ends earliest in b
    ends: list[int] = []
    last_pairs: list[int] = []
    predecessors: list[int | None] = []
    for number, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        ends[length : length + 1] = [j]
        last_pairs[length : length + 1] = [number]
        predecessors.append(last_pairs[length - 1] if length else None)
    longest: list[tuple[int, int]] = []
    number = last_pairs[-1] if last_pairs else None
    while number is not None:
        longest.append(pairs[number])
        number = predecessors[number]
    return longest[::-1]


def _equal_pairs(a: Sequence[str], b: Sequence[str]) -> int:
    counts = Counter(b)
    return sum(counts[line] for line in a)


def _compared(a: Sequence[str], b: Sequence[str]) -> list[Block]:
    """The changed runs of a section without anchors."""
    opcodes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return [(i, j, k, m) for tag, i, j, k, m in opcodes if tag != "equal"]


def hunks(base: str, proposed: str, decided: Collection[str] = ()) -> tuple[Hunk, ...]:
    """The hunks that turn `base` into `proposed`: in order, and never adjacent.

    Args:
        decided: the ids of decided hunks. They are not used again, so that the second of two equal hunks keeps its id
            after the first is decided.
    """
    a, b = split_lines(base), split_lines(proposed)
    return hunks_of_blocks(changed_blocks(a, b), a, b, decided)


def hunks_of_blocks(
    blocks: Sequence[Block], a: Sequence[str], b: Sequence[str], decided: Collection[str] = ()
) -> tuple[Hunk, ...]:
    """Like `hunks`, for changed runs that are already known."""
    seen: Counter[bytes] = Counter()
    found: list[Hunk] = []
    for a0, a1, b0, b1 in blocks:
        old, new = tuple(a[a0:a1]), tuple(b[b0:b1])
        key = content_key(old, new)
        while (hunk_id := _digest(key, seen[key])) in decided:
            seen[key] += 1
        seen[key] += 1
        found.append(Hunk(hunk_id, a0, old, b0, new))
    return tuple(found)


def content_key(old: Sequence[str], new: Sequence[str]) -> bytes:
    """A key that is equal for two hunks with the same old and new lines, wherever they are."""
    return repr((tuple(old), tuple(new))).encode("utf-8", "surrogatepass")


def _digest(key: bytes, occurrence: int) -> str:
    return hashlib.sha256(key + b"%d" % occurrence).hexdigest()[:16]
