"""`fairlead run`: starts the server as an editor would, runs the task, shows it, and lets the person decide."""

import asyncio
import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

from rich.text import Text

from fairlead.cli.approvals import Approvals
from fairlead.cli.ask import Option, ask
from fairlead.cli.client import AgentClient, ServerGone, StartServer
from fairlead.cli.display import Display
from fairlead.cli.keys import Interrupted, Keyboard
from fairlead.cli.options import Accept, RunOptions
from fairlead.cli.plain import PlainDisplay
from fairlead.cli.plan_view import whole_plan
from fairlead.cli.record import Recorder
from fairlead.cli.review import FileReport, Review
from fairlead.cli.saved_sessions import NothingKept, forget_old, newest
from fairlead.cli.screen import LiveDisplay
from fairlead.cli.signals import CANCELLED, ending_signals, stop_signal
from fairlead.cli.summary import (
    Window,
    continued_lines,
    go_on_line,
    heading,
    model_lines,
    replay_line,
    result_lines,
    summary_lines,
)
from fairlead.cli.terminal import Terminal
from fairlead.cli.text import clean
from fairlead.cli.transcript import Transcript
from fairlead.lsp import protocol as wire
from fairlead.models.recording import write_recording

DONE, ENDED_OTHERWISE, NOTHING_TO_CONTINUE = 0, 1, 2
SHOW_MESSAGE = "window/showMessage"
INFO = 3  # LSP 3.18, `MessageType`: 1 is an error, 2 a warning, 3 an information, what is above is for logs
LOOK_OPTIONS = (
    Option("y", "yes", "show them and decide on each file"),
    Option("n", "no", "leave them; they are not applied"),
)


async def run_task(options: RunOptions, terminal: Terminal, start_server: StartServer) -> int:
    """Runs a task; returns the exit code: 0 done, 1 it ended otherwise, 2 nothing to continue, 130 cancelled."""
    display: Display = LiveDisplay(terminal) if terminal.can_draw else PlainDisplay(terminal)
    with Keyboard(terminal.can_ask) as keyboard:
        run = Run(options, terminal, display, keyboard, start_server)
        with ending_signals(run.interrupt, run.leave), stop_signal(run.aside):
            try:
                return await run.to_its_end()
            finally:
                display.close()


