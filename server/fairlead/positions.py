"""LSP's positions: a line and a column in code units.

Elsewhere, columns count characters unless documented otherwise.
"""

from itertools import accumulate
from typing import Any

from fairlead.text_lines import split_lines


def code_units(text: str, encoding: str) -> int:
    """The length of a text in the code units of a position encoding (LSP 3.18, `PositionEncodingKind`).

    Args:
        encoding: `utf-8`, `utf-16` or `utf-32`.
    """
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-16":
        return len(text.encode("utf-16-le", "surrogatepass")) // 2
    return len(text.encode("utf-8", "surrogatepass"))


def read_count(value: Any) -> int:
    """Returns `value`, the line or the column of an untrusted position.

    Raises:
        ValueError: it is not an integer, or it is negative.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("not a line or column")
    return value


def offset_at(lines: list[str], position: dict[str, int], encoding: str) -> int:
    """The offset of a position in the joined lines, in characters.

    A column that is too large means the end of the line, before the line ending. A line that is too large means the end
    of the text. A column inside a character means the end of the character.

    Args:
        position: an LSP `Position` that has been checked (`read_count`).
        encoding: the unit of the column.
    """
    row, column = position["line"], position["character"]
    if row >= len(lines):
        return sum(map(len, lines))
    before = sum(map(len, lines[:row]))
    line = lines[row].rstrip("\r\n")
    if encoding == "utf-32" or line.isascii():
        return before + min(column, len(line))
    units = 0
    for index, character in enumerate(line):
        if units >= column:
            return before + index
        units += code_units(character, encoding)
    return before + len(line)


def apply_text_edits(text: str, changes: list[dict[str, Any]], encoding: str) -> str:
    """The text after LSP's `TextEdit`s, whose positions all refer to the old text.

    Raises:
        ValueError: two of them overlap, or a position is invalid.
        KeyError, TypeError: one of them is not a `TextEdit`.
    """
    lines = split_lines(text)
    starts = [0, *accumulate(map(len, lines))]

    def offset(position: Any) -> int:
        row, column = read_count(position["line"]), read_count(position["character"])
        if row >= len(lines):
            return len(text)
        return starts[row] + offset_at([lines[row]], {"line": 0, "character": column}, encoding)

    spans = [(offset(change["range"]["start"]), index, change) for index, change in enumerate(changes)]
    pieces, following = list[str](), len(text)
    for start, _, change in sorted(spans, key=lambda span: span[:2], reverse=True):
        end = offset(change["range"]["end"])
        if not start <= end <= following:
            raise ValueError("the edits overlap")
        pieces += [text[end:following], change["newText"]]
        following = start
    return "".join(reversed([*pieces, text[:following]]))
