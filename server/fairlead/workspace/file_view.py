"""Reads the files as the agent sees them: the proposal if there is one, else the user's file."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from fairlead.edits.changeset import Changeset
from fairlead.edits.proposal import PLAIN, Proposal, Raw
from fairlead.workspace.disk import BinaryFile
from fairlead.workspace.editor import Buffers
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.names import plain_parts
from fairlead.workspace.paths import Roots
from fairlead.workspace.secrets import secret_name_filter, secret_path_filter
from fairlead.workspace.user_files import UserFiles, encoded


class FileView:
    """The user's files with the proposals applied. Changes nothing."""

    def __init__(self, roots: Roots, buffers: Buffers, opened_secrets: Callable[[], Sequence[str]] = tuple) -> None:
        """`opened_secrets` returns the current patterns of `secrets.allow`."""
        self.user_files = UserFiles(roots, buffers)
        self._opened_secrets = opened_secrets
        self._changes = Changeset()

    @property
    def roots(self) -> Roots:
        """The folders of the workspace."""
        return self.user_files.roots

    @roots.setter
    def roots(self, roots: Roots) -> None:
        self.user_files.roots = roots

    def proposal(self, path: Path) -> Proposal | None:
        """The proposal for a file, given by its current path."""
        return self._changes.get(str(path))

    def is_proposed(self, path: Path) -> bool:
        """Whether a proposal decides what is at a path: a text, bytes, or a deletion."""
        return self._changes.for_target(str(path)) is not None

    def has_proposal(self, path: Path) -> bool:
        """Whether anything is proposed for a path, or for a file that is moved to it."""
        return self.proposal(path) is not None or self.is_proposed(path)

    def secret_filter(self) -> Callable[[str], bool]:
        """A predicate on names (`Roots.relative`): whether a file looks like a secret.

        A renamed file does if its old or its new name does.
        """
        is_secret = secret_name_filter(self.roots, self._opened_secrets())
        renames = self._changes.renamed.items()
        old_names = {self.roots.relative(Path(new)): self.roots.relative(Path(p.path)) for new, p in renames}
        return lambda name: is_secret(name) or (name in old_names and is_secret(old_names[name]))

    def secret_filters(self) -> list[Callable[[str], bool]]:
        """`secret_filter`, and for each folder of the workspace one on paths relative to it."""
        opened = self._opened_secrets()
        return [self.secret_filter(), *(secret_path_filter(root, opened) for root in self.roots.paths)]

    def has_secret_name(self, given: str) -> bool:
        """Whether a file at this path would look like a secret, also if the user has none there.

        Checks the given path, the path that links lead to, and other spellings of both.

        Raises:
            WorkspaceError: as for `Roots.resolve`.
        """
        names = {self.roots.relative(self.roots.resolve(given)), self.roots.relative(self.roots.path_of(given))}
        names |= {"/".join(plain_parts(name)) for name in names}
        return any(map(self.secret_filter(), names))

    def secret_path(self, given: str) -> Path | None:
        """The resolved path if the user has a file there that looks like a secret (`has_secret_name`), else None.

        Raises:
            WorkspaceError: as for `Roots.resolve`.
        """
        path = self.roots.resolve(given)
        proposal = self._changes.for_target(str(path))
        exists = os.path.lexists(path) or self.user_files.buffer(path) is not None
        if not (exists if proposal is None else proposal.base is not None):
            return None
        return path if self.has_secret_name(given) else None

    def read(self, path: Path) -> str | None:
        """The text of a file as the agent sees it, None if there is no file.

        Raises:
            WorkspaceError: the file is not text, cannot be read, or is proposed as bytes.
        """
        proposal = self._changes.for_target(str(path))
        if proposal is not None:
            if proposal.raw.data is not None:
                raise BinaryFile(
                    f"The proposed content of {path.name} is not text, or is in another encoding than the file. "
                    "Read or change it with a command."
                )
            if proposal.kind == "rename" and proposal.base == proposal.proposed:
                self.current(Path(proposal.path))  # raises for a binary file, which can be renamed but not read
            return proposal.proposed
        return None if self.proposal(path) else self.current(path)

    def binary(self, path: Path) -> bytes | None:
        """The bytes of a binary file as the agent sees it; None if there is no file, or it is text.

        Raises:
            WorkspaceError: it cannot be read.
        """
        proposal = self._changes.for_target(str(path))
        if proposal is not None and (proposal.raw.data is not None or proposal.kind != "rename"):
            return proposal.raw.data
        if proposal is None and self.proposal(path) is not None:
            return None
        found = self.user_files.read(Path(proposal.path) if proposal is not None else path)
        return found[0] if found is not None and found[1].encoding == "binary" else None

    def raw_of_renamed(self, path: Path) -> Raw:
        """The bytes and permission bits of a file whose rename from this path is proposed; `PLAIN` if none is.

        Bytes are left out if UTF-8 text suffices. Permission bits are left out unless they are proposed or the file is
        executable.

        Raises:
            WorkspaceError: it cannot be read.
        """
        renamed = self._changes.get(str(path))
        disk = self.user_files.on_disk(path) if renamed is not None and renamed.new_path is not None else None
        if renamed is None or disk is None:
            return PLAIN
        data, mode = self.binary(Path(renamed.target)), renamed.raw.mode
        if data is None and (disk.encoding, disk.bom) != ("utf-8", b""):
            data = encoded(renamed.proposed or "", disk)
        if mode is None:
            on_disk = path.stat().st_mode & 0o777
            mode = on_disk if on_disk & 0o100 else None
        return Raw(data, mode)

    def current(self, path: Path) -> str | None:
        """The text of the user's file, None if there is no file.

        Raises:
            WorkspaceError: as for `read`.
        """
        return self.user_files.text(path)

    def texts_not_on_disk(self, changes: Changeset | None = None) -> Iterator[tuple[Path, str | None]]:
        """The proposed and the open files with their texts, which may differ from the disk; None: no file.

        A file with proposed bytes is omitted. The old path of a rename has no file.

        Args:
            changes: the proposals to include; None: all.

        Raises:
            WorkspaceError: a file that is open in the editor cannot be read.
        """
        seen: set[Path] = set()
        for proposal in self._changes if changes is None else changes:
            if proposal.new_path is not None:
                seen.add(Path(proposal.path))
                yield Path(proposal.path), None
            seen.add(Path(proposal.target))
            if proposal.raw.data is None:
                yield Path(proposal.target), proposal.proposed
        for path in self.user_files.open_paths():
            if path not in seen and self.roots.contains(path):
                text = self.current(path)
                if text is not None:
                    yield path, text

    def describe_removal(self, path: Path) -> str:
        """A sentence about a file that the agent proposes to rename or delete; empty for other files."""
        proposal = self.proposal(path)
        if proposal is None or self._changes.for_target(str(path)) not in (None, proposal):
            return ""
        if proposal.new_path is not None:
            return f"You renamed it to {self.roots.relative(Path(proposal.new_path))} (proposed)."
        return "You deleted it (proposed)." if proposal.kind == "delete" else ""

    def _existing(self, path: Path) -> str:
        """The text of a file that exists for the agent; for a binary file, the line that identifies it.

        Raises:
            WorkspaceError: there is no such file, or it cannot be read.
        """
        proposal = self._changes.for_target(str(path))
        if proposal is not None:
            text = proposal.proposed
        else:
            text = None if self.proposal(path) else self.user_files.text(path, binary=True)
        if text is None:
            removal = self.describe_removal(path)
            raise WorkspaceError(f"No such file: {self.roots.relative(path)}{removal and f'. {removal}'}")
        return text

    def _read_or_none(self, path: Path) -> str | None:
        try:
            return self.read(path)
        except WorkspaceError:
            return None

    def _current_or_none(self, path: Path) -> str | None:
        try:
            return self.user_files.text(path, binary=True)
        except WorkspaceError:
            return None
