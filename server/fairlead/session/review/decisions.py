"""The user's decisions on proposals: accept, reject and amend."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairlead.display import escape_to_one_line
from fairlead.edits import changeset as cs
from fairlead.edits.bad_bytes import UnclearBytes, with_bad_bytes
from fairlead.edits.line_endings import match_line_endings
from fairlead.edits.proposal import Proposal, Raw
from fairlead.edits.selection import Change
from fairlead.edits.undo import Decision, FileDecision
from fairlead.sentences import Sentence, Text
from fairlead.session.errors import RequestRefused, WrongRequest
from fairlead.session.review.apply import EditResult, apply_edits, raw_on_disk
from fairlead.session.review.confirm import confirm_protected
from fairlead.session.review.review import Review
from fairlead.session.review.target import (
    NO_HUNK,
    NO_PROPOSAL,
    HunkOutcome,
    Selection,
    Target,
    resolve_target,
    target_paths,
)
from fairlead.session.review.weakened import is_look, leave_weakened, named
from fairlead.workspace.editor import FileEdit
from fairlead.workspace.emptied_folders import remove_emptied_folders
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.files import Files
from fairlead.workspace.git_programs import ask_git_in
from fairlead.workspace.long_work import Yielder
from fairlead.workspace.user_files import UserFiles
from fairlead.workspace.write import missing_folders

APPLY_ATTEMPTS = 3
"""How many times the remaining edits are applied together. Then one more attempt applies each of them on its own."""

CONFLICT = Sentence(
    "You changed these lines after the edit was proposed. Keep yours, or replace them with the proposal."
)
DELETED = Sentence("You deleted this file after the edit was proposed. Keep it deleted, or accept the proposal anyway.")
NOT_OPEN = "Its folder is not part of the workspace anymore. Add the folder again to accept this, or reject it."
MOVED_AWAY = "The path now leads elsewhere, through a symbolic link. Restore it, then try again."
FOLDER_REMOVED = "The folder {name}/ was removed too, because nothing is left in it."
NEWER = "The agent changed its proposal at the same time. Review it again."


@dataclass(frozen=True)
class _PreparedEdit:
    """How a selection is accepted: the proposal before and after, and the edit of the user's file."""

    selection: Selection
    before: Proposal
    after: Proposal
    edit: FileEdit


async def accept(
    review: Review, target: Target, seen_version: int | None, overwrite_user_lines: bool = False
) -> list[HunkOutcome]:
    """Applies the selected changes to the user's files. A change is accepted only if the file contains it afterwards.

    Changes that weaken tests are left, unless the user names one change, one file or these changes (P22).

    Protected files come last: after the other files are done, the user is asked about each protected file, and then
    the confirmed ones are accepted.

    Args:
        seen_version: the version of the edits that the user saw. None: nothing is compared, apart from what hooks saw.
        overwrite_user_lines: whether proposed lines replace lines that the user also changed (a conflict).

    Raises:
        Stale: the target changed after `seen_version`; nothing was done.
        RequestRefused: a hook of the user refused it, or changed what is proposed; nothing was accepted.
    """
    seen_by_hooks = await review.before_accept(target_paths(review.files, target))
    async with review.turn():
        await review.files.observe_closely(target_paths(review.files, target))
        await asyncio.to_thread(ask_git_in, review.files.roots.paths)  # decides what is protected
        review.publish()
        seen = seen_by_hooks if seen_version is None else seen_version
        selections, outcomes = resolve_target(review.files, named(target, review.weakened()), seen)
        if not is_look(target):
            selections, left = leave_weakened(selections, review.weakened())
            outcomes += left
        why = review.protected()
        protected = [selection for selection in selections if selection.seen.path in why]
        others = [selection for selection in selections if selection.seen.path not in why]
        await _accept(review, others, overwrite_user_lines, outcomes)
    confirmed, refused = await confirm_protected(review, protected, why)
    outcomes += refused
    if confirmed:
        async with review.turn():
            await review.files.observe_closely([selection.path for selection in confirmed])
            await _accept(review, confirmed, overwrite_user_lines, outcomes)
    await review.after_accept({str(outcome.path) for outcome in outcomes if outcome.outcome == "applied"})
    return outcomes


async def _accept(
    review: Review, selections: Sequence[Selection], overwrite_user_lines: bool, outcomes: list[HunkOutcome]
) -> None:
    accepted: list[FileDecision] = []
    paths = {path for each in selections for path in _paths(each.seen, each.path)}
    try:
        for attempt in range(APPLY_ATTEMPTS + 1):
            prepared = await _prepare_all(review.files, selections, overwrite_user_lines, outcomes)
            # the last attempt applies each file on its own, so that one failing file does not block the others
            groups = [prepared] if attempt < APPLY_ATTEMPTS or len(prepared) == 1 else [[each] for each in prepared]
            # a single edit needs no further attempt on its own
            is_last = attempt == APPLY_ATTEMPTS or (attempt == APPLY_ATTEMPTS - 1 and len(prepared) == 1)
            selections = []
            for group in groups:
                selections += await _apply(review, group, outcomes, accepted, is_last)
            if not selections:
                break
            await review.files.observe_closely([selection.path for selection in selections])
    finally:  # an attempt may be cancelled after an earlier one has changed files
        _record(review, Decision("accept", _label("Accept", accepted), tuple(accepted)))
    await review.files.observe_closely(paths)


