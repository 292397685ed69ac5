"""Explains to the model why a text was not found: the nearest lines, and how they differ."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from heapq import nlargest

from fairlead.edits.text import body, split_lines

_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})
_MAX_SHOWN = 12
# limits of the search for the nearest lines, during which the server does nothing else
_MAX_LINES = 100_000
_MAX_WIDTH = 120
_MAX_CANDIDATES = 500
_MAX_COMPARED = 10


def explain_missing(text: str, old: str) -> str:
    """The error for an `old` that does not occur in `text`: a few dozen lines at most."""
    lines = [body(line) for line in split_lines(text)]
    wanted = [body(line) for line in split_lines(old)]
    if not lines:
        return "old_text not found: the file is empty."
    start, score = _nearest(lines[:_MAX_LINES], wanted)
    if score < 0.5:
        return "old_text not found, and the file contains nothing similar. Read the file again."
    found = lines[start : start + len(wanted)]
    difference = _difference(wanted, found)
    shown = [_visible(line) if difference in _BLANKS else line for line in found[:_MAX_SHOWN]]
    more = f"\n({len(found) - _MAX_SHOWN} more lines)" if len(found) > _MAX_SHOWN else ""
    first, last = start + 1, start + len(found)
    where = f"The nearest line is {first}:\n" if first == last else f"The nearest lines are {first} to {last}:\n"
    return "old_text not found. " + difference + where + "\n".join(line[:300] for line in shown) + more


def _nearest(lines: Sequence[str], wanted: Sequence[str]) -> tuple[int, float]:
    """The start of the lines that are most similar to `wanted`, and their similarity (0 to 1)."""
    loose = [_loose(line[:_MAX_WIDTH]) for line in lines]
    target = [_loose(line[:_MAX_WIDTH]) for line in wanted]
    key = max(range(len(target)), key=lambda index: len(target[index]))
    rows = [index for index, line in enumerate(loose) if line == target[key]] or _similar(loose, target[key])
    starts = [max(index - key, 0) for index in rows[:_MAX_CANDIDATES]]
    windows = {start: loose[start : start + len(target)] for start in starts}
    best = nlargest(3, windows, key=lambda start: sum(map(str.__eq__, windows[start], target)))
    scored = [(_likeness(windows[start], target), -start) for start in best]
    score, start = max(scored, default=(0.0, 0))
    return -start, score


def _similar(lines: Sequence[str], wanted: str) -> list[int]:
    """The lines that are most similar to `wanted`, the best first; none if no line is similar."""
    pieces = _pieces(wanted)
    shared = [2 * len(pieces & own) / (len(pieces) + len(own)) for own in map(_pieces, lines)]
    close = nlargest(_MAX_COMPARED, range(len(lines)), key=shared.__getitem__)
    ratios = {index: SequenceMatcher(None, lines[index], wanted).ratio() for index in close}
    return sorted((index for index in close if ratios[index] > 0.6), key=lambda index: -ratios[index])


def _pieces(line: str) -> set[str]:
    """The sequences of three characters in a line, including its edges."""
    framed = f"\n{line}\n"
    return {framed[index : index + 3] for index in range(len(framed) - 2)} or {framed}


def _likeness(lines: Sequence[str], wanted: Sequence[str]) -> float:
    pairs = list(zip(lines, wanted, strict=False))
    differing = [pair for pair in pairs if pair[0] != pair[1]]
    sample = differing[:_MAX_COMPARED]
    ratio = sum(SequenceMatcher(None, *pair).ratio() for pair in sample) / max(1, len(sample))
    return (len(pairs) - len(differing) + ratio * len(differing)) / len(wanted)


def _one_form(line: str) -> str:
    return line if line.isascii() else unicodedata.normalize("NFC", line)


def _one_blank(line: str) -> str:
    return " ".join(line.split())


def _loose(line: str) -> str:
    """A line without differences that are easy to overlook: whitespace, Unicode form, kind of quotes, case."""
    return _one_blank(_one_form(line).translate(_QUOTES)).casefold()


_TRAILING = "The spaces at the end of a line differ (shown: → is a tab, · a space). "
_TABS = "The file has tabs where old_text has spaces (shown: → is a tab, · a space). "
_NO_TABS = "The file has spaces where old_text has tabs (shown: → is a tab, · a space). "
_OTHER_BLANKS = "Only the whitespace differs (shown: → is a tab, · a space). "
_BLANKS = (_TRAILING, _TABS, _NO_TABS, _OTHER_BLANKS)
_FORM = "The characters are the same in another Unicode form: the file is in {form}. "
_SAME_BUT: tuple[tuple[Callable[[str], str], str], ...] = (
    (_one_form, _FORM),
    (lambda line: line.translate(_QUOTES), "The quotes differ (straight and curly). "),
    (str.rstrip, _TRAILING),
    (_one_blank, _OTHER_BLANKS),
    (str.casefold, "Upper and lower case differ. "),
)


def _difference(wanted: Sequence[str], found: Sequence[str]) -> str:
    """Names the kind of difference if there is only one kind, else empty."""
    pairs = [(a, b) for a, b in zip(wanted, found, strict=False) if a != b]
    for form, message in _SAME_BUT:
        if len(found) == len(wanted) and all(form(a) == form(b) for a, b in pairs):
            there, here = "".join(b for _, b in pairs), "".join(a for a, _ in pairs)
            if message is _OTHER_BLANKS and ("\t" in there) != ("\t" in here):
                return _TABS if "\t" in there else _NO_TABS
            return message.format(form=_form_of(there))
    return ""


def _form_of(text: str) -> str:
    forms = [form for form in ("NFC", "NFD") if unicodedata.normalize(form, text) == text]
    return forms[0] if forms else "neither NFC nor NFD"


def _visible(line: str) -> str:
    """Tabs, and spaces at the edges, as signs; other kinds of whitespace as escapes."""
    text = line.rstrip(" \t")
    lead = text[: len(text) - len(text.lstrip(" \t"))]
    signs = str.maketrans({"\t": "→", " ": "·"})
    inner = re.sub(r"[^\S ]", lambda m: "→" if m[0] == "\t" else f"\\u{ord(m[0]):04x}", text[len(lead) :])
    return lead.translate(signs) + inner + line[len(text) :].translate(signs)
