"""Lines and line endings as editors count them (LSP 3.18, `Position`): `\\n`, `\\r\\n` and `\\r` end a line."""

import re

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_LINE_ENDING = re.compile(r"\r\n|\r|\n")


def split_lines(text: str) -> list[str]:
    """The lines of a text with their line endings. Unlike `str.splitlines`, does not end lines at form feeds etc."""
    return _LINE.findall(text)


def without_line_ending(line: str) -> str:
    """A line without its line ending."""
    return line.rstrip("\r\n")


def line_number(text: str, index: int) -> int:
    """The number, from 1, of the line that contains an index. The index must not be inside a line ending."""
    return len(_LINE_ENDING.findall(text, 0, index)) + 1


def usual_line_ending(text: str, default: str = "\n") -> str:
    """The most frequent line ending of a text; `default` if it has none."""
    counts = _counts(text)
    best = max(counts, key=lambda end: counts[end])
    return best if counts[best] else default


def distinct_line_endings(text: str) -> set[str]:
    """The line endings that occur in a text."""
    return {end for end, count in _counts(text).items() if count}


def _counts(text: str) -> dict[str, int]:
    crlf = text.count("\r\n")
    return {"\r\n": crlf, "\n": text.count("\n") - crlf, "\r": text.count("\r") - crlf}


def with_line_endings(text: str, end: str) -> str:
    """The text with each line ending replaced with `end`."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    return plain if end == "\n" else plain.replace("\n", end)
