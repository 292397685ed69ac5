"""The ports to the person's editor. What lies inside calls them; lsp/ implements them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, get_args


@dataclass(frozen=True, slots=True)
class Buffer:
    """An open document: the truth about its file, saved or not.

    `file_removed`: Fairlead removed its file, and the user has not touched the document since.
    """

    text: str
    version: int
    file_removed: bool = False


class Buffers(Protocol):
    """The editor's open documents."""

    @property
    def change_token(self) -> int:
        """Grows with every change that the editor tells of."""
        ...

    def open_buffer(self, path: Path) -> Buffer | None:
        """The open document of a file; `path` is the file itself, or the link by which it was opened."""
        ...

    def open_paths(self) -> Sequence[Path]: ...

    def note_removal(self, path: Path) -> None:
        """Fairlead removed the file of an open document, which an editor goes on showing."""
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
    """A change of one file: `old` None creates it, `new` None deletes it, `new_path` moves it.

    `version` is that of the open document, None where the file is closed. `data` are the bytes, where `new` does not
    say them all, `mode` the permission bits, where they shall be others. `digest` is the SHA-256 of the bytes that the
    file has on disk if nothing in it is unsaved.
    """

    path: Path
    old: str | None
    new: str | None
    version: int | None = None
    new_path: Path | None = None
    data: bytes | None = None
    mode: int | None = None
    digest: str | None = None

    @property
    def target(self) -> Path:
        """Where the new text is."""
        return self.new_path or self.path

    @property
    def operation(self) -> FileOperation | None:
        """What it needs besides changes of text."""
        if self.old is None:
            return "create"
        if self.new is None:
            return "delete"
        return "rename" if self.new_path is not None else None

    @property
    def is_permissions_only(self) -> bool:
        return self.mode is not None and self.old == self.new and self.data is None and self.new_path is None


@dataclass(frozen=True, slots=True)
class Applied:
    """The editor's answer to an edit. `reason` is for people, empty if it gave none. `timed_out`: it did not answer."""

    ok: bool
    reason: str = ""
    timed_out: bool = False


ApprovalOption = Literal["allow_once", "allow_session", "reject"]


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A command that wants to run, or a file (`path`) that is not read or written without asking.

    `reasons` say why the person is asked, the most important first. `call_id` is None where no tool call asks.
    """

    session_id: str
    call_id: str | None
    command: str = ""
    cwd: Path | None = None
    mode: Literal["sandboxed", "workspace"] = "workspace"
    reasons: Sequence[str] = field(default_factory=tuple)
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class ApprovalAnswer:
    """What the person chose; `reason` is what they gave with a rejection."""

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
    """What the editor's own language support knows of the person's files, without what is only proposed."""

    async def diagnostics(self, path: Path | None) -> Sequence[Diagnostic] | None:
        """The problems of a file (None: of all files that the editor has looked at). None: no answer."""
        ...


class Editor(Protocol):
    """What the inside asks of the editor and the person at it."""

    @property
    def edit_capabilities(self) -> EditCapabilities: ...

    async def apply(self, label: str, edits: Sequence[FileEdit]) -> Applied:
        """Makes the changes, all or none; only what the capabilities name is asked for. Never raises for a refusal."""
        ...

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Asks the person. No answer, or no way to ask, is a rejection. Cancelling closes the question."""
        ...

    async def ask(self, session_id: str, call_id: str, question: str, options: Sequence[str]) -> str | None:
        """Puts a question of the model's to the person; None: no answer, or no way to ask."""
        ...
