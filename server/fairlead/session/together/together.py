"""Checks the proposals of all sessions together, with the checks of all of them (docs/plan.md P24)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from fairlead.agent.tool import RunningCall
from fairlead.edits.changeset import Changeset
from fairlead.edits.combination import CombinationSearch
from fairlead.edits.combine import CombineConflict as FoundConflict
from fairlead.edits.combine import Combined, combine
from fairlead.edits.selection import Change, only, units
from fairlead.errors import ToolError
from fairlead.session.commands import SessionCommands
from fairlead.session.errors import RequestRefused
from fairlead.session.review.checks import NO_CHECKS, find_checks, lines_of
from fairlead.session.server_context import ServerContext
from fairlead.session.session import Session
from fairlead.session.sessions import Sessions
from fairlead.session.together.states import (
    CheckedSession,
    CheckedTogether,
    CheckOutcome,
    Conflict,
    SessionChange,
    TogetherOutcome,
    TogetherProgress,
    TogetherResult,
    TogetherState,
    check_message,
    summary,
)
from fairlead.tools.check_queue import CheckQueue, Stopped
from fairlead.tools.check_run import WITHOUT_RETAINED, CheckRun, allow_check, run_check
from fairlead.tools.commands import Commands

NOTHING_PROPOSED = "No session has proposed changes, so there is nothing to check together."
ONE_SESSION = "Only one session has proposed changes. Run its own checks instead."
NEEDS_SANDBOX = "Checking the changes of all sessions together needs the sandbox. {reason}"
_HANDLE = "together"

_Unit = tuple[int, tuple[Change, ...]]
"""The number of a session, and changes of it that can only be chosen together."""


class _Changed(Exception):
    """A proposal or a file of one of the sessions changed."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A session with its proposals at the moment when the check began."""

    session: Session
    changes: Changeset
    versions: tuple[int, int]
    """`SessionEvidence.versions`."""

    @property
    def shown(self) -> CheckedSession:
        count = sum(len(unit) for unit in units(self.changes))
        return CheckedSession(self.session.id, self.session.title, count)

    @property
    def is_unchanged(self) -> bool:
        return self.session.evidence.versions == self.versions

    def change(self, change: Change) -> SessionChange:
        """A change with its name."""
        proposal = self.changes.files[change.path]
        name = self.session.roots.relative(Path(proposal.target))
        hunk = next((hunk for hunk in proposal.hunks if hunk.id == change.hunk_id), None)
        named = name if hunk is None else f"{name}, {lines_of(hunk)}"
        line = 1 if hunk is None else hunk.new_start + 1
        return SessionChange(self.session.id, change.path, change.hunk_id, named, line)

    def side(self, found: FoundConflict, number: int) -> SessionChange:
        """The first change of this session in a conflict. `number` is 0 or 1."""
        proposal = self.changes.get(found.path) or self.changes.for_target(found.path)
        if proposal is None:  # a file in a folder of this name
            proposal = next(each for each in self.changes if each.target.startswith(found.path))
        hunk_id = None
        if found.lines is not None and not proposal.decided_as_whole:
            start, end = found.lines[number]
            touching = (h.id for h in proposal.hunks if h.new_start <= end and start <= h.new_start + len(h.new))
            hunk_id = next(touching, None)
        return self.change(Change(proposal.path, hunk_id))


