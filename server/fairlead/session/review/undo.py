"""Undoes and redoes decisions, the last one first.

`undo` and `redo` change nothing if a file of the decision has changed since. A rewind (`undo_later`) skips such files,
and ignores what the agent has proposed since, which it discards. If an edit of a file fails, both continue with the
other files.
"""

import contextlib
import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_IMODE

from fairlead.edits.proposal import Proposal
from fairlead.edits.undo import (
    CHANGED_SINCE_DECISION,
    CHANGED_SINCE_UNDO,
    CannotUndo,
    Decision,
    FileDecision,
    RemovedFolder,
    revert,
)
from fairlead.session.errors import RequestRefused
from fairlead.session.review.apply import apply_edits
from fairlead.session.review.review import Review
from fairlead.session.review.target import HunkOutcome
from fairlead.workspace.editor import FileEdit
from fairlead.workspace.emptied_folders import missing_folders, restore_permissions
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.files import Files
from fairlead.workspace.long_work import Yielder
from fairlead.workspace.user_files import UserFiles


@dataclass(frozen=True)
class _FileUndo:
    """How a decision on one file is undone."""

    decision: FileDecision
    proposal: Proposal
    """What is proposed afterwards."""
    edit: FileEdit | None
    """The edit of the user's file, if the decision changed it."""
    restored_folders: Sequence[RemovedFolder]
    """The folders that the edit creates again."""


async def undo(review: Review) -> list[HunkOutcome]:
    """Undoes the last decision. If the edit of a file fails, the decision on that file can still be undone later.

    Raises:
        RequestRefused: there is no decision to undo, it can no longer be undone in one of its files, or no file could
            be edited. Nothing was done.
    """
    async with review.turn():
        if not review.decisions.done:
            raise RequestRefused("There is nothing to undo.")
        decision = review.decisions.done[-1]
        outcomes, undone = await _undo(review, decision, f"Undo {decision.label}", CHANGED_SINCE_DECISION)
        review.history.mark_undone(undone)
        review.feedback.undone(decision.label)
        if decision.kind == "reject":
            undone_files = [decision.files[index] for index in undone]
            _forget_rejections(review.files, undone_files, review.decisions.done)
        await review.files.observe_closely(_paths(decision))
    return outcomes


async def redo(review: Review) -> list[HunkOutcome]:
    """Redoes the decision that was undone last.

    Raises:
        RequestRefused: as `undo`.
    """
    async with review.turn():
        if not review.decisions.undone:
            raise RequestRefused("There is nothing to redo.")
        decision = review.decisions.undone[-1]
        outcomes, redone = await _undo(review, decision.inverse, f"Redo {decision.label}", CHANGED_SINCE_UNDO)
        review.history.mark_redone(redone)
        review.feedback.redone(decision.label)
        if decision.kind == "reject":
            for file in (decision.files[index] for index in redone):
                review.files.rejections.remember(file.before, file.hunk_ids, decision.reason)
        await review.files.observe_closely(_paths(decision))
    return outcomes


def _paths(decision: Decision) -> list[Path]:
    return [Path(path) for path in decision.paths]


async def undo_later(review: Review, count: int) -> list[HunkOutcome]:
    """Undoes all decisions after the first `count` in the user's files, the last one first, where that is possible.

    The caller holds `Review.lock`, and then replaces the proposals and the log of decisions, which do not change
    here. A file that stays as it is has the outcome `failed`, with the reason.
    """
    outcomes: list[HunkOutcome] = []
    done = review.decisions.done
    for index in reversed(range(count, len(done))):
        outcomes += await _undo_in_files(review, done[index])
        if done[index].kind == "reject":
            _forget_rejections(review.files, done[index].files, done[:index])
    return outcomes


