"""The state of a session right before a prompt, so that the session can be rewound to it. Pure values."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from fairlead.agent.messages import Message
from fairlead.edits.changeset import Changeset
from fairlead.edits.undo import CHANGED_SINCE_DECISION, CannotUndo, FileDecision, revert
from fairlead.plan.evidence import Record
from fairlead.plan.items import PlanItem, UserEdits
from fairlead.session.evidence.recorder import Inferred
from fairlead.session.feedback import PendingFeedback


@dataclass(frozen=True)
class Checkpoint:
    """The state of a session right before a prompt. Shares immutable values with the session's current state."""

    id: int
    """From 1, in the order of the prompts."""
    prompt: str
    """As the conversation contains it (`shown_prompt`)."""
    messages: tuple[Message, ...] = ()
    items: tuple[PlanItem, ...] = ()
    user_edits: UserEdits = field(default_factory=UserEdits)
    record: Record = field(default_factory=Record)
    inferred: tuple[Inferred, ...] = ()
    changes: Changeset = field(default_factory=Changeset)
    decisions: int = 0
    """How many decisions could be undone, without those that were undone since. A rewind undoes the later ones."""
    pending_feedback: PendingFeedback = field(default_factory=PendingFeedback)


def without_decision(
    checkpoints: Sequence[Checkpoint], undone: Sequence[FileDecision], before: int, after: int
) -> tuple[Checkpoint, ...]:
    """Removes the last decision, which was undone, from the checkpoints that contain it.

    So a rewind does not restore it. A file stays as it is in a checkpoint that has another proposal for it.

    Args:
        undone: the decision on each file in which it was undone.
        before: the number of decisions that could be undone, before the undo.
        after: the same number after it.
    """
    return tuple(
        replace(each, changes=_reverted(each.changes, undone), decisions=min(each.decisions, after))
        if each.decisions >= before
        else each
        for each in checkpoints
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
