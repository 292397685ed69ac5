"""The state of a session right before a prompt, so that the session can be rewound to it. Pure values."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from fairlead.agent.tool import Mode
from fairlead.edits.changeset import Changeset
from fairlead.edits.undo import CHANGED_SINCE_DECISION, CannotUndo, DecisionLog, FileDecision, revert
from fairlead.messages.parts import Message
from fairlead.plan.evidence import Record
from fairlead.plan.items import PlanItem, UserEdits
from fairlead.session.evidence.recorder import Inferred
from fairlead.session.run.feedback import PendingFeedback


@dataclass(frozen=True)
class Checkpoint:
    """The state of a session right before a prompt. Shares immutable values with the session's current state."""

    id: int
    """From 1, in the order of the prompts."""
    prompt: str
    """As the conversation contains it (`shown_prompt`)."""
    mode: Mode = "agent"
    """The mode of the run before the prompt, as in `SessionState`."""
    agent: str = ""
    """Its agent, as in `SessionState`."""
    messages: tuple[Message, ...] = ()
    items: tuple[PlanItem, ...] = ()
    awaits_approval: bool = False
    """As in `PlanningState`."""
    user_edits: UserEdits = field(default_factory=UserEdits)
    record: Record = field(default_factory=Record)
    inferred: tuple[Inferred, ...] = ()
    changes: Changeset = field(default_factory=Changeset)
    decisions: int = 0
    """The number of decisions in effect at that time, even if some were undone since. A rewind undoes later ones."""
    pending_feedback: PendingFeedback = field(default_factory=PendingFeedback)


def without_undone(checkpoint: Checkpoint, log: DecisionLog) -> Checkpoint:
    """The checkpoint without the decisions that are undone now, so that a rewind does not restore them.

    The checkpoints of a session contain such decisions as long as they can be redone.
    """
    if checkpoint.decisions <= len(log.done):
        return checkpoint
    changes = checkpoint.changes
    for decision in log.undone[max(0, log.total - checkpoint.decisions) :]:
        changes = _reverted(changes, decision.files)
    return replace(checkpoint, changes=changes, decisions=len(log.done))


def with_split_decision(checkpoints: Sequence[Checkpoint], number: int) -> tuple[Checkpoint, ...]:
    """Counts the decision with this number, from 1, as two, because only some of its files were undone or redone."""
    return tuple(
        replace(each, decisions=each.decisions + 1) if each.decisions >= number else each for each in checkpoints
    )


def _reverted(changes: Changeset, undone: Sequence[FileDecision]) -> Changeset:
    for file in undone:
        now = changes.get(file.after.path)
        current = now.current if now is not None else file.after.current
        try:
            changes = changes.with_proposal(revert(file, now, current, file.after.path, CHANGED_SINCE_DECISION))
        except CannotUndo:  # the checkpoint has another proposal for this file
            continue
    return changes
