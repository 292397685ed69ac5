"""What a file says: the proposal first, then the open buffer, then the disk. The owner of the changeset."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from fairlead.agent.errors import ToolError
from fairlead.edits import changeset as cs
from fairlead.edits.changeset import Changeset, Proposal
from fairlead.workspace.disk import DiskText, read_text
from fairlead.workspace.editor import Buffer, Buffers
from fairlead.workspace.paths import Root


@dataclass(frozen=True, slots=True)
class _Held:
    """The text of an accept, for as long as the editor or the disk still say what they said before it."""

    text: str
    instead_of: Buffer | DiskText | None


class Files:
    """One session's view of the workspace. Writing here proposes; nothing of the person's changes."""

    def __init__(self, root: Root, buffers: Buffers) -> None:
        self.root = root
        self._buffers = buffers
        self._changes = Changeset()
        self._held: dict[Path, _Held] = {}
        self._changed_at: dict[str, int] = {}
        self.version = 0

    @property
    def changes(self) -> Changeset:
        return self._changes

    @changes.setter
    def changes(self, changes: Changeset) -> None:
        old = self._changes
        if changes is old:
            return
        self._changes = changes
        self.version += 1
        for path in {*old.files, *changes.files}:
            if old.get(path) is not changes.get(path):
                self._changed_at[path] = self.version

    def changed_since(self, version: int, paths: Collection[Path] | None) -> bool:
        """Whether any of the files' proposals (None: any at all) changed after a version."""
        if paths is None:
            return self.version > version
        return any(self._changed_at.get(str(path), 0) > version for path in paths)

    @property
    def stamp(self) -> tuple[int, int]:
        """Changes with the proposals and with what the editor tells of the person's files."""
        return self.version, self._buffers.stamp

    def proposal(self, path: Path) -> Proposal | None:
        return self._changes.get(str(path))

    def read(self, path: Path) -> str | None:
        """What the agent sees in a file, None where there is none.

        Raises:
            ToolError: there is something, but no text that can be worked on.
        """
        proposal = self.proposal(path)
        return proposal.proposed if proposal is not None else self.current(path)

    def current(self, path: Path) -> str | None:
        """What the person's file says: the open buffer, what an accept put there, or the disk.

        Raises:
            ToolError: as `read`.
        """
        said = self._said(path)
        held = self._held.get(path)
        if held is not None:
            if held.instead_of == said:
                return held.text
            del self._held[path]
        return said.text if said is not None else None

    def _said(self, path: Path) -> Buffer | DiskText | None:
        """What the editor or the disk says of a file."""
        return self._buffers.open_buffer(path) or read_text(path)

    def still_there(self, path: Path) -> bool:
        """Whether a path still means the file that it meant; a symbolic link may lead it elsewhere meanwhile."""
        try:
            return self.root.resolve(str(path)) == path
        except ToolError:
            return False

    def buffer_version(self, path: Path) -> int | None:
        buffer = self._buffers.open_buffer(path)
        return buffer.version if buffer is not None else None

    def unsaved(self) -> Iterator[tuple[Path, str]]:
        """The files whose text is not (or may not be) what the disk says: proposals and open buffers."""
        seen = {Path(proposal.path): proposal.proposed for proposal in self._changes}
        yield from seen.items()
        for path in self._buffers.open_paths():
            if path not in seen and path.is_relative_to(self.root.path):
                text = self.current(path)
                if text is not None:
                    yield path, text

    def propose(self, path: Path, text: str, item_id: str | None, call_id: str | None) -> None:
        """Proposes a text for a file; equal to what is there already, nothing is proposed.

        Raises:
            ToolError: the file cannot be worked on, or the text cannot be its content.
        """
        if "\0" in text:
            raise ToolError("The content holds a NUL character; only text files can be written.")
        self._check_place(path)
        current = self.current(path) if self.proposal(path) is None else None
        self.changes = cs.propose(self._changes, str(path), current, text, item_id, call_id)

    def _check_place(self, path: Path) -> None:
        """A file cannot be below a file, on the disk or among the proposals."""
        parent = next((folder for folder in path.parents if folder.exists() or self.proposal(folder)), self.root.path)
        if not parent.is_dir():
            raise ToolError(f"{self.root.relative(parent)} is a file, so nothing can be put below it.")
        below = next((other for other in map(Path, self._changes.files) if path in other.parents), None)
        if below is not None:
            raise ToolError(f"{self.root.relative(path)} is a folder: {self.root.relative(below)} is proposed in it.")

    def observe(self, path: Path) -> None:
        """Looks at the person's file again; a proposal for it may be in conflict now, or no longer."""
        if self.proposal(path) is not None:
            try:
                self.changes = cs.observe(self._changes, str(path), self.current(path))
            except ToolError:
                self.changes = cs.observe(self._changes, str(path), None)

    def observe_all(self) -> None:
        for proposal in list(self._changes):
            self.observe(Path(proposal.path))

    def hold(self, path: Path, before: str | None, text: str) -> None:
        """The editor has applied `text` where `before` stood: it counts as current until something newer is told.

        An editor may tell of its own edit later than it answers, and an old disk is no revert.
        """
        try:
            said, now = self._said(path), self.current(path)
        except ToolError:
            return  # something else stands there already
        if now == before:
            self._held[path] = _Held(text, said)

    def release(self, path: Path) -> None:
        """The editor told something newer of this file."""
        self._held.pop(path, None)
