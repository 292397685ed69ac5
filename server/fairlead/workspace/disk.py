"""Converts closed files from bytes to text and back, so that only the intended bytes change."""

import codecs
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fairlead.edits.text import distinct_line_endings, with_line_endings
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.safe_open import closing, open_beneath

MAX_BYTES = 20_000_000  # of a file that is read
_LIMIT = f"{MAX_BYTES // 1_000_000} MB"
BOM = codecs.BOM_UTF8

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
    encoding: Encoding = "utf-8"
    bom: bytes = b""
    """The byte order mark, which is not part of the text."""
    binary_sha256: str = ""
    """The digest of a binary file's bytes; empty for text."""

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
            return self.bom + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            bad = ", ".join(f"U+{ord(c):04X}" for c in dict.fromkeys(text[error.start : error.end][:5]))
            raise WorkspaceError(f"{name} is in {_NAMES[self.encoding]}, which cannot represent {bad}.") from error

    @property
    def is_guess(self) -> bool:
        """Whether the bytes do not show the encoding."""
        return self.encoding != "utf-8" and not self.bom

    @property
    def oddity(self) -> str:
        """What an editor may not preserve, for messages; empty if editors preserve everything."""
        if self.encoding != "utf-8":
            return f"its encoding ({_NAMES[self.encoding]})"
        return unusual_line_endings(self.text)


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
    return decode_single_bytes(data)


def decode_single_bytes(data: bytes) -> DiskText:
    """Decodes Windows-1252 or, if that is not possible, Latin-1, in which every byte is a character."""
    try:
        return DiskText(data.decode("cp1252"), "cp1252")
    except UnicodeDecodeError:
        return DiskText(data.decode("latin-1"), "latin-1")


def _decode_with_bom(data: bytes, bom: bytes, encoding: Encoding, name: str) -> DiskText:
    try:
        text = data[len(bom) :].decode(encoding)
    except UnicodeDecodeError as error:
        raise BinaryFile(f"{name} begins like {_NAMES[encoding]} text but is not (byte {error.start}).") from error
    if "\0" in text:
        raise BinaryFile(f"{name} is a binary file (it contains NUL characters).")
    return DiskText(text, encoding, bom)
