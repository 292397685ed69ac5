"""Undo and redo of the user's decisions: a linear stack of steps, and the effect of each on the proposals.

A step leads in both directions between two states of each file. What the agent proposed and the user typed since then
stays: proposals are merged. Only the user's file must contain exactly what it contained right after the step.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Literal

from fairlead.edits.merge import MergeConflict, merged
from fairlead.edits.proposal import PLAIN, Proposal, Raw, untouched


class MovedOn(Exception):
    """A step can no longer be undone; the message tells the user why."""


@dataclass(frozen=True)
class FileStep:
    """One file before and after a decision.

    `in_file` says that the user's file itself was changed. `had` and `got` are its bytes and permissions before and
    after, where they matter. `folders` were created for it, the innermost first.
    """

    before: Proposal
    after: Proposal
    in_file: bool
    had: Raw = PLAIN
    got: Raw = PLAIN
    folders: tuple[str, ...] = ()

    @property
    def turned(self) -> "FileStep":
        return replace(self, before=self.after, after=self.before, had=self.got, got=self.had)


@dataclass(frozen=True)
class Step:
    """One decision. `label` is its name in the UI, such as "Accept a.py"; `reason` is why the user rejected.

    An "undo" removed what was accepted of the plan item `item_id` from the user's files.
    """

    kind: Literal["accept", "reject", "amend", "undo"]
    label: str
    files: tuple[FileStep, ...]
    reason: str = ""
    item_id: str | None = None

    @property
    def turned(self) -> "Step":
        return replace(self, files=tuple(step.turned for step in self.files))


@dataclass(frozen=True)
class Steps:
    """The stack of steps; a new step discards what was undone."""

    done: tuple[Step, ...] = field(default_factory=tuple)
    undone: tuple[Step, ...] = field(default_factory=tuple)

    def with_step(self, step: Step) -> "Steps":
        return Steps((*self.done, step), ())

    def undo(self, files: Collection[int]) -> "Steps":
        """Moves the last step to the undone ones; if only some of its files could be undone, the others stay."""
        stays, goes = _parted(self.done[-1], files)
        return Steps((*self.done[:-1], *stays), (*self.undone, *goes))

    def redo(self, files: Collection[int]) -> "Steps":
        """The reverse of `undo`."""
        stays, goes = _parted(self.undone[-1], files)
        return Steps((*self.done, *goes), (*self.undone[:-1], *stays))


def _parted(step: Step, files: Collection[int]) -> tuple[list[Step], list[Step]]:
    parts = [[one for index, one in enumerate(step.files) if (index in files) == goes] for goes in (False, True)]
    stays, goes = ([replace(step, files=tuple(part))] if part else [] for part in parts)
    return stays, goes


def taken_back(step: FileStep, now: Proposal | None, current: str | None, name: str) -> Proposal:
    """The proposal with a step undone. (To redo a step, undo its reverse.)

    Args:
        now: the file's proposal now; current: the text of the user's file.
        name: the file's name in messages.

    Raises:
        MovedOn: the file, or the proposal in the lines of the step, has changed since the step.
    """
    before, after = step.before, step.after
    now = now or untouched(after.path, current)
    if _state(now) == _state(after):
        return before
    if step.in_file and now.current != after.current:
        raise MovedOn(f"{name} has changed since. Undo your own changes there first (in the editor), then this.")
    if before.whole or after.whole or now.whole:
        if step.in_file or not (now.settled and after.settled):
            raise MovedOn(f"{name}: the agent has proposed something else there since.")
        return before.rebased(current)
    try:
        base = merged(after.base or "", now.base or "", before.base or "")
        text = merged(after.proposed or "", now.proposed or "", before.proposed or "")
    except MergeConflict as error:
        raise MovedOn(f"{name}: the same lines have another proposal now.") from error
    return replace(
        now,
        base=base,
        current=before.current if step.in_file else now.current,
        proposed=text,
        origins=before.origins.after(before.proposed or "", text, None).filled(
            now.origins.after(now.proposed or "", text, None)
        ),
        decided=(now.decided - after.decided) | before.decided,
    )


def _state(proposal: Proposal) -> tuple[object, ...]:
    return proposal.base, proposal.current, proposal.proposed, proposal.new_path, proposal.raw.mode
