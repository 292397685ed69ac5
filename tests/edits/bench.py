"""Uses the edit engine as a session does, for one file, its proposal and the user's decisions."""

from collections.abc import Collection

from fairlead.edits import changeset as cs
from fairlead.edits.changeset import Changeset
from fairlead.edits.origins import Author
from fairlead.edits.proposal import Proposal, empty_proposal
from fairlead.edits.undo import Decision, DecisionLog, FileDecision, revert

PATH = "/ws/a.py"


class Bench:
    """One file in review. `disk` is the text of the user's file, None if there is no file."""

    def __init__(self, disk: str | None) -> None:
        self.disk = disk
        self.changes = Changeset()
        self.decisions = DecisionLog()

    @property
    def proposal(self) -> Proposal:
        """The proposal for the file, or one without hunks if nothing is proposed."""
        return self.changes.get(PATH) or empty_proposal(PATH, self.disk)

    def type(self, text: str | None) -> None:
        self.disk = text
        self.changes = cs.observe(self.changes, PATH, text)

    def propose(self, text: str) -> None:
        self.changes = cs.propose(self.changes, PATH, self.disk, text, Author("1", "call"))

    def delete(self) -> None:
        self.changes = cs.delete(self.changes, PATH, self.disk, Author("1", "call"))

    def accept(self, hunk_ids: Collection[str] | None, overwrite_user_lines: bool = False) -> None:
        before = self.proposal
        regions = cs.regions_to_accept(before, hunk_ids, overwrite_user_lines)
        if before.decided_as_whole:
            if before.in_conflict and not overwrite_user_lines:
                return
        elif not regions:
            return
        done = cs.accepted(before, regions)
        self.changes = cs.accept(self.changes, before, done)
        self.disk = done.current
        self._remember("accept", FileDecision(before, done, True))

    def reject(self, hunk_ids: Collection[str] | None) -> None:
        before = self.proposal
        if hunk_ids is not None and not before.decided_as_whole and not before.regions_of_hunks(hunk_ids):
            return
        after = cs.rejected(before, hunk_ids)
        self.changes = self.changes.with_proposal(after)
        self._remember("reject", FileDecision(before, after, False))

    def amend(self, text: str) -> None:
        before = self.proposal
        after = cs.amended(before, text)
        self.changes = self.changes.with_proposal(after)
        self._remember("amend", FileDecision(before, after, False))

    def undo(self) -> None:
        """Undoes the last decision. Raises CannotUndo if that is not possible."""
        [file] = self.decisions.done[-1].files
        self._revert(file)
        self.decisions = self.decisions.undo([0])

    def redo(self) -> None:
        """Redoes the decision that was undone last. Raises CannotUndo if that is not possible."""
        [file] = self.decisions.undone[-1].files
        self._revert(file.inverse)
        self.decisions = self.decisions.redo([0])

    def _revert(self, file: FileDecision) -> None:
        reverted = revert(file, self.changes.get(PATH), self.disk, "a.py")
        self.changes = self.changes.with_proposal(reverted)
        if file.in_file:
            self.disk = file.before.current

    def _remember(self, kind: str, file: FileDecision) -> None:
        assert kind in ("accept", "reject", "amend")
        self.decisions = self.decisions.with_decision(Decision(kind, f"{kind} a.py", (file,)))
