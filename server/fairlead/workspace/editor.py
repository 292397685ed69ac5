"""The ports to the person's editor. What lies inside calls them; lsp/ implements them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from fairlead.edits.diff import Hunk


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

    def open_buffer(self, path: Path) -> Buffer | None: ...

    def open_paths(self) -> Sequence[Path]: ...


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A change of one file for the editor to make: the hunks of `old` that lead to `new`; `old` None creates it."""

    path: Path
    old: str | None
    new: str
    hunks: Sequence[Hunk]
    version: int | None


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
