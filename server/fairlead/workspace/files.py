"""What a file says to the agent: the proposal first, then what the person has. The owner of the changeset."""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from fairlead.agent.errors import ToolError
from fairlead.edits import changeset as cs
from fairlead.edits.changeset import Changeset, Proposal
from fairlead.workspace.editor import Buffers
from fairlead.workspace.paths import Root
from fairlead.workspace.person import PersonsFiles
from fairlead.workspace.rejections import Rejections
from fairlead.workspace.seen import Seen


class Files:
    """One session's view of the workspace. Writing here proposes; nothing of the person's changes.

    `on_interest` hears of each file that was read or proposed, so that it can be watched.
    """

    def __init__(self, root: Root, buffers: Buffers, on_interest: Callable[[Path], None] = lambda _: None) -> None:
        self.root = root
        self.person = PersonsFiles(buffers)
        self.seen = Seen(self.read)
        self.rejections = Rejections()
        self._on_interest = on_interest
        self._changes = Changeset()
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

    def restore(self, changes: Changeset, version: int) -> None:
        """Goes on with proposals that another process made, on the files as they are now."""
        self._changes = changes
        self.version = version
        for proposal in changes:
            self._on_interest(Path(proposal.path))
        self.observe_all()

    def changed_since(self, version: int, paths: Collection[Path] | None) -> bool:
        """Whether any of the files' proposals (None: any at all) changed after a version."""
        if paths is None:
            return self.version > version
        return any(self._changed_at.get(str(path), 0) > version for path in paths)

    @property
    def stamp(self) -> tuple[int, int, int]:
        """Changes with the proposals, with what the editor tells of the person's files and what was said of both."""
        return self.version, self.person.stamp, self.rejections.warnings

    def proposal(self, path: Path) -> Proposal | None:
        return self._changes.get(str(path))

    def proposed_at(self, path: Path) -> bool:
        """Whether the agent proposes something that a path says."""
        return self._changes.leading_to(str(path)) is not None

    def read(self, path: Path) -> str | None:
        """What the agent sees in a file, None where there is none.

        Raises:
            ToolError: there is something, but no text that can be worked on.
        """
        proposal = self._changes.leading_to(str(path))
        if proposal is not None:
            if proposal.kind == "rename" and proposal.base == proposal.proposed:
                self.current(Path(proposal.path))  # a binary file can be moved, and is not read for that
            return proposal.proposed
        return None if self.proposal(path) else self.current(path)

    def read_for_agent(self, path: Path) -> str | None:
        """As `read`; from now on the agent knows what the file says, and hears when another hand changes it."""
        text = self.read(path)
        self.seen.note(path, text)
        self._on_interest(path)
        return text

    def current(self, path: Path) -> str | None:
        """What the person's file says.

        Raises:
            ToolError: as `read`.
        """
        return self.person.text(path)

    def still_there(self, path: Path) -> bool:
        """Whether a path still means the file that it meant; a symbolic link may lead it elsewhere meanwhile."""
        try:
            return self.root.resolve(str(path)) == path
        except ToolError:
            return False

    def unsaved(self) -> Iterator[tuple[Path, str | None]]:
        """The files whose text is not (or may not be) what the disk says: proposals and open buffers."""
        seen: set[Path] = set()
        for proposal in self._changes:
            if proposal.new_path is not None:
                seen.add(Path(proposal.path))
                yield Path(proposal.path), None
            seen.add(Path(proposal.target))
            yield Path(proposal.target), proposal.proposed
        for path in self.person.open_paths():
            if path not in seen and path.is_relative_to(self.root.path):
                text = self.current(path)
                if text is not None:
                    yield path, text

    def propose(self, path: Path, text: str, item_id: str | None, call_id: str | None) -> None:
        """Proposes a text for a file; equal to what is there already, nothing is proposed.

        Raises:
            ToolError: the file cannot be worked on, the text cannot be its content, or the person rejected this.
        """
        if "\0" in text:
            raise ToolError("The content holds a NUL character; only text files can be written.")
        self._check_place(path)
        known = self._changes.leading_to(str(path))
        text = self._without_mark(Path(known.path) if known else path, text)
        if known is None or known.base is not None:
            self.person.check_carried(Path(known.path) if known else path, text)
        current = self.current(path) if known is None and not self.proposal(path) else None
        self._take(path, cs.propose(self._changes, str(path), current, text, item_id, call_id))

    def delete(self, path: Path, item_id: str | None, call_id: str | None) -> None:
        """Proposes that a file shall be no more.

        Raises:
            ToolError: there is no such file, or the person rejected this.
        """
        current = self._existing(path)
        self._take(path, cs.delete(self._changes, str(path), current, item_id, call_id))

    def rename(self, path: Path, new_path: Path, item_id: str | None, call_id: str | None) -> None:
        """Proposes another path for a file.

        Raises:
            ToolError: there is no such file, the new path is taken, or the person rejected this.
        """
        current = self._existing(path)
        self._check_place(new_path)
        own = self._changes.leading_to(str(path))
        back = own is not None and own.path == str(new_path)
        if not back and (self.read(new_path) is not None or self.person.text(new_path, binary=True) is not None):
            raise ToolError(
                f"{self.root.relative(new_path)} exists. Choose another name, or write its new content with "
                f"write_file and delete {self.root.relative(path)}."
            )
        self._take(path, cs.rename(self._changes, str(path), str(new_path), current, item_id, call_id))
        self.seen.note(new_path, self._known(new_path))
        if path in self.person.marked:
            self.person.marked.add(new_path)

    def _existing(self, path: Path) -> str:
        """The text, or of a binary file its line, of a file that is there for the agent."""
        proposal = self._changes.leading_to(str(path))
        if proposal is not None:
            text = proposal.proposed
        else:
            text = None if self.proposal(path) else self.person.text(path, binary=True)
        if text is None:
            raise ToolError(f"No such file: {self.root.relative(path)}")
        return text

    def _take(self, path: Path, changes: Changeset) -> None:
        """Takes over what a tool proposed, unless the person said no to it before."""
        for proposal in changes:
            old = self._changes.get(proposal.path)
            if proposal is not old:
                self.rejections.check(old, proposal)
        self.changes = changes
        self.seen.note(path, self._known(path))
        self._on_interest(path)

    def _known(self, path: Path) -> str | None:
        try:
            return self.read(path)
        except ToolError:
            return None

    def _without_mark(self, path: Path, text: str) -> str:
        """A byte order mark is no part of a text: a file keeps the one that it has, only a new one can get one."""
        if not text.startswith("\ufeff"):
            return text
        disk = self.person.on_disk(path)
        if disk is None:
            self.person.marked.add(path)
        elif not disk.mark:
            raise ToolError("The content begins with a byte order mark (U+FEFF), which the file has not. Leave it out.")
        return text[1:]

    def _check_place(self, path: Path) -> None:
        """A file cannot be below a file, on the disk or among the proposals."""
        for folder in path.parents:
            leading = self._changes.leading_to(str(folder))
            is_file = leading.proposed is not None if leading else folder.is_file() and not self.proposal(folder)
            if is_file:
                raise ToolError(f"{self.root.relative(folder)} is a file, so nothing can be put below it.")
            if folder.is_dir():
                break
        below = (Path(proposal.target) for proposal in self._changes if proposal.proposed is not None)
        inside = next((other for other in below if path in other.parents), None)
        if inside is not None:
            raise ToolError(f"{self.root.relative(path)} is a folder: {self.root.relative(inside)} is proposed in it.")

    def observe(self, path: Path) -> None:
        """Looks at the person's file again: a proposal for it moves along with what they changed."""
        if self.proposal(path) is not None:
            try:
                current = self.person.text(path, binary=True)
            except ToolError:
                current = None
            self.changes = cs.observe(self._changes, str(path), current)

    def observe_all(self) -> None:
        """Looks at all of them, at the very bytes of those that are closed."""
        for proposal in list(self._changes):
            self.person.forget(Path(proposal.path))
            self.observe(Path(proposal.path))
