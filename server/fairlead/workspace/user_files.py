"""Reads the user's files: the open document if there is one, else the disk."""

import asyncio
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from fairlead.edits.bad_bytes import has_bad_bytes
from fairlead.text_lines import with_line_endings
from fairlead.workspace.disk import (
    BAD_BYTES,
    BinaryFile,
    DiskText,
    Encoding,
    decode_as,
    decode_like,
    decode_or_describe,
    read_bytes,
    unusual_line_endings,
)
from fairlead.workspace.editor import Buffer, Buffers
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.long_work import LONG
from fairlead.workspace.paths import Roots

_ERRORS = "surrogatepass"  # an unsaved document may contain lone surrogates
Signature = tuple[int, int, int, int]
"""What changes with a file's content: its times (of the content and of the inode, in ns), its size and its inode."""
DocumentState = Literal["closed", "saved", "unsaved", "new", "stray"]
"""`new`: the document is open, and there is no file yet. `stray`: the open document does not represent the file.

`unsaved` also if the file cannot be read.
"""


class UserFiles:
    """Reads the user's files. The text of an open document is the text of its file, saved or not."""

    def __init__(self, roots: Roots, buffers: Buffers) -> None:
        self.roots = roots
        self._buffers = buffers
        self._expected: dict[Path, str | None] = {}
        self._arrived: set[Path] = set()
        self._read: dict[Path, tuple[Signature, DiskText, str | None]] = {}
        """What was read, and `_text_in_encoding` at that time."""
        self._encodings: dict[Path, tuple[Encoding, bool]] = {}
        """The encoding in which a file was last read if it is not UTF-8, and whether that is a guess."""
        self._proposed_in: dict[Path, Encoding] = {}
        """The encoding in which a file was last read when its text was proposed."""
        self._written: dict[Path, tuple[bytes, DiskText]] = {}
        """What Fairlead wrote, where the bytes alone would be decoded differently."""

    @property
    def change_token(self) -> int:
        """Differs after each change of the open documents, also if one is opened or closed."""
        return self._buffers.change_token

    def text(self, path: Path, *, binary: bool = False) -> str | None:
        """The text of a file, None if there is no file.

        Args:
            binary: whether to return one line that identifies a binary file, instead of raising an error.

        Raises:
            WorkspaceError: the file is not text, or cannot be read.
        """
        found = self.buffer(path) or self.on_disk(path)
        if isinstance(found, DiskText) and found.encoding == "binary" and not binary:
            raise BinaryFile(f"{path.name} is a binary file.")
        return found.text if found is not None else None

    def may_differ(self, path: Path, text: str | None) -> bool:
        """Whether a file's text may differ from `text` (None: there is no file).

        False only if the file is closed, and either had this text when it was read and is unchanged since, or does not
        exist while `text` is None.
        """
        if self._buffers.open_buffer(path) is not None:
            return True
        signature, known = _signature(path), self._read.get(path)
        if signature is None or known is None:
            return signature is not None or text is not None
        return known[0] != signature or known[1].text != text

    def signature(self, path: Path) -> Signature | None:
        """What changes with the content of the file on disk; None if there is none."""
        return _signature(path)

    def on_disk(self, path: Path) -> DiskText | None:
        """The content on disk, None if there is no file.

        Reads it again only if its signature has changed, or if the open document may now show its encoding.

        Raises:
            WorkspaceError: the file cannot be read.
        """
        signature = _signature(path)
        known = self._read.get(path)
        if known is not None and known[0] == signature:
            _, disk, compared = known
            if self._text_in_encoding(path, disk) in (None, disk.text, compared):
                return disk
        found = self.read(path)
        if found is None:
            return None
        if signature is not None:
            self._read[path] = (signature, found[1], self._text_in_encoding(path, found[1]))
        return found[1]

    def _text_in_encoding(self, path: Path, disk: DiskText) -> str | None:
        """The text of the open document if it may show the file's encoding, which the bytes do not show."""
        document = self._buffers.open_buffer(path) if disk.is_ambiguous else None
        return document.text if document is not None else None

    async def preload(self, path: Path) -> None:
        """Reads a long closed file in a thread, so that the next `text` is quick."""
        if self.buffer(path) is not None:
            return
        signature, known = _signature(path), self._read.get(path)
        if signature is not None and signature[2] > LONG and (known is None or known[0] != signature):
            with suppress(WorkspaceError):
                await asyncio.to_thread(self.on_disk, path)

    def read(self, path: Path) -> tuple[bytes, DiskText] | None:
        """The bytes of a file on disk and their decoded content, None if there is no file.

        Raises:
            WorkspaceError: the file cannot be read, or is outside of the workspace.
        """
        root = self.roots.folder_of(path)
        if root is None:
            raise WorkspaceError(f"{path} is not in a folder of the workspace.")
        data = read_bytes(path, root.path)
        return None if data is None else (data, self._decode(path, data))

    def _decode(self, path: Path, data: bytes) -> DiskText:
        """Decodes a file. Where the bytes do not show its encoding, the open document or an earlier read may.

        The bytes do not show most encodings. They may also not show that of a file that Fairlead wrote, or whose last
        non-ASCII character was removed. The open document shows the encoding if it has no unsaved changes.
        """
        written = self._written.get(path)
        if written is not None and written[0] == data:
            return written[1]
        disk = decode_or_describe(data, path.name)
        earlier, was_guess = self._encodings.get(path, ("utf-8", False))
        is_utf_16 = earlier in ("utf-16-le", "utf-16-be")
        if disk.is_ambiguous:
            document = self._buffers.open_buffer(path)
            found = decode_like(data, document.text) if document is not None else None
            if found is None and is_utf_16 == (disk.encoding == "binary") and not (disk.is_damaged and was_guess):
                found = decode_as(data, earlier)
                found = found and replace(found, is_guess=was_guess)
            disk = found or disk
            if disk.encoding not in ("binary", "utf-8"):
                self._encodings[path] = disk.encoding, disk.is_guess
        elif disk.encoding == "utf-8" and not disk.bom and disk.text.isascii() and not is_utf_16:
            return replace(disk, encoding=earlier, is_guess=was_guess)
        return disk

    def shown_by_documents(self) -> Sequence[Path]:
        """The files whose encodings only an open document showed, which may be closed by now."""
        return [path for path, (_, is_guess) in self._encodings.items() if not is_guess]

    def invalidate(self, path: Path) -> None:
        """Makes the next read ignore the signature, which may be unchanged although the bytes differ."""
        self._read.pop(path, None)

    def note_write(self, path: Path, data: bytes, disk: DiskText) -> None:
        """Records the new content of a file that Fairlead wrote."""
        self.invalidate(path)
        self._written.pop(path, None)
        if self._decode(path, data) != disk:
            self._written[path] = (data, disk)

    def note_move(self, path: Path, target: Path) -> None:
        """Records that a file was moved, so that its encoding stays known."""
        self.invalidate(path)
        if path in self._encodings:
            self._encodings[target] = self._encodings[path]

    def buffer(self, path: Path) -> Buffer | None:
        """The open document if it represents the file, else None.

        It does not in two cases: Fairlead removed the file, and no file with the same text is there again; or the
        document is blank, and there is no file. A document with only a newline counts as blank, because Neovim shows an
        empty or missing file like that. If both the document and the file are blank, the result has the text of the
        file.
        """
        found = self._buffers.open_buffer(path)
        if found is None or not (found.file_removed or is_blank(found.text)):
            return found
        try:
            disk = self.on_disk(path)
        except WorkspaceError:
            return found
        if disk is None:
            return None
        if is_blank(found.text) and is_blank(disk.text):
            return replace(found, text=disk.text)
        return None if found.file_removed and found.text != disk.text else found

    def document(self, path: Path) -> Buffer | None:
        """The open document as the editor shows it, even if it does not represent the file."""
        return self._buffers.open_buffer(path)

    def document_state(self, path: Path) -> DocumentState:
        """The state of a file's open document: see `DocumentState`."""
        if self.document(path) is None:
            return "closed"
        buffer = self.buffer(path)
        if buffer is None:
            return "stray"
        try:
            disk = self.on_disk(path)
        except WorkspaceError:
            return "unsaved"
        if disk is None:
            return "new"
        return "saved" if disk.text == buffer.text else "unsaved"

    def is_shown_as_saved(self, path: Path) -> bool:
        """Whether a document is open that has no unsaved changes, even if its text is not the text on disk.

        Editors make mixed line endings uniform, and show bytes that are not UTF-8 as replacement characters.
        """
        buffer = self.buffer(path)
        try:
            disk = self.on_disk(path) if buffer is not None else None
            if buffer is None or disk is None:
                return False
            if _is_shown_as(disk.text, buffer.text):
                return True
            if not disk.is_ambiguous or "\ufffd" not in buffer.text:
                return False
            found = self.read(path)
        except WorkspaceError:
            return False
        return found is not None and _is_shown_as(found[0].decode("utf-8", "replace"), buffer.text)

    def note_removal(self, path: Path) -> None:
        """Records that Fairlead removed a file, which may be open."""
        self._buffers.note_removal(path)

    def open_paths(self) -> Sequence[Path]:
        """The files of the open documents."""
        return self._buffers.open_paths()

    def check_can_hold(self, path: Path, text: str, proposed: str | None = None) -> None:
        """Checks that a file can get a proposed text, and that nothing else in it would change.

        Args:
            proposed: the text that is proposed for the file so far; None: none is.

        Raises:
            WorkspaceError: the file is open in an editor that would change more; the file's encoding cannot represent
                the text; nobody knows the encoding, and the text adds characters beyond ASCII (`DiskText.check_added`);
                or the file is binary or cannot be read.
        """
        self._check_encoding(path, text, () if proposed is None else (proposed,))

    def check_can_write(self, path: Path, text: str) -> None:
        """Like `check_can_hold`, for a text that was proposed before (`note_proposed`).

        Raises:
            WorkspaceError: as for `check_can_hold`. Characters beyond ASCII may be added if the file is still read in
                the encoding in which the text was proposed.
        """
        disk = self.on_disk(path)
        is_same = disk is not None and self._proposed_in.get(path) == disk.encoding
        self._check_encoding(path, text, (text,) if is_same else ())

    def note_proposed(self, path: Path) -> None:
        """Records the encoding in which a file is read now that a first text is proposed for it."""
        self._proposed_in.pop(path, None)
        with suppress(WorkspaceError):
            disk = self.on_disk(path)
            if disk is not None:
                self._proposed_in[path] = disk.encoding

    def _check_encoding(self, path: Path, text: str, shown: Sequence[str]) -> None:
        buffer, disk = self.buffer(path), self.on_disk(path) or DiskText("")
        if buffer is not None:
            endings = unusual_line_endings(text)
            lost = _lost(buffer.text, disk) or (endings if endings != unusual_line_endings(buffer.text) else "")
            if lost := BAD_BYTES if has_bad_bytes(text) else lost:
                raise WorkspaceError(
                    f"{path.name} is open in the editor, which would not preserve {lost}. Close it there first."
                )
            if disk.is_ambiguous and disk.encoding != "binary" and not _can_encode(disk, buffer.text):
                return  # the guess is wrong: the editor uses an encoding that can represent its own text
        disk.encode(text, path.name)
        if buffer is None:  # otherwise the editor knows the encoding
            disk.check_added(text, path.name, *shown)

    def needs_own_write(self, path: Path, text: str) -> bool:
        """Whether Fairlead must write a file itself: it is closed, and an editor would not preserve all of it.

        Raises:
            WorkspaceError: the file cannot be read.
        """
        disk = self.on_disk(path) or DiskText("")
        return self.buffer(path) is None and bool(disk.oddity or DiskText(text).oddity)

    @contextmanager
    def expecting(self, texts: Mapping[Path, str | None]) -> Generator[None]:
        """Records which files get the expected texts while an editor applies edits, even if they change again."""
        self._expected, self._arrived = dict(texts), set()
        try:
            yield
        finally:
            self._expected, self._arrived = {}, set()

    def has_arrived(self, path: Path) -> bool:
        """Whether the editor has reported the expected text of a file."""
        return path in self._arrived

    def note_document_event(self) -> None:
        """Checks the open documents for the expected texts, after the editor reported a change."""
        for expected, text in self._expected.items():
            buffer = self.buffer(expected) if expected not in self._arrived else None
            if buffer is not None and buffer.text == text:
                self._arrived.add(expected)


