"""The state of a session whose workspace folder has another path now. Pure.

Only paths change. Texts that mention the old path, such as commands and the conversation, say what happened there.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from fairlead.edits.changeset import Changeset
from fairlead.edits.proposal import Proposal
from fairlead.edits.undo import Decision, FileDecision
from fairlead.plan.evidence import Record
from fairlead.plan.file_states import FileStates
from fairlead.session.checkpoints import Checkpoint
from fairlead.session.run.feedback import PendingFeedback
from fairlead.session.state import SessionState

V = TypeVar("V")
Move = Callable[[str], str]
"""Returns the path that a file has now."""


def with_moved_folder(state: SessionState, former: str, folder: str) -> SessionState:
    """The state with all paths below `former` below `folder` instead. Both are absolute."""

    def move(path: str) -> str:
        if not Path(path).is_relative_to(former):
            return path
        return str(Path(folder) / Path(path).relative_to(former))

    log = state.decisions
    return replace(
        state,
        record=_record(state.record, move),
        file_states=FileStates(
            _keys(state.file_states.first, move),
            tuple(_keys(each, move) for each in state.file_states.changes),
            state.file_states.cut,
        ),
        changes=_changeset(state.changes, move),
        decisions=replace(
            log,
            done=tuple(_decision(each, move) for each in log.done),
            undone=tuple(_decision(each, move) for each in log.undone),
        ),
        rejected=tuple(replace(each, path=move(each.path)) for each in state.rejected),
        pending_feedback=_feedback(state.pending_feedback, move),
        checkpoints=tuple(_checkpoint(each, move) for each in state.checkpoints),
    )


def _keys(values: Mapping[str, V], move: Move) -> dict[str, V]:
    return {move(path): value for path, value in values.items()}


def _changeset(changes: Changeset, move: Move) -> Changeset:
    files = {move(path): _proposal(proposal, move) for path, proposal in changes.files.items()}
    return Changeset(MappingProxyType(files), changes.order, frozenset(map(move, changes.empty_folders)))


def _proposal(proposal: Proposal, move: Move) -> Proposal:
    new_path = move(proposal.new_path) if proposal.new_path is not None else None
    return replace(proposal, path=move(proposal.path), new_path=new_path)


def _decision(decision: Decision, move: Move) -> Decision:
    return replace(decision, files=tuple(_file_decision(file, move) for file in decision.files))


def _file_decision(file: FileDecision, move: Move) -> FileDecision:
    before, after = _proposal(file.before, move), _proposal(file.after, move)
    removed = tuple(replace(folder, path=move(folder.path)) for folder in file.removed_folders)
    return replace(file, before=before, after=after, folders=tuple(map(move, file.folders)), removed_folders=removed)


def _record(record: Record, move: Move) -> Record:
    """Without what the commands read: that is not only paths below the folder."""
    return Record(
        {
            step: replace(
                each,
                files=tuple(map(move, each.files)),
                commands=tuple(replace(run, inputs=None) for run in each.commands),
            )
            for step, each in record.by_step.items()
        }
    )


def _feedback(feedback: PendingFeedback, move: Move) -> PendingFeedback:
    return replace(feedback, conflicts=tuple((move(path), digest) for path, digest in feedback.conflicts))


def _checkpoint(checkpoint: Checkpoint, move: Move) -> Checkpoint:
    return replace(
        checkpoint,
        record=_record(checkpoint.record, move),
        changes=_changeset(checkpoint.changes, move),
        pending_feedback=_feedback(checkpoint.pending_feedback, move),
    )
