"""The difference between two texts, as long as what has changed. Pure, and takes a tenth of a second at most.

The line diff of the review (`edits/diff.py`) finds what a user would call a change. That takes many times as long, and
does not help if a text has few line endings.
"""

from collections.abc import Iterable, Iterator

Part = str | tuple[int, int]
"""A part of the new text: its text, or the start and the end of the same text in the old one, in characters."""

# Equal parts of twice this many characters are found, wherever they are in the old text. Fewer are not worth it.
_MIN_BLOCK = 32
_MAX_BLOCKS = 50_000  # blocks of the old text; in a text of more than 1.6 million characters, they are longer
_NEAR = 4096  # of equal blocks, the first one after the last part is taken, if it is not further away than this
# Limits of the search; what remains then is new text. A lookup of a block takes 1, a part that is found takes `_COST`.
_MAX_WORK = 200_000
_COST = 20


def parts(old: str, new: str) -> Iterator[Part]:
    """The parts of the new text, in order."""
    most = min(len(old), len(new))
    start = _equal_forward(old, 0, new, 0, most)
    ending = _equal_backward(old, len(old), new, len(new), most - start)
    if start:
        yield 0, start
    yield from _middle(old[start : len(old) - ending], new[start : len(new) - ending], start)
    if ending:
        yield len(old) - ending, len(old)


def joined(old: str, parts: Iterable[Part]) -> str:
    """The text that has these parts.

    Raises:
        ValueError: a part is outside of the old text.
    """
    texts: list[str] = []
    for part in parts:
        if not isinstance(part, str):
            start, end = part
            if not 0 <= start <= end <= len(old):
                raise ValueError("a part outside of its text")
            part = old[start:end]
        texts.append(part)
    return "".join(texts)


def _middle(old: str, new: str, start: int) -> Iterator[Part]:
    """The parts of what is new between an equal start and an equal end. `start` is the length of the equal start."""
    size = max(_MIN_BLOCK, len(old) // _MAX_BLOCKS)
    blocks: dict[str, int] = {}
    if len(new) > 2 * size:
        # of equal blocks, the first one is kept, because most of the text follows it
        blocks = {old[at : at + size]: at for at in reversed(range(0, len(old) - size + 1, size))}
    written = at = 0  # up to where the new text is written, and where the next block is looked up
    expected = 0  # where the old text continues after the last part
    work = _MAX_WORK if blocks else 0
    while at <= len(new) - size and work > 0:
        block = new[at : at + size]
        found = blocks.get(block)
        work -= 1 if found is None else _COST
        if found is None:
            at += 1
            continue
        near = old.find(block, expected, expected + size + _NEAR)
        found = found if near < 0 else near
        before = _equal_backward(old, found, new, at, min(found, at - written))
        after = _equal_forward(old, found, new, at, min(len(old) - found, len(new) - at))
        if written < at - before:
            yield new[written : at - before]
        yield start + found - before, start + found + after
        written, expected = at + after, found + after
        at = written
    if written < len(new):
        yield new[written:]


def _equal_forward(old: str, i: int, new: str, j: int, most: int) -> int:
    """How many characters are equal from two indexes on, at most `most`."""
    length, size = 0, _MIN_BLOCK
    while size:
        end = length + size
        if end <= most and old[i + length : i + end] == new[j + length : j + end]:
            length, size = end, 2 * size
        else:
            size //= 2
    return length


def _equal_backward(old: str, i: int, new: str, j: int, most: int) -> int:
    """How many characters are equal before two indexes, at most `most`."""
    length, size = 0, _MIN_BLOCK
    while size:
        end = length + size
        if end <= most and old[i - end : i - length] == new[j - end : j - length]:
            length, size = end, 2 * size
        else:
            size //= 2
    return length