def encoded(text: str, disk: DiskText) -> bytes:
    """A text as bytes, in the encoding of the file on disk; in UTF-8 if that encoding cannot represent it."""
    try:
        return disk.encode(text)
    except WorkspaceError:  # the encoding cannot represent what was typed in the editor
        return text.encode("utf-8", _ERRORS)


def _can_encode(disk: DiskText, text: str) -> bool:
    try:
        disk.encode(text)
    except WorkspaceError:
        return False
    return True


def is_blank(text: str) -> bool:
    """Whether a document is empty, apart from one newline."""
    return text in ("", "\n", "\r\n")


def _is_shown_as(text: str, buffer: str) -> bool:
    """Whether a buffer is a text as an editor shows it, perhaps with uniform line endings."""
    if not unusual_line_endings(text) or unusual_line_endings(buffer):
        return text == buffer
    return with_line_endings(text, "\n") == with_line_endings(buffer, "\n")


def _lost(buffer: str, disk: DiskText) -> str:
    """What saving the buffer would lose of the file on disk, for messages; empty if nothing."""
    if "\ufffd" in buffer and (disk.is_damaged or (disk.encoding != "utf-8" and "\ufffd" not in disk.text)):
        return disk.oddity
    endings = unusual_line_endings(disk.text)
    return endings if endings != unusual_line_endings(buffer) else ""


def _signature(path: Path) -> Signature | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