class Together:
    """Runs the checks of all sessions on their combined proposals. Holds the last result as long as it is valid.

    Args:
        publish: called with each new state.
    """

    def __init__(self, context: ServerContext, sessions: Sessions, publish: Callable[[TogetherState], None]) -> None:
        self._context, self._sessions, self._publish = context, sessions, publish
        self._queue = CheckQueue()
        self._parts: Sequence[_Part] = ()
        self.state = TogetherState()

    async def check(self) -> TogetherResult:
        """Runs all checks, and publishes the progress and the result. Waits for earlier requests.

        Cancelling the caller stops the checks.

        Raises:
            RequestRefused: fewer than two sessions have proposals, there is no check, there is no sandbox, or the
                workspace cannot be used.
        """
        self._context.workspace()
        works: list[_Check] = []

        async def work(_: str) -> TogetherResult:
            parts, left_out = await self._load()
            works.append(_Check(parts, left_out, self._progress, self._settle))
            return await works[0].run()

        result: TogetherResult | None = None
        try:
            result = await self._queue.run(work)
            return result
        except Stopped:
            raise RequestRefused("The server is shutting down.") from None
        except asyncio.CancelledError:
            result = works[0].result("stopped") if works else None
            raise
        finally:
            if works:
                self._parts = works[0].parts
                self._set(TogetherState(result=result))
                self.refresh()

    def refresh(self) -> None:
        """Drops the result if a proposal or a file of one of the sessions has changed since."""
        result = self.state.result
        if result is None or self.state.running is not None:
            return
        ids = {session.id for session in self._sessions if len(session.files.changes)}
        if ids != {part.session.id for part in self._parts} or not all(part.is_unchanged for part in self._parts):
            self._set(TogetherState())

    async def aclose(self) -> None:
        """Stops the checks."""
        await self._queue.aclose()

    def _set(self, state: TogetherState) -> None:
        if state != self.state:
            self.state = state
            self._publish(state)

    def _progress(self, running: TogetherProgress) -> None:
        self._set(TogetherState(running))

    async def _load(self) -> tuple[list[_Part], list[CheckedSession]]:
        """The sessions with proposals, and those that other processes have open.

        Raises:
            RequestRefused: fewer than two sessions have proposals, or one of them cannot be loaded.
        """
        rows = [row for row in await self._sessions.rows_when_loaded() if row.pending_files]
        left_out = [CheckedSession(row.id, row.title) for row in rows if row.open_elsewhere]
        loaded = [await self._sessions.get(row.id) for row in rows if not row.open_elsewhere]
        parts: list[_Part] = []
        for session in loaded:
            await session.files.observe_all()
            await session.compare_files()
            await session.commands.ready()
            session.commands.tools().record_state("sandboxed")  # so that a later change of a file is noticed
            if len(session.files.changes):
                parts.append(_Part(session, session.files.changes, session.evidence.versions))
        if len(parts) < 2:
            raise RequestRefused(ONE_SESSION if parts else NOTHING_PROPOSED)
        return parts, left_out

    async def _settle(self) -> None:
        """Waits for the checks that the sessions run or wait for now: these have priority."""
        for session in list(self._sessions):
            await session.user_checks.queue.settle()


class _Check:
    """One request to check the proposals of these sessions together."""

    def __init__(
        self,
        parts: Sequence[_Part],
        left_out: Sequence[CheckedSession],
        progress: Callable[[TogetherProgress], None],
        settle: Callable[[], Awaitable[None]],
    ) -> None:
        self.parts, self._left_out = parts, tuple(left_out)
        self._progress, self._settle = progress, settle
        self._shown = tuple(part.shown for part in parts)
        self._units: list[list[_Unit]] = [
            [(number, unit) for unit in units(part.changes)] for number, part in enumerate(parts)
        ]
        self._checks = _checks_of(parts)
        self._results: list[CheckedTogether] = []
        self._conflicts: tuple[Conflict, ...] = ()
        self._forks: dict[str, SessionCommands] = {}

    async def run(self) -> TogetherResult:
        """Runs all checks.

        Raises:
            RequestRefused: there is no check, or no sandbox.
        """
        if not self._checks:
            raise RequestRefused(NO_CHECKS)
        combined = combine([part.changes for part in self.parts])
        if combined.conflicts:
            self._conflicts = tuple(map(self._conflict, combined.conflicts))
            return self.result("conflict")
        try:
            async with AsyncExitStack() as stack:
                for number, command in enumerate(self._checks, 1):
                    self._results.append(await self._run_check(number, command, stack))
        except _Changed:
            self._results = []
            return self.result("changed")
        return self.result("passes" if all(each.outcome == "passes" for each in self._results) else "fails")

    def result(self, outcome: TogetherOutcome) -> TogetherResult:
        """The result with this outcome, and with the checks that have ended."""
        text = summary(outcome, self._shown, self._left_out, self._results, self._conflicts)
        checks = tuple(self._results)
        return TogetherResult(outcome, self._shown, self._left_out, self._conflicts, checks, text)

    def _conflict(self, found: FoundConflict) -> Conflict:
        one, other = found.sides
        return Conflict((self.parts[one].side(found, 0), self.parts[other].side(found, 1)))

    async def _run_check(self, number: int, command: str, stack: AsyncExitStack) -> CheckedTogether:
        """Runs one check, and finds out why it fails.

        Raises:
            _Changed: the result would not be about the present files.
            RequestRefused: there is no sandbox.
        """
        owners = self._checks[command]
        session = self.parts[owners[0]].session
        runs = _Runs(self, command, number, session, await self._commands_of(session, stack))
        limits = session.settings.check
        search = CombinationSearch[_Unit](self._units, owners, runs.passes, limits.search_max_runs or None)
        runs.search = search
        outcome: CheckOutcome
        try:
            await runs.allow()
            async with asyncio.timeout(limits.search_max_minutes * 60 or None):
                outcome = await search.search()
        except TimeoutError:
            outcome = "limit"
        except ToolError as error:
            return CheckedTogether(command, "not_run", search.runs, (), (), f"`{command}` did not run. {error}")
        if not await self.are_unchanged():
            raise _Changed
        if outcome == "minimal" and not runs.all_ran:
            outcome = "limit"
        failing = [self._shown[owner] for owner in search.failing] if outcome in ("alone", "without") else []
        found = search.found if outcome in ("minimal", "limit") else None
        changes = tuple(self.parts[part].change(change) for part, unit in found or () for change in unit)
        text = check_message(
            command, outcome, failing, changes, self._shown, passes_without_any_one=search.passes_without_any_one
        )
        lacked = f" {WITHOUT_RETAINED}" if outcome in ("alone", "without") and await self._has_retained() else ""
        ids = tuple(each.id for each in failing)
        return CheckedTogether(command, outcome, search.runs, ids, changes, f"{text}{lacked}")

    async def _commands_of(self, session: Session, stack: AsyncExitStack) -> Commands:
        """What runs checks in a layer of their own, with the permissions of a session.

        Raises:
            RequestRefused: there is no sandbox.
        """
        commands = self._forks.get(session.id)
        if commands is None:
            commands = self._forks[session.id] = session.commands.of_fork(session.files.fork())
            stack.push_async_callback(commands.aclose)
        tools = commands.tools()
        if tools.unavailable:
            raise RequestRefused(NEEDS_SANDBOX.format(reason=tools.unavailable))
        return tools

    async def _has_retained(self) -> bool:
        """Whether the commands of a session have left ignored files, which these checks do not see."""
        return any([(await part.session.commands.layer()).has_retained for part in self.parts])

    async def are_unchanged(self) -> bool:
        """Whether all sessions and their files are as they were when the check began."""
        for part in self.parts:
            await part.session.compare_files()
        return all(part.is_unchanged for part in self.parts)

    def combined(self, chosen: Sequence[_Unit]) -> Combined:
        """The proposals of all sessions with only some of their changes."""
        wanted = [[change for number, unit in chosen if number == part for change in unit] for part in self._numbers]
        return combine([only(part.changes, some) for part, some in zip(self.parts, wanted, strict=True)])

    @property
    def _numbers(self) -> range:
        return range(len(self.parts))

    async def begin_run(self, progress: TogetherProgress) -> None:
        """Publishes a run, and waits for the checks of the sessions.

        Raises:
            _Changed: the run would not be about the present files.
        """
        self._progress(replace(progress, count=len(self._checks)))
        await self._settle()
        if not all(part.is_unchanged for part in self.parts):
            raise _Changed


