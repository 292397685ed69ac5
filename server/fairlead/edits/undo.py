"""Undo and redo of the user's decisions: a linear log of decisions, and the effect of each on the proposals.

A decision records the state of each file before and after the decision, so redoing it is undoing its inverse. Later
proposals stay, because an undo is merged with them. However, a user's file that the decision changed must still have
the text that the decision left.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Literal

from fairlead.edits.merge import MergeConflict, merged
from fairlead.edits.proposal import PLAIN, Proposal, Raw, empty_proposal

# the error if the user's file no longer has the expected text
CHANGED_SINCE_DECISION = "{name} has changed since. First undo your own changes to it in the editor."
CHANGED_SINCE_UNDO = "{name} has changed since the undo. First restore the text that it had right after the undo."


class CannotUndo(Exception):
    """A decision can no longer be undone, or redone. The message is for the user."""


@dataclass(frozen=True)
class RemovedFolder:
    """A folder that a decision removed, because nothing was in it anymore."""

    path: str
    mode: int
    """The permission bits that it had."""


@dataclass(frozen=True)
class FileDecision:
    """One file before and after a decision."""

    before: Proposal
    after: Proposal
    in_file: bool
    """Whether the decision changed the user's file, and not only the proposal."""
    raw_before: Raw = PLAIN
    """The file's bytes and permissions before the decision, as far as the decision changed them."""
    raw_after: Raw = PLAIN
    """Like `raw_before`, after the decision."""
    folders: tuple[str, ...] = ()
    """The folders that the decision created for the file, the innermost first."""
    removed_folders: tuple[RemovedFolder, ...] = ()
    """The folders of the file that the decision removed, the innermost first."""

    @property
    def hunk_ids(self) -> frozenset[str] | None:
        """The hunks that were accepted or rejected; None: the file was decided as a whole."""
        return None if self.before.decided_as_whole else self.after.decided - self.before.decided

    @property
    def as_whole(self) -> bool:
        """Whether the change of the file can only be undone as a whole: also if it restored a deleted file."""
        return self.before.decided_as_whole or self.before.deleted_by_user

    @property
    def accepted_rename(self) -> str | None:
        """The path to which the accept of a rename moved the user's file; None for any other decision.

        A rename that was proposed before and after the decision was not accepted.
        """
        return self.before.new_path if self.in_file and self.before.new_path != self.after.new_path else None

    def is_restored(self, current: str | None) -> bool:
        """Whether the user has already undone an accept in their file, such as with the editor's own undo.

        Args:
            current: the text of the file now; None: there is none.
        """
        is_only_text = not self.as_whole and not self.after.decided_as_whole and self.raw_before == PLAIN
        is_accept = self.in_file and self.before.decided < self.after.decided
        is_changed = self.before.current != self.after.current
        return is_accept and is_only_text and is_changed and current is not None and current == self.before.current

    @property
    def inverse(self) -> "FileDecision":
        """The decision that undoes this one in the file."""
        return FileDecision(
            self.after,
            self.before,
            self.in_file,
            raw_before=self.raw_after,
            raw_after=self.raw_before,
            folders=tuple(folder.path for folder in self.removed_folders),
        )


@dataclass(frozen=True)
class Decision:
    """One decision of the user."""

    kind: Literal["accept", "reject", "amend", "undo"]
    """`undo` removed the accepted changes of the plan item `item_id` from the user's files."""
    label: str
    """Its name in the UI, such as "Accept a.py"."""
    files: tuple[FileDecision, ...]
    reason: str = ""
    """Why the user rejected the changes; empty if they gave no reason."""
    item_id: str | None = None
    """Only for `undo`."""

    @property
    def paths(self) -> set[str]:
        """The paths of its files before and after the decision."""
        sides = (side for file in self.files for side in (file.before, file.after))
        return {path for side in sides for path in (side.path, side.target)}

    @property
    def inverse(self) -> "Decision":
        """The decision that undoes this one."""
        return replace(self, files=tuple(file.inverse for file in self.files))


@dataclass(frozen=True)
class DecisionLog:
    """The decisions that can be undone and redone; a new decision discards the undone ones."""

    done: tuple[Decision, ...] = field(default_factory=tuple)
    """The latest is the last."""
    undone: tuple[Decision, ...] = field(default_factory=tuple)
    """The one that was undone last is the last, and is redone first."""

    @property
    def total(self) -> int:
        """The number of all decisions."""
        return len(self.done) + len(self.undone)

    def with_decision(self, decision: Decision) -> "DecisionLog":
        """The log with a new decision, and without the undone ones."""
        return DecisionLog((*self.done, decision), ())

    def undo(self, files: Collection[int]) -> "DecisionLog":
        """Moves the last decision to the undone ones.

        Args:
            files: the indexes of the files that were undone. The decision on the others stays.
        """
        rest, moved = _split(self.done[-1], files)
        return DecisionLog((*self.done[:-1], *rest), (*self.undone, *moved))

    def redo(self, files: Collection[int]) -> "DecisionLog":
        """The reverse of `undo`."""
        rest, moved = _split(self.undone[-1], files)
        return DecisionLog((*self.done, *moved), (*self.undone[:-1], *rest))


def _split(decision: Decision, files: Collection[int]) -> tuple[list[Decision], list[Decision]]:
    """Divides a decision into the part on the files that are not given, and the part on those that are.

    Each part is a list of one decision; empty if it has no files.
    """

    def part(selected: bool) -> list[Decision]:
        chosen = tuple(file for index, file in enumerate(decision.files) if (index in files) == selected)
        return [replace(decision, files=chosen)] if chosen else []

    return part(False), part(True)


def revert(
    decision: FileDecision, now: Proposal | None, current: str | None, name: str, changed: str = CHANGED_SINCE_DECISION
) -> Proposal:
    """The proposal after a decision is undone. To redo a decision, revert its inverse.

    Args:
        now: the file's proposal now, None if there is none.
        current: the text of the user's file now, None if there is no file.
        name: the file's name in messages.
        changed: the error if the user's file no longer has the expected text, with the placeholder `{name}`.

    Raises:
        CannotUndo: the file, or the proposal for the lines of the decision, has changed since.
    """
    before, after = decision.before, decision.after
    if decision.is_restored(current) and (
        after.is_settled if now is None else _state(now) == _state(after.rebased(current))
    ):
        return before
    now = now or empty_proposal(after.path, current)
    if _state(now) == _state(after):
        return before
    if decision.in_file and now.current != after.current:
        raise CannotUndo(changed.format(name=name))
    if before.decided_as_whole or after.decided_as_whole or now.decided_as_whole:
        if decision.in_file or not (now.is_settled and after.is_settled):
            if now.current != after.current:
                raise CannotUndo(changed.format(name=name))
            raise CannotUndo(f"{name}: the agent has proposed something else there since.")
        return before.rebased(current)
    try:
        base = merged(after.base or "", now.base or "", before.base or "")
        text = merged(after.proposed or "", now.proposed or "", before.proposed or "")
    except MergeConflict as error:
        raise CannotUndo(f"{name}: the same lines have changed since, in the file or in its proposal.") from error
    return replace(
        now,
        base=base,
        current=before.current if decision.in_file else now.current,
        proposed=text,
        origins=before.origins.after(before.proposed or "", text, None).filled_from(
            now.origins.after(now.proposed or "", text, None)
        ),
        decided=(now.decided - after.decided) | before.decided,
    )


def _state(proposal: Proposal) -> tuple[object, ...]:
    return proposal.base, proposal.current, proposal.proposed, proposal.new_path, proposal.raw