async def _prepare_all(
    files: Files, selections: Sequence[Selection], overwrite_user_lines: bool, outcomes: list[HunkOutcome]
) -> list[_PreparedEdit]:
    """Prepares the edits of the changes that can be accepted. Adds an outcome for each change that cannot."""
    prepared: list[_PreparedEdit] = []
    yielder = Yielder()
    for selection in selections:
        await yielder.yield_if_due()
        proposal = files.proposal(selection.path)
        if proposal is None:
            outcomes += selection.outcomes("failed", NO_PROPOSAL)
        elif not all(map(files.roots.contains, (paths := _paths(proposal, selection.path)))):
            outcomes += selection.outcomes("failed", NOT_OPEN)
        elif not all(map(files.roots.leads_to_itself, paths)):
            outcomes += selection.outcomes("failed", MOVED_AWAY)
        elif proposal.decided_as_whole != (selection.hunk_ids is None) or (
            proposal.decided_as_whole and _is_newer(proposal, selection.seen)
        ):
            outcomes += selection.outcomes("failed", NEWER)
        else:
            prepared += _prepare(files.user_files, selection, proposal, overwrite_user_lines, outcomes)
    return prepared


def _paths(proposal: Proposal, path: Path) -> list[Path]:
    """The path of a proposal and, if it moves the file, the new path."""
    return [path] if proposal.new_path is None else [path, Path(proposal.new_path)]


def _is_newer(proposal: Proposal, seen: Proposal) -> bool:
    """Whether a proposal differs from the one that the user saw, other than by being rebased on the user's file."""
    rebased = seen.rebased(proposal.current)
    return (proposal.proposed, proposal.target, proposal.raw) != (rebased.proposed, rebased.target, rebased.raw)


def _prepare(
    user_files: UserFiles,
    selection: Selection,
    proposal: Proposal,
    overwrite_user_lines: bool,
    outcomes: list[HunkOutcome],
) -> list[_PreparedEdit]:
    """The edit of a selection, if any part of it can be accepted. Adds an outcome for each part that cannot."""
    conflict = DELETED if proposal.current is None else CONFLICT
    regions = cs.regions_to_accept(proposal, selection.hunk_ids, overwrite_user_lines)
    if selection.hunk_ids is None:
        if proposal.in_conflict and not overwrite_user_lines:
            outcomes += selection.outcomes("conflict", conflict)
            return []
    else:
        accepted = proposal.hunk_ids_in(regions) & selection.hunk_ids
        conflicts = selection.hunk_ids & proposal.conflicts.keys() - accepted
        missing = selection.hunk_ids - accepted - conflicts
        outcomes += selection.outcomes("conflict", conflict, conflicts)
        outcomes += selection.outcomes("failed", NO_HUNK, missing)
        if not accepted:
            return []
        selection = replace(selection, hunk_ids=accepted)
    after = cs.accepted(proposal, regions)
    buffer = user_files.buffer(selection.path)
    is_moved = proposal.new_path is not None and not proposal.deleted_by_user
    edit = FileEdit(
        selection.path if is_moved else Path(proposal.target),
        old=proposal.current,
        new=after.current,
        version=buffer.version if buffer is not None else None,
        new_path=Path(proposal.target) if is_moved else None,
        data=proposal.raw.data,
        mode=proposal.raw.mode,
        bom=proposal.raw.bom,
    )
    return [_PreparedEdit(selection, proposal, after, edit)]


async def _apply(
    review: Review,
    prepared: Sequence[_PreparedEdit],
    outcomes: list[HunkOutcome],
    accepted: list[FileDecision],
    is_last: bool,
) -> list[Selection]:
    """Applies the edits once. Returns the selections to try again, none if this is the last attempt.

    Adds an outcome for each other selection, and a decision to `accepted` for each success.
    """
    if not prepared:
        return []
    yielder = Yielder()
    overwritten: list[tuple[Raw, tuple[str, ...]]] = []
    for each in prepared:
        await yielder.yield_if_due()
        overwritten.append((raw_on_disk(review.files.user_files, each.edit), _missing_folders(each.edit)))
    label = _label("Accept", [FileDecision(each.before, each.after, True) for each in prepared])
    results = await _apply_checked(review, label, prepared)
    done = (each.edit for each, result in zip(prepared, results, strict=True) if result.done)
    vacated = [edit.path for edit in done if edit.vacates_path]
    removed = remove_emptied_folders(review.files.roots, vacated, review.files.changes.empty_folders)
    retry: list[Selection] = []
    untold = {folder.path for folder in removed}
    yielder = Yielder(ignores_cancellation=True)
    for each, (raw_before, folders), result in zip(prepared, overwritten, results, strict=True):
        await yielder.yield_if_due()
        if result.done:
            review.files.changes = cs.accept(review.files.changes, each.before, each.after)
            after = each.after if result.actual_text is None else each.after.rebased(result.actual_text)
            its_removed = tuple(folder for folder in removed if each.edit.path.is_relative_to(folder.path))
            accepted.append(FileDecision(each.before, after, True, raw_before, each.before.raw, folders, its_removed))
            message = result.message
            if its_removed and (outermost := its_removed[-1].path) in untold:
                untold.remove(outermost)
                name = escape_to_one_line(review.files.roots.relative(Path(outermost)))
                message = Text(message, " " if message else "", FOLDER_REMOVED.format(name=name))
            outcomes += each.selection.outcomes("applied", message)
        elif is_last or not result.retryable:
            outcomes += each.selection.outcomes("failed", result.message)
        else:
            retry.append(each.selection)
    return retry


