"""Which changes a check needs, as long as that is valid (docs/plan.md P23)."""

from dataclasses import replace

from fairlead.agent.events import NeededChanges
from fairlead.edits.selection import pending
from fairlead.session.evidence.known_files import KnownFiles
from fairlead.workspace.files import Files


class FoundNeededChanges:
    """Holds the last result. It is valid until the text of a file changes, so an accept leaves it, a reject ends it."""

    def __init__(self, files: Files, known_files: KnownFiles) -> None:
        self._files, self._known_files = files, known_files
        self._found: tuple[NeededChanges, int] | None = None
        self._shown: NeededChanges | None = None
        self._versions = (0, 0)

    def replace(self, found: NeededChanges, state: int) -> None:
        """Replaces the result with one for the file state with this number."""
        self._found, self._versions = (found, state), (0, 0)

    def clear(self) -> None:
        """Forgets the result, because a later search has disproved it."""
        self._found, self._versions = None, (0, 0)

    def now(self) -> NeededChanges | None:
        """The result without the changes that have been decided since; None if none is left, or if it is not valid.

        Returns the same object until something changes.
        """
        versions = self._files.version, self._known_files.version
        if versions != self._versions:
            self._versions, self._shown = versions, self._updated()
        return self._shown

    def _updated(self) -> NeededChanges | None:
        if self._found is None or self._known_files.changed_since(self._found[1]):
            self._found = None
            return None
        found, left = self._found[0], set(pending(self._files.changes))
        groups = found.needed, found.not_needed, found.unread, found.untried
        needed, not_needed, unread, untried = (tuple(each for each in group if each in left) for group in groups)
        if not (needed or not_needed or unread):
            return None
        return replace(found, needed=needed, not_needed=not_needed, unread=unread, untried=untried)