class _Runs:
    """The runs of one check."""

    def __init__(self, check: _Check, command: str, number: int, session: Session, commands: Commands) -> None:
        self._check, self._command, self._number, self._commands = check, command, number, commands
        self._call = RunningCall(_HANDLE, None, _ignore).without_output()
        self._session = session
        self.search: CombinationSearch[_Unit] | None = None
        self.all_ran = True
        """Whether all sets could be tried."""

    async def allow(self) -> None:
        """Asks the user, if the policy requires it. Raises ToolError if the check is not allowed."""
        await allow_check(self._commands, self._command, self._call)

    async def passes(self, chosen: Sequence[_Unit]) -> bool:
        """Whether the check passes with these changes. These runs are evidence for no step.

        Raises:
            _Changed: the run would not be about the present files.
            ToolError: the check cannot run with all changes.
        """
        search = self.search
        assert search is not None
        most = search.most_runs if search.runs > 1 else 1
        await self._check.begin_run(TogetherProgress(self._command, self._number, 1, search.runs, most))
        combined = self._check.combined(chosen)
        if combined.conflicts:  # the lines of a part may not be found at the same place
            self.all_ran = False
            return True
        run = CheckRun(self._command, "sandboxed", 0, _HANDLE, combined.changes, retained=False)
        try:
            end = await run_check(self._commands, run, self._call)
        except ToolError:
            if search.runs == 1:
                raise
            self.all_ran = False  # the sandbox cannot show some sets, such as a file in a folder that was not created
            return True
        return end.passed


def _checks_of(parts: Sequence[_Part]) -> Mapping[str, Sequence[int]]:
    """The checks of all sessions, each with the numbers of the sessions that have it."""
    found: dict[str, list[int]] = {}
    for number, part in enumerate(parts):
        for check in find_checks(part.session.user_checks):
            found.setdefault(check.command, []).append(number)
    return found


def _ignore(_: object) -> None:
    """Drops the events of the runs: they are evidence for no step."""
