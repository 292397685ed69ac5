"""Undoes the accepted changes of one plan item, although there may be later decisions, which stay."""

from dataclasses import replace
from pathlib import Path

from fairlead.edits import changeset as cs
from fairlead.edits.merge import MergeConflict, merged
from fairlead.edits.proposal import Proposal, empty_proposal
from fairlead.edits.undo import CannotUndo, Decision, FileDecision
from fairlead.session.errors import RequestRefused
from fairlead.session.review.apply import apply_edits
from fairlead.session.review.target import HunkOutcome
from fairlead.session.review.undo import inverse_edit, read_text
from fairlead.session.session import Session
from fairlead.workspace.editor import FileEdit


async def undo_item(session: Session, item_id: str) -> list[HunkOutcome]:
    """Removes an item's accepted changes from the files. This is itself a decision that can be undone.

    A file fails if the same lines were changed later; the other files are undone.

    An accept of a file as a whole is undone only if it is the item's last one for the file. It is undone with the
    changes of other items and without the item's earlier accepts, and fails after any later change.

    Raises:
        RequestRefused: no change of this item was accepted, or the accepts were undone.
    """
    async with session.review():
        await session.files.observe_all()
        accepts: dict[str, list[FileDecision]] = {}
        for decision in session.decisions.done:
            for file in decision.files if decision.kind == "accept" else ():
                if item_id in file.before.item_ids:
                    accepts.setdefault(file.before.path, []).append(file)
        if not accepts:
            raise RequestRefused("No change of this step was accepted, so there is nothing to undo.")
        outcomes: list[HunkOutcome] = []
        edits: list[FileEdit] = []
        for path, files in accepts.items():
            try:
                edits.append(_edit(session, Path(path), files, item_id))
            except CannotUndo as error:
                outcomes.append(HunkOutcome(Path(path), None, "failed", str(error)))
        edits = [edit for edit in edits if edit.old != edit.new or edit.new_path is not None]
        label = f"Undo step {item_id}"
        undone: list[FileDecision] = []
        for edit, result in zip(edits, await apply_edits(session, label, edits) if edits else [], strict=True):
            outcomes.append(HunkOutcome(edit.target, None, "applied" if result.done else "failed", result.message))
            if result.done:
                before = session.files.proposal(edit.path) or empty_proposal(str(edit.path), edit.old)
                undone.append(FileDecision(before, _proposal_after(before, edit), True))
        if undone:
            session.add_decision(Decision("undo", label, tuple(undone), item_id=item_id))
            session.feedback.undone(f"the accepted changes of step #{item_id}")
        await session.files.observe_all()
    return outcomes


def _proposal_after(before: Proposal, edit: FileEdit) -> Proposal:
    """The proposal after the edit, which counts as the user's own."""
    if before.is_settled:
        return empty_proposal(str(edit.path), edit.new)
    return before.rebased(edit.new)


def _edit(session: Session, path: Path, accepts: list[FileDecision], item_id: str) -> FileEdit:
    """The edit that undoes an item's part in these accepts of a file, or the last one if that was as a whole.

    Args:
        accepts: the oldest first.

    Raises:
        CannotUndo: it would lose later changes, or the file cannot be read; as for `inverse_edit` if that is used.
    """
    last = accepts[-1]
    if last.before.decided_as_whole:
        return inverse_edit(session, last)
    session.files.user_files.invalidate(path)
    current = read_text(session, path)
    text = current or ""
    for accepted in reversed(accepts):
        without = _text_without_item(accepted.before, accepted.after, item_id)
        try:
            text = merged(accepted.after.current or "", text, without)
        except MergeConflict as error:
            name = session.roots.relative(path)
            raise CannotUndo(
                f"{name}: the same lines were changed again since. Undo that first, or edit the file yourself."
            ) from error
    buffer = session.files.user_files.buffer(path)
    return FileEdit(path, current, text, buffer.version if buffer is not None else None)


def _text_without_item(before: Proposal, after: Proposal, item_id: str) -> str:
    """The user's file as it would be if an accept had left out one item's hunks."""
    others = (after.decided - before.decided) - before.hunks_of(item_id)
    regions = [region for region in before.regions_of_hunks(others) if region.side in ("theirs", "conflict")]
    return cs.accepted(replace(before, decided=frozenset()), regions).current or ""
