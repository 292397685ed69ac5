"""Closed files: bytes to text and back, without changing a byte that nobody asked to change."""

import codecs
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fairlead.agent.errors import ToolError
from fairlead.edits.text import line_ends
from fairlead.workspace.safe_open import open_beneath

MAX_BYTES = 20_000_000
BOM = codecs.BOM_UTF8

Encoding = Literal["utf-8", "utf-16-le", "utf-16-be", "cp1252", "latin-1", "binary"]
_NAMES: dict[Encoding, str] = {
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "cp1252": "Windows-1252",
    "latin-1": "Latin-1",
    "binary": "binary",
}
_MARKS: tuple[tuple[bytes, Encoding], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# control characters that no text has: what holds one and is no UTF-8 is no text in an older encoding either
_NO_TEXT = bytes(set(range(0x20)) - set(b"\t\n\v\f\r\x1b"))


class BinaryFile(ToolError):
    """The file's bytes are no text."""


@dataclass(frozen=True, slots=True)
class DiskText:
    """A file's text without its byte order mark `mark`; line ends are as they stand in the file."""

    text: str
    encoding: Encoding = "utf-8"
    mark: bytes = b""

    def encode(self, text: str, name: str = "The file") -> bytes:
        """Another text in the same dress.

        Raises:
            ToolError: it holds characters that the file's encoding has not.
        """
        if self.encoding == "binary":
            raise BinaryFile(f"{name} is a binary file.")
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            bad = ", ".join(f"U+{ord(c):04X}" for c in dict.fromkeys(text[error.start : error.end][:5]))
            raise ToolError(f"{name} is in {_NAMES[self.encoding]}, which cannot hold {bad}.") from error

    @property
    def oddity(self) -> str:
        """What of it an editor may not carry unchanged, in words; empty for what every editor carries."""
        if self.encoding != "utf-8":
            return f"its encoding ({_NAMES[self.encoding]})"
        return odd_line_ends(self.text)


def odd_line_ends(text: str) -> str:
    """Line ends that an editor does not carry unchanged, in words; empty where there are none."""
    ends = line_ends(text)
    if len(ends) > 1:
        return "its mixed line ends"
    return "its line ends (CR alone)" if ends == {"\r"} else ""


def content_of(data: bytes, name: str) -> DiskText:
    """As `decode`; of a binary file one line that says which it is: enough to delete or to move it."""
    try:
        return decode(data, name)
    except BinaryFile:
        return DiskText(f"(binary file, {len(data):,} bytes, SHA-256 {hashlib.sha256(data).hexdigest()})", "binary")


def read_bytes(path: Path, root: Path | None = None) -> bytes | None:
    """The bytes of a file, None where there is none. With a `root` no link is followed, on the way or at its end.

    Raises:
        ToolError: it is no regular file, too large, or a link.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = open_beneath(path, root, flags)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if os.path.isdir(path):  # Windows opens no folders
            raise ToolError(f"{path.name} is a folder, not a file.") from error
        raise ToolError(f"{path.name} cannot be read: {error.strerror or error}.") from error
    try:
        _check_kind(os.fstat(descriptor), path.name)
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(MAX_BYTES + 1)
    finally:
        os.close(descriptor)


def _check_kind(status: os.stat_result, name: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{name} is a folder, not a file.")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{name} is no regular file.")
    if status.st_size > MAX_BYTES:
        size = status.st_size / 1_000_000
        raise ToolError(f"{name} is too large to open: {size:,.0f} MB, the limit is {MAX_BYTES // 1_000_000} MB.")


def decode(data: bytes, name: str) -> DiskText:
    """Bytes as text: UTF-8, UTF-16 with its mark, else the western encoding in which every byte is a character.

    Raises:
        BinaryFile: the bytes are no text.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _marked(data, mark, encoding, name)
    if b"\0" in data:
        raise BinaryFile(f"{name} is a binary file (it holds NUL bytes).")
    try:
        return DiskText(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        if len(data.translate(None, _NO_TEXT)) < len(data):
            raise BinaryFile(f"{name} is a binary file (no UTF-8, and it holds control characters).") from error
    try:
        return DiskText(data.decode("cp1252"), "cp1252")
    except UnicodeDecodeError:
        return DiskText(data.decode("latin-1"), "latin-1")


def _marked(data: bytes, mark: bytes, encoding: Encoding, name: str) -> DiskText:
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        raise BinaryFile(f"{name} begins as {_NAMES[encoding]} text and is none (byte {error.start}).") from error
    if "\0" in text:
        raise BinaryFile(f"{name} is a binary file (it holds NUL characters).")
    return DiskText(text, encoding, mark)
