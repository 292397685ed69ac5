"""The ports to the user's editor, which `lsp/` implements."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, get_args


@dataclass(frozen=True, slots=True)
class Buffer:
    """An open document. Its text is the text of its file, saved or not."""

    text: str
    version: int
    file_removed: bool = False
    """Whether Fairlead removed its file, and the user has not edited the document since."""


class Buffers(Protocol):
    """The editor's open documents."""

    @property
    def change_token(self) -> int:
        """Increases with every change that the editor reports."""
        ...

    def open_buffer(self, path: Path) -> Buffer | None:
        """The open document of a file; `path` is the file or the link through which it was opened."""
        ...

    def open_paths(self) -> Sequence[Path]: ...

    def note_removal(self, path: Path) -> None:
        """Records that Fairlead removed the file of an open document, which the editor continues to show."""
        ...


FileOperation = Literal["create", "rename", "delete"]


@dataclass(frozen=True, slots=True)
class EditCapabilities:
    """What an editor can be asked for.

    `edits`: to change text. `operations`: to create, rename and delete files. `checks`: to change a closed file only
    where the file's bytes have the edit's digest.
    """

    edits: bool = False
    checks: bool = False
    operations: frozenset[FileOperation] = frozenset()


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A change of one file."""

    path: Path
    old: str | None
    """None creates the file."""
    new: str | None
    """None deletes the file."""
    version: int | None = None
    """The version of the open document, None if the file is closed."""
    new_path: Path | None = None
    """Moves the file."""
    data: bytes | None = None
    """The new bytes, if the file is binary."""
    mode: int | None = None
    """The new permission bits, None if they stay."""
    digest: str | None = None
    """The SHA-256 of the file on disk, if it has no unsaved changes."""

    @property
    def target(self) -> Path:
        """The path of the new text."""
        return self.new_path or self.path

    @property
    def operation(self) -> FileOperation | None:
        """The file operation that it needs in addition to text edits."""
        if self.old is None:
            return "create"
        if self.new is None:
            return "delete"
        return "rename" if self.new_path is not None else None

    @property
    def is_permissions_only(self) -> bool:
        """Whether only the permissions change."""
        return self.mode is not None and self.old == self.new and self.data is None and self.new_path is None


@dataclass(frozen=True, slots=True)
class Applied:
    """The editor's answer to an edit. `reason` is for users, empty if it gave none. `timed_out`: it did not answer."""

    ok: bool
    reason: str = ""
    timed_out: bool = False


ApprovalOption = Literal["allow_once", "allow_session", "reject"]


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A request to run a command, or to read or write a file that needs the user's permission."""

    session_id: str
    call_id: str | None
    """None if no tool call needs the permission."""
    command: str = ""
    cwd: Path | None = None
    mode: Literal["sandboxed", "workspace"] = "workspace"
    reasons: Sequence[str] = field(default_factory=tuple)
    """Why the user is asked, the most important reason first."""
    path: Path | None = None
    """The file; None for a command."""


@dataclass(frozen=True, slots=True)
class ApprovalAnswer:
    """The user's choice; `reason` is what they gave with a rejection."""

    option: ApprovalOption
    reason: str = ""


Severity = Literal["error", "warning", "info", "hint"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A problem that the editor shows in a file. `line` and `column` count from 1, the column in the editor's units."""

    path: Path
    line: int
    column: int
    severity: Severity
    message: str
    source: str = ""


class DiagnosticsSource(Protocol):
    """The diagnostics of the editor's language support, which does not know proposed text."""

    async def diagnostics(self, path: Path | None) -> Sequence[Diagnostic] | None:
        """The problems of a file (None: of all files that the editor has looked at). None: no answer."""
        ...


class Editor(Protocol):
    """Requests to the editor and its user."""

    @property
    def edit_capabilities(self) -> EditCapabilities: ...

    async def apply(self, label: str, edits: Sequence[FileEdit]) -> Applied:
        """Makes the changes, all or none. Request only what the capabilities name. A refusal does not raise."""
        ...

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Asks the user. No answer, or no way to ask, is a rejection. Cancelling closes the question."""
        ...

    async def ask(self, session_id: str, call_id: str, question: str, options: Sequence[str]) -> str | None:
        """Asks the user a question of the model; None: no answer, or no way to ask."""
        ...