async def _undo_in_files(review: Review, decision: Decision) -> list[HunkOutcome]:
    """Undoes a decision in each of the user's files that it changed, where that is possible."""
    outcomes: list[HunkOutcome] = []
    undone: list[tuple[FileDecision, FileEdit]] = []
    missing = {file.before.path: missing_folders(file.removed_folders) for file in decision.files}
    yielder = Yielder()
    for file in (file for file in decision.files if file.in_file):
        await yielder.yield_if_due()
        try:
            undone.append((file, inverse_edit(review.files.user_files, file)))
        except CannotUndo as error:
            outcomes.append(HunkOutcome(Path(file.after.target), None, "failed", str(error)))
    results = await apply_edits(
        review.files.user_files, review.editor, f"Undo {decision.label}", [edit for _, edit in undone]
    )
    for (file, _), result in zip(undone, results, strict=True):
        if result.done:
            remove_empty_folders(file.folders)
            restore_permissions(missing[file.before.path])
        outcome = "applied" if result.done else "failed"
        outcomes.append(HunkOutcome(Path(file.after.target), None, outcome, result.message))
    await review.files.observe_closely(_paths(decision))
    return outcomes


def _forget_rejections(files: Files, undone: Sequence[FileDecision], others: Sequence[Decision]) -> None:
    """Allows the agent to propose the rejected changes again, except those that another decision rejected too."""
    earlier = defaultdict[str, list[tuple[FileDecision, str]]](list)
    for decision in others:
        for file in decision.files if decision.kind == "reject" else ():
            earlier[file.before.path].append((file, decision.reason))
    rejections = files.rejections
    for file in undone:
        still_rejected = ((other.before, other.hunk_ids, reason) for other, reason in earlier[file.before.path])
        rejections.forget(file.before, file.hunk_ids, still_rejected)


async def _undo(review: Review, decision: Decision, label: str, changed: str) -> tuple[list[HunkOutcome], list[int]]:
    """Undoes a decision; returns the outcomes and the indexes of the files that were undone.

    Does not read the files again afterwards, so that the caller can first record what was undone.

    Args:
        changed: the message if the user's file has other text (`revert`).

    Raises:
        RequestRefused: it is no longer possible in one of the files, or no file could be edited; nothing was done.
    """
    await review.files.observe_closely(_paths(decision))
    files: list[_FileUndo] = []
    yielder = Yielder()
    for file_decision in decision.files:
        await yielder.yield_if_due()
        try:
            files.append(_file_undo(review.files, file_decision, changed))
        except CannotUndo as error:
            raise RequestRefused(f"Nothing was changed, because later changes would be lost. {error}") from error
    edits = [file.edit for file in files if file.edit is not None]
    edit_results = iter(await apply_edits(review.files.user_files, review.editor, label, edits) if edits else [])
    results = [next(edit_results) if file.edit is not None else None for file in files]
    failed = [result for result in results if result is not None and not result.done]
    if failed and len(failed) == len(edits):
        raise RequestRefused(f"Nothing was changed. {failed[0].message}")
    outcomes: list[HunkOutcome] = []
    indexes: list[int] = []
    yielder = Yielder(ignores_cancellation=True)
    for index, (file, result) in enumerate(zip(files, results, strict=True)):
        await yielder.yield_if_due()
        path = Path(file.proposal.path)
        if result is not None and not result.done:
            outcomes.append(HunkOutcome(path, None, "failed", result.message))
            continue
        _set_proposal(review.files, file)
        remove_empty_folders(file.decision.folders)
        restore_permissions(file.restored_folders)
        indexes.append(index)
        outcomes.append(HunkOutcome(path, None, "applied", result.message if result else ""))
    return outcomes, indexes


