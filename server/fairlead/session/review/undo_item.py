"""Taking back what was accepted of one plan item, whatever was decided in between."""

from dataclasses import replace
from pathlib import Path

from fairlead.edits import changeset as cs
from fairlead.edits.merge import MergeConflict, merged
from fairlead.edits.proposal import Proposal, untouched
from fairlead.edits.undo import FileStep, MovedOn, Step
from fairlead.session.host import RequestRefused
from fairlead.session.review.apply import apply_edits
from fairlead.session.review.target import Decided
from fairlead.session.review.undo import edit_back, text_of
from fairlead.session.session import Session
from fairlead.workspace.editor import FileEdit


async def undo_item(session: Session, item_id: str) -> list[Decided]:
    """Takes the accepted changes of an item out of the files again; itself a decision that can be undone.

    What came into the same lines later stays, and the file is reported as failed; the other files are done.

    Raises:
        RequestRefused: nothing of this item was accepted.
    """
    async with session.reviewing:
        await session.files.observe_all()
        by_path: dict[str, list[FileStep]] = {}
        for step in session.steps.done:
            for one in step.files if step.kind == "accept" else ():
                if item_id in one.before.item_ids:
                    by_path.setdefault(one.before.path, []).append(one)
        if not by_path:
            raise RequestRefused("Nothing of this step was accepted, so there is nothing to undo.")
        decided: list[Decided] = []
        edits: list[FileEdit] = []
        for path, steps in by_path.items():
            try:
                edits.append(_edit(session, Path(path), steps, item_id))
            except MovedOn as error:
                decided.append(Decided(Path(path), None, "failed", str(error)))
        edits = [edit for edit in edits if edit.old != edit.new or edit.new_path is not None]
        label = f"Undo step {item_id}"
        done: list[FileStep] = []
        for edit, result in zip(edits, await apply_edits(session, label, edits) if edits else [], strict=True):
            decided.append(Decided(edit.target, None, "applied" if result.done else "failed", result.message))
            if result.done:
                before = session.files.proposal(edit.path) or untouched(str(edit.path), edit.old)
                done.append(FileStep(before, _after(before, edit), True))
        if done:
            session.steps = session.steps.with_step(Step("undo", label, tuple(done), item_id=item_id))
            session.feedback.taken_back(f"what was accepted of step #{item_id}", again=False)
        await session.files.observe_all()
    session.publish()
    return decided


def _after(before: Proposal, edit: FileEdit) -> Proposal:
    """The proposal behind the edit, which counts as the person's own."""
    if before.settled:
        return untouched(str(edit.path), edit.new)
    return before.rebased(edit.new)


def _edit(session: Session, path: Path, steps: list[FileStep], item_id: str) -> FileEdit:
    """The edit that takes an item's part of some accepts back, the last one first.

    Raises:
        MovedOn: it cannot be taken back without losing something.
    """
    last = steps[-1]
    if last.before.whole:
        return edit_back(session, last)
    session.files.person.forget(path)
    current = text_of(session, path)
    text = current or ""
    for step in reversed(steps):
        without = _without(step.before, step.after, item_id)
        try:
            text = merged(step.after.current or "", text, without)
        except MergeConflict as error:
            name = session.root.relative(path)
            raise MovedOn(
                f"{name}: the same lines were changed again since. Undo that first, or change them by hand."
            ) from error
    buffer = session.files.person.buffer(path)
    return FileEdit(path, current, text, buffer.version if buffer is not None else None)


def _without(before: Proposal, after: Proposal, item_id: str) -> str:
    """What the person's file would say behind an accept that had left out one item's hunks."""
    others = (after.decided - before.decided) - before.hunks_of(item_id)
    regions = [region for region in before.chosen(others) if region.side in ("theirs", "conflict")]
    return cs.accepted(replace(before, decided=frozenset()), regions).current or ""
