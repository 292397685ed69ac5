"""Makes text from models, commands and files safe for a terminal, and wraps it.

Such text must not move the cursor, hide other text or overflow the line.
"""

import itertools
import re

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.text import Text

from fairlead.display import escape_invisible, strip_sequences

# the start of a terminal sequence or of a CRLF, which the next piece may complete
_UNFINISHED = re.compile(r"(?:\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]{0,200}\x1b?|[ -/]*)|\r)\Z")
# characters that change the direction of text, unusual line separators, and the byte order mark; then surrogates
_DIRECTION = re.compile("[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_OBEYED = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_DIRECTION.pattern[1:]}")
_SURROGATES = re.compile("[\ud800-\udfff]")
# common in files: spaces of other widths, emoji that Python does not know yet, and U+200D within an emoji
_TYPOGRAPHY = re.compile(
    "([\u00a0\u2000-\u200a\u202f\u205f\u3000\U0001f000-\U0001faff]|(?<=[\u2190-\U0001faff])\u200d)"
)

_WIDE = "\u2e80-\u3007\u3012-\u303f\u3040-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff"
_OPENING = "(\\[{“‘《「『【〈（［｛"
_CLOSING = ")\\]}”’》」』】〉）］｝，。、；：？！…,.;:?!ー々"
# characters that stay together on a line, with the spaces after them
_WORD = re.compile(rf"\s*[{_OPENING}]*(?:[{_WIDE}]|[^\s{_WIDE}]+)?[{_CLOSING}]*\s*")


def clean(text: str) -> str:
    """Removes terminal sequences, control characters and direction characters. Tabs and `\\n` stay.

    CRLF becomes `\\n`. A lone carriage return discards the text before it on its line, as in a progress bar. A
    surrogate becomes U+FFFD.
    """
    return _SURROGATES.sub("\ufffd", _DIRECTION.sub("", strip_sequences(text)))


def escape_hidden(text: str) -> str:
    """Like `escape_invisible`, but spaces of other widths and all emoji stay, because files often contain them."""
    return "".join(part if index % 2 else escape_invisible(part) for index, part in enumerate(_TYPOGRAPHY.split(text)))


def without_controls(text: str) -> str:
    """Writes what a terminal would obey as escapes: control and direction characters, except tabs and newlines."""
    return _OBEYED.sub(lambda found: escape_invisible(found[0]), text)


def first_line(text: str) -> str:
    """The first line that is not blank, cleaned and without surrounding space; "" if there is none."""
    return next((line.strip() for line in clean(text).splitlines() if line.strip()), "")


def wrap(text: Text, console: Console, width: int | None, indent: int = 0) -> list[Text]:
    """Splits a text into rows of at most `width` columns, including `indent` spaces before each row that is not blank.

    Args:
        width: None: only line endings separate rows. In narrow windows, a row has at least 8 columns after the indent.
    """
    margin = " " * indent
    lines = list(text.split("\n", allow_blank=True))
    if width is not None:
        lines = [row for line in lines for row in _wrapped(line, max(width - indent, 8))]
    return [Text.assemble(margin, line) if line.plain else Text() for line in lines]


def crop(text: Text, width: int | None) -> Text:
    """Cuts a line to `width` columns, at least 8, with an ellipsis. None: not at all. Changes `text` and returns it."""
    if width is not None:
        text.truncate(max(width, 8), overflow="ellipsis")
    return text


class StreamWrapper:
    """Wraps text that arrives in pieces. A row is returned when later pieces can no longer change it."""

    def __init__(self, console: Console, style: str = "", indent: int = 0) -> None:
        self._console = console
        self._style = style
        self._indent = indent
        self._partial = ""
        self._line = ""
        self._blank_lines = 0
        self._has_text = False

    def feed(self, piece: str, width: int | None) -> list[Text]:
        """Adds a piece. Returns the finished rows, without blank lines at the start and the end of the text.

        At most two blank lines in a row remain. `width` may differ from that of the previous call.
        """
        text = self._partial + piece
        unfinished = _UNFINISHED.search(text)
        self._partial = unfinished[0] if unfinished else ""
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
        """The unfinished row, cropped to `width`; None if it is blank."""
        return crop(self._wrapped(self._line, width)[0], width) if self._line.strip() else None

    def finish(self, width: int | None) -> list[Text]:
        """Ends the text. Returns the remaining rows. An unfinished terminal sequence is dropped."""
        line, self._line, self._partial = self._line, "", ""
        return self._rows(line, width)

    def _rows(self, line: str, width: int | None) -> list[Text]:
        if not line.strip():
            self._blank_lines += self._has_text
            return []
        return [*self._leading_blanks(), *self._wrapped(line, width)]

    def _leading_blanks(self) -> list[Text]:
        blanks, self._blank_lines, self._has_text = self._blank_lines, 0, True
        return [Text() for _ in range(min(blanks, 2))]

    def _wrapped(self, line: str, width: int | None) -> list[Text]:
        return wrap(Text(line, style=self._style), self._console, width, self._indent)


def _wrapped(line: Text, width: int) -> list[Text]:
    """Wraps a line between words, and between any two characters in scripts without spaces."""
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
