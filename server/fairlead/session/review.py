"""Accepting and rejecting proposals: what the person decided, carried out and reported exactly."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fairlead.agent.errors import ToolError
from fairlead.edits import changeset as cs
from fairlead.edits.changeset import Proposal
from fairlead.session.host import Stale
from fairlead.session.session import Session
from fairlead.workspace.editor import FileEdit

APPLY_ATTEMPTS = 3

CHANGED = (
    "The file changed since the edit was proposed. Reject the edit, or let the agent make it again on the new text."
)


@dataclass(frozen=True, slots=True)
class Target:
    """What a decision is about: everything (all None), a file, a hunk of it, or a plan item."""

    path: Path | None = None
    hunk_id: str | None = None
    item_id: str | None = None


@dataclass(frozen=True, slots=True)
class Decided:
    """What came of one hunk, or of a file as a whole (`hunk_id` None)."""

    path: Path
    hunk_id: str | None
    outcome: Literal["applied", "rejected", "conflict", "failed"]
    message: str = ""


@dataclass(frozen=True, slots=True)
class _Choice:
    """A file's chosen hunks; None is the whole file."""

    proposal: Proposal
    hunk_ids: frozenset[str] | None

    @property
    def path(self) -> Path:
        return Path(self.proposal.path)

    @property
    def result(self) -> str:
        return cs.accepted_text(self.proposal, self.hunk_ids)

    def decided(
        self, outcome: Literal["applied", "rejected", "conflict", "failed"], message: str = ""
    ) -> list[Decided]:
        ids = self.hunk_ids if self.hunk_ids is not None else [hunk.id for hunk in self.proposal.hunks]
        if self.proposal.kind == "create":
            return [Decided(self.path, None, outcome, message)]
        ordered = [hunk.id for hunk in self.proposal.hunks if hunk.id in ids]
        return [Decided(self.path, hunk_id, outcome, message) for hunk_id in ordered]


async def accept(session: Session, target: Target, seen: int | None) -> list[Decided]:
    """Lets the editor make the chosen changes; only what it says it applied counts.

    Raises:
        Stale: the target changed since version `seen`; nothing was done.
    """
    async with session.reviewing:
        session.files.observe_all()
        session.publish()
        _check_seen(session, target, seen)
        choices, decided = _choose(session, target)
        ready: list[_Choice] = []
        for choice in choices:
            if not session.files.still_there(choice.path):
                decided += choice.decided("failed", "The path leads elsewhere now, through a symbolic link.")
            elif choice.proposal.in_conflict:
                decided += choice.decided("conflict", CHANGED)
            else:
                ready.append(choice)
        decided += await _apply(session, ready)
        session.files.observe_all()
    session.publish()
    return decided


async def reject(session: Session, target: Target, seen: int | None) -> list[Decided]:
    """Takes the chosen changes out of the proposals; the person's files are not touched.

    Raises:
        Stale: as `accept`.
    """
    async with session.reviewing:
        _check_seen(session, target, seen)
        choices, decided = _choose(session, target)
        for choice in choices:
            decided += choice.decided("rejected")
            session.files.changes = cs.reject(session.files.changes, choice.proposal.path, choice.hunk_ids)
        session.publish()
        return decided


async def _apply(session: Session, choices: list[_Choice]) -> list[Decided]:
    """One edit for all; refused three times, one for each file, so that one bad file does not hold up the others."""
    decided: list[Decided] = []
    reason = ""
    for _ in range(APPLY_ATTEMPTS):
        if not choices:
            return decided
        reason = await _apply_together(session, choices, decided)
    if len(choices) == 1:
        return decided + choices[0].decided("failed", reason)
    for choice in choices:
        alone = [choice]
        reason = await _apply_together(session, alone, decided)
        for failed in alone:
            decided += failed.decided("failed", reason)
    return decided


async def _apply_together(session: Session, choices: list[_Choice], decided: list[Decided]) -> str:
    """Asks the editor once; what it applied, or what conflicts meanwhile, moves from `choices` to `decided`.

    Returns the editor's reason where it refused.
    """
    applied = await session.editor.apply(_label(choices), [_file_edit(session, choice) for choice in choices])
    for choice in list(choices):
        # an editor may fail half-way without undoing what it did, so each file is looked at
        if applied.ok or _says(session, choice.path) == choice.result:
            session.files.changes = cs.accept(
                session.files.changes, choice.proposal.path, choice.result, choice.hunk_ids or ()
            )
            session.files.hold(choice.path, choice.proposal.base, choice.result)
            decided += choice.decided("applied")
        else:
            session.files.observe(choice.path)
            now = session.files.proposal(choice.path)
            if now is None or not now.in_conflict:
                continue
            decided += choice.decided("conflict", CHANGED)
        choices.remove(choice)
    return applied.reason or "The editor did not apply the edit."


def _says(session: Session, path: Path) -> str | None:
    try:
        return session.files.current(path)
    except ToolError:
        return None


def _file_edit(session: Session, choice: _Choice) -> FileEdit:
    proposal = choice.proposal
    ids = choice.hunk_ids
    hunks = [hunk for hunk in proposal.hunks if ids is None or hunk.id in ids]
    version = session.files.buffer_version(choice.path)
    return FileEdit(choice.path, proposal.base, choice.result, hunks, version)


def _label(choices: Sequence[_Choice]) -> str:
    names = [choice.path.name for choice in choices]
    return f"Accept {names[0]}" if len(names) == 1 else f"Accept {len(names)} files"


def _choose(session: Session, target: Target) -> tuple[list[_Choice], list[Decided]]:
    """The files and hunks that a target means, and what of it is not there."""
    if target.item_id is not None:
        found = []
        for proposal in session.files.changes:
            ids = frozenset(cs.hunks_of_item(proposal, target.item_id))
            if ids or target.item_id in cs.item_ids(proposal):
                found.append(_Choice(proposal, ids))
        return found, []
    if target.path is None:
        return [_Choice(proposal, None) for proposal in session.files.changes], []
    proposal = session.files.proposal(target.path)
    if proposal is None:
        return [], [Decided(target.path, target.hunk_id, "failed", "Nothing is proposed for this file (any more).")]
    if target.hunk_id is None or proposal.kind == "create":
        return [_Choice(proposal, None)], []
    if target.hunk_id not in {hunk.id for hunk in proposal.hunks}:
        return [], [Decided(target.path, target.hunk_id, "failed", "There is no such change (any more).")]
    return [_Choice(proposal, frozenset([target.hunk_id]))], []


def _check_seen(session: Session, target: Target, seen: int | None) -> None:
    if seen is None:
        return
    paths = [target.path] if target.path is not None else None
    if target.item_id is not None:
        paths = [Path(proposal.path) for proposal in session.files.changes if target.item_id in cs.item_ids(proposal)]
    if session.files.changed_since(seen, paths):
        raise Stale("The proposed changes are not those that were shown. Look at them again; nothing was done.")
