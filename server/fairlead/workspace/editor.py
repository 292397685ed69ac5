"""The ports to the person's editor. What lies inside calls them; lsp/ implements them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Buffer:
    """An open document: the truth about its file, saved or not."""

    text: str
    version: int


class Buffers(Protocol):
    """The editor's open documents."""

    @property
    def stamp(self) -> int:
        """Grows with every change that the editor tells of."""
        ...

    def open_buffer(self, path: Path) -> Buffer | None:
        """The open document of a file; `path` is the file itself, or the link by which it was opened."""
        ...

    def open_paths(self) -> Sequence[Path]: ...


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A change of one file: `old` None creates it, `new` None deletes it, `new_path` moves it.

    `version` is that of the open document, None where the file is closed. `data` and `mode` are for a file that is put
    back just as it was.
    """

    path: Path
    old: str | None
    new: str | None
    version: int | None = None
    new_path: Path | None = None
    data: bytes | None = None
    mode: int | None = None

    @property
    def target(self) -> Path:
        """Where the new text is."""
        return self.new_path or self.path


@dataclass(frozen=True, slots=True)
class Applied:
    """What the editor said. `reason` is for people, empty where it gave none."""

    ok: bool
    reason: str = ""


ApprovalOption = Literal["allow_once", "allow_session", "reject"]


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A command that wants to run. `reasons` say why the person is asked, the most important first."""

    session_id: str
    call_id: str
    command: str
    cwd: Path
    mode: Literal["sandboxed", "workspace"] = "workspace"
    reasons: Sequence[str] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class Decision:
    """What the person chose; `reason` is what they gave with a rejection."""

    option: ApprovalOption
    reason: str = ""


class Editor(Protocol):
    """What the inside asks of the editor and the person at it."""

    async def apply(self, label: str, edits: Sequence[FileEdit]) -> Applied:
        """Makes the changes, all or none. Never raises for a refusal."""
        ...

    async def approve(self, request: ApprovalRequest) -> Decision:
        """Asks the person. No answer, or no way to ask, is a rejection. Cancelling closes the question."""
        ...

    async def ask(self, session_id: str, call_id: str, question: str, options: Sequence[str]) -> str | None:
        """Puts a question of the model's to the person; None: no answer, or no way to ask."""
        ...
