"""Text from models, commands and files, made fit for a terminal: nothing in it moves the cursor, hides or overflows.

How it is styled and where it goes is not here.
"""

import itertools
import re

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.text import Text

from fairlead.display import strip_sequences

# the start of a terminal sequence whose rest may come with the next piece, or half a CRLF
_UNFINISHED = re.compile(r"(?:\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]{0,200}\x1b?|[ -/]*)|\r)\Z")
# characters that turn the direction of what follows, separate lines in their own way, or stand for half a character
_DIRECTION = re.compile("[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
# what must be seen where a person decides on a text; U+200D is ordinary between the parts of an emoji
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad]")
_INVISIBLE = re.compile("[\u200b-\u200c\u2060-\u2065]|(?<![\u2190-\U0001faff])\u200d")

_WIDE = "\u2e80-\u3007\u3012-\u303f\u3040-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff"
_OPENING = "(\\[{“‘《「『【〈（［｛"
_CLOSING = ")\\]}”’》」』】〉）］｝，。、；：？！…,.;:?!ー々"
# what stays together on a line, with the blanks behind it
_WORD = re.compile(rf"\s*[{_OPENING}]*(?:[{_WIDE}]|[^\s{_WIDE}]+)?[{_CLOSING}]*\s*")


def clean(text: str) -> str:
    """Text without terminal sequences, control and direction characters; lines end in a newline."""
    return _SURROGATES.sub("\ufffd", _DIRECTION.sub("", strip_sequences(text)))


def revealed(text: str) -> str:
    """Text to decide on: what could hide in it is written as an escape, all else is as it is."""
    for pattern in (_CONTROLS, _DIRECTION, _INVISIBLE):
        text = pattern.sub(lambda found: _escape(found[0]), text)
    return _SURROGATES.sub("\ufffd", text)


def first_line(text: str) -> str:
    """The first line that says something, cleaned."""
    return next((line.strip() for line in clean(text).splitlines() if line.strip()), "")


def rows(text: Text, console: Console, width: int | None, indent: int = 0) -> list[Text]:
    """The rows of a text, each behind `indent` blanks and within `width` columns; None does not wrap."""
    margin = " " * indent
    lines = list(text.split("\n", allow_blank=True))
    if width is not None:
        lines = [row for line in lines for row in _wrapped(line, max(width - indent, 8))]
    return [Text.assemble(margin, line) if line.plain else Text() for line in lines]


def cropped(text: Text, width: int | None) -> Text:
    """A text of one line, cut with an ellipsis where it is wider than `width` columns."""
    if width is not None:
        text.truncate(max(width, 8), overflow="ellipsis")
    return text


class Flow:
    """Text that comes in pieces, cut into rows. A row is given out once nothing that follows can change it."""

    def __init__(self, console: Console, style: str = "", indent: int = 0) -> None:
        self._console = console
        self._style = style
        self._indent = indent
        self._held = ""
        self._line = ""
        self._blank_lines = 0
        self._begun = False

    def feed(self, piece: str, width: int | None) -> list[Text]:
        """Takes a piece; returns the rows that are finished. Blank lines at the start and the end are left out."""
        text = self._held + piece
        unfinished = _UNFINISHED.search(text)
        self._held = unfinished[0] if unfinished else ""
        text = clean(text[: unfinished.start()] if unfinished else text)
        *lines, last = (self._line + text).split("\n")
        found = [row for line in lines for row in self._rows(line, width)]
        if last.strip():
            found += self._leading_blanks()
        if width is not None:
            *whole, rest = self._wrapped(last, width)
            found += whole
            last = rest.plain[self._indent :] if whole else last
        self._line = last
        return found

    def draft(self, width: int | None) -> Text | None:
        """The row that is not finished."""
        return cropped(self._wrapped(self._line, width)[0], width) if self._line.strip() else None

    def finish(self, width: int | None) -> list[Text]:
        """The end of the text: the rows that are left."""
        line, self._line, self._held = self._line, "", ""
        return self._rows(line, width)

    def _rows(self, line: str, width: int | None) -> list[Text]:
        if not line.strip():
            self._blank_lines += self._begun
            return []
        return [*self._leading_blanks(), *self._wrapped(line, width)]

    def _leading_blanks(self) -> list[Text]:
        blanks, self._blank_lines, self._begun = self._blank_lines, 0, True
        return [Text() for _ in range(min(blanks, 2))]

    def _wrapped(self, line: str, width: int | None) -> list[Text]:
        return rows(Text(line, style=self._style), self._console, width, self._indent)


def _wrapped(line: Text, width: int) -> list[Text]:
    """A line cut where a line may end: between words, and in a script without blanks between any two signs."""
    line.expand_tabs(4)
    offsets: list[int] = []
    column = 0
    for word in _WORD.finditer(line.plain):
        size = cell_len(word[0].rstrip())
        if column and column + size > width:
            offsets.append(word.start())
            column = 0
        if size > width:
            pieces = chop_cells(word[0], width)
            offsets += itertools.accumulate(map(len, pieces[:-1]), initial=word.start())
            offsets.remove(word.start())
            column = cell_len(pieces[-1])
        else:
            column += cell_len(word[0])
    found = list(line.divide(offsets))
    for row in found:
        if cell_len(row.plain) > width:
            row.rstrip()
    return found


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
