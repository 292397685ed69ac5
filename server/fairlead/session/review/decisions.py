"""Accepting, rejecting and amending proposals: what the person decided, carried out and reported exactly."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairlead.agent.errors import ToolError
from fairlead.edits import changeset as cs
from fairlead.edits.line_endings import match_line_endings
from fairlead.edits.proposal import PLAIN, Proposal, Raw
from fairlead.edits.undo import FileStep, Step
from fairlead.session.host import RequestRefused, WrongRequest
from fairlead.session.review.apply import EditResult, apply_edits
from fairlead.session.review.confirm import confirmed
from fairlead.session.review.target import Choice, Decided, Target, choose
from fairlead.session.session import Session
from fairlead.workspace.disk import read_bytes
from fairlead.workspace.editor import FileEdit
from fairlead.workspace.pieces import Turns
from fairlead.workspace.risk import protections

APPLY_ATTEMPTS = 3

CONFLICT = "You changed these lines after the edit was proposed. Keep yours, or replace them with the proposal."
DELETED = "You deleted this file after the edit was proposed. Keep it deleted, or accept the proposal over that."
MOVED_AWAY = "The path leads elsewhere now, through a symbolic link."
NEWER = "The agent changed its proposal at the same moment. Look at it again."
GONE = "Nothing is proposed for this file (any more)."


@dataclass(frozen=True)
class _Planned:
    """A choice as it stands: the proposal before and behind it, and the edit that leads there."""

    choice: Choice
    before: Proposal
    done: Proposal
    edit: FileEdit


async def accept(session: Session, target: Target, seen: int | None, over_mine: bool = False) -> list[Decided]:
    """Lets the editor make the chosen changes; only what it says it applied counts.

    Protected files come last, each after a yes of its own; the others do not wait for that.

    Args:
        over_mine: where the person changed the same lines, the proposed ones take their place.

    Raises:
        Stale: the target changed since version `seen`; nothing was done.
    """
    async with session.reviewing:
        await session.files.observe_all()
        session.publish()
        choices, decided = choose(session, target, seen)
        why = protections(session.root, session.files.changes)
        guarded = [choice for choice in choices if choice.seen.path in why]
        await _accept(session, [choice for choice in choices if choice not in guarded], over_mine, decided)
    session.publish()
    allowed, refused = await confirmed(session, guarded, why)
    decided += refused
    if allowed:
        async with session.reviewing:
            await session.files.observe_all()
            await _accept(session, allowed, over_mine, decided)
        session.publish()
    return decided


async def _accept(session: Session, choices: Sequence[Choice], over_mine: bool, decided: list[Decided]) -> None:
    steps: list[FileStep] = []
    for attempt in range(APPLY_ATTEMPTS + 1):
        planned = await _plan(session, choices, over_mine, decided)
        # the last time each file by itself, so that one bad file does not hold up the others
        groups = [planned] if attempt < APPLY_ATTEMPTS or len(planned) == 1 else [[one] for one in planned]
        last = attempt == APPLY_ATTEMPTS or (attempt == APPLY_ATTEMPTS - 1 and len(planned) == 1)
        choices = []
        for group in groups:
            choices += await _apply(session, group, decided, steps, last)
        if not choices:
            break
        await session.files.observe_all()
    _remember(session, Step("accept", _label("Accept", steps), tuple(steps)))
    await session.files.observe_all()


async def _plan(session: Session, choices: Sequence[Choice], over_mine: bool, decided: list[Decided]) -> list[_Planned]:
    """What is to be done for each choice; what cannot be is decided."""
    planned: list[_Planned] = []
    turns = Turns()
    for choice in choices:
        await turns.next()
        proposal = session.files.proposal(choice.path)
        if proposal is None:
            decided += choice.decided("failed", GONE)
        elif not session.files.still_there(choice.path) or not session.files.still_there(Path(proposal.target)):
            decided += choice.decided("failed", MOVED_AWAY)
        elif proposal.whole != (choice.hunk_ids is None) or (proposal.whole and _is_newer(proposal, choice.seen)):
            decided += choice.decided("failed", NEWER)
        else:
            planned += _planned(session, choice, proposal, over_mine, decided)
    return planned


def _is_newer(proposal: Proposal, seen: Proposal) -> bool:
    """Whether the agent changed a proposal since it was seen; what the user changed in the file moves both."""
    was = seen.rebased(proposal.current)
    return (proposal.proposed, proposal.target, proposal.raw) != (was.proposed, was.target, was.raw)


def _planned(
    session: Session, choice: Choice, proposal: Proposal, over_mine: bool, decided: list[Decided]
) -> list[_Planned]:
    conflict = DELETED if proposal.current is None else CONFLICT
    regions = cs.acceptable(proposal, choice.hunk_ids, over_mine)
    if choice.hunk_ids is None:
        if proposal.in_conflict and not over_mine:
            decided += choice.decided("conflict", conflict)
            return []
    else:
        taken = proposal.ids_in(regions) & choice.hunk_ids
        conflicts = choice.hunk_ids & proposal.conflicts.keys() - taken
        gone = choice.hunk_ids - taken - conflicts
        decided += choice.decided("conflict", conflict, conflicts)
        decided += choice.decided("failed", "There is no such change (any more).", gone)
        if not taken:
            return []
        choice = replace(choice, hunk_ids=taken)
    done = cs.accepted(proposal, regions)
    buffer = session.files.person.buffer(choice.path)
    new_path = Path(proposal.new_path) if proposal.new_path is not None else None
    version = buffer.version if buffer is not None else None
    raw = proposal.raw
    edit = FileEdit(choice.path, proposal.current, done.current, version, new_path, raw.data, raw.mode)
    return [_Planned(choice, proposal, done, edit)]


async def _apply(
    session: Session, planned: Sequence[_Planned], decided: list[Decided], steps: list[FileStep], last: bool
) -> list[Choice]:
    """Asks the editor once. Returns the choices to try again."""
    if not planned:
        return []
    turns = Turns()
    before: list[tuple[Raw, tuple[str, ...]]] = []
    for one in planned:
        await turns.next()
        before.append((_kept(session, one), _missing_folders(Path(one.before.target))))
    label = _label("Accept", [FileStep(one.before, one.done, True) for one in planned])
    carried = await _carry(session, label, planned)
    again: list[Choice] = []
    for one, (had, made), result in zip(planned, before, carried, strict=True):
        await turns.next()
        if result.done:
            session.files.changes = cs.accept(session.files.changes, one.before, one.done)
            after = _with_last_line_ended(one.done, result.actual_text)
            steps.append(FileStep(one.before, after, True, had, one.before.raw, made))
            decided += one.choice.decided("applied", result.message)
        elif last or not result.retryable:
            decided += one.choice.decided("failed", result.message)
        else:
            again.append(one.choice)
    return again


def _with_last_line_ended(done: Proposal, ended: str | None) -> Proposal:
    if ended is None:
        return done
    everywhere = {"base": ended, "proposed": ended} if done.settled else {}
    return replace(done, current=ended, **everywhere)


async def _carry(session: Session, label: str, planned: Sequence[_Planned]) -> list[EditResult]:
    """What an open document would not keep is refused, the rest is carried out."""
    refused: dict[int, EditResult] = {}
    for index, one in enumerate(planned):
        try:
            edit = one.edit
            changed = one.before.base is not None and edit.old != edit.new and edit.data is None
            if edit.new is not None and changed:
                session.files.person.check_carried(edit.path, edit.new)
        except ToolError as error:
            refused[index] = EditResult(False, str(error))
    rest = [one.edit for index, one in enumerate(planned) if index not in refused]
    results = iter(await apply_edits(session, label, rest))
    return [refused[index] if index in refused else next(results) for index in range(len(planned))]


def _kept(session: Session, planned: _Planned) -> Raw:
    """The bytes and permissions of a file that is to go, or to get others, for an undo."""
    path, raw = planned.choice.path, planned.before.raw
    gone = planned.done.current is None
    try:
        mode = path.stat().st_mode & 0o7777 if gone or raw != PLAIN else None
        return Raw(read_bytes(path, session.root.path) if gone or raw.data is not None else None, mode)
    except (ToolError, OSError):
        return PLAIN


def _missing_folders(path: Path) -> tuple[str, ...]:
    return tuple(str(folder) for folder in path.parents if not folder.exists())


async def reject(session: Session, target: Target, seen: int | None, reason: str = "") -> list[Decided]:
    """Takes the chosen changes out of the proposals; the person's files are not touched. The agent hears the reason.

    Raises:
        Stale: as `accept`.
    """
    async with session.reviewing:
        choices, decided = choose(session, target, seen)
        steps: list[FileStep] = []
        for choice in choices:
            before = session.files.proposal(choice.path)
            assert before is not None
            after = cs.rejected(before, choice.hunk_ids)
            _replace(session, before, after)
            session.files.rejections.remember(before, choice.hunk_ids, reason)
            everything = after.settled and choice.hunk_ids is not None and len(choice.hunk_ids) > 1
            name = session.root.relative(choice.path)
            session.feedback.rejected(name, before, None if everything else choice.hunk_ids, reason)
            steps.append(FileStep(before, after, False))
            decided += choice.decided("rejected")
        _remember(session, Step("reject", _label("Reject", steps), tuple(steps), reason))
        session.publish()
        return decided


async def amend(session: Session, path: Path, text: str, seen: int | None) -> None:
    """The person wrote the proposed text anew. Line ends stay what they are in the proposal.

    Raises:
        Stale: as `accept`.
        RequestRefused: nothing is proposed there, or the text cannot be put into the file.
    """
    async with session.reviewing:
        choices, _ = choose(session, Target(path), seen)
        before = session.files.proposal(choices[0].path) if choices else None
        if before is None:
            raise RequestRefused(f"{GONE} Your text was not taken; keep a copy of it.")
        if before.proposed is None:
            raise RequestRefused("This file is to be deleted, so its text cannot be changed. Reject that first.")
        if before.raw.data is not None:
            raise RequestRefused("What is proposed here is no text, so it cannot be edited; accept or reject it.")
        if "\0" in text:
            raise WrongRequest("params.text holds a NUL character; only text files can be written")
        text = match_line_endings(before.proposed, text)
        try:
            session.files.person.check_carried(choices[0].path, text)
        except ToolError as error:
            raise RequestRefused(str(error)) from error
        if text == before.proposed:
            return
        after = cs.amended(before, text)
        _replace(session, before, after)
        session.feedback.amended(session.root.relative(Path(before.target)), before.proposed, text)
        steps = [FileStep(before, after, False)]
        _remember(session, Step("amend", _label("Change", steps), tuple(steps)))
        session.publish()


def _replace(session: Session, before: Proposal, after: Proposal) -> None:
    """Puts a proposal in the place of another. The agent is told of it by feedback, not as of a changed file."""
    files = session.files
    files.changes = files.changes.with_proposal(after)
    files.seen.retell(Path(before.target), before.proposed)


def _remember(session: Session, step: Step) -> None:
    if not step.files:
        return
    session.steps = session.steps.with_step(step)
    if step.kind == "accept":
        for one in step.files:
            left = session.files.proposal(Path(one.before.path))
            part = f" (of its changes {len(left.hunks)} are left)" if left is not None and left.hunks else ""
            session.feedback.accepted(session.root.relative(Path(one.before.target)), part)


def _label(verb: str, steps: Sequence[FileStep]) -> str:
    names = [Path(step.before.path).name for step in steps]
    return f"{verb} {names[0]}" if len(names) == 1 else f"{verb} {len(names)} files"