def _file_undo(files: Files, decision: FileDecision, changed: str) -> _FileUndo:
    """How to undo a decision on a file, which the decision may have moved.

    Raises:
        CannotUndo: as for `revert` and `inverse_edit`, or the agent proposes another file at a path of the proposal.
    """
    path = Path(decision.after.path)
    now_at = Path(decision.accepted_rename or path)
    name = files.roots.relative(now_at)
    _check_open(files.user_files, now_at, path)
    files.user_files.invalidate(now_at)
    now = files.proposal(now_at)
    text = read_text(files.user_files, now_at)
    proposal = revert(decision, now, text, name, changed)
    changes, target = files.changes, proposal.target
    for taken, other in ((proposal.path, changes.get(proposal.path)), (target, changes.for_target(target))):
        if other is not None and other is not now:
            name = files.roots.relative(Path(taken))
            raise CannotUndo(f"{name}: the agent now proposes another file at this path, so this cannot be undone.")
    needs_edit = decision.in_file and not decision.is_restored(text)
    edit = inverse_edit(files.user_files, decision, changed) if needs_edit else None
    return _FileUndo(decision, proposal, edit, missing_folders(decision.removed_folders))


def inverse_edit(user_files: UserFiles, decision: FileDecision, changed: str = CHANGED_SINCE_DECISION) -> FileEdit:
    """The edit that restores a user's file to its state before a decision that changed it (`in_file`).

    Args:
        changed: the message if the file has changed since, with the placeholder `{name}`.

    Raises:
        CannotUndo: the file has changed since the decision, cannot be read or is reached through a link, another file
            is at its old path, or its folder was removed from the workspace.
    """
    path, renamed_to = Path(decision.after.path), decision.accepted_rename
    now_at = Path(renamed_to or path)
    name = user_files.roots.relative(now_at)
    _check_open(user_files, now_at, path)
    user_files.invalidate(now_at)
    if read_text(user_files, now_at) != decision.after.current:
        raise CannotUndo(changed.format(name=name))
    if not user_files.roots.leads_to_itself(now_at):
        raise CannotUndo(f"{name} now leads elsewhere, through a symbolic link. Restore it first.")
    buffer = user_files.buffer(now_at)
    edit = FileEdit(now_at, decision.after.current, decision.before.current, buffer.version if buffer else None)
    other_path = decision.inverse.accepted_rename if renamed_to is None else path
    if other_path is not None and edit.new is not None:
        move_to = Path(other_path)
        if read_text(user_files, move_to) is not None:
            raise CannotUndo(f"{user_files.roots.relative(move_to)} exists again. Move it away first.")
        edit = replace(edit, path=move_to) if edit.old is None else replace(edit, new_path=move_to)
    raw = decision.raw_before
    return replace(edit, data=raw.data, mode=raw.mode, bom=raw.bom)


def _check_open(user_files: UserFiles, *paths: Path) -> None:
    """Raises CannotUndo if the folder of a file was removed from the workspace."""
    closed = next((path for path in paths if not user_files.roots.contains(path)), None)
    if closed is not None:
        raise CannotUndo(f"The folder of {closed} is not part of the workspace anymore. Add it again first.")


def remove_empty_folders(folders: Sequence[str]) -> list[RemovedFolder]:
    """Removes the folders that were created for a file, up to the first that is not empty. Returns the removed ones."""
    removed: list[RemovedFolder] = []
    with contextlib.suppress(OSError):
        for folder in folders:
            mode = S_IMODE(os.stat(folder, follow_symlinks=False).st_mode)
            os.rmdir(folder)
            removed.append(RemovedFolder(folder, mode))
    return removed


def read_text(user_files: UserFiles, path: Path) -> str | None:
    """The text of the user's file (for a binary file, the line that identifies it); None if there is no file.

    Raises:
        CannotUndo: the file cannot be read.
    """
    try:
        return user_files.text(path, binary=True)
    except WorkspaceError as error:
        if path.is_dir():
            return None
        raise CannotUndo(str(error)) from error


def _set_proposal(files: Files, undone: _FileUndo) -> None:
    proposal = undone.proposal
    known = files.proposal(Path(proposal.path)) or files.proposal(Path(proposal.target))
    files.replace_by_decision(known or undone.decision.after, proposal)
