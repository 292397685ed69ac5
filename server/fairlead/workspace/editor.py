"""The ports to the user's editor, which `lsp/` implements."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, get_args


@dataclass(frozen=True, slots=True)
class Buffer:
    """An open document. Its text counts as the text of its file, saved or not (exceptions: `UserFiles.buffer`)."""

    text: str
    version: int
    file_removed: bool = False
    """Whether Fairlead removed its file, and the document has been neither edited nor saved since."""


class Buffers(Protocol):
    """The editor's open documents."""

    @property
    def change_token(self) -> int:
        """Increases with every change that the editor reports, and with every `note_removal`."""
        ...

    def open_buffer(self, path: Path) -> Buffer | None:
        """The open document of a file, which may have been opened through a link; None if it is not open."""
        ...

    def open_paths(self) -> Sequence[Path]:
        """The files of the open documents."""
        ...

    def note_removal(self, path: Path) -> None:
        """Records that Fairlead removed the file of an open document, which the editor continues to show."""
        ...


FileOperation = Literal["create", "rename", "delete"]


@dataclass(frozen=True, slots=True)
class EditCapabilities:
    """The kinds of edits that an editor can make."""

    edits: bool = False
    """Whether it can change text."""
    checks: bool = False
    """Whether it changes a closed file only if the file's bytes have the edit's digest."""
    operations: frozenset[FileOperation] = frozenset()
    """The operations on files that it can do."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A change to one file."""

    path: Path
    old: str | None
    """The text that the edit is based on; None creates the file."""
    new: str | None
    """The text afterwards; None deletes the file."""
    version: int | None = None
    """The version of the open document; None if the file is closed."""
    new_path: Path | None = None
    """The path that the file is moved to; None if it stays."""
    data: bytes | None = None
    """The new bytes of a binary file, of a text in another encoding or of a restored file; None: those of `new`."""
    mode: int | None = None
    """The new permission bits; None if they stay."""
    bom: bool = False
    """Whether a file that the edit creates begins with a UTF-8 byte order mark, which is not in `new`."""
    digest: str | None = None
    """The SHA-256, in hexadecimal, of the bytes that the file must have; None: they are not compared.

    Editors do not compare the bytes of a document with unsaved changes.
    """

    @property
    def target(self) -> Path:
        """The path of the new text."""
        return self.new_path or self.path

    @property
    def operation(self) -> FileOperation | None:
        """The file operation that the edit needs; None if it only changes an existing file where it is."""
        if self.old is None:
            return "create"
        if self.new is None:
            return "delete"
        return "rename" if self.new_path is not None else None

    @property
    def adds_path(self) -> bool:
        """Whether the edit creates a file, or moves one to another path."""
        return self.operation in ("create", "rename")

    @property
    def vacates_path(self) -> bool:
        """Whether the edit deletes a file, or moves it away."""
        return self.operation in ("delete", "rename")

    @property
    def is_permissions_only(self) -> bool:
        """Whether only the permissions change."""
        return self.mode is not None and self.old == self.new and self.data is None and self.new_path is None


@dataclass(frozen=True, slots=True)
class Applied:
    """The editor's answer to an edit."""

    ok: bool
    reason: str = ""
    """Why it refused, for users; empty if it gave no reason."""
    timed_out: bool = False
    """Whether it did not answer in time."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What the editor says about files of which it has reported no open document."""

    claimed: Collection[Path] = ()
    """The files that the editor must write: it shows them in an editor of another kind, or has settings for them."""
    refused: Mapping[Path, str] = field(default_factory=dict[Path, str])
    """The files that nobody can write now, each with the reason for the user."""


Severity = Literal["error", "warning", "info", "hint"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A problem that the editor or a language server found in a file."""

    path: Path
    line: int
    """Counted from 1."""
    column: int
    """Counted from 1: in the editor's units, or in characters if a language server found the problem."""
    severity: Severity
    message: str
    source: str = ""


class DiagnosticsSource(Protocol):
    """The diagnostics of the editor's language support, which does not know proposed text."""

    async def diagnostics(self, path: Path | None) -> Sequence[Diagnostic] | None:
        """The problems in a file, or in all files that the editor has checked if `path` is None.

        Returns None if there is no answer.
        """
        ...


class Editor(Protocol):
    """Requests to the editor and its user."""

    @property
    def edit_capabilities(self) -> EditCapabilities:
        """The kinds of edits that `apply` accepts."""
        ...

    async def apply(self, label: str, edits: Sequence[FileEdit]) -> Applied:
        """Asks the editor to make the changes, all or none. A refusal is returned, not raised.

        Some editors fail halfway and do not undo what they have changed.
        """
        ...

    async def claims(self, paths: Sequence[Path]) -> Claims:
        """Asks which of these files the editor must write. Without an answer, all of them are refused."""
        ...

    async def ask(self, session_id: str, call_id: str, question: str, options: Sequence[str]) -> str | None:
        """Asks the user a question from the model. Returns None without an answer or a way to ask."""
        ...
