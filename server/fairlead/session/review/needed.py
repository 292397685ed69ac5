"""Finds out which of the undecided changes a check needs, by leaving out each in turn (docs/plan.md P23)."""

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from fairlead.agent.events import NeededChanges, NeededOutcome, NeededProgress
from fairlead.agent.tool import RunningCall
from fairlead.display import count_of
from fairlead.edits.changeset import Changeset
from fairlead.edits.leave_out import Condition, LeaveOneOut, NoMoreRuns
from fairlead.edits.selection import Change, only, units
from fairlead.errors import ToolError
from fairlead.plan.inputs import Inputs
from fairlead.session.errors import RequestRefused
from fairlead.session.review.checks import NO_CHECKS, Check, UserChecks, lines_of, requested_checks
from fairlead.session.review.smallest import NOTHING_PROPOSED, RUNNING, Interrupted, commands_for, ignore_event
from fairlead.tools.baseline import is_of_tests, reads_any
from fairlead.tools.check_queue import Stopped
from fairlead.tools.check_run import WITHOUT_RETAINED, CheckRun, run_check
from fairlead.tools.commands import Commands
from fairlead.workspace.paths import Roots

ONLY_TESTS = "Only tests are proposed. A check passes without any of its tests, so this would say nothing."
MAX_NAMED = 3

_Unit = tuple[Change, ...]


async def find_needed_changes(user_checks: UserChecks, command: str | None) -> NeededChanges:
    """Runs the checks without each of the undecided changes, apart from those to tests.

    Waits for earlier requests of the session. Publishes its progress and the result.

    Args:
        command: the check to run. None: all checks of the session.

    Raises:
        RequestRefused: there is no check, nothing but tests is proposed, a check cannot run, the agent is working, the
            user stopped the request before the search began, or the workspace cannot be used.
    """
    checks = requested_checks(user_checks, command)
    user_checks.context.workspace()
    if not checks:
        raise RequestRefused(NO_CHECKS)
    if not len(user_checks.files.changes):
        raise RequestRefused(NOTHING_PROPOSED)
    if not _tried(user_checks.files.changes, user_checks.files.roots):
        raise RequestRefused(ONLY_TESTS)
    if user_checks.run.is_active:
        raise RequestRefused(RUNNING)
    searches: list[_Search] = []

    async def work(handle: str) -> NeededChanges:
        commands = await commands_for(user_checks, checks, handle)
        if user_checks.run.is_active:  # since the request
            raise RequestRefused(RUNNING)
        searches.append(_Search(user_checks, checks, commands, handle))
        return await searches[0].run()

    try:
        found = await user_checks.queue.run(work)
    except Stopped:
        if not searches:
            raise RequestRefused("The search was stopped before it began.") from None
        found = searches[0].result("stopped")
    except asyncio.CancelledError:
        if searches:
            user_checks.publish(searches[0].result("stopped"))
        raise
    except ToolError as error:
        raise RequestRefused(str(error)) from error
    user_checks.publish(found)
    return found


def _tried(changes: Changeset, roots: Roots) -> list[_Unit]:
    """The changes that are left out in turn. A check without some of its tests passes, which says nothing."""
    of_tests = {proposal.path for proposal in changes if is_of_tests(proposal, roots)}
    return [unit for unit in units(changes) if unit[0].path not in of_tests]


