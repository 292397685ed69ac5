"""The engine as a session works with it, without a session: one file, what is proposed for it, what was decided."""

from collections.abc import Collection

from fairlead.edits import changeset as cs
from fairlead.edits.changeset import Changeset
from fairlead.edits.proposal import Proposal, untouched
from fairlead.edits.undo import FileStep, Step, Steps, taken_back

PATH = "/ws/a.py"


class Bench:
    """`disk` is the person's file, None where there is none."""

    def __init__(self, disk: str | None) -> None:
        self.disk = disk
        self.changes = Changeset()
        self.steps = Steps()

    @property
    def proposal(self) -> Proposal:
        """What is proposed for the file; where nothing is, a proposal without a hunk."""
        return self.changes.get(PATH) or untouched(PATH, self.disk)

    def type(self, text: str | None) -> None:
        self.disk = text
        self.changes = cs.observe(self.changes, PATH, text)

    def propose(self, text: str) -> None:
        self.changes = cs.propose(self.changes, PATH, self.disk, text, "1", "call")

    def delete(self) -> None:
        self.changes = cs.delete(self.changes, PATH, self.disk, "1", "call")

    def accept(self, hunk_ids: Collection[str] | None, over_mine: bool = False) -> None:
        before = self.proposal
        regions = cs.acceptable(before, hunk_ids, over_mine)
        if not (regions or before.whole) or (before.whole and before.in_conflict and not over_mine):
            return
        done = cs.accepted(before, regions)
        self.changes = cs.accept(self.changes, before, done)
        self.disk = done.current
        self._remember("accept", FileStep(before, done, True))

    def reject(self, hunk_ids: Collection[str] | None) -> None:
        before = self.proposal
        if hunk_ids is not None and not before.whole and not before.chosen(hunk_ids):
            return
        after = cs.rejected(before, hunk_ids)
        self.changes = self.changes.with_proposal(after)
        self._remember("reject", FileStep(before, after, False))

    def amend(self, text: str) -> None:
        before = self.proposal
        after = cs.amended(before, text)
        self.changes = self.changes.with_proposal(after)
        self._remember("amend", FileStep(before, after, False))

    def undo(self) -> None:
        """Raises MovedOn where it cannot be."""
        [step] = self.steps.done[-1].files
        self._take_back(step)
        self.steps = self.steps.undo([0])

    def redo(self) -> None:
        """As `undo`."""
        [step] = self.steps.undone[-1].files
        self._take_back(step.turned)
        self.steps = self.steps.redo([0])

    def _take_back(self, step: FileStep) -> None:
        back = taken_back(step, self.changes.get(PATH), self.disk, "a.py")
        self.changes = self.changes.with_proposal(back)
        if step.in_file:
            self.disk = step.before.current

    def _remember(self, kind: str, step: FileStep) -> None:
        assert kind in ("accept", "reject", "amend")
        self.steps = self.steps.with_step(Step(kind, f"{kind} a.py", (step,)))
