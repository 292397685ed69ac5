"""What bash makes of a word: its value where that is certain, else at least how it begins. Pure text, no grammar."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SPECIAL = re.compile(r"[\"'`$()<>|&;\s]")  # an unquoted word has none of these
_OPEN = re.compile(r"[*?\[{}]")  # file names and braces: bash may put other words in the place of such a one
_QUOTED = re.compile(r"(?:[^\"\\`$]|\\.|\$(?![\w({\[@*#?!$'-]))*", re.S)


@dataclass(frozen=True, slots=True)
class Word:
    """A word as it is written, and what the command gets of it.

    `value` is None where only bash knows, and then the word may become several or none. Each of them begins with
    `begins`; where even that is not known it is empty.
    """

    text: str
    value: str | None
    begins: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a word, such as a quoted one: as in `Word`. `splits` where bash may make several words of it."""

    value: str | None
    begins: str = ""
    splits: bool = False


def literal(value: str) -> Piece:
    return Piece(value, value)


def unquoted(text: str) -> Piece | None:
    """A part without quotes; None if there is in it what cannot be."""
    value, known = "", True
    for escaped, char in re.findall(r"(\\.)|(.)", text, re.S):
        if not escaped and _SPECIAL.match(char) and text != "$":
            return None
        known = known and bool(escaped or not (_OPEN.match(char) or (char == "~" and value[-1:] in ("", ":", "="))))
        if known:
            value += escaped[1:].replace("\n", "") or char
    return literal(value) if known else Piece(None, value or text[:1].strip("*?[{}"))


def quoted(chunks: Sequence[str], splits: bool) -> Piece | None:
    """A part in double quotes: the texts before, between and behind its expansions; None as in `unquoted`."""
    if not all(_QUOTED.fullmatch(chunk) for chunk in chunks):
        return None
    begins = re.sub(r"\\([$`\"\\\n])", lambda match: match[1].strip("\n"), chunks[0])
    return literal(begins) if len(chunks) == 1 else Piece(None, begins, splits)


def joined(pieces: Sequence[Piece], text: str) -> Word:
    """A whole word of its parts."""
    if text == "{}":  # no braces to expand; `find -exec` has it
        return Word(text, text, text)
    if any(piece.splits for piece in pieces):
        return Word(text, None, "")
    begins = ""
    for piece in pieces:
        begins += piece.begins
        if piece.value is None:
            return Word(text, None, begins)
    return Word(text, begins, begins)
