"""The proposed changes that weaken tests, which an accept of several changes leaves (docs/plan.md P22)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from types import MappingProxyType

from fairlead.edits.changeset import Changeset
from fairlead.edits.diff import Hunk
from fairlead.edits.proposal import Proposal
from fairlead.edits.selection import Change
from fairlead.edits.undo import DecisionLog
from fairlead.sentences import Sentence, Text
from fairlead.session.review.target import HunkOutcome, Selection, Target
from fairlead.weakened_tests.find import ChangedFile, Outlines, find_weakenings, outlines_of
from fairlead.weakened_tests.weakening import Place, Weakening
from fairlead.workspace.paths import Roots

Weakened = Mapping[str, Mapping[str | None, tuple[Sentence, ...]]]
"""Why changes weaken tests: by the current path of the file, then by the id of the hunk (None: the file as a whole)."""

NOTHING_WEAKENED: Weakened = MappingProxyType({})
NOTE = (
    "Changes of #{item} weaken tests. The user reads this, and accepts them only after a look. Repair the tests, or "
    "say why they must change:"
)
MAX_NOTED = 10
LEFT = Sentence("It weakens a test, so look at it and accept it alone.")


class WeakenedTests:
    """Finds the changes that weaken tests, when the proposals have changed since the last time."""

    def __init__(self) -> None:
        self._changes = Changeset()
        self._decisions: DecisionLog = DecisionLog()
        self._roots: Roots | None = None
        self._found: Weakened = NOTHING_WEAKENED

    def of(self, roots: Roots, changes: Changeset, decisions: DecisionLog) -> Weakened:
        """Those that the user has not edited. A change that they have edited is one that they have looked at."""
        if changes is not self._changes or decisions is not self._decisions or roots is not self._roots:
            self._changes, self._decisions, self._roots = changes, decisions, roots
            found = weakened_changes(roots, changes)
            self._found = _without_edited(found, decisions) if found else NOTHING_WEAKENED
        return self._found


def weakened_changes(roots: Roots, changes: Changeset) -> Weakened:
    """The changes that weaken tests, whatever the user has done with them."""
    files = {proposal.path: proposal.derive(_changed_file, roots) for proposal in changes}

    def outlines(file: ChangedFile) -> Outlines:
        return by_file[file].derive(_outlines, file)

    if not any(file.old is not None and file.may_concern_tests for file in files.values()):
        return NOTHING_WEAKENED
    by_file = {files[proposal.path]: proposal for proposal in changes}
    found = find_weakenings(list(files.values()), outlines)
    return {path: _by_hunk(changes.files[path], found[file.path]) for path, file in files.items() if file.path in found}


def _changed_file(proposal: Proposal, roots: Roots) -> ChangedFile:
    path, target = (PurePath(roots.relative(Path(each))).as_posix() for each in (proposal.path, proposal.target))
    return ChangedFile(path, target, proposal.base, proposal.proposed)


def _outlines(_: Proposal, file: ChangedFile) -> Outlines:
    return outlines_of(file)


def _by_hunk(proposal: Proposal, weakenings: Iterable[Weakening]) -> dict[str | None, tuple[Sentence, ...]]:
    found: dict[str | None, dict[Sentence, None]] = {}
    for weakening in weakenings:
        hunk = _hunk_at(proposal.hunks, weakening.places)
        key = None if proposal.decided_as_whole or hunk is None else hunk.id
        found.setdefault(key, {})[weakening.reason] = None
    return {key: tuple(reasons) for key, reasons in found.items()}


def _hunk_at(hunks: Sequence[Hunk], places: Iterable[Place]) -> Hunk | None:
    """The hunk that changes the first of these places in which something changes, else the first one."""
    for place in places:
        for hunk in hunks:
            start, lines = (hunk.old_start, hunk.old) if place.side == "old" else (hunk.new_start, hunk.new)
            if start < place.end and place.start < start + len(lines):
                return hunk
    return hunks[0] if hunks else None


def _without_edited(found: Weakened, decisions: DecisionLog) -> Weakened:
    edited = {
        (file.after.path, hunk.id)
        for decision in decisions.done
        if decision.kind == "amend"
        for file in decision.files
        for hunk in file.after.hunks
        if hunk.id not in {before.id for before in file.before.hunks}
    }
    if not edited:
        return found
    left = {
        path: {key: why for key, why in by_hunk.items() if (path, key) not in edited} for path, by_hunk in found.items()
    }
    return {path: by_hunk for path, by_hunk in left.items() if by_hunk}


def weakened_note(roots: Roots, changes: Changeset, item_id: str) -> str:
    """What the model reads about the tests that a plan item weakens; empty if it weakens none."""
    lines: list[str] = []
    for path, by_hunk in weakened_changes(roots, changes).items():
        proposal = changes.files[path]
        own = proposal.hunks_of(item_id)
        is_own = item_id in proposal.item_ids
        reasons = (why for key, each in by_hunk.items() if key in own or (key is None and is_own) for why in each)
        lines += [f"- {roots.relative(Path(proposal.target))}: {reason}" for reason in reasons]
    more = [f"- and {len(lines) - MAX_NOTED} more"] if len(lines) > MAX_NOTED else []
    return "\n".join([NOTE.format(item=item_id), *lines[:MAX_NOTED], *more]) if lines else ""


def is_look(target: Target) -> bool:
    """Whether the user has looked at what a target names: it is one change, one file, or what weakens tests."""
    return target.weakened_tests or (target.changes is not None and not target.is_selection)


def named(target: Target, weakened: Weakened) -> Target:
    """The target with the changes that it means, if it is what weakens tests."""
    if not target.weakened_tests:
        return target
    changes = (Change(path, hunk_id) for path, by_hunk in weakened.items() for hunk_id in by_hunk)
    return replace(target, changes=tuple(changes))


def reasons_for(weakened: Weakened, proposal: Proposal, hunk_id: str | None = None) -> list[Sentence]:
    """Why a change weakens tests, or, without the id of a hunk, why any change of the file does."""
    by_hunk = weakened.get(proposal.path, {})
    found = by_hunk.values() if hunk_id is None else [by_hunk.get(hunk_id, ())]
    return list(dict.fromkeys(why for each in found for why in each))


def leave_weakened(selections: Sequence[Selection], weakened: Weakened) -> tuple[list[Selection], list[HunkOutcome]]:
    """The selections without the changes that weaken tests, and a failed outcome with the reasons for each of these."""
    kept: list[Selection] = []
    outcomes: list[HunkOutcome] = []
    for selection in selections:
        by_hunk = weakened.get(selection.seen.path, {})
        if not by_hunk:
            kept.append(selection)
        elif selection.hunk_ids is None or None in by_hunk:
            outcomes += selection.outcomes("failed", _message(why for each in by_hunk.values() for why in each))
        else:
            for hunk_id in sorted(selection.hunk_ids & by_hunk.keys()):
                outcomes += selection.outcomes("failed", _message(by_hunk[hunk_id]), [hunk_id])
            rest = selection.hunk_ids - by_hunk.keys()
            kept += [replace(selection, hunk_ids=rest)] if rest else []
    return kept, outcomes


def _message(reasons: Iterable[Sentence]) -> Text:
    parts: list[str] = [LEFT]
    for reason in reasons:
        parts += [" ", reason]
    return Text(*parts)
