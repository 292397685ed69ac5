"""Runs stale verifications again while the user and the agent do nothing (docs/plan.md P26)."""

import asyncio
import logging
import os
from collections.abc import Callable, Sequence

from fairlead.agent.events import Event, RunFinished, RunStarted
from fairlead.agent.tool import RunningCall
from fairlead.errors import ToolError
from fairlead.gate.request import RunCommand
from fairlead.plan.evidence import CommandRun
from fairlead.session.errors import RequestRefused
from fairlead.session.events import EditsChanged, PlanChanged, SessionEvent
from fairlead.session.idle.find_cause import find_cause
from fairlead.session.server_context import ServerContext
from fairlead.session.session import Session
from fairlead.session.sessions import Sessions
from fairlead.tools.check_queue import Stopped
from fairlead.tools.check_run import CheckRun, run_check

log = logging.getLogger(__name__)


def machine_load() -> float:
    """The load of the machine in the last minute, in percent of its processors; 0 if the system does not tell."""
    try:
        return 100 * os.getloadavg()[0] / (os.cpu_count() or 1)
    except (OSError, AttributeError):  # Windows has no such function
        return 0.0


class IdleChecks:
    """Runs the outdated verifications of all loaded sessions, one at a time, after a time without activity.

    Args:
        load: returns the load of the machine in percent.
    """

    def __init__(self, context: ServerContext, sessions: Sessions, load: Callable[[], float] = machine_load) -> None:
        self._context, self._sessions, self._load = context, sessions, load
        self._timer: asyncio.TimerHandle | None = None
        self._work: asyncio.Task[None] | None = None
        self._tried: dict[tuple[str, str], list[int]] = {}
        """The file states on which a command had no result, by the session's id and the command."""

    def note_activity(self) -> None:
        """The user or the agent did something, so a running verification stops, and the time begins again."""
        if self._work is not None:
            self._work.cancel()
            self._work = None
        self._wait()

    def on_events(self, events: Sequence[SessionEvent]) -> None:
        """Takes events of a session: runs and decisions are activity, and any change of a plan is worth a look."""
        if any(isinstance(event, RunStarted | RunFinished | EditsChanged) for event in events):
            self.note_activity()
        elif self._work is None and self._timer is None and any(isinstance(event, PlanChanged) for event in events):
            self._wait()

    async def aclose(self) -> None:
        """Stops what runs, and runs nothing anymore."""
        work, self._work = self._work, None
        if self._timer is not None:
            self._timer.cancel()
        if work is not None:
            work.cancel()
            await asyncio.wait([work])

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds := self._context.settings.check.idle_seconds:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._begin)

    def _begin(self) -> None:
        self._timer = None
        self._work = asyncio.ensure_future(self._run_all())

    async def _run_all(self) -> None:
        """Runs what is due until nothing is, or the machine is busy. In the latter case, waits and tries again."""
        is_busy = False
        try:
            while not (is_busy := self._is_busy()):
                if (due := await self._find_due()) is not None:
                    await self._run_again(*due)
                elif not await self._explain_one():
                    break
        except RequestRefused:  # the workspace cannot be used now
            return
        except ToolError as error:
            log.warning("a verification cannot run again: %s", error)
        finally:
            if self._work is asyncio.current_task():
                self._work = None
        if is_busy:
            self._wait()

    def _is_busy(self) -> bool:
        is_used = any(session.running or not session.user_checks.queue.is_empty for session in self._sessions)
        return is_used or self._load() > self._context.settings.check.idle_max_load

    async def _find_due(self) -> tuple[Session, str, CommandRun] | None:
        """The first run that may be made again, with its session and step; None if there is none.

        Raises:
            RequestRefused: the workspace cannot be used.
        """
        self._context.workspace()
        for session in list(self._sessions):
            await session.compare_files()
            for step, run in session.evidence.outdated_runs():
                if self._may_repeat(session, run):
                    return session, step, run
        return None

    def _may_repeat(self, session: Session, run: CommandRun) -> bool:
        """Whether a run would have the same conditions again: no network, and what the session's checks see."""
        is_repeatable = run.inputs is not None or run.command.strip() in session.evidence.check_commands()
        tried = self._tried.get((session.id, run.command), [])
        changed_since = session.evidence.known_files.changed_since
        return is_repeatable and all(changed_since(state) for state in tried)

    async def _run_again(self, session: Session, step: str, run: CommandRun) -> None:
        """Runs a command in the sandbox, if it needs no question. The result is evidence for the step that ran it.

        Raises:
            ToolError: its layer or its box cannot be made.
        """
        states: list[int] = []
        events: list[Event] = []  # published only at the end, so that nobody sees a run that was stopped

        async def work(handle: str) -> None:
            await session.commands.ready()
            commands = session.commands.tools()
            state = commands.record_state("sandboxed")
            states.append(state)
            layer = await commands.layer()
            action = RunCommand(run.command, layer.roots.first.path, layer.where)
            if layer.where != "sandboxed" or not commands.gate.runs_without_asking(action):
                return
            check = CheckRun(run.command, "sandboxed", state, handle, is_of_user=True)
            call = RunningCall(f"{handle}.1", step, events.append)
            await run_check(commands, check, call.without_output())

        try:
            await session.user_checks.queue.run(work, is_background=True)
        except Stopped:  # the session has got something else to check
            return
        self._tried.setdefault((session.id, run.command), []).extend(states)
        for event in events:
            session.publish(event)
        await session.compare_files()

    async def _explain_one(self) -> bool:
        """Finds out what broke a command that fails now. Returns whether there was one.

        Raises:
            ToolError: its layer cannot be made.
        """
        for session in list(self._sessions):
            found = session.evidence.find_broken()
            if found is not None:
                command, broken = found
                cause = await find_cause(session, command, broken)
                if cause is not None:
                    session.evidence.set_cause(command, broken.state, cause)
                    session.publish()
                return True
        return False