async def _apply_checked(review: Review, label: str, prepared: Sequence[_PreparedEdit]) -> list[EditResult]:
    """Applies the edits, except those whose text the open document or the file's encoding would not preserve."""
    refused: dict[int, EditResult] = {}
    for index, each in enumerate(prepared):
        try:
            edit = each.edit
            changes_text = each.before.base is not None and edit.old != edit.new and edit.data is None
            if edit.new is not None and changes_text:
                review.files.user_files.check_can_write(edit.path, edit.new)
        except WorkspaceError as error:
            refused[index] = EditResult(False, str(error))
    edits = [each.edit for index, each in enumerate(prepared) if index not in refused]
    results = iter(await apply_edits(review.files.user_files, review.editor, label, edits))
    return [refused[index] if index in refused else next(results) for index in range(len(prepared))]


def _missing_folders(edit: FileEdit) -> tuple[str, ...]:
    return tuple(map(str, missing_folders(edit.target.parent))) if edit.adds_path else ()


async def reject(review: Review, target: Target, seen_version: int | None, reason: str = "") -> list[HunkOutcome]:
    """Removes the selected changes from the proposals; the user's files do not change. The model gets the reason.

    If the agent proposes a rejected change again, the server refuses it once (`Rejections`).

    Raises:
        Stale: as `accept`.
    """
    async with review.turn():
        selections, outcomes = resolve_target(review.files, named(target, review.weakened()), seen_version)
        rejected: list[FileDecision] = []
        for selection in selections:
            before = review.files.proposal(selection.path)
            assert before is not None
            after = cs.rejected(before, selection.hunk_ids)
            review.files.replace_by_decision(before, after)
            decision = FileDecision(before, after, False)
            hunk_ids = decision.hunk_ids
            review.files.rejections.remember(before, hunk_ids, reason)
            is_whole = after.is_settled and hunk_ids is not None and len(hunk_ids) > 1
            name = review.files.roots.relative(selection.path)
            review.feedback.rejected(name, before, None if is_whole else hunk_ids, reason)
            rejected.append(decision)
            outcomes += selection.outcomes("rejected")
        _record(review, Decision("reject", _label("Reject", rejected), tuple(rejected), reason))
        return outcomes


async def amend(review: Review, path: Path, text: str, seen_version: int | None) -> None:
    """Replaces the proposed text with the user's. Line endings stay those of the proposal.

    Raises:
        Stale: as `accept`.
        RequestRefused: nothing is proposed for the file, the proposal is a deletion or bytes, or the file cannot
            contain the text.
        WrongRequest: the text contains a NUL character.
    """
    async with review.turn():
        selections, _ = resolve_target(review.files, Target((Change(str(path)),)), seen_version)
        before = review.files.proposal(selections[0].path) if selections else None
        if before is None:
            raise RequestRefused(f"{NO_PROPOSAL} Your text was not saved; copy it if you need it.")
        if before.proposed is None:
            raise RequestRefused("The agent proposes to delete this file, so it has no text to edit. Reject it first.")
        if before.raw.data is not None:
            raise RequestRefused("The proposal is bytes, so it cannot be edited as text. Accept or reject it.")
        if "\0" in text:
            raise WrongRequest("params.text contains a NUL character; only text files can be written")
        text = match_line_endings(before.proposed, text)
        try:
            text = with_bad_bytes(before.proposed, text)
            review.files.user_files.check_can_hold(selections[0].path, text, before.proposed)
        except (WorkspaceError, UnclearBytes) as error:
            raise RequestRefused(str(error)) from error
        if text == before.proposed:
            return
        after = cs.amended(before, text)
        review.files.replace_by_decision(before, after)
        review.feedback.amended(review.files.roots.relative(Path(before.target)), before.proposed, text)
        amended = (FileDecision(before, after, False),)
        _record(review, Decision("amend", _label("Change", amended), amended))


def _record(review: Review, decision: Decision) -> None:
    if not decision.files:
        return
    review.history.add(decision)
    if decision.kind == "accept":
        for file in decision.files:
            rest = review.files.changes.get(file.before.path)
            note = f" (undecided changes: {len(rest.hunks)})" if rest is not None and rest.hunks else ""
            review.feedback.accepted(review.files.roots.relative(Path(file.before.target)), note)


def _label(verb: str, files: Sequence[FileDecision]) -> str:
    return f"{verb} {Path(files[0].before.path).name}" if len(files) == 1 else f"{verb} {len(files)} files"
