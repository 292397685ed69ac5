"""Draws the server's hunks as colored unified diffs."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from fairlead.cli.view.text import escape_hidden
from fairlead.display import count_of
from fairlead.text_lines import split_lines, usual_line_ending
from fairlead.wire import states

CONTEXT = 3  # lines
MAX_LINE = 1000  # characters


@dataclass(frozen=True)
class Sides:
    """The lines of a file before and after, with their line endings."""

    base: Sequence[str]
    proposed: Sequence[str]
    line_end: str
    """The most frequent line ending of the file. Only other ones are shown."""


@dataclass(frozen=True)
class _Span:
    """The lines of a hunk, counted from 0: in the base, then in the proposed text. The ends are exclusive."""

    base_start: int
    base_end: int
    start: int
    end: int


def two_sides(base: str, proposed: str) -> Sides:
    """A file's text and its proposed text as lines."""
    return Sides(split_lines(base), split_lines(proposed), usual_line_ending(base or proposed))


def draw_diff(sides: Sides, hunks: Sequence[states.HunkWire], return_sign: str) -> list[Text]:
    """The hunks with `CONTEXT` lines around them. Hunks whose context would touch or overlap are drawn together.

    Args:
        hunks: in the order of their lines.
        return_sign: shown in place of a line ending that has a carriage return and is not the file's usual one.
    """
    lines: list[Text] = []
    for group in _groups([_span(hunk) for hunk in hunks]):
        first, last = group[0], group[-1]
        before = min(CONTEXT, first.base_start)
        after = min(CONTEXT, len(sides.base) - last.base_end)
        base = _range(first.base_start - before, last.base_end + after)
        proposed = _range(first.start - before, last.end + after)
        lines.append(Text(f"@@ -{base} +{proposed} @@", style="cyan"))
        at = first.base_start - before
        for span in group:
            lines += _lines(sides, sides.base[at : span.base_start], " ", "", return_sign)
            lines += _lines(sides, sides.base[span.base_start : span.base_end], "-", "red", return_sign)
            lines += _lines(sides, sides.proposed[span.start : span.end], "+", "green", return_sign)
            at = span.base_end
        lines += _lines(sides, sides.base[at : at + after], " ", "", return_sign)
    return lines


def _span(hunk: states.HunkWire) -> _Span:
    base_start = hunk["oldStart"] - (1 if hunk["oldLines"] else 0)
    start = hunk["newStart"] - (1 if hunk["newLines"] else 0)
    return _Span(base_start, base_start + hunk["oldLines"], start, start + hunk["newLines"])


def _groups(spans: Sequence[_Span]) -> list[list[_Span]]:
    groups: list[list[_Span]] = []
    for span in spans:
        if groups and span.base_start - groups[-1][-1].base_end <= 2 * CONTEXT:
            groups[-1].append(span)
        else:
            groups.append([span])
    return groups


def _range(start: int, end: int) -> str:
    """A range as in a unified diff: an empty side names the line before it."""
    return f"{start + 1 if end > start else start},{end - start}"


def _lines(sides: Sides, lines: Sequence[str], sign: str, style: str, return_sign: str) -> list[Text]:
    drawn: list[Text] = []
    for line in lines:
        body = line.rstrip("\r\n")
        shown = escape_hidden(body[:MAX_LINE])
        text = Text(f"{sign}{shown}".expandtabs(4), style=style)
        if len(body) > MAX_LINE:
            text.append(f" ... {count_of(len(body) - MAX_LINE, 'more character')}", style="dim")
        ending = line[len(body) :]
        if ending and ending != sides.line_end:
            text.append(return_sign if "\r" in ending else "\\n", style="dim")
        drawn.append(text)
        if not ending:
            drawn.append(Text("\\ No newline at end of file", style="dim"))
    return drawn
