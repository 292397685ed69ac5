"""The smallest set of changes that a search found, as long as it is valid."""

from dataclasses import replace
from pathlib import Path

from fairlead.agent.events import SmallestSet
from fairlead.edits.changeset import Changeset
from fairlead.edits.selection import differs_only_by, pending
from fairlead.session.evidence.known_files import KnownFiles
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.files import Files


class FoundSet:
    """Holds the set. It stays valid while the user only accepts changes, or rejects changes that are not needed.

    Any other change to a file makes it invalid (docs/plan.md P19).
    """

    def __init__(self, files: Files, known_files: KnownFiles) -> None:
        self._files, self._known_files = files, known_files
        self._found: tuple[SmallestSet, Changeset, int] | None = None
        self._shown: SmallestSet | None = None
        self._versions = (0, 0)

    def replace(self, found: SmallestSet, changes: Changeset, state: int) -> None:
        """Replaces the set with one that was found for these changes, in the file state with this number."""
        self._found, self._versions = (found, changes, state), (0, 0)

    def clear(self) -> None:
        """Forgets the set, because a later search has disproved it."""
        self._found, self._versions = None, (0, 0)

    def now(self) -> SmallestSet | None:
        """The set without the changes that have been decided since; None if none is left, or if it is no longer valid.

        Returns the same object until something changes.
        """
        versions = self._files.version, self._known_files.version
        if versions != self._versions:
            self._versions, self._shown = versions, self._updated()
        return self._shown

    def _updated(self) -> SmallestSet | None:
        if self._found is None or not self._is_valid(*self._found):
            self._found = None
            return None
        found = self._found[0]
        left = set(pending(self._files.changes))
        needed = tuple(change for change in found.needed if change in left)
        not_needed = tuple(change for change in found.not_needed if change in left)
        return replace(found, needed=needed, not_needed=not_needed) if needed or not_needed else None

    def _is_valid(self, found: SmallestSet, changes: Changeset, state: int) -> bool:
        return all(
            differs_only_by(changes, found.not_needed, path, self._text(path))
            for path in self._known_files.changed_since(state)
        )

    def _text(self, path: str) -> str | None:
        """The text of a file with the undecided changes; None if there is no file, or it cannot be read."""
        proposal = self._files.changes.for_target(path)
        if proposal is not None:
            return proposal.proposed
        if self._files.proposal(Path(path)) is not None:
            return None
        try:
            return self._files.user_files.text(Path(path), binary=True)
        except WorkspaceError:
            return None
