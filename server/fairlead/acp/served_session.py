"""A session as the client sees it: its turns, its choices and its questions."""

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acp import schema

from fairlead.acp import commands
from fairlead.acp.choices import Choices
from fairlead.acp.client import Client, Option, Update, text_content
from fairlead.acp.client_servers import with_client_servers
from fairlead.acp.ports import AcpEditor, NoBuffers
from fairlead.acp.prompt_content import ReadPrompt, read_prompt
from fairlead.acp.review import TurnReview
from fairlead.acp.texts import note, plain
from fairlead.acp.turns import RunFailed, Turns
from fairlead.acp.updates import Updates, agent_text
from fairlead.agent.events import StopReason
from fairlead.app.app import App, Start
from fairlead.app.sign_in_file import SIGN_INS, SignInFile
from fairlead.display import escape_invisible
from fairlead.sentences import english
from fairlead.session.errors import RequestRefused
from fairlead.session.events import SessionEvent
from fairlead.session.evidence.spending import total
from fairlead.session.report.listing import Row
from fairlead.session.rewind import forked
from fairlead.session.run.prompt import CONTINUATION_PROMPTS, Continuation, RunTask
from fairlead.session.session import Session
from fairlead.session.state import SessionState
from fairlead.session.store.journal import SavingChanged
from fairlead.session.together.states import TogetherState

log = logging.getLogger(__name__)

START_PLAN = "Start the work on this plan?"
STOP_REASONS: dict[StopReason, schema.StopReason] = {
    "end_turn": "end_turn",
    "max_tokens": "max_tokens",
    "max_turn_requests": "max_turn_requests",
    "budget": "max_turn_requests",
    "loop": "max_turn_requests",
    "refusal": "refusal",
    "hook": "end_turn",
    # by an agent of another maker, as some do after a rejection: the protocol's word is for a cancel of the client
    "cancelled": "end_turn",
}
"""Those of the protocol. A run that ended with an error is answered with an error."""


@dataclass(frozen=True)
class Place:
    """Where a session works, and what it may use besides the user's settings."""

    folders: Sequence[Path]
    """The folders of the workspace. Commands start in the first one."""
    settings: Mapping[str, Any]
    """The user's settings, by their names without the prefix `fairlead.`."""
    servers: Sequence[Any]
    """The tool servers that the client passes."""
    storage: Path
    """The folder of the saved sessions."""