class _Search:
    """One search. Its result is about the changes with which it began."""

    def __init__(self, user_checks: UserChecks, checks: Sequence[Check], commands: Commands, handle: str) -> None:
        self._user_checks, self._checks, self._handle = user_checks, checks, handle
        self._names = tuple(check.command for check in checks)
        self._commands = commands
        self._changes, self._version = user_checks.files.changes, user_checks.files.version
        self._state, self._runs_before = commands.record_state("sandboxed"), user_checks.run.begun
        limits = user_checks.context.settings.check
        self._seconds = limits.search_max_minutes * 60 or None
        self._units = _tried(self._changes, user_checks.files.roots)
        self._inputs: dict[str, Inputs | None] = {}
        """What each check has read with all changes, if that was recorded."""
        conditions = [Condition(partial(self._passes, check), partial(self._depends_on, check)) for check in checks]
        self._search = LeaveOneOut[_Unit](self._units, conditions, limits.search_max_runs or None)
        self._lacked_retained = False

    async def run(self) -> NeededChanges:
        """Searches until all changes were tried, a limit is reached, or the search is interrupted.

        Raises:
            ToolError: a check cannot run.
        """
        outcome: NeededOutcome
        try:
            async with asyncio.timeout(self._seconds):
                outcome = await self._search.search()
        except (TimeoutError, NoMoreRuns):
            outcome = "limit"
        except Interrupted:
            outcome = "changed"
        return self.result(outcome)

    def result(self, outcome: NeededOutcome) -> NeededChanges:
        """The result with this outcome. It becomes the session's, unless there is none."""
        search, known = self._search, self._user_checks.evidence.needed_changes
        has_result = outcome in ("complete", "limit", "stopped") and len(search.untried) < len(self._units)
        groups = (search.needed, search.not_needed, search.unread, search.untried)
        needed, not_needed, unread, untried = (tuple(chain(*group)) if has_result else () for group in groups)
        text = self._message(outcome, not_needed, unread, untried, has_result=has_result)
        lacked = f" {WITHOUT_RETAINED}" if outcome == "fails" and self._lacked_retained else ""
        message = f"{text}{lacked} ({count_of(search.runs, 'run')})"
        result = NeededChanges(
            self._names, outcome, search.runs, needed, not_needed, unread, untried, self._version, message
        )
        if has_result:
            known.replace(result, self._state)
        elif outcome in ("fails", "flaky"):
            known.clear()
        return result

    async def _passes(self, check: Check, chosen: Sequence[_Unit]) -> bool:
        """Whether a check passes with these changes and all those to tests. A run with all changes counts as evidence.

        Raises:
            Interrupted: the result no longer counts.
            ToolError: the check cannot run with all changes.
        """
        search = self._search
        self._user_checks.publish(NeededProgress(self._handle, self._names, search.runs, search.most_runs))
        is_part = len(chosen) < len(self._units)
        call_id = f"{self._handle}.{search.runs}"
        call = RunningCall(call_id, check.item_id, ignore_event if is_part else self._user_checks.publish)
        # each run that is evidence has its own state, because the numbers of the states tell which run was last
        state = self._state if is_part else self._commands.record_state("sandboxed")
        seen = self._without(chosen) if is_part else None
        run = CheckRun(check.command, "sandboxed", state, self._handle, seen, retained=False)
        try:
            end = await run_check(self._commands, run, call.without_output())
        except ToolError as error:
            if not is_part:
                raise ToolError(f"`{check.command}` could not run. {error}") from error
            passed = False  # the sandbox cannot show the rest, such as a file in a folder that was not created
        else:
            passed = end.passed
            if not is_part:
                self._inputs[check.command] = end.inputs
                self._lacked_retained |= end.lacked_retained
        if self._user_checks.files.changes is not self._changes or self._user_checks.run.begun > self._runs_before:
            raise Interrupted
        return passed

    def _without(self, chosen: Sequence[_Unit]) -> Changeset:
        """All changes but those that are left out."""
        left_out = set(chain.from_iterable(self._units)) - set(chain.from_iterable(chosen))
        every = chain.from_iterable(units(self._changes))
        return only(self._changes, [change for change in every if change not in left_out])

    def _depends_on(self, check: Check, unit: _Unit) -> bool:
        proposals = [self._changes.files[change.path] for change in unit]
        return reads_any(self._inputs.get(check.command), proposals)

    def _message(
        self,
        outcome: NeededOutcome,
        not_needed: Sequence[Change],
        unread: Sequence[Change],
        untried: Sequence[Change],
        *,
        has_result: bool,
    ) -> str:
        """Describes a result for the user."""
        one = len(self._checks) == 1
        names, passes, fails = (
            (f"`{self._checks[0].command}`", "passes", "fails") if one else ("The checks", "pass", "fail")
        )
        match outcome:
            case "fails":
                return f"{names} {fails} with all changes, so it is not known which of them are needed."
            case "flaky":
                return f"{names} passed, and then failed with the same changes. A flaky check proves nothing."
            case "changed":
                return "The proposed changes or their files changed, or the agent began to work. Try again."
            case "complete" | "limit" | "stopped":
                pass
        sentences = {"stopped": ["The search was stopped."], "limit": ["The limit was reached."]}.get(outcome, [])
        if not has_result:
            return " ".join([*sentences, "No change was tried."])
        roots = self._user_checks.files.roots
        if not_needed:
            listed = _joined(name_of(self._changes, roots, change) for change in not_needed)
            sentences.append(f"{names} {passes} without {listed}.")
        if unread:
            files = _joined(dict.fromkeys(roots.relative(Path(change.path)) for change in unread))
            who = ("It" if not_needed else names) + " does not read" if one else "No check reads"
            sentences.append(f"{who} {files}.")
        if untried:
            sentences.append(f"{count_of(len(untried), 'change')} {'was' if len(untried) == 1 else 'were'} not tried.")
        if not (not_needed or unread or untried):
            count = len(self._units)
            sentences.append(
                f"{names} {fails} without {'the change' if count == 1 else f'any one of the {count} changes'}."
            )
        return " ".join(sentences)


def name_of(changes: Changeset, roots: Roots, change: Change) -> str:
    """A change in words, such as "parser.py, lines 40-52"."""
    name = roots.relative(Path(change.path))
    hunk = next((hunk for hunk in changes.files[change.path].hunks if hunk.id == change.hunk_id), None)
    return name if hunk is None else f"{name}, {lines_of(hunk)}"


def _joined(names: Iterable[str]) -> str:
    """The first `MAX_NAMED` names as text, and how many more there are."""
    every = list(names)
    more = len(every) - MAX_NAMED
    shown = [*every[:MAX_NAMED], *([f"{more} more"] if more > 0 else [])]
    separator = "; " if any("," in name for name in shown) else ", "
    return " or ".join(filter(None, [separator.join(shown[:-1]), shown[-1]]))