class Run:
    """One run: the server, what it tells, and the person's wish to stop."""

    def __init__(
        self, options: RunOptions, terminal: Terminal, display: Display, keyboard: Keyboard, start_server: StartServer
    ) -> None:
        self._options = options
        self._terminal = terminal
        self._display = display
        self._keyboard = keyboard
        self._accept: Accept = options.accept or ("ask" if terminal.can_ask else "none")
        attended = terminal.can_ask and self._accept != "all"
        approvals = Approvals(display, keyboard, allow=options.allow_commands, attended=attended)
        self._client = AgentClient(options.workspace, self._told, approvals.answer, start_server)
        self._transcript = Transcript(display)
        self._recorder = Recorder(options.prompt) if options.record else None
        self._edits: wire.EditsWire | None = None
        self._window: Window = (0, None)
        self._session_id = ""
        self._cancelling: asyncio.Future[None] | None = None
        self._runs = False
        self._stopped = False

    async def to_its_end(self) -> int:
        """The whole of it; returns the exit code."""
        self._display.show(heading(self._options, self._display))
        try:
            await self._client.start(self._options.settings, self._options.storage)
            await self._take_session()
            return CANCELLED if self._stopped else await self._run()
        except NothingKept as error:
            self._fail(error)
            return NOTHING_TO_CONTINUE
        except (wire.RequestError, ServerGone, OSError) as error:
            self._fail(error)
            self._write_recording()
            if isinstance(error, ServerGone) and self._session_id and self._options.storage is not None:
                self._display.show([go_on_line(self._options, finished=False)])
            return ENDED_OTHERWISE
        except Interrupted:
            return CANCELLED
        finally:
            await self._client.stop()

    def _fail(self, error: Exception) -> None:
        self._transcript.end_text()
        self._display.close()
        self._display.show([Text(), *(Text(line, style="red") for line in clean(str(error)).split("\n"))])

    async def _take_session(self) -> None:
        """A new one, or the one that is gone on with."""
        if self._options.storage is not None:
            for line in await forget_old(self._client):
                self._transcript.note(line)
        if not self._options.goes_on:
            self._session_id = (await self._client.request(wire.CREATE_SESSION, {}))["sessionId"]
            return
        row = await newest(self._client)
        self._session_id = row["sessionId"]
        opened: wire.OpenResult = await self._client.request(wire.OPEN_SESSION, {"sessionId": self._session_id})
        self._edits = opened["edits"]
        files = len(opened["edits"]["files"])
        self._display.show(continued_lines(row["title"], opened["plan"], files, self._display))
        self._transcript.goes_on(opened["plan"])

    def interrupt(self) -> None:
        """Ctrl-C: the run is cancelled, or the review is left."""
        self._stopped = True
        self._keyboard.interrupt()
        self._display.now("stopping")
        if self._runs:
            self._cancelling = asyncio.ensure_future(self._cancel())

    def leave(self) -> None:
        """Ctrl-C again: the terminal as it was, and no more."""
        self._keyboard.restore()
        if self._terminal.can_draw:
            os.write(self._terminal.console.file.fileno(), b"\x1b[?25h\r\n")

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """The terminal as it was, for as long as the process is stopped."""
        with self._display.aside():
            self._keyboard.restore()
            yield
            self._keyboard.listen()

    async def _run(self) -> int:
        began = time.monotonic()
        params = {"sessionId": self._session_id, "prompt": self._options.prompt}
        self._runs = True
        result: wire.RunResult = await self._client.request(wire.RUN_TASK, params)
        self._runs = False
        self._transcript.end_text()
        self._display.close()
        self._show_result(result, time.monotonic() - began)
        recorded = self._write_recording()
        reports = await self._review(finished=result["stopReason"] == "end_turn")
        if self._stopped or result["stopReason"] == "cancelled":
            return CANCELLED
        refused = any(report.counts["refused"] for report in reports)
        return DONE if result["stopReason"] == "end_turn" and recorded and not refused else ENDED_OTHERWISE

    async def _cancel(self) -> None:
        with contextlib.suppress(wire.RequestError, ServerGone):  # it ended by itself in this moment
            await self._client.request(wire.CANCEL, {"sessionId": self._session_id})

    def _show_result(self, result: wire.RunResult, seconds: float) -> None:
        if self._transcript.plan:
            self._display.show([Text(), *whole_plan(self._transcript.plan)])
        said, marks = self._transcript.said, self._display.marks
        self._display.show([Text(), *result_lines(result, said, self._window, seconds, marks)])
        if self._options.replay and (result["usage"]["requests"] or not result["error"]):
            self._display.show([replay_line(self._options)])

    async def _review(self, *, finished: bool) -> Sequence[FileReport]:
        edits = self._edits
        if edits is None or not edits["files"]:
            self._summarize([], chosen=True, finished=finished)
            return []
        review = Review(self._client, self._display, self._keyboard, self._options.workspace, edits)
        if self._terminal.can_ask:
            self._keyboard.forget()
        try:
            await review.decide(await self._what_to_accept(len(edits["files"])))
        finally:
            chosen = self._options.accept is not None or self._terminal.can_ask
            self._summarize(review.reports, chosen=chosen, finished=finished)
        return review.reports

    def _summarize(self, reports: Sequence[FileReport], *, chosen: bool, finished: bool) -> None:
        """What became of the files, and how to go on where something is left."""
        self._display.show([Text(), *summary_lines(reports, self._accept, chosen=chosen)])
        left = any(report.counts["left"] or report.counts["refused"] for report in reports)
        if self._options.storage is not None and (left or not finished):
            self._display.show([go_on_line(self._options, finished=finished)])

    async def _what_to_accept(self, files: int) -> Accept | None:
        """Of a run that was stopped nothing (None), unless the person wants to see it."""
        if not self._stopped:
            return self._accept
        if self._accept != "ask":
            return None
        self._display.show([Text()])
        question = f"The run was stopped. Look at the proposed changes of {files} file{'s' if files > 1 else ''}?"
        return "ask" if await ask(self._display, self._keyboard, question, LOOK_OPTIONS) == "y" else None

    def _write_recording(self) -> bool:
        if self._recorder is None or self._options.record is None:
            return True
        path, recording = self._options.record, self._recorder.recording()
        try:
            write_recording(path, recording)
        except OSError as error:
            self._display.show([Text(f"  The recording was not written: {error.strerror or error}", style="red")])
            return False
        count = len(recording.turns)
        answers, them = ("1 answer", "it") if count == 1 else (f"{count} answers", "them")
        self._display.show([Text(f"  Recorded {answers} to {path}; play {them} with --replay.", style="dim")])
        return True

    def _told(self, method: str, params: dict[str, Any]) -> None:
        """A notification, in the order of the wire. Those of other sessions are nobody's here."""
        if params.get("sessionId", self._session_id) != self._session_id:
            return
        match method:
            case wire.PLAN:
                self._transcript.take_plan(params)  # type: ignore[arg-type]
            case wire.EDITS:
                self._edits = params  # type: ignore[assignment]
            case wire.EVENT:
                if params["kind"] == "run_started" and not self._options.replay:
                    self._display.show(model_lines(params["model"], self._options, self._display))
                if params["kind"] == "usage":
                    self._window = (params["contextTokens"], params["contextLimit"])
                self._transcript.take(params)
                if self._recorder is not None:
                    self._recorder.take(params)
            case _ if method == SHOW_MESSAGE and params["type"] <= INFO:
                self._transcript.note(params["message"], style="yellow")
