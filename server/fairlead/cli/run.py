"""`fairlead run`: starts a server, runs a task, shows its progress, and asks the user about the proposed changes."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Generator, Sequence
from typing import Any

from rich.text import Text

from fairlead import __version__
from fairlead.cli.approvals import Approvals
from fairlead.cli.ask import Option, ask
from fairlead.cli.client import AgentClient, ServerExited, StartServer
from fairlead.cli.error_help import help_lines
from fairlead.cli.final_checks import NOT_SEEN, FinalChecks
from fairlead.cli.headless.json_lines import SHOW_MESSAGE, JsonLines, message_line
from fairlead.cli.headless.missed import missed_lines
from fairlead.cli.headless.outcome import RunFacts
from fairlead.cli.headless.proved_changes import count_changes, proved_changes
from fairlead.cli.keys import Interrupted, Keyboard
from fairlead.cli.mentions import mentioned
from fairlead.cli.options import Accept, RunOptions
from fairlead.cli.review import FileReport, Review
from fairlead.cli.saved_sessions import NoSavedSession, adopt_sessions, delete_old_sessions, newest_session
from fairlead.cli.signals import ending_signals, suspend_signal
from fairlead.cli.summary import (
    Window,
    continue_line,
    continued_lines,
    heading_lines,
    model_lines,
    replay_line,
    result_lines,
    summary_lines,
)
from fairlead.cli.view.display import Display
from fairlead.cli.view.plain import PlainDisplay
from fairlead.cli.view.plan_view import plan_lines
from fairlead.cli.view.screen import LiveDisplay
from fairlead.cli.view.terminal import Terminal
from fairlead.cli.view.text import clean
from fairlead.cli.view.transcript import Transcript
from fairlead.cli.written_files import WrittenFiles
from fairlead.wire import protocol as wire
from fairlead.wire import states
from fairlead.wire.events import OpenedSession
from fairlead.wire.params import FileItem, ResourceItem
from fairlead.wire.run_lines import FORMAT, RefusedLine, UnansweredLine

REVIEW_OPTIONS = (
    Option("y", "yes", "show them and decide on each file"),
    Option("n", "no", "do not apply them"),
)


async def run_task(options: RunOptions, terminal: Terminal, start_server: StartServer) -> int:
    """Runs a task. Returns the exit code (docs/headless.md)."""
    display: Display = LiveDisplay(terminal) if terminal.can_draw else PlainDisplay(terminal)
    with Keyboard(terminal.can_ask) as keyboard:
        run = Run(options, terminal, display, keyboard, start_server)
        with ending_signals(run.interrupt, run.abort), suspend_signal(run.suspended):
            try:
                return await run.execute()
            finally:
                display.close()


class Run:
    """One run: its server, its display and its state."""

    def __init__(
        self, options: RunOptions, terminal: Terminal, display: Display, keyboard: Keyboard, start_server: StartServer
    ) -> None:
        self._options = options
        self._terminal = terminal
        self._display = display
        self._keyboard = keyboard
        self._accept: Accept = options.accept or ("ask" if terminal.can_ask else "none")
        self._lines = JsonLines(sys.stdout if options.as_json else None)
        attended = terminal.can_ask and self._accept in ("ask", "none")
        approvals = Approvals(
            display,
            keyboard,
            allow=options.allow_commands,
            attended=attended,
            report=self._add_missed,
            starts_agent=bool(options.agent),
        )
        self._client = AgentClient(options.workspace, self._on_notification, approvals.answers, start_server)
        self._transcript = Transcript(display, options.workspace)
        self._edits: states.EditsWire | None = None
        self._window: Window = (0, None)
        self._session_id = ""
        self._cancelling: asyncio.Future[None] | None = None
        self._checks = FinalChecks(self._client, display)
        self._facts = RunFacts()
        self._files = WrittenFiles(options, self._client, display, self._facts)
        self._is_saved = options.storage is not None
        self._is_running = False
        self._is_hosted = False
        """Whether an agent of another maker works, which has its own model and endpoint."""
        self._may_ask = True
        """False after a signal other than Ctrl-C, because the user may no longer be there to answer."""
        self._is_summarized = False

    async def execute(self) -> int:
        """Runs the task and reviews its changes. Returns the exit code."""
        self._display.show(heading_lines(self._options, self._display))
        facts = self._facts
        try:
            await self._client.start(self._options.settings, self._options.storage)
            await self._open_session()
            if not facts.is_interrupted:
                await self._run()
        except NoSavedSession as error:
            self._show_error(error)
            facts.has_nothing_to_continue = True
        except (wire.RequestError, ServerExited, OSError) as error:
            self._show_error(error)
            self._files.write_recording()
            can_continue = bool(self._session_id) and self._is_saved
            if isinstance(error, ServerExited) and can_continue and not self._is_summarized:
                self._display.show([continue_line(self._options, finished=False)])
        except Interrupted:
            facts.is_interrupted = True
        finally:
            await self._client.stop()
        facts.checks, facts.has_failed_check = self._checks.results, facts.has_failed_check or self._checks.has_failed
        self._display.show(missed_lines(facts.missed))
        self._lines.write(facts.line())
        return facts.exit_code

    def _show_error(self, error: Exception) -> None:
        self._facts.problem = str(error)
        self._transcript.end_text()
        self._display.close()
        self._display.show([Text(), *(Text(line, style="red") for line in clean(str(error)).split("\n"))])

    async def _open_session(self) -> None:
        """Deletes old saved sessions, then creates a session or opens the one to continue."""
        if self._options.storage is not None:
            for line in await delete_old_sessions(self._client):
                self._transcript.note(line)
        if not self._options.resume:
            self._begin((await self._client.request(wire.CREATE_SESSION, {}))["sessionId"])
            return
        if self._options.adopt is not None:
            await adopt_sessions(self._client, self._options.adopt, self._options.workspace.first.path)
        row = await newest_session(self._client)
        opened: OpenedSession = await self._client.request(wire.OPEN_SESSION, {"sessionId": row["sessionId"]})
        self._begin(row["sessionId"])
        self._edits, self._facts.plan = opened["edits"], opened["plan"]
        self._lines.write({"type": "plan", "plan": opened["plan"]})
        self._lines.write({"type": "edits", "edits": opened["edits"]})
        files = len(opened["edits"]["files"])
        self._display.show(continued_lines(row["title"], opened["plan"], files, self._display))
        self._transcript.begin_with_plan(opened["plan"])

    def _begin(self, session_id: str) -> None:
        self._session_id = self._facts.session_id = session_id
        folders = [path.as_uri() for path in self._options.workspace.paths]
        self._lines.write(
            {
                "type": "start",
                "format": FORMAT,
                "version": __version__,
                "sessionId": session_id,
                "isContinued": self._options.resume,
                "folders": folders,
            }
        )

    def _add_missed(self, line: RefusedLine | UnansweredLine) -> None:
        self._facts.missed.append(line)
        self._lines.write(line)

    def interrupt(self, number: int) -> None:
        """Cancels the run, leaves the review, or stops waiting for the checks.

        Called in the event loop with the number of the first signal, such as that of Ctrl-C (`ending_signals`).
        """
        self._facts.is_interrupted = True
        self._may_ask = number == signal.SIGINT
        self._keyboard.interrupt()
        self._display.set_status("stopping")
        if self._is_running:
            self._cancelling = asyncio.ensure_future(self._cancel())
        self._checks.stop()

    def abort(self) -> None:
        """Restores the terminal. Called in the signal handler at the second signal (`ending_signals`)."""
        self._keyboard.restore()
        if self._terminal.can_draw:
            with contextlib.suppress(OSError):  # the terminal is gone
                os.write(self._terminal.console.file.fileno(), b"\x1b[?25h\r\n")

    @contextlib.contextmanager
    def suspended(self) -> Generator[None]:
        """Restores the terminal while the process is suspended."""
        with self._display.without_status():
            self._keyboard.restore()
            yield
            self._keyboard.enter_key_mode()

    async def _run(self) -> None:
        started = time.monotonic()
        prompt = self._options.prompt
        task: dict[str, Any] = {"continue": "paused"}
        if prompt is not None:
            task = {
                "prompt": prompt,
                "context": await self._mentioned(prompt),
                **await self._agent(),
            }
        if self._options.max_cost:
            task["needsPrice"] = True
        self._is_running = True
        result: wire.RunResult = await self._client.request(wire.RUN_TASK, {"sessionId": self._session_id, **task})
        self._is_running = False
        self._transcript.end_text()
        self._facts.result = result
        if await self._stop_background_commands():
            record: wire.RecordResult = await self._client.request(wire.RECORD, {"sessionId": self._session_id})
            result["record"] = record["summary"]  # the result was made before these commands ended
        self._display.close()
        self._show_result(result, time.monotonic() - started)
        self._files.write_recording()
        try:
            await self._review(finished=result["stopReason"] == "end_turn")
        finally:
            await self._files.save_record(self._session_id)

    async def _agent(self) -> dict[str, str]:
        """Who does the task: an agent in a file, or an agent of another maker."""
        name = self._options.agent
        if not name:
            return {}
        files: states.SkillsWire = await self._client.request(wire.SKILLS_LIST, {"sessionId": self._session_id})
        hosted: states.HostedAgentsWire = await self._client.request(wire.HOSTED_AGENTS, {})
        in_files, others = [each["name"] for each in files["agents"]], [each["name"] for each in hosted["agents"]]
        self._is_hosted = name in others and name not in in_files
        return {"hosted": name} if self._is_hosted else {"agent": name}

    async def _mentioned(self, prompt: str) -> list[FileItem | ResourceItem]:
        """The files and resources that the prompt mentions."""
        result: states.ServerOffersWire = await self._client.request(
            wire.TOOL_SERVERS_OFFERS, {"sessionId": self._session_id}
        )
        return mentioned(prompt, self._options.workspace, [each["server"] for each in result["servers"]])

    async def _stop_background_commands(self) -> bool:
        """Stops the background commands, which would end with the server, so that their changes are reviewed too.

        Returns whether there were any.
        """
        handles = self._transcript.background_commands
        if handles:
            self._display.set_status("stopping the background commands")
            await asyncio.gather(*map(self._stop_command, handles))
        self._transcript.show_ended_commands()
        return bool(handles)

    async def _stop_command(self, handle: str) -> None:
        with contextlib.suppress(wire.RequestError):  # it has just ended
            await self._client.request(wire.STOP_COMMAND, {"sessionId": self._session_id, "handle": handle})

    async def _cancel(self) -> None:
        with contextlib.suppress(wire.RequestError, ServerExited):  # the run, or the server, has just ended
            await self._client.request(wire.CANCEL, {"sessionId": self._session_id})

    def _show_result(self, result: wire.RunResult, seconds: float) -> None:
        if self._transcript.plan:
            self._display.show([Text(), *plan_lines(self._transcript.plan)])
        shown, marks = self._transcript.last_text, self._display.marks
        self._display.show([Text(), *result_lines(result, shown, self._window, seconds, marks)])
        if result["error"]:
            self._display.show(help_lines(result["error"], self._options))
        if self._options.replay and (result["usage"]["requests"] or not result["error"]):
            self._display.show([replay_line(self._options)])

    async def _review(self, *, finished: bool) -> None:
        edits = self._edits
        if edits is None or not edits["files"]:
            self._summarize([], chosen=True, finished=finished)
            return
        workspace, report = self._options.workspace, self._lines.write
        review = Review(self._client, self._display, self._keyboard, workspace, edits, report)
        if self._terminal.can_ask:
            self._keyboard.discard_input()
        accept: Accept | None = None
        try:
            accept = await self._choose_accept(len(edits["files"]))
            await review.decide(accept, self._prove, weakened_tests=self._options.accept_weakened_tests)
            if accept == "none" and self._options.has_checks:
                await self._checks.run(self._session_id)
        finally:
            self._facts.reports = review.reports
            chosen = self._options.accept is not None or self._terminal.can_ask
            self._summarize(review.reports, chosen=chosen, finished=finished)
        await self._check_accepted(accept, review.reports)

    async def _prove(self, edits: states.EditsWire) -> Sequence[states.ChangeIdWire] | None:
        """The changes that `--accept checks` accepts; None: a check failed.

        If these are not all changes, the checks must pass with only these too.
        """
        if not await self._checks.run(self._session_id):
            return None
        if not self._checks.saw_proposals:
            self._facts.has_failed_check = True
            self._display.show([Text(NOT_SEEN, style="red")])
            return None
        proved = proved_changes(edits, self._facts.plan)
        if len(proved) < count_changes(edits):
            self._facts.has_failed_check = True
            if proved and not await self._checks.run(self._session_id, target={"changes": proved}):
                return None
        return proved

    async def _check_accepted(self, accept: Accept | None, reports: Sequence[FileReport]) -> None:
        """Runs the checks on the accepted changes, if they have not seen exactly these (docs/plan.md P18).

        If the user was asked, that is: only a part of the changes was accepted. Does nothing if no check is set, or if
        the run or the review was stopped.
        """
        applied = sum(report.counts["applied"] for report in reports)
        is_part = applied < sum(report.counts.total() for report in reports)
        has_checks = self._options.has_checks or any(step.has_check for step in self._transcript.plan)
        is_due = (accept == "ask" and is_part and has_checks) or (accept == "all" and self._options.has_checks)
        if applied and is_due and not self._facts.is_interrupted:
            await self._checks.run(self._session_id, base=True)

    def _summarize(self, reports: Sequence[FileReport], *, chosen: bool, finished: bool) -> None:
        """Shows what happened to the files, and how to continue if the session is saved and work is left.

        Work is left if changes are undecided or could not be applied, or if the model did not end its turn.

        Args:
            chosen: as for `summary_lines`.
            finished: whether the model ended its turn.
        """
        self._is_summarized = True
        self._display.show([Text(), *summary_lines(reports, self._accept, chosen=chosen)])
        undecided = any(report.counts["undecided"] or report.counts["refused"] for report in reports)
        if self._is_saved and (undecided or not finished):
            self._display.show([continue_line(self._options, finished=finished)])

    async def _choose_accept(self, files: int) -> Accept | None:
        """How to decide on the changes. None: the run was stopped, and the changes are not reviewed."""
        if not self._facts.is_interrupted:
            return self._accept
        if self._accept != "ask" or not self._may_ask:
            return None
        self._display.show([Text()])
        question = f"The run was stopped. Review the changes to {files} file{'s' if files > 1 else ''}?"
        return "ask" if await ask(self._display, self._keyboard, question, REVIEW_OPTIONS) == "y" else None

    def _on_notification(self, method: str, params: dict[str, Any]) -> None:
        """Handles a notification. Those of other sessions are ignored."""
        if params.get("sessionId", self._session_id) != self._session_id:
            return
        self._lines.add_notification(method, params)
        match method:
            case wire.PLAN:
                self._facts.plan = params  # type: ignore[assignment]  the method determines the shape
                self._transcript.on_plan(params)  # type: ignore[arg-type]  as above
            case wire.EDITS:
                self._edits = params  # type: ignore[assignment]  as above
                self._transcript.on_edits(params)  # type: ignore[arg-type]  as above
            case wire.SAVING:
                self._is_saved = params["saved"]
            case wire.EVENT:
                if params["kind"] == "run_started" and not self._options.replay:
                    self._display.show(
                        model_lines(params["model"], None if self._is_hosted else self._options, self._display)
                    )
                if params["kind"] == "usage":
                    self._window = (params["contextTokens"], params["contextLimit"])
                self._transcript.on_event(params)
                self._checks.add_event(params)
                self._files.add_event(params)
            case _ if method == SHOW_MESSAGE and (line := message_line(params)) is not None:
                self._facts.messages.append(line)
                self._lines.write(line)
                self._transcript.note(params["message"], style="yellow")
            case _:
                pass
