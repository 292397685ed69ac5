"""Text that is safe to show: without terminal sequences, and without characters that hide others.

Pure functions, below all other modules, because every layer shows text that it did not write.
"""

import re

# CSI; OSC and other strings, which end with BEL or ST; other escapes; and control characters except tab, newline and
# carriage return
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # an unfinished string ends with its line
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)
# bytes of UTF-8 that are in nothing that is removed (0xc2 begins control characters). Looking for others first is forty
# times as fast as `_ESCAPES`.
_PLAIN_BYTES = bytes({*b"\t\n\r", *range(0x20, 0x7F), *range(0x80, 0x100)} - {0xC2})
_COLOR = re.compile(r"\x1b\[[0-9;:]*m")
# characters that are printable according to Unicode, but draw nothing, so that a text looks like a different one;
# without the variation selectors, which emoji need
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_VARIATION = re.compile("[\\ufe00-\\ufe0f\\U000e0100-\\U000e01ef]")
# the start of a terminal sequence, at the end of a text whose next part may contain the rest
UNFINISHED_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]{0,60}[ -/]{0,4}|[\]PX^_][^\x07\x1b\n]{0,200}\x1b?|[ -/]{0,4})\Z")


def strip_sequences(text: str) -> str:
    """Removes terminal sequences and control characters, except tabs and newlines.

    A carriage return within a line discards the text before it on that line, as in a progress bar. CRLF becomes LF.
    """
    text = without_sequences(text)
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.split("\n"))


def without_sequences(text: str) -> str:
    """Removes terminal sequences and control characters, except tabs, newlines and carriage returns."""
    if not text.encode("utf-8", "surrogatepass").translate(None, _PLAIN_BYTES):
        return text
    return _ESCAPES.sub("", text)


def keep_colors(text: str) -> str:
    """Like `strip_sequences`, but colors (SGR) and carriage returns stay, for a view that works like a terminal."""
    return _ESCAPES.sub(lambda found: found[0] if _COLOR.fullmatch(found[0]) else "", text)


def escape_invisible(text: str) -> str:
    """Writes invisible characters as escapes, such as `\\u202e` and `\\U000e0041`. Tabs, newlines and spaces stay.

    These are all characters that are not printable (`str.isprintable`), such as control and direction characters and
    spaces of other widths, and the printable ones that draw nothing.
    """
    return "".join(c if c in "\n\t" or (c.isprintable() and c not in _BLANK) else _escape(c) for c in text)


def without_invisible(text: str) -> str:
    """Removes what `escape_invisible` escapes, and variation selectors. Other spaces become spaces, and CRLF LF.

    For texts of strangers that only the model reads: it could read escapes too. Some emoji fall into their parts.
    """
    text = without_sequences(text).replace("\r\n", "\n")
    return text if text.isascii() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character in "\n\t\r":
        return character
    if _VARIATION.match(character):
        return ""
    if character.isprintable() and character not in _BLANK:
        return character
    return " " if character.isspace() or character in "\u2800\u3164" else ""


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escape_to_one_line(text: str) -> str:
    """Like `escape_invisible`, with tabs and newlines escaped too. For names that a command or the model chose."""
    return escape_invisible(text).replace("\n", "\\n").replace("\t", "\\t")


def shorten(text: str, limit: int = 80) -> str:
    """A text for use in a sentence: on one line, of at most `limit` characters, with invisible characters escaped."""
    line = escape_invisible(" ".join(text.split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def one_line(text: str) -> str:
    """The stripped lines of a text, joined by spaces. Space within a line stays, because it may matter in a command."""
    return " ".join(filter(None, (line.strip() for line in text.splitlines())))


def end_sentence(text: str) -> str:
    """The text with a full stop, unless it already ends a sentence. For texts of others, before the next sentence."""
    text = text.rstrip()
    return text if text.endswith((".", "!", "?", "…", "。", "！", "？")) else f"{text}."


def count_of(number: int, noun: str) -> str:
    """A number with its noun, as in `1 file` and `2,000 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def end_after_word(line: str, limit: int) -> str:
    """The line with at most `limit` characters. A longer line is cut after a word and ends with an ellipsis.

    It is cut inside a word if cutting after one would leave at most half of the limit.
    """
    if len(line) <= limit:
        return line
    start = line[: limit - 1]
    words = start if line[limit - 1].isspace() else start.rpartition(" ")[0]
    return f"{(words if len(words) > limit // 2 else start).rstrip()}…"
