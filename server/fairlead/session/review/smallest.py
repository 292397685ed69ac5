"""Finds the smallest set of undecided changes with which the checks pass (docs/plan.md P19)."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from itertools import chain

from fairlead.agent.events import CheckSearch, Event, SearchOutcome, SmallestSet
from fairlead.agent.tool import RunningCall
from fairlead.display import count_of
from fairlead.edits.selection import Change, only, units
from fairlead.edits.smallest import SmallestSetSearch
from fairlead.errors import ToolError
from fairlead.plan.inputs import Inputs
from fairlead.session.errors import RequestRefused
from fairlead.session.review.checks import NO_CHECKS, Check, UserChecks, requested_checks
from fairlead.tools.baseline import baseline_of
from fairlead.tools.check_queue import Stopped
from fairlead.tools.check_run import WITHOUT_RETAINED, CheckRun, allow_check, run_check
from fairlead.tools.commands import Commands

NOTHING_PROPOSED = "Nothing is proposed, so there is nothing to search."
RUNNING = "The agent is working. Wait until it has finished, or stop it. Then search again."

_Unit = tuple[Change, ...]


class Interrupted(Exception):
    """The proposals changed while the search ran, or the agent began to work."""


async def find_smallest_set(user_checks: UserChecks, command: str | None) -> SmallestSet:
    """Searches for the smallest set of undecided changes with which the checks pass.

    Waits for earlier requests of the session. Publishes its progress and the result.

    Args:
        command: the check to run. None: all checks of the session.

    Raises:
        RequestRefused: there is no check, nothing is proposed, a check cannot run, the agent is working, the user
            stopped the request before the search began, or the workspace cannot be used.
    """
    checks = requested_checks(user_checks, command)
    user_checks.context.workspace()
    if not checks:
        raise RequestRefused(NO_CHECKS)
    if not len(user_checks.files.changes):
        raise RequestRefused(NOTHING_PROPOSED)
    if user_checks.run.is_active:
        raise RequestRefused(RUNNING)
    searches: list[_Search] = []

    async def work(handle: str) -> SmallestSet:
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


async def commands_for(user_checks: UserChecks, checks: Sequence[Check], handle: str) -> Commands:
    """Returns the dependencies that running the checks needs. Before that, asks the user for any missing approval.

    Raises:
        ToolError: the user did not allow a check, or the sandbox is not available.
    """
    await user_checks.commands.ready()
    commands = user_checks.commands.tools()
    for check in checks:
        call = RunningCall(handle, check.item_id, user_checks.publish)
        if await allow_check(commands, check.command, call) != "sandboxed":
            raise ToolError(f"The search needs the sandbox. {commands.unavailable}")
    return commands


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
        self._units = tuple(units(self._changes))
        self._search = SmallestSetSearch[_Unit](self._units, self._passes, limits.search_max_runs or None)
        self._all_ran, self._lacked_retained = True, False
        self._runs = 0  # the sets with which a check ran
        self._asked = set[tuple[Check, frozenset[_Unit]]]()
        self._ended: list[tuple[Check, frozenset[_Unit], bool, Inputs]] = []
        """The runs of which it is known what they read: the check, what it saw, and whether it passed."""

    async def run(self) -> SmallestSet:
        """Searches until the set is found, no set can be found, a limit is reached, or the search is interrupted.

        No set can be found if the checks fail with all changes, or if they are flaky.

        Raises:
            ToolError: a check cannot run.
        """
        outcome: SearchOutcome
        try:
            async with asyncio.timeout(self._seconds):
                verdict = await self._search.search()
                outcome = "fails" if verdict == "none" else verdict
        except TimeoutError:
            outcome = "limit"
        except Interrupted:
            outcome = "changed"
        return self.result("limit" if outcome == "minimal" and not self._all_ran else outcome)

    def result(self, outcome: SearchOutcome) -> SmallestSet:
        """The result with this outcome. A set that is not minimal is included only if some changes are not in it.

        If a set is included, it becomes the session's found set (`FoundSet`). If the checks fail or are flaky, clears
        the found set. Otherwise, the found set stays.
        """
        found = self._search.found
        is_set = outcome == "minimal" or (outcome in ("limit", "stopped") and found not in (None, self._units))
        needed = _changes(found or ()) if is_set else ()
        others = tuple(change for change in _changes(self._units) if change not in needed) if is_set else ()
        count = len(_changes(self._units))
        text = _message(self._checks, outcome, count, len(needed), is_set)
        lacked = f" {WITHOUT_RETAINED}" if outcome == "fails" and self._lacked_retained else ""
        message = f"{text}{lacked} ({count_of(self._runs, 'run')})"
        result = SmallestSet(
            self._names,
            outcome,
            self._runs,
            needed,
            others,
            self._version,
            message,
        )
        if is_set:
            self._user_checks.evidence.found_set.replace(result, self._changes, self._state)
        elif outcome in ("fails", "flaky"):
            self._user_checks.evidence.found_set.clear()
        return result

    async def _passes(self, chosen: Sequence[_Unit]) -> bool:
        """Whether all checks pass with these changes. Runs with all of the changes, or with none, count as evidence.

        Raises:
            Interrupted: the result no longer counts.
            ToolError: a check cannot run with all changes, or without any.
        """
        has_begun = False
        for check in self._checks:
            passed = self._known_result(check, chosen)
            if passed is None:
                if not has_begun:
                    has_begun, self._runs = True, self._runs + 1
                    self._user_checks.publish(self._progress())
                passed = await self._passes_check(check, chosen)
            if self._user_checks.files.changes is not self._changes or self._user_checks.run.begun > self._runs_before:
                raise Interrupted
            if not passed:
                return False
        return True

    def _known_result(self, check: Check, chosen: Sequence[_Unit]) -> bool | None:
        """The result of an earlier run that has not read any file in which it saw something else; None: there is none.

        A set is inferred only once, so that the result of the search is always a run.
        """
        seen = frozenset(chosen)
        if (check, seen) in self._asked:
            return None
        self._asked.add((check, seen))
        for of, saw, passed, inputs in self._ended:
            paths = [path for unit in saw ^ seen for path in self._paths(unit)]
            if of == check and not any(self._can_notice(inputs, path) for path in paths):
                return passed
        return None

    def _can_notice(self, inputs: Inputs, path: str) -> bool:
        """Whether a command would notice it if a file appeared or vanished, maybe with its folder."""

        def stays(folder: str) -> bool:
            try:
                return any(each.path != path for each in os.scandir(folder))
            except OSError:
                return False

        return inputs.depends_on(path, appeared=True, vanished=True, stays=stays)

    def _paths(self, unit: _Unit) -> Iterator[str]:
        """The paths of the files that a unit changes."""
        for change in unit:
            yield change.path
            proposal = self._changes.files.get(change.path)
            if proposal is not None:
                yield proposal.target

    async def _passes_check(self, check: Check, chosen: Sequence[_Unit]) -> bool:
        is_part = 0 < len(chosen) < len(self._units)
        seen = only(self._changes, _changes(chosen)) if len(chosen) < len(self._units) else None
        call_id = f"{self._handle}.{self._runs}"
        call = RunningCall(call_id, check.item_id, ignore_event if is_part else self._user_checks.publish)
        # each run that is evidence has its own state, because the numbers of the states tell which run was last
        state = self._state if is_part else self._commands.record_state("sandboxed")
        is_baseline = not chosen and not len(baseline_of(self._changes, self._user_checks.files.roots))
        run = CheckRun(check.command, "sandboxed", state, self._handle, seen, is_baseline, retained=False)
        try:
            end = await run_check(self._commands, run, call.without_output())
            if end.inputs is not None:
                self._ended.append((check, frozenset(chosen), end.passed, end.inputs))
            self._lacked_retained |= seen is None and end.lacked_retained
            return end.passed
        except ToolError as error:
            if not is_part:
                raise ToolError(f"`{check.command}` could not run. {error}") from error
            self._all_ran = False  # the sandbox cannot show some sets, such as a file in a folder that was not created
            return False

    def _progress(self) -> CheckSearch:
        search, count = self._search, len(_changes(self._units))
        left = len(_changes(search.found)) if search.found is not None else count
        return CheckSearch(self._handle, self._names, self._runs, search.most_runs, count, left)


def ignore_event(_: Event) -> None:
    """Drops the events of runs with only some of the changes: there are many of them, and they are not evidence."""


def _changes(units: Sequence[_Unit]) -> tuple[Change, ...]:
    return tuple(chain.from_iterable(units))


def _message(checks: Sequence[Check], outcome: SearchOutcome, count: int, needed: int, is_set: bool) -> str:
    """Describes a result for the user."""
    one = len(checks) == 1
    names, it = (f"`{checks[0].command}`", "it") if one else ("The checks", "they")
    need, passes, fails = ("needs", "passes", "fails") if one else ("need", "pass", "fail")
    everything = {1: "the change", 2: "both changes"}.get(count, f"all {count} changes")
    match outcome:
        case "fails":
            return f"{names} {fails} with {everything}, so there is no set that passes."
        case "flaky":
            return f"{names} passed, and then failed with the same changes. A flaky check proves nothing."
        case "changed":
            return "The proposed changes or their files changed, or the agent began to work. Search again."
        case "stopped" | "limit":
            why = "The search was stopped" if outcome == "stopped" else "Not all sets could be tried"
            found = f"{names} {passes} with {needed} of {count_of(count, 'change')}. {why}, so fewer may be enough."
            return found if is_set else f"{why}, and no smaller set was found."
        case "minimal":
            if needed == count:
                return f"{names} {need} {everything}."
            if needed == 0:
                return f"{names} {passes} without any of the changes."
            these = "this one, and {} without it" if needed == 1 else "these, and {} if any one of them is missing"
            return f"{names} {need} {needed} of {count} changes: {it} {passes} with {these.format(fails)}."