class ServedSession:
    """One session with everything that it needs, so that nothing of it applies to another one. Implements `FrontEnd`.

    Nothing is sent before `begin`, because the client does not know the session before the answer to its request.
    """

    def __init__(self, client: Client, place: Place) -> None:
        self.client = client
        self._has_begun = False
        self._warnings: list[str] = []
        self._title = ""
        self._turns = Turns()
        self._numbers = itertools.count(1)
        self._background: set[asyncio.Task[None]] = set()
        self.updates = Updates(lambda: self.app.context.roots, self._cost, self._send)
        start = Start(
            [(folder, "") for folder in place.folders],
            is_trusted=True,
            restores_sessions=False,
            storage=place.storage,
        )
        self.app = App(start, self, NoBuffers(), AcpEditor(self), None, None)
        settings, problems = with_client_servers(place.settings, place.servers)
        warning = self.app.use_settings(settings)
        self._warnings += [*filter(None, [warning]), *problems]
        sign_ins = SignInFile(place.storage / SIGN_INS)
        self.app.use_secrets(sign_ins.read())
        self.app.context.server_secrets.on_change = sign_ins.change
        self.app.prepare()
        self._session: Session | None = None
        self._choices: Choices | None = None

    @property
    def session(self) -> Session:
        """The session. It is open after `create` or `open`."""
        assert self._session is not None
        return self._session

    @property
    def choices(self) -> Choices:
        """What the user has chosen. It is there from when the session is."""
        assert self._choices is not None
        return self._choices

    @property
    def session_id(self) -> str:
        return self.session.id

    async def create(self, agent_name: str) -> None:
        """Creates the session.

        Args:
            agent_name: the agent of another maker that works in it; empty: Fairlead's own.

        Raises:
            RequestRefused: the workspace cannot be used.
            WrongRequest: there is no such agent.
        """
        await self._use(self.app.sessions.create())
        if agent_name:
            self.choices.config.choose_agent(agent_name)

    async def fork(self, state: SessionState) -> None:
        """Creates the session as another one is now. Raises RequestRefused if the workspace cannot be used."""
        session = self.app.sessions.create(f"{state.title} (fork)")
        await session.adopt(forked(state))
        await self._use(session)

    async def open(self, session_id: str) -> None:
        """Opens a saved session, after comparing its proposals with the files.

        Raises:
            WrongRequest, RequestRefused: as `Sessions.get`.
        """
        await self.app.sessions.rows_when_loaded()
        session = await self.app.sessions.get(session_id)
        # a client that resumes still shows the questions of the earlier process
        self._numbers = itertools.count(session.journal_writer.events + 1)
        await session.files.observe_all()
        session.publish()
        await self._use(session)

    async def _use(self, session: Session) -> None:
        self._session, self._choices = session, Choices(self.app, session, self._send)
        await self._choices.read()

    def replay(self) -> None:
        """Sends the conversation and the plan of an opened session."""
        self._has_begun = True
        self.updates.replay(self.session.conversation.entries)
        self.updates([self.session.plan_state(), self.session.edits()])
        self._has_begun = False

    def begin(self) -> None:
        """Sends what the client does not know yet, and from now on everything. Call it after the answer was sent."""
        self._has_begun = True
        self.updates([self.session.plan_state(), self.session.edits()])
        self.choices.send_commands()
        self.reviewer.say_left()
        for warning in self._warnings:
            self.show_warning(warning)
        self._warnings.clear()
        self._add_background(self.choices.list_models())

    async def prompt(self, blocks: Sequence[Any]) -> schema.StopReason:
        """Works on a prompt, then asks the user about the proposals. Returns how the turn ends.

        During a run, a message without attachments reaches the run, whose turn then answers this prompt too. Any other
        prompt waits until the turns before it have ended.

        Raises:
            WrongRequest: the prompt cannot be used.
            RequestRefused: it cannot be worked on now.
            RunFailed: the model did not answer.
        """
        read = read_prompt(blocks, self.app.context.roots)
        turn = self._turns.only if self._steered(read) else self._turns.add(lambda: self._work(read))
        assert turn is not None
        try:
            return await turn.end()
        finally:
            self.session.flush()

    def steer(self, blocks: Sequence[Any]) -> bool:
        """Sends a message to the run. Returns whether the run will read it; if not, it must be sent as a prompt.

        Raises:
            WrongRequest: the message cannot be used.
        """
        return self._steered(read_prompt(blocks, self.app.context.roots))

    def _steered(self, read: ReadPrompt) -> bool:
        """Sends a message to the run, if there is one that can take it. Returns whether it did."""
        if self._turns.only is None or read.items or commands.find(read.text) is not None:
            return False
        try:
            self.session.steer(read.text)
        except RequestRefused:  # the run has not begun, or has ended and the user is asked about the proposals
            return False
        return True

    def cancel(self) -> None:
        """Stops the turn, those that wait, and the background commands, if there are any."""
        self.session.cancel()
        self._turns.cancel()

    async def _work(self, prompt: ReadPrompt) -> schema.StopReason:
        command = commands.find(prompt.text)
        if command is not None:
            return await command.run(self) or "end_turn"
        config = self.choices.config
        task = RunTask(
            prompt.text, prompt.items, mode=config.run_mode, agent=config.run_agent, hosted=config.run_hosted
        )
        return await self.run(task)

    async def run(self, task: RunTask) -> schema.StopReason:
        """Runs a task. At the end, asks about the plan or the proposals.

        Raises:
            RequestRefused: as `Session.run`.
            RunFailed: the model did not answer.
        """
        self.updates.begin_turn()
        before = self.session.files.changes
        outcome, record = await self.app.run(self.session, task)
        self.session.flush()
        self.choices.send_commands()
        self.choices.send_options()
        if self._turns.is_cancelled or outcome.error is not None:
            if self.reviewer.has_changed(before):
                self.reviewer.say_left()
            if outcome.error is not None:
                raise RunFailed(outcome.error)
            return "cancelled"
        self.updates.show_end(outcome.stop_reason, outcome.message, english(record))
        is_planned = self.session.runs.mode == "plan" and self.session.plan.snapshot().awaits_approval
        if is_planned and outcome.stop_reason == "end_turn":
            return await self.approve_plan()
        if len(self.session.files.changes):
            await self.reviewer.after_turn(before)
        return STOP_REASONS[outcome.stop_reason]

    async def continue_run(self, what: Continuation) -> schema.StopReason:
        """Continues a run that did not finish, or starts the work on the plan. Raises as `run`."""
        prompt = CONTINUATION_PROMPTS[what]
        if what == "paused":
            return await self.run(RunTask(prompt, mode=None, continues=what, agent=None, hosted=None))
        config = self.choices.config
        if config.run_mode != "agent":
            self.choices.set_mode("agent")
        task = RunTask(prompt, mode="agent", continues=what, agent=config.run_agent, hosted=config.run_hosted)
        return await self.run(task)

    async def approve_plan(self) -> schema.StopReason:
        """Asks whether the work on the plan starts, and starts it if the user wants that. Raises as `run`."""
        steps = [item.content for item in self.session.plan.snapshot().items if item.status != "completed"]
        if not steps:
            return "end_turn"
        text = "\n".join(f"{number}. {escape_invisible(step)}" for number, step in enumerate(steps, 1))
        options = [Option("keep", "No, keep planning", "reject_once"), Option("start", "Yes, start", "allow_once")]
        if await self.ask(None, START_PLAN, "switch_mode", text, options) != "start":
            return "end_turn"
        return await self.continue_run("plan")

    @property
    def reviewer(self) -> TurnReview:
        """Asks about the proposals."""
        return TurnReview(self.app, self.session, self.client, self._numbers)

    async def ask(
        self, call_id: str | None, title: str, kind: schema.ToolKind, details: str, options: Sequence[Option]
    ) -> str | None:
        """Asks the user. Returns the id of the option that they chose; None: no answer.

        Args:
            call_id: the call that the question is about. None, and for one that was not shown: the question gets one.
            details: Markdown; may be empty.
        """
        self.session.flush()
        is_known = call_id is not None and self.updates.is_announced(call_id)
        call = schema.ToolCallUpdate(
            tool_call_id=call_id if call_id is not None and is_known else f"question-{next(self._numbers)}",
            title=plain(title),
            kind=kind,
            status="pending",
            content=[*text_content(details)] or None,
        )
        if not is_known:
            self.client.begin_call(self.session_id, call)
        answer = await self.client.choose(self.session_id, call, options)
        if is_known:
            self.updates.restore_title(call.tool_call_id)
            return answer
        is_yes = next((each.kind.startswith("allow") for each in options if each.id == answer), False)
        status = "completed" if is_yes else "failed"
        self._send(
            schema.ToolCallProgress(session_update="tool_call_update", tool_call_id=call.tool_call_id, status=status)
        )
        return answer

    async def fill_in(
        self, call_id: str | None, message: str, fields: Mapping[str, schema.StringPropertySchema]
    ) -> Mapping[str, str] | None:
        """Shows a form to the user, after everything that has happened before. As `Client.fill_in`."""
        self.session.flush()
        shown = call_id if call_id is not None and self.updates.is_announced(call_id) else None
        return await self.client.fill_in(self.session_id, shown, message, fields)

    def say(self, text: str) -> None:
        """Adds a text to the conversation that the client shows."""
        self._send(agent_text(text))

    def show_warning(self, text: str) -> None:
        if not self._has_begun:
            self._warnings.append(text)
            return
        self.say(note(f"Fairlead: {text}"))

    def report_saving(self, changed: SavingChanged) -> None:
        self.show_warning(changed.message)

    def subscribe(self, session_id: str, seq: int) -> Callable[[Sequence[SessionEvent]], None]:
        return self._on_events

    def publish_together(self, state: TogetherState) -> None:
        """There is only one session."""

    def publish_list(self, rows: tuple[Row, ...]) -> None:
        """Tells the client the title of the session when it has one, or another one."""
        title = next((row.title for row in rows if self._session and row.id == self._session.id), "")
        if title and title != self._title and self._has_begun:
            self._title = title
            self._send(schema.SessionInfoUpdate(session_update="session_info_update", title=plain(title)))

    def _on_events(self, events: Sequence[SessionEvent]) -> None:
        if self._has_begun:
            self.updates(events)

    def _send(self, update: Update) -> None:
        if self._has_begun:
            self.client.update(self.session_id, update)

    def _cost(self) -> float | None:
        return total(self.session.evidence.recorder.spent.values()).known_usd

    def _add_background(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._end_background)

    def _end_background(self, task: "asyncio.Task[None]") -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a task of a session failed", exc_info=error)

    async def begin_again(self) -> None:
        """Ends the turn, if there is one. Call it before a client that has restarted its view gets the session."""
        self.cancel()
        await self._turns.wait_for_end()
        self.updates.forget_plan()

    async def close(self) -> None:
        """Stops everything and saves the session, so that another process can open it. A run counts as interrupted."""
        for task in self._background:
            task.cancel()
        self.app.prepare_exit()
        self._turns.cancel()
        await self.app.close()
        await self._turns.wait_for_end()
        self.app.sessions.close_journals()
        self.app.sessions.release_journals()
