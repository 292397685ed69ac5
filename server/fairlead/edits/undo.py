"""Undo and redo of what the person decided: a linear stack of steps, and what each makes of the proposals.

A step goes both ways between two states of each file that it touched. What the agent proposed and the person typed in
the meantime stays: proposals are merged; only the person's own file must say what it said right behind the step.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Literal

from fairlead.edits.merge import MergeConflict, merged
from fairlead.edits.proposal import PLAIN, Proposal, Raw, untouched


class MovedOn(Exception):
    """A step cannot be taken back any more; the message says why, for people."""


@dataclass(frozen=True)
class FileStep:
    """One file before and behind a decision.

    `in_file` tells that the person's file itself was changed; `had` and `got` are what its text did not say before and
    behind it, where that matters; `folders` are those that had to be made for it, the inmost first.
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
    """One decision. `label` names it for people, as "Accept a.py"; `reason` is what a rejection came with.

    An "undo" took what was accepted of a plan item, `item_id`, out of the person's files again.
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
    """The stack; a new step forgets what was undone."""

    done: tuple[Step, ...] = field(default_factory=tuple)
    undone: tuple[Step, ...] = field(default_factory=tuple)

    def with_step(self, step: Step) -> "Steps":
        return Steps((*self.done, step), ())

    def undo(self, files: Collection[int]) -> "Steps":
        """The last step goes over to the undone ones; where only some of its files could, the others stay."""
        stays, goes = _parted(self.done[-1], files)
        return Steps((*self.done[:-1], *stays), (*self.undone, *goes))

    def redo(self, files: Collection[int]) -> "Steps":
        """As `undo`, the other way."""
        stays, goes = _parted(self.undone[-1], files)
        return Steps((*self.done, *goes), (*self.undone[:-1], *stays))


def _parted(step: Step, files: Collection[int]) -> tuple[list[Step], list[Step]]:
    parts = [[one for index, one in enumerate(step.files) if (index in files) == goes] for goes in (False, True)]
    stays, goes = ([replace(step, files=tuple(part))] if part else [] for part in parts)
    return stays, goes


def taken_back(step: FileStep, now: Proposal | None, current: str | None, name: str) -> Proposal:
    """The proposal with a step undone. (To redo one, take back the turned step.)

    Args:
        now: what is proposed for the file now; current: what the person's file says.
        name: how to call the file.

    Raises:
        MovedOn: the file, or the proposal where the step changed it, is not what it was behind the step.
    """
    before, after = step.before, step.after
    now = now or untouched(after.path, current)
    if _state(now) == _state(after):
        return before
    if step.in_file and now.current != after.current:
        raise MovedOn(f"{name} has changed since. Undo your own changes there first (in the editor), then this.")
    if before.whole or after.whole or now.whole:
        if step.in_file or not (now.settled and after.settled):
            raise MovedOn(f"{name}: the agent proposes something else there by now.")
        return before.rebased(current)
    try:
        base = merged(after.base or "", now.base or "", before.base or "")
        text = merged(after.proposed or "", now.proposed or "", before.proposed or "")
    except MergeConflict as error:
        raise MovedOn(f"{name}: the same lines are proposed in another way by now.") from error
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
