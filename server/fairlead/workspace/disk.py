"""Converts closed files from bytes to text and back, so that only the intended bytes change."""

import codecs
import hashlib
import os
import re
import stat
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fairlead.edits.bad_bytes import has_bad_bytes
from fairlead.text_lines import distinct_line_endings, with_line_endings
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.safe_open import closing, open_beneath

MAX_BYTES = 20_000_000  # of a file that is read
_LIMIT = f"{MAX_BYTES // 1_000_000} MB"
BOM = codecs.BOM_UTF8
BAD_BYTES = "its bytes that are not UTF-8"
"""The oddity of a damaged file (`DiskText.oddity`)."""

Encoding = Literal[
    "utf-8",
    "utf-16-le",
    "utf-16-be",
    "cp1252",
    "latin-1",
    "gbk",
    "gb18030",
    "cp950",
    "cp932",
    "euc_jp",
    "cp949",
    "cp1251",
    "cp1250",
    "binary",
]
_NAMES: dict[Encoding, str] = {
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "cp1252": "Windows-1252",
    "latin-1": "Latin-1",
    "gbk": "GBK",
    "gb18030": "GB18030",
    "cp950": "Big5",
    "cp932": "Shift JIS",
    "euc_jp": "EUC-JP",
    "cp949": "EUC-KR",
    "cp1251": "Windows-1251",
    "cp1250": "Windows-1250",
    "binary": "binary",
}
_BY_TEXT: tuple[Encoding, ...] = tuple(name for name in _NAMES if name not in ("utf-8", "binary"))
"""The encodings that an editor's text can identify where the bytes alone cannot."""
_TWO_BYTES: tuple[Encoding, ...] = ("gb18030", "cp950", "cp932", "euc_jp", "cp949")
"""Encodings in which the second byte of a character may be an ASCII letter. GB18030 contains GBK."""
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_BEYOND_ASCII_IN_TWO_BYTES = re.compile(r"(?:[^\x00-\x7f]+[0-~]?)+")
_BOMS: tuple[tuple[bytes, Encoding], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# control characters that text does not contain: a file that has one and is not UTF-8 is binary
_BINARY_ONLY = bytes(set(range(0x20)) - set(b"\t\n\v\f\r\x1b"))


class BinaryFile(WorkspaceError):
    """The file is not text."""


@dataclass(frozen=True, slots=True)
class DiskText:
    """A file's decoded text, with the line endings that it has on disk."""

    text: str
    """May contain bytes that are not UTF-8, if the rest is (`edits/bad_bytes.py`)."""
    encoding: Encoding = "utf-8"
    bom: bytes = b""
    """The byte order mark, which is not part of the text."""
    binary_sha256: str = ""
    """The digest of a binary file's bytes; empty for text."""
    is_guess: bool = False
    """Whether nothing shows the encoding. The bytes are only read as if they were in it, so that none is lost."""

    def encode(self, text: str, name: str = "The file") -> bytes:
        """Another text as bytes, in this file's encoding and with its byte order mark.

        Args:
            name: the file's name in errors.

        Raises:
            WorkspaceError: the encoding cannot represent the text, or the file is binary.
        """
        if self.encoding == "binary":
            raise BinaryFile(f"{name} is a binary file.")
        try:
            return self.bom + text.encode(self.encoding, "surrogateescape" if self.encoding == "utf-8" else "strict")
        except UnicodeEncodeError as error:
            bad = _code_points(text[error.start : error.end])
            raise WorkspaceError(f"{name} is in {_NAMES[self.encoding]}, which cannot represent {bad}.") from error

    def check_added(self, text: str, name: str, *shown: str) -> None:
        """Checks that a text adds no characters beyond ASCII to a file whose encoding nobody knows.

        The same byte is a different character in each encoding, so such a character would probably become another one.
        Characters that are removed elsewhere in the file may be added.

        Args:
            name: the file's name in errors.
            shown: other texts of this file whose characters may be in `text`, such as the proposed one.

        Raises:
            WorkspaceError: the text adds such characters.
        """
        if not self.is_guess or self.encoding == "binary":
            return
        data = self.text.encode(self.encoding)
        # half of a character may look like one, and its other half like a letter after it
        has_two_bytes = any(decode_as(data, encoding) for encoding in _TWO_BYTES)
        find = (_BEYOND_ASCII_IN_TWO_BYTES if has_two_bytes else _BEYOND_ASCII).findall
        known = Counter[str]()
        for each in (self.text, *shown):
            known |= Counter[str](find(each))
        added = Counter[str](find(text)) - known
        if added:
            characters = _code_points("".join(_BEYOND_ASCII.findall("".join(added))))
            raise WorkspaceError(
                f"{name} is not UTF-8, and nothing shows its encoding, so characters beyond ASCII cannot be added: "
                f"{characters}. Use escapes instead, convert the file to UTF-8 first, or have the user open it in the "
                "editor in its encoding."
            )

    @property
    def is_damaged(self) -> bool:
        """Whether the file is UTF-8 apart from some bytes."""
        return self.encoding == "utf-8" and has_bad_bytes(self.text)

    @property
    def is_ambiguous(self) -> bool:
        """Whether an open document can show that the file is in another encoding than its bytes suggest."""
        return (self.encoding != "utf-8" and not self.bom) or self.is_damaged

    @property
    def oddity(self) -> str:
        """What an editor may not preserve, for messages; empty if editors preserve everything."""
        if self.encoding != "utf-8":
            return f"its encoding ({_NAMES[self.encoding]})"
        return BAD_BYTES if self.is_damaged else unusual_line_endings(self.text)


def new_file(bom: bool) -> DiskText:
    """The content of a file that does not exist yet: an empty text in UTF-8, with or without a byte order mark."""
    return DiskText("", bom=BOM if bom else b"")


def unusual_line_endings(text: str) -> str:
    """The line endings that an editor may not preserve, for messages; empty if there are none."""
    ends = distinct_line_endings(text)
    if len(ends) > 1:
        return "its mixed line endings"
    return "its line endings (CR alone)" if ends == {"\r"} else ""


def decode_or_describe(data: bytes, name: str) -> DiskText:
    """Like `decode`, but the text of a binary file is one line that identifies it: enough to delete or move it."""
    try:
        return decode(data, name)
    except BinaryFile:
        digest = hashlib.sha256(data).hexdigest()
        return DiskText(f"(binary file, {len(data):,} bytes, SHA-256 {digest})", "binary", binary_sha256=digest)


def decode_as(data: bytes, encoding: Encoding) -> DiskText | None:
    """Decodes bytes without a byte order mark in an encoding, None if they are not text in it."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else DiskText(text, encoding)


def decode_like(data: bytes, text: str) -> DiskText | None:
    """Decodes bytes in the first encoding of `_BY_TEXT` that gives this text, apart from line endings.

    None if no such encoding does.
    """
    plain = with_line_endings(text, "\n")
    for encoding in _BY_TEXT:
        disk = decode_as(data, encoding)
        if disk is not None and with_line_endings(disk.text, "\n") == plain:
            return disk
    return None


def read_bytes(path: Path, root: Path | None = None) -> bytes | None:
    """The bytes of a file, None if there is no file.

    Args:
        root: a folder below which no link is followed; None: all links are followed.

    Raises:
        WorkspaceError: it is not a regular file, is too large or cannot be read; with a root, also if it is outside of
            the root or reached through a link.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = open_beneath(path, root, flags)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if os.path.isdir(path):  # Windows cannot open a folder
            raise WorkspaceError(f"{path.name} is a folder, not a file.") from error
        raise WorkspaceError(f"{path.name} cannot be read: {error.strerror or error}.") from error
    with closing(descriptor):
        status = os.fstat(descriptor)
        _check_kind(status, path.name)
        with open(descriptor, "rb", closefd=False) as file:
            # `read(MAX_BYTES)` would allocate that much first, which takes longer than reading a small file
            data = file.read(status.st_size + 1)
            if len(data) > status.st_size:  # it has grown
                data += file.read(MAX_BYTES - status.st_size)
    if len(data) > MAX_BYTES:
        raise WorkspaceError(f"{path.name} is too large to open: it grew beyond {_LIMIT} while it was read.")
    return data


def _check_kind(status: os.stat_result, name: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise WorkspaceError(f"{name} is a folder, not a file.")
    if not stat.S_ISREG(status.st_mode):
        raise WorkspaceError(f"{name} is not a regular file.")
    if status.st_size > MAX_BYTES:
        size = status.st_size / 1_000_000
        raise WorkspaceError(f"{name} is too large to open: {size:,.0f} MB, the limit is {_LIMIT}.")


def decode(data: bytes, name: str) -> DiskText:
    """Decodes UTF-8, UTF-16 with a byte order mark, Windows-1252 or Latin-1, in this order.

    Bytes that are not UTF-8 stay in the text if most of the bytes beyond ASCII are UTF-8 (`edits/bad_bytes.py`).

    Args:
        name: the file's name in errors.

    Raises:
        BinaryFile: the bytes are not text.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return _decode_with_bom(data, bom, encoding, name)
    if b"\0" in data:
        raise BinaryFile(f"{name} is a binary file (it contains NUL bytes).")
    try:
        return DiskText(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        if len(data.translate(None, _BINARY_ONLY)) < len(data):
            raise BinaryFile(f"{name} is a binary file (not UTF-8, and it contains control characters).") from error
    text = data.decode("utf-8", "surrogateescape")
    following = len(data) - len(text)  # the bytes after the first one of each character
    faults = data.decode("utf-8", "replace").count("\ufffd") - text.count("\ufffd")
    if following > faults:  # other encodings rarely look like UTF-8
        return DiskText(text)
    try:
        return DiskText(data.decode("cp1252"), "cp1252", is_guess=True)
    except UnicodeDecodeError:
        return DiskText(data.decode("latin-1"), "latin-1", is_guess=True)


def _decode_with_bom(data: bytes, bom: bytes, encoding: Encoding, name: str) -> DiskText:
    errors = "surrogateescape" if encoding == "utf-8" else "strict"
    try:
        text = data[len(bom) :].decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise BinaryFile(f"{name} begins like {_NAMES[encoding]} text but is not (byte {error.start}).") from error
    if "\0" in text:
        raise BinaryFile(f"{name} is a binary file (it contains NUL characters).")
    return DiskText(text, encoding, bom)


def _code_points(text: str) -> str:
    """The first five different characters of a text, for messages."""
    return ", ".join(f"U+{ord(character):04X}" for character in list(dict.fromkeys(text))[:5])
