"""Finds the only exact location of an edit, or says what is there instead (docs/plan.md L12)."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice

from fairlead.edits.explain import explain_missing
from fairlead.edits.line_endings import match_line_endings
from fairlead.edits.text import line_end, line_number, with_line_end

_MAX_SHOWN = 12
_MAX_PLACES = 1000


class MatchError(ValueError):
    """The old text does not occur exactly once; the message helps the model to correct itself."""


def replace_once(text: str, old: str, new: str) -> str:
    """Replaces the only occurrence of `old` by `new`; only line endings may differ.

    The new lines get the line endings of those that they replace, so a CRLF file edited with LF stays CRLF.

    Raises:
        MatchError: `old` is empty, equals `new`, or does not occur exactly once in `text`.
    """
    if not old:
        raise MatchError("old_text is empty. To write a whole file, use write_file.")
    if old == new:
        raise MatchError("old_text and new_text are the same: nothing would change.")
    places = list(islice(_places(text, old), _MAX_PLACES + 1))
    if not places:
        raise MatchError(explain_missing(text, old))
    if len(places) > 1:
        raise MatchError(_ambiguous(text, [start for start, _ in places]))
    start, end = places[0]
    replaced = text[:start] + match_line_endings(text[start:end], new, default=line_end(text)) + text[end:]
    if replaced == text:
        raise MatchError("old_text and new_text differ only in line endings: nothing would change.")
    return replaced


def _places(text: str, old: str) -> Iterator[tuple[int, int]]:
    """The locations of `old`, overlapping ones included: exact ones, else those that differ only in line endings.

    No location begins or ends inside a CRLF.
    """
    exact = ((start, start + len(old)) for start in _found(text, old))
    whole = (p for p in exact if not any(text[edge - 1 : edge + 1] == "\r\n" for edge in p))
    first = next(whole, None)
    if first is not None:
        yield first
        yield from whole
    elif "\n" in old or "\r" in old:
        plain_old = with_line_end(old, "\n")
        ends = [match.start() - number for number, match in enumerate(re.finditer("\r\n", text))]
        for start in _found(with_line_end(text, "\n"), plain_old):
            end = start + len(plain_old)
            yield start + bisect_left(ends, start), end + bisect_left(ends, end)


def _found(text: str, old: str) -> Iterator[int]:
    start = text.find(old)
    while start >= 0:
        yield start
        start = text.find(old, start + 1)


def _ambiguous(text: str, starts: list[int]) -> str:
    count = f"more than {_MAX_PLACES}" if len(starts) > _MAX_PLACES else len(starts)
    lines = ", ".join(str(line_number(text, start)) for start in starts[:_MAX_SHOWN])
    more = ", ..." if len(starts) > _MAX_SHOWN else ""
    return f"old_text occurs {count} times in the file, at lines {lines}{more}. Add lines around it until it is unique."
