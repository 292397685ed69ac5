"""An independent implementation of the documented rules for encodings, line endings and lines.

Decodes a file's bytes, and splits and compares texts.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_BYTES = 20_000_000

# in the order in which they are tried, for bytes that are not UTF-8
WESTERN = ("cp1252", "latin-1")

_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class TextFormat:
    """How a text is stored in a file."""

    codec: str = "utf-8"
    bom: bytes = b""

    def encode(self, text: str) -> bytes:
        return self.bom + text.encode(self.codec)

    @property
    def name(self) -> str:
        return f"{self.codec} with BOM" if self.bom and self.codec == "utf-8" else self.codec


PLAIN = TextFormat()


@dataclass(frozen=True)
class Text:
    """A file's text, without its byte order mark, and its format."""

    text: str
    text_format: TextFormat

    def encode(self) -> bytes:
        return self.text_format.encode(self.text)


def decode(data: bytes) -> Text | None:
    """The text of a file, None if it is binary."""
    for bom, codec in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(bom):
            return _decoded(data, TextFormat(codec, bom))
    if b"\0" in data:
        return None
    bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    found = _decoded(data, TextFormat("utf-8", bom))
    if found is None and not bom and not _CONTROLS.search(data):
        found = _decoded(data, TextFormat("cp1252")) or _decoded(data, TextFormat("latin-1"))
    return found


def decode_as(data: bytes, text_format: TextFormat) -> str | None:
    """The text of `data` if the file keeps this format; None if the format changes too."""
    own = decode(data)
    if own is None:
        return None
    if own.text_format == text_format:
        return own.text
    is_plain = own.text_format == PLAIN and data.isascii()
    return own.text if is_plain and text_format.codec in WESTERN else None


def _decoded(data: bytes, text_format: TextFormat) -> Text | None:
    try:
        text = data[len(text_format.bom) :].decode(text_format.codec)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else Text(text, text_format)


def split_lines(text: str) -> list[str]:
    """Lines with their endings, as LSP counts them: `\\n`, `\\r\\n` and `\\r` end a line."""
    return _LINE.findall(text)


def end_of(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def line_ends(text: str) -> set[str]:
    return set(_END.findall(text))


def with_lf(text: str) -> str:
    return _END.sub("\n", text)


def one_end(*texts: str) -> str | None:
    """The line ending of all texts, LF if they have none, None if they are mixed."""
    ends = set().union(*map(line_ends, texts))
    return None if len(ends) > 1 else next(iter(ends), "\n")


def occurs_once(text: str, piece: str) -> bool:
    """Whether a piece occurs exactly once in a text, counting overlaps."""
    first = text.find(piece)
    return first >= 0 and text.find(piece, first + 1) < 0


def describe_ends(text: str) -> str:
    ends = line_ends(text)
    names = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}
    return "mixed" if len(ends) > 1 else names[next(iter(ends))] if ends else "none"


def common_ends(a: Sequence[object], b: Sequence[object]) -> tuple[int, int]:
    """The lengths of the common prefix and, in the rest, of the common suffix."""
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    return head, tail
