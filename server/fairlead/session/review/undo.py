"""Undo and redo of decisions: one at a time, the last first, all of it or nothing."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairlead.agent.errors import ToolError
from fairlead.edits.proposal import Proposal
from fairlead.edits.undo import FileStep, MovedOn, Step, taken_back
from fairlead.session.host import RequestRefused
from fairlead.session.review.apply import apply_edits
from fairlead.session.review.target import Decided
from fairlead.session.session import Session
from fairlead.workspace.editor import FileEdit
from fairlead.workspace.pieces import Turns


@dataclass(frozen=True)
class _Back:
    """One file of a step on its way back: what is proposed then, and the edit of the person's file, if any."""

    step: FileStep
    proposal: Proposal
    edit: FileEdit | None


async def undo(session: Session) -> list[Decided]:
    """Takes back the last accept, reject or amend.

    Raises:
        RequestRefused: there is none, or a file has moved on since; nothing was done.
    """
    async with session.reviewing:
        if not session.steps.done:
            raise RequestRefused("There is nothing to undo.")
        step = session.steps.done[-1]
        decided, done = await _take_back(session, step, f"Undo {step.label}")
        session.steps = session.steps.undo(done)
        session.feedback.taken_back(step.label, again=False)
        if step.kind == "reject":
            for one in step.files:
                session.files.rejections.forget(one.before)
    session.publish()
    return decided


async def redo(session: Session) -> list[Decided]:
    """Does again what was undone last.

    Raises:
        RequestRefused: as `undo`.
    """
    async with session.reviewing:
        if not session.steps.undone:
            raise RequestRefused("There is nothing to redo.")
        step = session.steps.undone[-1]
        decided, done = await _take_back(session, step.turned, f"Redo {step.label}")
        session.steps = session.steps.redo(done)
        session.feedback.taken_back(step.label, again=True)
        if step.kind == "reject":
            for one in step.files:
                rejected = one.after.decided - one.before.decided
                session.files.rejections.remember(one.before, rejected or None, step.reason)
    session.publish()
    return decided


async def _take_back(session: Session, step: Step, label: str) -> tuple[list[Decided], list[int]]:
    """Carries a step's way back out; returns what came of it, and which of its files are back."""
    await session.files.observe_all()
    try:
        backs: list[_Back] = []
        turns = Turns()
        for one in step.files:
            await turns.next()
            backs.append(_back(session, one))
    except MovedOn as error:
        session.publish()
        raise RequestRefused(f"Not done, because nothing may be lost. {error}") from error
    edits = [back.edit for back in backs if back.edit is not None]
    carried = iter(await apply_edits(session, label, edits) if edits else [])
    results = [next(carried) if back.edit is not None else None for back in backs]
    refused = [result for result in results if result is not None and not result.done]
    if refused and len(refused) == len(edits):
        raise RequestRefused(f"Not done. {refused[0].message}")
    decided: list[Decided] = []
    done: list[int] = []
    for index, (back, result) in enumerate(zip(backs, results, strict=True)):
        await turns.next()
        path = Path(back.proposal.path)
        if result is not None and not result.done:
            decided.append(Decided(path, None, "failed", result.message))
            continue
        _put(session, back)
        _remove_empty(back.step.folders)
        done.append(index)
        decided.append(Decided(path, None, "applied", result.message if result else ""))
    await session.files.observe_all()
    return decided, done


def _back(session: Session, step: FileStep) -> _Back:
    path, moved = Path(step.after.path), step.before.new_path
    at = Path(moved) if step.in_file and moved is not None else path
    name = session.root.relative(at)
    session.files.person.forget(at)
    current = text_of(session, at)
    now = session.files.proposal(path) or (session.files.proposal(at) if at != path else None)
    proposal = taken_back(step, now, current, name)
    other = session.files.changes.for_target(proposal.target)
    if other is not None and other.path not in (str(path), str(at)):
        raise MovedOn(f"{name}: the agent proposes another file there by now.")
    return _Back(step, proposal, edit_back(session, step) if step.in_file else None)


def edit_back(session: Session, step: FileStep) -> FileEdit:
    """The edit that makes the person's file what it was before a step, where it says what the step left.

    Raises:
        MovedOn: it says something else, or its place is taken.
    """
    path, moved = Path(step.after.path), step.before.new_path
    at = Path(moved) if moved is not None else path
    name = session.root.relative(at)
    if text_of(session, at) != step.after.current:
        raise MovedOn(f"{name} has changed since. Undo your own changes there first (in the editor), then this.")
    if not session.files.still_there(at):
        raise MovedOn(f"{name} leads elsewhere now, through a symbolic link.")
    buffer = session.files.person.buffer(at)
    edit = FileEdit(at, step.after.current, step.before.current, buffer.version if buffer else None)
    to = path if moved is not None else Path(step.after.new_path) if step.after.new_path is not None else None
    if to is not None:
        if text_of(session, to) is not None:
            raise MovedOn(f"{session.root.relative(to)} exists again.")
        edit = replace(edit, new_path=to)
    return replace(edit, data=step.had.data, mode=step.had.mode)


def _remove_empty(folders: Sequence[str]) -> None:
    """Takes away the folders that were made for a file, where nothing else came into them."""
    with contextlib.suppress(OSError):
        for folder in folders:
            Path(folder).rmdir()


def text_of(session: Session, path: Path) -> str | None:
    """What the person's file says; None where there is none, or a folder in its place.

    Raises:
        MovedOn: it cannot be read.
    """
    try:
        return session.files.person.text(path, binary=True)
    except ToolError as error:
        if path.is_dir():
            return None
        raise MovedOn(str(error)) from error


def _put(session: Session, back: _Back) -> None:
    files = session.files
    known = files.proposal(Path(back.proposal.target))
    before = known.proposed if known is not None else back.step.after.proposed
    files.changes = files.changes.with_proposal(back.proposal)
    files.seen.retell(Path(back.proposal.target), before)
