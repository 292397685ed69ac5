"""The user's decisions on a session's proposals, and the checkpoints, which store how many decisions there were."""

from collections.abc import Collection

from fairlead.edits.undo import Decision, DecisionLog
from fairlead.session.checkpoints import Checkpoint, with_split_decision, without_undone
from fairlead.session.state import SessionState, checkpoint_of


class DecisionHistory:
    """Owns the decisions and the checkpoints, because some decisions change what earlier checkpoints contain."""

    def __init__(self) -> None:
        self.decisions = DecisionLog()
        self.checkpoints: tuple[Checkpoint, ...] = ()
        self._last_checkpoint = 0

    def add(self, decision: Decision) -> None:
        """Records a decision, so that it can be undone. Decisions that were undone before can no longer be redone."""
        if self.decisions.undone:
            self.checkpoints = tuple(without_undone(each, self.decisions) for each in self.checkpoints)
        self.decisions = self.decisions.with_decision(decision)

    def mark_undone(self, files: Collection[int]) -> None:
        """Records that the last decision was undone in some of its files, given by index."""
        self._replace(self.decisions.undo(files), len(self.decisions.done))

    def mark_redone(self, files: Collection[int]) -> None:
        """Records that the last undone decision was redone in some of its files, given by index."""
        self._replace(self.decisions.redo(files), len(self.decisions.done) + 1)

    def _replace(self, decisions: DecisionLog, number: int) -> None:
        """Replaces the log after the decision with this number, from 1, was undone or redone."""
        if decisions.total > self.decisions.total:
            self.checkpoints = with_split_decision(self.checkpoints, number)
        self.decisions = decisions

    def discard_decisions(self) -> None:
        """Discards the decisions. The checkpoints stay."""
        self.decisions = DecisionLog()

    def add_checkpoint(self, state: SessionState, prompt: str) -> int:
        """Adds a checkpoint of the session's state right before a prompt. Returns the checkpoint's id."""
        self._last_checkpoint += 1
        self.checkpoints = (*self.checkpoints, checkpoint_of(state, self._last_checkpoint, prompt))
        return self._last_checkpoint

    def restore(self, state: SessionState) -> None:
        """Replaces the decisions and checkpoints with saved ones. Later checkpoints get ids that were never used."""
        self.decisions, self.checkpoints = state.decisions, state.checkpoints
        self._last_checkpoint = max([self._last_checkpoint, *(each.id for each in state.checkpoints)])
