"""The value that bash gives a word, or at least how it begins, where that is certain. Works on text, not on a tree."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SPECIAL = re.compile(r"[\"'`$()<>|&;\s]")  # an unquoted word contains none of these unescaped, or is `$`
_EXPANDED = re.compile(r"[*?\[{}]")  # bash may expand a word that contains one of these (file names, braces)
_QUOTED = re.compile(r"(?:[^\"\\`$]|\\.|\$(?![\w({\[@*#?!$'-]))*", re.S)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command line."""

    text: str
    """The word as written."""
    value: str | None
    """The argument that the command receives. None if only bash can tell; it may then become several words or none."""
    prefix: str
    """How the value, or each of its words, begins. Empty if that is unknown too. A leading `~` stays as written."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a word, such as a quoted one. `value` and `prefix` are as in `Word`."""

    value: str | None
    prefix: str = ""
    splits: bool = False
    """Whether bash may split the word inside this piece."""


def program_name(program: str) -> str:
    """The name of a program without its folder."""
    return program.rpartition("/")[2]


def program(words: Sequence[Word]) -> str:
    """The name of a command's program without its folder. Empty if unknown."""
    return program_name(words[0].value or "") if words else ""


def literal(value: str) -> Piece:
    """A piece whose value is exactly this text."""
    return Piece(value, value)


def unquoted(text: str) -> Piece | None:
    """A piece without quotes; None if it contains a character that is not allowed there."""
    value, known = "", True
    for escaped, char in re.findall(r"(\\.)|(.)", text, re.S):
        if not escaped and _SPECIAL.match(char) and text != "$":
            return None
        is_tilde = char == "~" and value[-1:] in ("", ":", "=")  # bash may replace it with a home folder
        known = known and bool(escaped or not (_EXPANDED.match(char) or is_tilde))
        if known:
            value += escaped[1:].replace("\n", "") or char
    return literal(value) if known else Piece(None, value or text[:1].strip("*?[{}"))


def quoted(chunks: Sequence[str], splits: bool) -> Piece | None:
    """A piece in double quotes; None as in `unquoted`.

    Args:
        chunks: the texts before, between and after the expansions in it.
        splits: whether an expansion may split the word even in quotes (`"$@"`).
    """
    if not all(_QUOTED.fullmatch(chunk) for chunk in chunks):
        return None
    prefix = re.sub(r"\\([$`\"\\\n])", lambda match: match[1].strip("\n"), chunks[0])
    return literal(prefix) if len(chunks) == 1 else Piece(None, prefix, splits)


def join_pieces(pieces: Sequence[Piece], text: str) -> Word:
    """The word that consists of these pieces."""
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
