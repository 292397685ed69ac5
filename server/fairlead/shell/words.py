"""The value that bash gives to a word, or at least its beginning, where that is certain. Pure text, no grammar."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SPECIAL = re.compile(r"[\"'`$()<>|&;\s]")  # an unquoted word contains none of these
_EXPANDED = re.compile(r"[*?\[{}]")  # bash may replace a word with one of these by other words (file names, braces)
_QUOTED = re.compile(r"(?:[^\"\\`$]|\\.|\$(?![\w({\[@*#?!$'-]))*", re.S)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command line."""

    text: str
    """The word as written."""
    value: str | None
    """What the command receives. None: only bash knows it, and may turn it into several words or none."""
    prefix: str
    """How each of these words begins. Empty if that is unknown too."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a word, such as a quoted one. `value` and `prefix` are as in `Word`."""

    value: str | None
    prefix: str = ""
    splits: bool = False
    """Whether bash may split the word here."""


def literal(value: str) -> Piece:
    """A piece that matches exactly this text."""
    return Piece(value, value)


def unquoted(text: str) -> Piece | None:
    """A part without quotes; None if it contains a character that such a part cannot have."""
    value, known = "", True
    for escaped, char in re.findall(r"(\\.)|(.)", text, re.S):
        if not escaped and _SPECIAL.match(char) and text != "$":
            return None
        known = known and bool(escaped or not (_EXPANDED.match(char) or (char == "~" and value[-1:] in ("", ":", "="))))
        if known:
            value += escaped[1:].replace("\n", "") or char
    return literal(value) if known else Piece(None, value or text[:1].strip("*?[{}"))


def quoted(chunks: Sequence[str], splits: bool) -> Piece | None:
    """A part in double quotes; None as in `unquoted`. `chunks` are the texts before, between and after expansions."""
    if not all(_QUOTED.fullmatch(chunk) for chunk in chunks):
        return None
    prefix = re.sub(r"\\([$`\"\\\n])", lambda match: match[1].strip("\n"), chunks[0])
    return literal(prefix) if len(chunks) == 1 else Piece(None, prefix, splits)


def join_pieces(pieces: Sequence[Piece], text: str) -> Word:
    """The word that consists of these parts."""
    if text == "{}":  # not a brace expansion; `find -exec` uses it
        return Word(text, text, text)
    if any(piece.splits for piece in pieces):
        return Word(text, None, "")
    prefix = ""
    for piece in pieces:
        prefix += piece.prefix
        if piece.value is None:
            return Word(text, None, prefix)
    return Word(text, prefix, prefix)
