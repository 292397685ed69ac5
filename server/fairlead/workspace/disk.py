"""Closed files: bytes to text and back, without changing a byte that nobody asked to change."""

import codecs
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from fairlead.agent.errors import ToolError

MAX_BYTES = 20_000_000
BOM = codecs.BOM_UTF8


@dataclass(frozen=True, slots=True)
class DiskText:
    """A file's text without its byte order mark; line ends are as they stand in the file."""

    text: str
    bom: bool = False

    def encode(self, text: str) -> bytes:
        """Another text in the same dress."""
        return (BOM if self.bom else b"") + text.encode()


def read_text(path: Path) -> DiskText | None:
    """The text of a file, None where there is none.

    Raises:
        ToolError: it is no regular file, too large, binary, or not UTF-8; the message says which.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if os.path.isdir(path):  # Windows opens no folders
            raise ToolError(f"{path.name} is a folder, not a file.") from error
        raise ToolError(f"{path.name} cannot be read: {error.strerror or error}.") from error
    try:
        _check_kind(os.fstat(descriptor), path.name)
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(MAX_BYTES + 1)
    finally:
        os.close(descriptor)
    return decode(data, path.name)


def _check_kind(status: os.stat_result, name: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{name} is a folder, not a file.")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{name} is no regular file.")
    if status.st_size > MAX_BYTES:
        size = status.st_size / 1_000_000
        raise ToolError(f"{name} is too large to open: {size:,.0f} MB, the limit is {MAX_BYTES // 1_000_000} MB.")


def decode(data: bytes, name: str) -> DiskText:
    """Bytes as text.

    Raises:
        ToolError: the bytes are no UTF-8 text.
    """
    if b"\0" in data:
        raise ToolError(f"{name} is a binary file (it holds NUL bytes).")
    bom = data.startswith(BOM)
    try:
        return DiskText(data[len(BOM) if bom else 0 :].decode("utf-8"), bom)
    except UnicodeDecodeError as error:
        raise ToolError(f"{name} is not UTF-8 text (byte {error.start}).") from error
