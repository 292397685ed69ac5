"""What the person's files say: the open buffer, or the disk."""

import asyncio
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from fairlead.agent.errors import ToolError
from fairlead.workspace.disk import BinaryFile, DiskText, Encoding, content_of, odd_line_ends, read_bytes
from fairlead.workspace.editor import Buffer, Buffers
from fairlead.workspace.long_work import LONG

Signature = tuple[int, int, int, int]
DocumentState = Literal["closed", "saved", "unsaved", "new", "stray"]


class UserFiles:
    """Reads. An open document is the truth about its file, dirty or not; the disk is, where it is closed."""

    def __init__(self, root: Path, buffers: Buffers) -> None:
        self.root = root
        self._buffers = buffers
        self._awaited: dict[Path, str | None] = {}
        self._arrived: set[Path] = set()
        self._read: dict[Path, tuple[Signature, DiskText]] = {}
        self.new_with_bom: set[Path] = set()  # new files that are to begin with a byte order mark
        self._encodings: dict[Path, Encoding] = {}
        self._written: dict[Path, tuple[bytes, DiskText]] = {}

    @property
    def change_token(self) -> int:
        """Changes with what the editor tells."""
        return self._buffers.change_token

    def text(self, path: Path, *, binary: bool = False) -> str | None:
        """What a file says, None where there is none; of a binary one, if asked, a line that tells it from others.

        Raises:
            ToolError: there is something, but no text that can be worked on.
        """
        said = self.buffer(path) or self.on_disk(path)
        if isinstance(said, DiskText) and said.encoding == "binary" and not binary:
            raise BinaryFile(f"{path.name} is a binary file.")
        return said.text if said is not None else None

    def on_disk(self, path: Path) -> DiskText | None:
        """What the disk says; read again only where its signature is another.

        Raises:
            ToolError: as `text`.
        """
        signature = _signature(path)
        known = self._read.get(path)
        if known is not None and known[0] == signature:
            return known[1]
        found = self.read(path)
        if found is None:
            return None
        if signature is not None:
            self._read[path] = (signature, found[1])
        return found[1]

    async def preload(self, path: Path) -> None:
        """Reads a long file in a thread, so that `text` has it at hand; nothing, where it is open or known already."""
        if self.buffer(path) is not None:
            return
        signature, known = _signature(path), self._read.get(path)
        if signature is not None and signature[2] > LONG and (known is None or known[0] != signature):
            with suppress(ToolError):
                await asyncio.to_thread(self.on_disk, path)

    def read(self, path: Path) -> tuple[bytes, DiskText] | None:
        """A file's bytes as they are on the disk now, and what they say; None where there is no file.

        Raises:
            ToolError: as `text`.
        """
        data = read_bytes(path, self.root)
        return None if data is None else (data, self._as_it_was(path, data))

    def _as_it_was(self, path: Path, data: bytes) -> DiskText:
        """Bytes alone do not always tell their encoding: what Fairlead wrote is in the one that it wrote it in, and a
        text whose last unusual letter went is still in the one that it was in."""
        written = self._written.get(path)
        if written is not None and written[0] == data:
            return written[1]
        disk = content_of(data, path.name)
        if disk.encoding in ("cp1252", "latin-1"):
            self._encodings[path] = disk.encoding
        elif disk.encoding == "utf-8" and not disk.mark and disk.text.isascii():
            return replace(disk, encoding=self._encodings.get(path, "utf-8"))
        return disk

    def invalidate(self, path: Path) -> None:
        """The next look reads the bytes themselves: a signature may stay the same where they do not."""
        self._read.pop(path, None)

    def note_write(self, path: Path, data: bytes, disk: DiskText) -> None:
        """Fairlead wrote a file itself, and knows what its bytes mean."""
        self.invalidate(path)
        self._written[path] = (data, disk)

    def note_move(self, path: Path, target: Path) -> None:
        """A file has another path: it is in the encoding there that it was in here."""
        self.invalidate(path)
        if path in self._encodings:
            self._encodings[target] = self._encodings[path]

    def buffer(self, path: Path) -> Buffer | None:
        """The open document, where it says what the file says.

        It does not where there is no file and nothing is typed, nor where Fairlead removed the file. Neovim shows an
        empty file, and one that is not there, as a line end.
        """
        found = self._buffers.open_buffer(path)
        if found is None or not (found.file_removed or is_blank(found.text)):
            return found
        try:
            disk = self.on_disk(path)
        except ToolError:
            return found
        if disk is None:
            return None
        if is_blank(found.text) and is_blank(disk.text):
            return replace(found, text=disk.text)
        return None if found.file_removed and found.text != disk.text else found

    def document(self, path: Path) -> Buffer | None:
        """The open document as the editor shows it, whatever the file says."""
        return self._buffers.open_buffer(path)

    def document_state(self, path: Path) -> DocumentState:
        """Whether a file's document is open and saved.

        `new`: it is not saved, and there is no file. `stray`: there is an open document, and it is not the file's.
        """
        if self.document(path) is None:
            return "closed"
        buffer = self.buffer(path)
        if buffer is None:
            return "stray"
        try:
            disk = self.on_disk(path)
        except ToolError:
            return "unsaved"
        if disk is None:
            return "new"
        return "saved" if disk.text == buffer.text else "unsaved"

    def note_removal(self, path: Path) -> None:
        """Fairlead removed a file, which may be open."""
        self._buffers.note_removal(path)

    def open_paths(self) -> Sequence[Path]:
        return self._buffers.open_paths()

    def check_can_hold(self, path: Path, text: str) -> None:
        """Whether a text can be put into a file without changing anything else of it.

        Raises:
            ToolError: the file is open in an editor that would change it, or its encoding cannot hold the text.
        """
        buffer, disk = self.buffer(path), self.on_disk(path) or DiskText("")
        lost = ""
        if buffer is not None:
            lost = _lost(buffer.text, disk) or (
                odd_line_ends(text) if odd_line_ends(text) != odd_line_ends(buffer.text) else ""
            )
        if lost:
            raise ToolError(
                f"{path.name} is open in the editor, which would not keep {lost}. "
                "It can be changed once it is closed there."
            )
        disk.encode(text, path.name)

    def needs_own_write(self, path: Path, text: str) -> bool:
        """Whether Fairlead must write a closed file itself, for an editor would not keep all of it."""
        disk = self.on_disk(path) or DiskText("")
        return self.buffer(path) is None and bool(disk.oddity or odd_line_ends(text))

    @contextmanager
    def expecting(self, texts: Mapping[Path, str | None]) -> Generator[None]:
        """While an editor makes files say these texts: notes those that it tells of, whatever comes after them."""
        self._awaited, self._arrived = dict(texts), set()
        try:
            yield
        finally:
            self._awaited, self._arrived = {}, set()

    def has_arrived(self, path: Path) -> bool:
        """Whether the editor told of the awaited text."""
        return path in self._arrived

    def note_document_event(self, path: Path) -> None:
        """The editor told something newer of this file."""
        for awaited, text in self._awaited.items():
            buffer = self.buffer(awaited) if awaited not in self._arrived else None
            if buffer is not None and buffer.text == text:
                self._arrived.add(awaited)


def is_blank(text: str) -> bool:
    """Whether an editor shows nothing."""
    return text in ("", "\n", "\r\n")


def _lost(buffer: str, disk: DiskText) -> str:
    """What of the disk's text the editor's does not have, in words: it would be gone with the next save."""
    if disk.encoding != "utf-8" and "\ufffd" in buffer and "\ufffd" not in disk.text:
        return disk.oddity
    ends = odd_line_ends(disk.text)
    return ends if ends != odd_line_ends(buffer) else ""


def _signature(path: Path) -> Signature | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
