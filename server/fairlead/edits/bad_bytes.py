"""Bytes that are not UTF-8 in a text that is nearly UTF-8.

In a text, each is a lone surrogate, U+DC80 to U+DCFF (PEP 383). The model and editors see U+FFFD instead, one character
for one byte, so positions stay the same.
"""

import re
from collections import Counter
from collections.abc import Sequence

from fairlead.edits.diff import changed_blocks
from fairlead.text_lines import split_lines

SHOWN_AS = "\ufffd"
_BAD = re.compile("[\udc80-\udcff]")
_SHOWN = re.compile(f"[{SHOWN_AS}\udc80-\udcff]")
_UNCLEAR = (
    f"It is not clear which bytes to keep: in this file, each {SHOWN_AS} is a byte that is not UTF-8. Change the lines "
    f"with {SHOWN_AS} with edit_file, and either keep all of the {SHOWN_AS} that old_text has, in their order, or none."
)


class UnclearBytes(ValueError):
    """It is not clear which bytes of the old text are meant in the new one."""


def has_bad_bytes(text: str) -> bool:
    """Whether a text contains bytes that are not UTF-8."""
    try:
        text.encode()  # much faster than a search
    except UnicodeEncodeError:
        return _BAD.search(text) is not None
    return False


def added_bad_bytes(old: str, new: str) -> bool:
    """Whether `new` contains bytes that are not UTF-8 and not in `old`, or more of them."""
    return has_bad_bytes(new) and bool(Counter(_BAD.findall(new)) - Counter(_BAD.findall(old)))


def as_shown(text: str) -> str:
    """The text with U+FFFD in place of each byte that is not UTF-8. Its length stays the same."""
    return _BAD.sub(SHOWN_AS, text) if has_bad_bytes(text) else text


def with_bad_bytes(old: str, new: str) -> str:
    """`new`, which was made from `old` as it is shown, with the bytes of `old` that are not UTF-8.

    Lines that stay keep their bytes. In the other lines, so does the text before and after the change. Within the
    change, the bytes keep their order.

    Raises:
        UnclearBytes: a changed part has some U+FFFD, but not as many as the part that it replaces, or a removed line
            looks like another line with other bytes.
    """
    new = as_shown(new)
    if not has_bad_bytes(old):
        return new
    lines, after = split_lines(old), split_lines(new)
    before = [*map(as_shown, lines)]
    pieces, a = list[str](), 0
    for a0, a1, b0, b1 in changed_blocks(before, after):
        if _has_twin(lines[a0:a1], lines):
            raise UnclearBytes(_UNCLEAR)
        pieces += [*lines[a:a0], part_with_bad_bytes("".join(lines[a0:a1]), "".join(after[b0:b1]))]
        a = a1
    return "".join([*pieces, *lines[a:]])


def part_with_bad_bytes(old: str, new: str) -> str:
    """Like `with_bad_bytes`, for a part of a text that was replaced as a whole.

    Raises:
        UnclearBytes: as `with_bad_bytes`.
    """
    shown, new = as_shown(old), as_shown(new)
    start = _common(shown, new)
    end = _common(shown[start:][::-1], new[start:][::-1])
    replaced, text = old[start : len(old) - end], new[start : len(new) - end]
    kept = _SHOWN.findall(replaced)
    if text.count(SHOWN_AS) not in (0, len(kept)):
        raise UnclearBytes(_UNCLEAR)
    characters = iter(kept)
    return old[:start] + re.sub(SHOWN_AS, lambda _: next(characters), text) + old[len(old) - end :]


def _common(first: str, second: str) -> int:
    """The length of the common beginning."""
    length, limit = 0, min(len(first), len(second))
    while length < limit:
        middle = (length + limit + 1) // 2
        if first[length:middle] == second[length:middle]:
            length = middle
        else:
            limit = middle - 1
    return length


def _has_twin(removed: Sequence[str], lines: Sequence[str]) -> bool:
    """Whether another line looks like one of the removed lines, but has other bytes."""
    looks = {as_shown(line): line for line in removed if has_bad_bytes(line)}
    return bool(looks) and any(looks.get(as_shown(line), line) != line for line in lines)
