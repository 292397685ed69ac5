"""Turns one text into another with `edit_file` calls like a model's: small pieces with unique context.

Pure. A piece is only used if it results in exactly the wanted text under the product's rule for line endings (new lines
get the endings of the lines that they replace).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from random import Random

from history.text import common_ends, end_of, line_ends, occurs_once, one_end, split_lines, with_lf

# limits: lines of each text, groups of changed lines, and lines of context in a piece
MAX_LINES = 20_000
MAX_GROUPS = 400
MAX_CONTEXT = 400


@dataclass
class _Group:
    """Lines to be replaced: `at` is where they begin in the current lines."""

    at: int
    old: list[str]
    new: list[str]


@dataclass(frozen=True)
class Piece:
    """The replacement of one `edit_file` call; `text` is the whole text after it."""

    old: str
    new: str
    text: str = ""


def pieces(old: str, new: str, rng: Random) -> list[Piece] | None:
    """The consecutive edits from `old` to `new`, None if edits cannot make the change or the texts are equal."""
    lines = split_lines(old)
    groups = _groups(lines, split_lines(new), rng.choice((0, 0, 1, 3)))
    if groups is None or not groups:
        return None
    end = one_end(old, new)
    if end is None and "\r" in (old + new).replace("\r\n", ""):
        return None  # lone CRs and other line endings: an edit may join lines
    relaxed = end not in (None, "\n") and rng.random() < 0.5
    order = rng.choice(("down", "up", "any"))
    if order == "up":
        groups.reverse()
    elif order == "any":
        rng.shuffle(groups)
    found: list[Piece] = []
    for group in groups:
        piece = _piece(lines, group, end, relaxed, rng)
        if piece is None:
            return None
        lines[group.at : group.at + len(group.old)] = group.new
        found.append(replace(piece, text="".join(lines)))
        for other in groups:
            if other.at > group.at:
                other.at += len(group.new) - len(group.old)
    assert "".join(lines) == new
    return found


def shares(old: str, new: str, rng: Random) -> tuple[str, str] | None:
    """The old text with only the agent's part of a change, and with only the user's. None if it cannot be split."""
    lines = split_lines(old)
    groups = _groups(lines, split_lines(new), near=1)
    if groups is None or len(groups) < 2 or one_end(old, new) is None:
        return None
    chosen = rng.sample(range(len(groups)), rng.randint(1, len(groups) - 1))
    texts: list[str] = []
    for part in (chosen, [index for index in range(len(groups)) if index not in chosen]):
        own = list(lines)
        for group in sorted((groups[index] for index in part), key=lambda one: one.at, reverse=True):
            own[group.at : group.at + len(group.old)] = group.new
        texts.append("".join(own))
    return texts[0], texts[1]


def _groups(a: list[str], b: list[str], near: int) -> list[_Group] | None:
    """The groups of changed lines, None if there are too many groups or lines, or `a` is empty.

    Groups with at most `near` equal lines between them are joined.
    """
    if not a or len(a) > MAX_LINES or len(b) > MAX_LINES:
        return None
    head, tail = common_ends(a, b)
    inner_a, inner_b = a[head : len(a) - tail], b[head : len(b) - tail]
    matcher = SequenceMatcher(None, inner_a, inner_b, autojunk=len(inner_a) + len(inner_b) > 1500)
    runs: list[list[int]] = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            continue
        if runs and i1 - runs[-1][1] <= near:
            runs[-1][1], runs[-1][3] = i2, j2
        else:
            runs.append([i1, i2, j1, j2])
    if len(runs) > MAX_GROUPS:
        return None
    return [_Group(head + i1, inner_a[i1:i2], inner_b[j1:j2]) for i1, i2, j1, j2 in runs]


def _piece(lines: list[str], group: _Group, end: str | None, relaxed: bool, rng: Random) -> Piece | None:
    """The piece for a group, with enough context to be unique, None if that is not possible.

    `end` is the only line ending of both texts, None if they have several.
    """
    text = "".join(lines)
    plain = with_lf(text)
    if rng.random() < 0.4:
        fragment = _fragment(group, plain, rng)
        if fragment is not None:
            return fragment
    start, stop = group.at, group.at + len(group.old)
    up = True
    while True:
        old = "".join(lines[start:stop])
        if old and occurs_once(plain, with_lf(old)):
            break
        if (start == 0 and stop == len(lines)) or stop - start > MAX_CONTEXT + len(group.old):
            return None
        up = not up
        if (up and start > 0) or stop == len(lines):
            start -= 1
        else:
            stop += 1
    new = "".join([*lines[start : group.at], *group.new, *lines[group.at + len(group.old) : stop]])
    if not (_keeps_ends(old, new) if end is None else _has_ends(old, new, text)):
        return None
    if end is not None and rng.random() < 0.3:
        old, new = _without_last_end(old, new, plain)
    return Piece(with_lf(old), with_lf(new)) if relaxed else Piece(old, new)


def _keeps_ends(old: str, new: str) -> bool:
    """Whether the new lines have the line endings of the lines that they replace."""
    return bool(line_ends(old)) and one_end(old, new) is not None


def _has_ends(old: str, new: str, text: str) -> bool:
    """Whether new lines can get the wanted endings: LF always, others only from lines that the file already has."""
    return line_ends(new) <= {"\n"} or bool(line_ends(old) or line_ends(text))


def _without_last_end(old: str, new: str, plain: str) -> tuple[str, str]:
    """Omits the last line ending, as models often do, if the piece is still unique."""
    end = end_of(old)
    if not end or end_of(new) != end:
        return old, new
    shorter = old[: -len(end)]
    return (shorter, new[: -len(end)]) if shorter and occurs_once(plain, with_lf(shorter)) else (old, new)


def _fragment(group: _Group, plain: str, rng: Random) -> Piece | None:
    """The piece for a change within one line, with only a part of that line, None if that is not possible."""
    if len(group.old) != 1 or len(group.new) != 1 or end_of(group.old[0]) != end_of(group.new[0]):
        return None
    old, new = (line.rstrip("\r\n") for line in (group.old[0], group.new[0]))
    head, tail = common_ends(old, new)
    start, stop = head, len(old) - tail
    grown = rng.randrange(3)
    while start > 0 or stop < len(old):
        if stop > start and grown <= 0 and occurs_once(plain, old[start:stop]):
            return Piece(old[start:stop], old[start:head] + new[head : len(new) - tail] + old[len(old) - tail : stop])
        grown -= 1
        start, stop = max(0, start - rng.randint(0, 4)), min(len(old), stop + rng.randint(1, 4))
    return None
