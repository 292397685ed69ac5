"""The evidence for a session's steps, and which evidence is still valid for the current files."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairlead.edits.undo import DecisionLog
from fairlead.plan import PlanItem, TodoManager
from fairlead.plan.evidence import CommandRun, Record
from fairlead.plan.inputs import Inputs
from fairlead.plan.verification import Support, find_outdated, is_flaky, runs_of, still_passes, support_by_item, unread
from fairlead.session.evidence.change_log import Cause, ChangeLog, Content, Maker, ViewChange, can_show
from fairlead.session.evidence.found_set import FoundSet
from fairlead.session.evidence.known_files import KnownFiles
from fairlead.session.evidence.last_checks import LastChecks
from fairlead.session.evidence.needed_changes import FoundNeededChanges
from fairlead.session.evidence.proposed_problems import ProposedProblems
from fairlead.session.evidence.read_inputs import find_inputs
from fairlead.session.evidence.recorder import Recorder
from fairlead.session.settings import Settings
from fairlead.session.state import SessionState
from fairlead.shell.layer import View, Where
from fairlead.shell.reads import Reads
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Broken:
    """What may have broken a command."""

    state: int
    """The file state on which it failed."""
    changed: tuple[str, ...]
    """The files that it depends on and that differ from when it last passed."""
    changes: Sequence[ViewChange]
    """The changes of these files since then; empty if not all are known."""


class SessionEvidence:
    """What supports the plan's steps, and what is known about the proposals.

    That is the record of the work, the known files, the new errors, the results of checks, and the smallest set of
    changes that a search found.
    """

    def __init__(
        self,
        files: Files,
        plan: TodoManager,
        problems: ProposedProblems,
        settings: Callable[[], Settings],
        clock: Callable[[], float],
        now: Callable[[], float],
        on_compared: Callable[[], None],
        decisions: Callable[[], DecisionLog] = DecisionLog,
    ) -> None:
        """
        Args:
            clock: returns seconds since an arbitrary start.
            now: returns seconds since the epoch.
            on_compared: called after files were compared in the background.
            decisions: returns the user's decisions.
        """
        self._files, self._plan, self._settings = files, plan, settings
        self.known_files = KnownFiles(files, on_change=self._note_change)
        self._change_log = ChangeLog()
        self._decisions, self._known_decisions = decisions, decisions()
        self.causes: Mapping[str, tuple[int, Cause]] = {}
        """What broke commands, each with the file state on which it failed."""
        self.recorder = Recorder(plan.snapshot, clock, self._path_of, self._file_state_count, now)
        self.found_set = FoundSet(files, self.known_files)
        self.needed_changes = FoundNeededChanges(files, self.known_files)
        self.last_checks = LastChecks(lambda: self.versions)
        self.problems = problems
        self._unread: tuple[Record, int, frozenset[str]] = Record(), -1, frozenset()
        self._on_compared = on_compared
        self._comparing = asyncio.Lock()
        self._next_comparison: asyncio.Task[None] | None = None
        self._lapsed: frozenset[str] = frozenset()
        self._background: set[asyncio.Task[None]] = set()

    def restore(self, state: SessionState) -> None:
        """Replaces the record and the file states with saved ones. Files may have changed since."""
        self.recorder.record, self.recorder.inferred = state.record.interrupted(), state.inferred
        self.recorder.models, self.recorder.spent = state.models, state.spent
        self.known_files.restore(state.file_states, state.workspace_files, state.unseen_files)
        self._change_log = ChangeLog(len(state.file_states.changes))

    async def aclose(self) -> None:
        """Stops comparing files."""
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)

    def record_state(self, where: Where) -> int:
        """Records the state that a command is about to run on; returns its number. See `KnownFiles.record_state`.

        Compares all files of the workspace in the background, while the command runs.
        """
        state = self.known_files.record_state(where)
        self.compare_in_background()
        return state

    async def find_inputs(self, reads: Reads, view: View, roots: Roots) -> Inputs | None:
        """What a command depends on that has read this. See `find_inputs`."""
        if not self.known_files.workspace.has_compared:
            await self.compare()
        known = self.known_files
        return await asyncio.to_thread(find_inputs, reads, roots, view, known.is_followed, known.others)

    def compare_in_background(self) -> None:
        """Compares all files, and then calls `on_compared`."""
        task = asyncio.ensure_future(self._compare_and_report())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _compare_and_report(self) -> None:
        await self.compare()
        self._on_compared()

    async def compare(self) -> None:
        """Finds out which files of the workspace have changed since the verifications (docs/plan.md P16).

        Call it before something relies on a verification. The comparison begins after the call; several callers that
        wait for one to begin share it.
        """
        if self._next_comparison is None:
            self._next_comparison = asyncio.ensure_future(self._compare_next())
            self._background.add(self._next_comparison)
            self._next_comparison.add_done_callback(self._background.discard)
        await asyncio.shield(self._next_comparison)

    async def _compare_next(self) -> None:
        async with self._comparing:
            self._next_comparison = None
            try:
                inputs = [run.inputs for run in self.recorder.record.runs() if run.inputs is not None]
                await self.known_files.compare(inputs)
            except WorkspaceError as error:
                log.warning("the files of the workspace cannot be compared: %s", error)

    def update(self) -> None:
        """Reads the files that may have changed."""
        self.known_files.update(self._files.take_touched())
        self._known_decisions = self._decisions()

    @property
    def versions(self) -> tuple[int, int]:
        """A value that differs when a known file or a proposal has changed."""
        return self.known_files.version, self._files.version

    def support_by_item(self, items: Iterable[PlanItem] | None = None) -> Mapping[str, Support]:
        """What supports plan items (None: those of the current plan), by id."""
        items = self._plan.snapshot().items if items is None else items
        return support_by_item(items, self.recorder.record, self.known_files.changed_since, self.problems.count)

    @property
    def unread_first(self) -> bool:
        """The setting `check.unreadFirst`."""
        return self._settings().check.unread_first

    def unread_proposals(self) -> frozenset[str]:
        """The current paths of the proposals that no verifying command has read, if all that is known.

        Returns the same object as long as it has the same content.
        """
        record, version = self.recorder.record, self._files.version
        known, known_version, found = self._unread
        if known is not record or known_version != version:
            now = frozenset(unread(self._files.changes.files, record))
            self._unread = record, version, found if now == found else now
        return self._unread[2]

    async def still_passes(self, command: str) -> bool:
        """Whether the last run of a verifying command passed, on the files as they are now.

        Args:
            command: the command line without surrounding whitespace.
        """
        self.update()
        if not self._still_passes(command):
            return False
        await self.compare()
        return self._still_passes(command)

    def _still_passes(self, command: str) -> bool:
        return still_passes(command, self.recorder.record, self.known_files.changed_since)

    def is_flaky(self, command: str) -> bool:
        """Whether a verifying command passed on the files as of the last `update`, and failed on them afterwards."""
        return is_flaky(command, self.recorder.record, self.known_files.changed_since)

    def _note_change(self, path: str, before: Content, after: Content, is_of_user: bool) -> None:
        by_decision = self._decisions() is not self._known_decisions
        maker: Maker = "user" if is_of_user else "decision" if by_decision else "agent"
        step = self.recorder.step if maker == "agent" else ""
        self._change_log.add(ViewChange(path, before, after, maker, step, len(self.known_files.states.changes)))

    def find_broken(self) -> tuple[str, Broken] | None:
        """A command that passed and now fails, and whose cause nobody has looked for, with what may be the cause.

        As of the last `compare`.
        """
        for support in self.support_by_item().values():
            if support.status == "failed":
                runs = runs_of(support.command, self.recorder.record)
                passed = next((run for run in runs if not run.failed and not run.leftovers), None)
                is_explained = self.causes.get(support.command, (None,))[0] == runs[0].state
                if passed is not None and not is_explained and not self._has_changed(runs[0]):
                    return support.command, self._broken(passed, runs[0])
        return None

    def _has_changed(self, run: CommandRun) -> bool:
        return bool(self.known_files.changed_since(run.state or 0, run.inputs))

    def _broken(self, passed: CommandRun, failed: CommandRun) -> Broken:
        first, last = passed.state or 0, failed.state or 0
        inputs = [run.inputs for run in (passed, failed)]
        all_count = None in inputs

        def counts(path: str) -> bool:
            return all_count or any(each is not None and each.reads(path) for each in inputs)

        changed = tuple(filter(counts, self.known_files.states.changed_between(first, last)))
        is_complete = first >= self._change_log.complete_from
        changes = self._change_log.between(first, last, counts) if is_complete else []
        return Broken(last, changed, changes if can_show(changes) else [])

    def set_cause(self, command: str, state: int, cause: Cause) -> None:
        """Notes what broke a command that failed on this file state."""
        self.causes = {**self.causes, command: (state, cause)}

    def cause_of(self, support: Support) -> Cause | None:
        """What broke the verification of an item, if that is known."""
        state, cause = self.causes.get(support.command, (None, None))
        is_valid = support.status == "failed" and state is not None and not self.known_files.changed_since(state)
        return cause if is_valid else None

    def note_lapsed(self) -> None:
        """Notes which verifications do not hold now. Call it when the session was restored in a new process."""
        supports = self.support_by_item()
        self._lapsed = frozenset(item_id for item_id, support in supports.items() if support.status == "stale")

    def lapsed(self, supports: Mapping[str, Support]) -> tuple[str, ...]:
        """The ids of the items that `note_lapsed` noted and that are not verified again, in the order of the plan.

        Args:
            supports: what supports the items now.
        """
        still = (each for each, support in supports.items() if support.status in ("stale", "failed"))
        return tuple(each for each in still if each in self._lapsed)

    def outdated_runs(self) -> list[tuple[str, CommandRun]]:
        """The last run of each command that decides a completed item, if what it depends on has changed since.

        Each comes with the step that it belongs to, in the order of the items, as of the last `compare`.
        """
        self.update()
        record, changed_since = self.recorder.record, self.known_files.changed_since
        found = (find_outdated(each, record, changed_since) for each in self.support_by_item().values())
        return list({run.command: (step, run) for step, run in filter(None, found)}.values())

    def check_commands(self) -> set[str]:
        """All checks, of the items and of the settings. Contains "" if an item has no check."""
        return {item.check for item in self._plan.snapshot().items} | set(self._settings().checks)

    def general_checks(self, item: PlanItem, more: Sequence[str] = ()) -> Sequence[str]:
        """The checks of the settings, and more, if the item changed files (docs/plan.md P17), else none."""
        checks = tuple(dict.fromkeys((*self._settings().checks, *more)))
        return checks if self.recorder.record.of(item.id).files else ()

    def _path_of(self, given: str) -> str:
        """The absolute path of a call's location, so that each file has only one path on record.

        If a path cannot be resolved, it is returned as given if paths begin with folder names (`Roots.has_names`).
        Otherwise it counts as relative to the only folder.
        """
        roots = self._files.roots
        try:
            return str(roots.resolve(given))
        except WorkspaceError:  # its folder was removed from the workspace, for example
            return given if roots.has_names else str(roots.first.path / given)

    def _file_state_count(self) -> int:
        return len(self.known_files.states.changes)
