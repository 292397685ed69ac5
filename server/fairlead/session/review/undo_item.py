"""Undoes the accepted changes of one plan item. Later decisions stay in effect."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fairlead.edits import changeset as cs
from fairlead.edits.item_accepts import ItemAccepts, accepts_to_undo
from fairlead.edits.merge import MergeConflict, merged
from fairlead.edits.proposal import Proposal, Raw, empty_proposal
from fairlead.edits.undo import CannotUndo, Decision, FileDecision
from fairlead.session.errors import RequestRefused
from fairlead.session.review.apply import apply_edits, raw_on_disk
from fairlead.session.review.review import Review
from fairlead.session.review.target import HunkOutcome
from fairlead.session.review.undo import inverse_edit, read_text, remove_empty_folders
from fairlead.workspace.editor import FileEdit
from fairlead.workspace.emptied_folders import missing_folders, restore_permissions
from fairlead.workspace.files import Files
from fairlead.workspace.user_files import UserFiles

NOTHING_TO_UNDO = "There is no accepted change of this step to undo."
CHANGED_AGAIN = "{name} has been changed again since. Undo that first, or edit the file yourself."
SAME_LINES_CHANGED = "{name}: the same lines have been changed again since. Undo that first, or edit the file yourself."

RENAMED_TO = "{name}: the agent proposes to rename a file to this path. Reject that first."


async def undo_item(review: Review, item_id: str) -> list[HunkOutcome]:
    """Removes an item's accepted changes from the files. This is itself a decision that can be undone.

    A file fails if the same lines were changed later; the other files are undone.

    An accept of a file as a whole (such as a new file, a deletion or a rename) cannot be undone in part. If it is the
    item's last accept of the file, only this accept is undone, with the changes of other items in it; this fails if the
    file was changed later in any way. If the item has later accepts of the file, those are undone, and it stays.

    Raises:
        RequestRefused: no change of this item was accepted, or all were undone.
    """
    async with review.turn():
        await review.files.observe_all()
        accepts = ItemAccepts()
        for decision in review.decisions.done:
            accepts.add(decision)
        outcomes: list[HunkOutcome] = []
        edits: list[FileEdit] = []
        accepts_undone: list[FileDecision] = []
        for path, files in accepts.of(item_id).items():
            concerned = accepts_to_undo(files)
            try:
                edit = _edit(review.files, Path(path), concerned, item_id)
            except CannotUndo as error:
                outcomes.append(HunkOutcome(Path(path), None, "failed", str(error)))
                continue
            if _has_effect(review.files.user_files, edit):
                edits.append(edit)
                accepts_undone.append(concerned[-1])
        if not edits and not outcomes:
            raise RequestRefused(NOTHING_TO_UNDO)
        label = f"Undo step {item_id}"
        parts = [[(part, raw_on_disk(review.files.user_files, part)) for part in _parts(edit)] for edit in edits]
        missing = [missing_folders(accept.removed_folders) for accept in accepts_undone]
        undone: list[FileDecision] = []
        results = await apply_edits(review.files.user_files, review.editor, label, edits) if edits else []
        for edit, accept, created, its_parts, result in zip(
            edits, accepts_undone, missing, parts, results, strict=True
        ):
            outcomes.append(HunkOutcome(edit.target, None, "applied" if result.done else "failed", result.message))
            if result.done:
                restore_permissions(created)
                folders = tuple(folder.path for folder in created), tuple(remove_empty_folders(accept.folders))
                decisions = (_decision(review.files, part, raw, result.actual_text) for part, raw in its_parts)
                undone += (replace(each, folders=folders[0], removed_folders=folders[1]) for each in decisions)
        if undone:
            review.history.add(Decision("undo", label, tuple(undone), item_id=item_id))
            review.feedback.undone(f"the accepted changes of step #{item_id}")
        await review.files.observe_all()
    return outcomes


def _has_effect(user_files: UserFiles, edit: FileEdit) -> bool:
    if edit.is_permissions_only:
        return raw_on_disk(user_files, edit).mode != edit.mode
    return edit.old != edit.new or edit.new_path is not None or edit.data is not None


def _parts(edit: FileEdit) -> list[FileEdit]:
    """An edit as the decision records it: a rename as a deletion and a new file.

    A decision knows the two paths of a moved file only from its proposal, and for this edit there is none.
    """
    if edit.new_path is None:
        return [edit]
    return [FileEdit(edit.path, edit.old, None), FileEdit(edit.new_path, None, edit.new)]


def _decision(files: Files, part: FileEdit, raw_before: Raw, actual_text: str | None) -> FileDecision:
    """The decision for a part of an edit that was applied. `actual_text` is that of `EditResult`."""
    text = part.new if part.new is None or actual_text is None else actual_text
    before = files.proposal(part.path) or empty_proposal(str(part.path), part.old)
    return FileDecision(before, _proposal_after(before, text), True, raw_before, raw_on_disk(files.user_files, part))


def _proposal_after(before: Proposal, text: str | None) -> Proposal:
    """The proposal after the edit to this text. The edit counts as the user's own change."""
    return empty_proposal(before.path, text) if before.is_settled else before.rebased(text)


def _edit(files: Files, path: Path, accepts: Sequence[FileDecision], item_id: str) -> FileEdit:
    """The edit that undoes an item's part in these accepts of a file.

    Args:
        accepts: those of `accepts_to_undo`.

    Raises:
        CannotUndo: it would lose later changes, or the file cannot be read; as for `inverse_edit` if that is used; or
            the agent proposes to rename a file to the path of a restored one.
    """
    if accepts[-1].as_whole:
        edit = inverse_edit(files.user_files, accepts[-1], CHANGED_AGAIN)
        if edit.adds_path and str(edit.target) in files.changes.renamed:
            raise CannotUndo(RENAMED_TO.format(name=files.roots.relative(edit.target)))
        return edit
    files.user_files.invalidate(path)
    current = read_text(files.user_files, path)
    name = files.roots.relative(path)
    if current is None:
        raise CannotUndo(CHANGED_AGAIN.format(name=name))
    text = current
    for accepted in reversed(accepts):
        without = _text_without_item(accepted.before, accepted.after, item_id)
        try:
            text = merged(accepted.after.current or "", text, without)
        except MergeConflict as error:
            raise CannotUndo(SAME_LINES_CHANGED.format(name=name)) from error
    buffer = files.user_files.buffer(path)
    return FileEdit(path, current, text, buffer.version if buffer is not None else None)


def _text_without_item(before: Proposal, after: Proposal, item_id: str) -> str:
    """The user's file as it would be if an accept by hunk had left out one item's hunks."""
    others = (after.decided - before.decided) - before.hunks_of(item_id)
    regions = [region for region in before.regions_of_hunks(others) if region.side in ("theirs", "conflict")]
    return cs.accepted(replace(before, decided=frozenset()), regions).current or ""
