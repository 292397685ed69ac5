"""Replaces text that occurs exactly once, or tells the model why that is not possible (docs/plan.md L12)."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice

from fairlead.edits.bad_bytes import UnclearBytes, as_shown, part_with_bad_bytes
from fairlead.edits.explain import explain_missing
from fairlead.edits.line_endings import match_line_endings
from fairlead.text_lines import line_number, usual_line_ending, with_line_endings

_MAX_SHOWN = 12  # line numbers in an error
_MAX_COUNTED = 1000  # occurrences; an error does not need the exact number beyond that


class MatchError(ValueError):
    """The old text cannot be replaced. The message helps the model to correct its call."""


def replace_once(text: str, old: str, new: str) -> str:
    """Replaces the only occurrence of `old` with `new`.

    If there is no exact occurrence, one that differs only in line endings is replaced. Overlapping occurrences count
    separately.

    The new lines get the line endings of the lines that they replace, so a CRLF file edited with LF stays CRLF. Both
    `old` and `new` contain U+FFFD for each byte that is not UTF-8 (`bad_bytes.py`).

    Raises:
        MatchError: `old` is empty or does not occur exactly once in `text`, it is not clear which bytes to keep, or the
            text would not change.
    """
    if not old:
        raise MatchError("old_text is empty. To write a whole file, use write_file.")
    if old == new:
        raise MatchError("old_text and new_text are the same: nothing would change.")
    shown = as_shown(text)
    spans = list(islice(_spans(shown, old), _MAX_COUNTED + 1))
    if not spans:
        raise MatchError(explain_missing(shown, old))
    if len(spans) > 1:
        raise MatchError(_ambiguous(shown, [start for start, _ in spans]))
    start, end = spans[0]
    part = match_line_endings(shown[start:end], new, default=usual_line_ending(shown))
    try:
        replaced = text[:start] + part_with_bad_bytes(text[start:end], part) + text[end:]
    except UnclearBytes as error:
        raise MatchError(str(error)) from error
    if replaced == text:
        raise MatchError("old_text and new_text differ only in line endings: nothing would change.")
    return replaced


def _spans(text: str, old: str) -> Iterator[tuple[int, int]]:
    """The start and end of each occurrence of `old`, overlapping ones included.

    If there is no exact occurrence, yields those that differ only in line endings. No span begins or ends inside a
    CRLF.
    """
    exact = ((start, start + len(old)) for start in _starts(text, old))
    whole = (span for span in exact if not any(text[edge - 1 : edge + 1] == "\r\n" for edge in span))
    first = next(whole, None)
    if first is not None:
        yield first
        yield from whole
    elif "\n" in old or "\r" in old:
        lf_old = with_line_endings(old, "\n")
        # the positions in the LF text at which a CR was removed; each one before an index shifts that index by 1
        removed = [match.start() - number for number, match in enumerate(re.finditer("\r\n", text))]
        for start in _starts(with_line_endings(text, "\n"), lf_old):
            end = start + len(lf_old)
            yield start + bisect_left(removed, start), end + bisect_left(removed, end)


def _starts(text: str, old: str) -> Iterator[int]:
    start = text.find(old)
    while start >= 0:
        yield start
        start = text.find(old, start + 1)


def _ambiguous(text: str, starts: list[int]) -> str:
    count = f"more than {_MAX_COUNTED}" if len(starts) > _MAX_COUNTED else len(starts)
    lines = ", ".join(str(line_number(text, start)) for start in starts[:_MAX_SHOWN])
    more = ", ..." if len(starts) > _MAX_SHOWN else ""
    return f"old_text occurs {count} times in the file, at lines {lines}{more}. Add lines around it until it is unique."
