"""Tells the model why a text was not found: which lines are nearest, and how they differ."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from heapq import nlargest

from fairlead.display import count_of
from fairlead.text_lines import split_lines, without_line_ending

_STRAIGHT_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})
_MAX_SHOWN = 12
# limits of the search for the nearest lines, which blocks the event loop (only a long text is searched in a thread)
_MAX_LINES = 100_000  # of the file
_MAX_WIDTH = 120  # characters of a line
_MAX_CANDIDATES = 500  # positions in the file
_MAX_COMPARED = 10  # pairs of lines, with SequenceMatcher


def explain_missing(text: str, old: str) -> str:
    """The error for an `old` that does not occur in `text`, with at most `_MAX_SHOWN` lines of the file."""
    lines = [without_line_ending(line) for line in split_lines(text)]
    wanted = [without_line_ending(line) for line in split_lines(old)]
    if not lines:
        return "old_text not found: the file is empty."
    start, score = _nearest(lines[:_MAX_LINES], wanted)
    if score < 0.5:
        return "old_text not found, and the file contains nothing similar. Read the file again."
    found = lines[start : start + len(wanted)]
    difference = _difference(wanted, found)
    shown = [_with_visible_whitespace(line) if _LEGEND in difference else line for line in found[:_MAX_SHOWN]]
    more = f"\n({count_of(len(found) - _MAX_SHOWN, 'more line')})" if len(found) > _MAX_SHOWN else ""
    first, last = start + 1, start + len(found)
    where = f"The nearest line is {first}:\n" if first == last else f"The nearest lines are {first} to {last}:\n"
    return "old_text not found. " + difference + where + "\n".join(line[:300] for line in shown) + more


def _nearest(lines: Sequence[str], wanted: Sequence[str]) -> tuple[int, float]:
    """The index of the first of the lines that are most similar to `wanted`, and their similarity (0 to 1)."""
    loose = [_loosened(line[:_MAX_WIDTH]) for line in lines]
    target = [_loosened(line[:_MAX_WIDTH]) for line in wanted]
    longest = max(range(len(target)), key=lambda index: len(target[index]))
    rows = [index for index, line in enumerate(loose) if line == target[longest]] or _similar(loose, target[longest])
    starts = [max(index - longest, 0) for index in rows[:_MAX_CANDIDATES]]
    windows = {start: loose[start : start + len(target)] for start in starts}
    best = nlargest(3, windows, key=lambda start: sum(map(str.__eq__, windows[start], target)))
    scored = [(_similarity(windows[start], target), -start) for start in best]
    score, negative_start = max(scored, default=(0.0, 0))
    return -negative_start, score


def _similar(lines: Sequence[str], wanted: str) -> list[int]:
    """The indexes of the lines that are most similar to `wanted`, the best first; none if no line is similar."""
    trigrams = _trigrams(wanted)
    # much cheaper than SequenceMatcher, which then compares only the best few
    shared = [2 * len(trigrams & own) / (len(trigrams) + len(own)) for own in map(_trigrams, lines)]
    close = nlargest(_MAX_COMPARED, range(len(lines)), key=shared.__getitem__)
    ratios = {index: SequenceMatcher(None, lines[index], wanted).ratio() for index in close}
    return sorted((index for index in close if ratios[index] > 0.6), key=lambda index: -ratios[index])


def _trigrams(line: str) -> set[str]:
    """The sequences of three characters in a line. Its start and end count as characters."""
    framed = f"\n{line}\n"
    return {framed[index : index + 3] for index in range(len(framed) - 2)} or {framed}


def _similarity(lines: Sequence[str], wanted: Sequence[str]) -> float:
    pairs = list(zip(lines, wanted, strict=False))
    differing = [pair for pair in pairs if pair[0] != pair[1]]
    sample = differing[:_MAX_COMPARED]
    ratio = sum(SequenceMatcher(None, *pair).ratio() for pair in sample) / max(1, len(sample))
    return (len(pairs) - len(differing) + ratio * len(differing)) / len(wanted)


def _normalized(line: str) -> str:
    return line if line.isascii() else unicodedata.normalize("NFC", line)


def _with_single_spaces(line: str) -> str:
    return " ".join(line.split())


def _loosened(line: str) -> str:
    """A line without differences that are easy to overlook: whitespace, Unicode form, kind of quotes, case."""
    return _with_single_spaces(_normalized(line).translate(_STRAIGHT_QUOTES)).casefold()


_LEGEND = "(shown: → is a tab, · a space). "
_TRAILING = f"The spaces at the end of a line differ {_LEGEND}"
_TABS = f"The file has tabs where old_text has spaces {_LEGEND}"
_NO_TABS = f"The file has spaces where old_text has tabs {_LEGEND}"
_OTHER_WHITESPACE = f"Only the whitespace differs {_LEGEND}"
_NO_NEWLINE = "old_text ends with a newline, but the last line of the file has none. Leave it out. "
_FORM = "The characters are the same in another Unicode form: the file is in {form}. "
# functions that remove one kind of difference each, with the message for it
_DIFFERENCES: tuple[tuple[Callable[[str], str], str], ...] = (
    (_normalized, _FORM),
    (lambda line: line.translate(_STRAIGHT_QUOTES), "The quotes differ (straight and curly). "),
    (str.rstrip, _TRAILING),
    (_with_single_spaces, _OTHER_WHITESPACE),
    (str.casefold, "Upper and lower case differ. "),
)


def _difference(wanted: Sequence[str], found: Sequence[str]) -> str:
    """A sentence that names the kind of difference.

    Empty if the difference is of several kinds or of an unknown kind, or if the numbers of lines differ.
    """
    if len(found) != len(wanted):
        return ""
    pairs = [(a, b) for a, b in zip(wanted, found, strict=True) if a != b]
    if not pairs:
        return _NO_NEWLINE
    for remove, message in _DIFFERENCES:
        if all(remove(a) == remove(b) for a, b in pairs):
            in_old_text, in_file = "".join(a for a, _ in pairs), "".join(b for _, b in pairs)
            if message is _OTHER_WHITESPACE and ("\t" in in_file) != ("\t" in in_old_text):
                return _TABS if "\t" in in_file else _NO_TABS
            return message.format(form=_form_of(in_file))
    return ""


def _form_of(text: str) -> str:
    forms = [form for form in ("NFC", "NFD") if unicodedata.normalize(form, text) == text]
    return forms[0] if forms else "neither NFC nor NFD"


def _with_visible_whitespace(line: str) -> str:
    """A line with arrows for tabs, dots for spaces at its edges, and escapes for other kinds of whitespace."""
    text = line.rstrip(" \t")
    lead = text[: len(text) - len(text.lstrip(" \t"))]
    signs = str.maketrans({"\t": "→", " ": "·"})
    inner = re.sub(r"[^\S ]", lambda m: "→" if m[0] == "\t" else f"\\u{ord(m[0]):04x}", text[len(lead) :])
    return lead.translate(signs) + inner + line[len(text) :].translate(signs)
