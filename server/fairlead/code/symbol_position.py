"""Finds a symbol by its text and line, because models cannot count columns."""

import re
from collections.abc import Mapping

from fairlead.code.provider import NoAnswer
from fairlead.positions import offset_at
from fairlead.text_lines import split_lines, without_line_ending

NEARBY = 3
"""How many lines the symbol may be away from the line that the model gave."""
MAX_SHOWN = 12
"""How many line numbers an error names."""


def name_at(text: str, position: Mapping[str, int], encoding: str) -> str:
    """The name that begins at LSP's `position`; "" if there is none."""
    found = re.match(r"[\w$]+", text[offset_at(split_lines(text), dict(position), encoding) :])
    return found.group() if found is not None else ""


def find_symbol(text: str, name: str, symbol: str, line: int | None) -> tuple[int, int]:
    """The line and the column of a symbol's last part, such as the `b` of `a.b()`.

    Both count from 0. The column counts characters.

    Args:
        name: the file's name in errors.
        symbol: its text, without line breaks. Surrounding spaces and a final `()` are ignored.
        line: the line where the model sees the symbol, from 1. The nearest line with the symbol is used, up to `NEARBY`
            lines away. None: the first line with the symbol.

    Raises:
        NoAnswer: the symbol is empty, not in the file, or not near the line. If it is not near, the message names lines
            that contain it.
    """
    wanted = symbol.strip().removesuffix("()")
    if not wanted:
        raise NoAnswer("The symbol is empty. Give its text as it appears in the line.")
    pattern = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)" if wanted[0].isidentifier() else re.escape(wanted))
    found = [
        (row, match)
        for row, each in enumerate(split_lines(text))
        if (match := pattern.search(without_line_ending(each)))
    ]
    if not found:
        raise NoAnswer(f"{name} does not contain {wanted!r}. Read the file and give the symbol as it appears there.")
    nearest = min(found, key=lambda each: abs(each[0] + 1 - (line or 0))) if line is not None else found[0]
    if line is not None and abs(nearest[0] + 1 - line) > NEARBY:
        lines = ", ".join(str(row + 1) for row, _ in found[:MAX_SHOWN])
        where = f"line {lines}" if len(found) == 1 else f"lines {lines}{', ...' if len(found) > MAX_SHOWN else ''}"
        raise NoAnswer(f"{wanted!r} is not near line {line} of {name}, but on {where}. Give the right line.")
    row, match = nearest
    last_part = re.search(r"\w+\W*$", match.group())
    return row, match.start() + (last_part.start() if last_part else 0)
