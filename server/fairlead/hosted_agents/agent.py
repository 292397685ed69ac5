"""One running agent of another maker: it sees the files as proposed, and what it writes is proposed."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fairlead.display import shorten
from fairlead.hosted_agents.connection import METHOD_NOT_FOUND, AgentFailed, Connection, Refused
from fairlead.hosted_agents.definition import AgentDefinition
from fairlead.hosted_agents.own_tools import ToolAnswer
from fairlead.hosted_agents.updates import (
    ENDED,
    CallState,
    Choice,
    Commands,
    ModeChanged,
    Option,
    Options,
    Update,
    Used,
    is_id,
    read_call,
    read_count,
    read_options,
    read_update,
)
from fairlead.json_values import fields_of, is_list
from fairlead.shell.layer import HEAD_MOVED, Changes
from fairlead.shell.services.errors import ServiceError
from fairlead.shell.services.message_lines import Output
from fairlead.shell.services.workspace_process import WorkspaceProcess
from fairlead.uncancelled import finish_uncancelled

if TYPE_CHECKING:
    from fairlead.hosted_agents.local_http import LocalServer
    from fairlead.hosted_agents.tool_server import ToolServer

log = logging.getLogger(__name__)

PROTOCOL = 1
START_SECONDS = 60.0
"""How long an agent may take to start, on a machine that is busy."""
CANCEL_SECONDS = 5.0
"""How long a cancelled agent may take to end its turn, before it is ended."""
AUTH_REQUIRED = -32000
MAX_QUESTIONS = 200
"""How often an agent may ask in one turn; further questions are refused without asking the user."""
MAX_CALLS = 5_000
"""How many calls of one turn are shown. What further ones write is proposed too."""
MOVED = (
    "All that the agent wrote since its last call is discarded, because it moved HEAD or the stash (git stash, switch, "
    "checkout, rebase). The proposals are unchanged."
)


class SignInNeeded(AgentFailed):
    """The agent has no account yet, or no longer."""


class Turn(Protocol):
    """What takes the agent's reports while it works on a prompt."""

    def take(self, update: Update) -> None:
        """The agent reports something."""
        ...

    async def allows(self, call: CallState) -> bool:
        """Whether a call may be done. Asks the user if necessary."""
        ...

    async def call_tool(self, name: str, input: Mapping[str, Any]) -> ToolAnswer:
        """Calls a tool of Fairlead for the agent."""
        ...


@dataclass
class AgentSession:
    """What is known about the agent's session."""

    id: str = ""
    """Empty: there is none yet."""
    options: tuple[Option, ...] = ()
    commands: tuple[Choice, ...] = ()
    cost: float | None = None
    """What it has cost so far, as the agent says, in US dollars."""
    calls: dict[str, CallState] = field(default_factory=dict[str, CallState])
    """Those of the current turn."""


class RunningAgent:
    """An agent that is connected.

    Args:
        on_end: called when it can no longer answer.
        on_change: called when its options or commands have changed.
        tools: serves Fairlead's tools to it; None: it gets none.
        relay: what else it reaches on this machine. Both end with it.
    """

    def __init__(
        self,
        definition: AgentDefinition,
        box: WorkspaceProcess,
        output: Output,
        on_end: Callable[["RunningAgent"], None],
        on_change: Callable[[], None] = lambda: None,
        tools: "ToolServer | None" = None,
        relay: "LocalServer | None" = None,
    ) -> None:
        self.definition, self.output = definition, output
        self._box, self._on_change = box, on_change
        self._tools, self._servers = tools, [each for each in (relay, tools) if each is not None]
        self._connection = Connection(box.process.process, output, self._notified, self._asked, lambda _: on_end(self))
        self.session = AgentSession()
        self.takes_images = False
        self._can_load = self._can_resume = self._takes_folders = self._takes_tools = False
        self._turn: Turn | None = None
        self._questions = 0
        self._asking = set[asyncio.Future[bool]]()
        self._files = asyncio.Lock()
        self._ending: asyncio.Task[None] | None = None
        if tools is not None:
            tools.call = self._call_tool

    @property
    def is_running(self) -> bool:
        return self._ending is None and self._connection.failure is None

    @property
    def is_busy(self) -> bool:
        """See `Pooled`."""
        return self._turn is not None

    @property
    def can_continue(self) -> bool:
        """Whether it can go on with a session of an earlier process."""
        return self._can_load or self._can_resume

    async def open(self) -> None:
        """Connects to it.

        Raises:
            AgentFailed: it does not answer as an agent.
        """
        self._connection.open()
        # neither files nor terminals: what the agent writes through the client would not be in its box
        capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        about = {"name": "fairlead", "title": "Fairlead", "version": "1"}
        answer = await self._started(
            "initialize", {"protocolVersion": PROTOCOL, "clientCapabilities": capabilities, "clientInfo": about}
        )
        if read_count(answer.get("protocolVersion")) != PROTOCOL:
            raise AgentFailed(f"it speaks version {shorten(str(answer.get('protocolVersion')))} of ACP, not {PROTOCOL}")
        able = fields_of(answer.get("agentCapabilities"))
        more = fields_of(able.get("sessionCapabilities"))
        self._can_load, self._can_resume = able.get("loadSession") is True, more.get("resume") is not None
        self._takes_folders = more.get("additionalDirectories") is not None
        self._takes_tools = fields_of(able.get("mcpCapabilities")).get("http") is True
        self.takes_images = fields_of(able.get("promptCapabilities")).get("image") is True

    async def begin_session(self, folders: Sequence[Path], earlier: str = "") -> bool:
        """Begins a session, or continues an earlier one if the agent can. Returns whether it continues.

        Args:
            folders: those of the workspace. It works in the first one.
            earlier: the id of a session of an earlier process; empty: there is none.

        Raises:
            SignInNeeded, AgentFailed: there can be none.
        """
        servers = [self._tools.described] if self._tools is not None and self._takes_tools else []
        given: dict[str, Any] = {"cwd": str(folders[0]), "mcpServers": servers}
        if self._takes_folders and folders[1:]:
            given["additionalDirectories"] = list(map(str, folders[1:]))
        if earlier and self.can_continue:
            self.session = AgentSession(earlier)
            method = "session/resume" if self._can_resume else "session/load"
            with contextlib.suppress(Refused):  # it has lost the session
                answer = await self._within(self._connection.ask(method, {"sessionId": earlier, **given}))
                self._use_options(read_options(answer))
                return True
        self.session = AgentSession()
        answer = await self._started("session/new", given)
        session_id = answer.get("sessionId")
        if not is_id(session_id):
            raise AgentFailed("it began no session")
        self.session.id = session_id
        self._use_options(read_options(answer))
        return False

    async def set_option(self, option: Option, value: str) -> None:
        """Sets an option of the session.

        Raises:
            AgentFailed: it cannot be set.
        """
        session = {"sessionId": self.session.id}
        match option.setter:
            case "mode":
                method, given = "session/set_mode", {**session, "modeId": value}
            case "model":
                method, given = "session/set_model", {**session, "modelId": value}
            case "option":
                method, given = "session/set_config_option", {**session, "configId": option.id, "value": value}
        answer = await self._started(method, given)
        changed = (replace(each, value=value) if each.id == option.id else each for each in self.session.options)
        self._use_options(read_options(answer) or tuple(changed))

    async def prompt(self, content: Sequence[Mapping[str, Any]], turn: Turn) -> dict[str, Any]:
        """Lets the agent work on a prompt. Returns its answer (ACP, `PromptResponse`).

        If the caller is cancelled, so is the turn. An agent that does not end it then ends itself.

        Raises:
            SignInNeeded, AgentFailed: it cannot, or it ended.
        """
        self._turn, self._questions, self.session.calls = turn, 0, {}
        asking = asyncio.ensure_future(
            self._answered(self._connection.ask("session/prompt", {"sessionId": self.session.id, "prompt": content}))
        )
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            await finish_uncancelled(self._cancel(asking))
            raise
        finally:
            self._turn = None
            for each in self._asking:
                each.cancel()

    async def _cancel(self, asking: "asyncio.Future[dict[str, Any]]") -> None:
        with contextlib.suppress(AgentFailed, TimeoutError):
            async with asyncio.timeout(CANCEL_SECONDS):  # it may not even read
                await self._connection.tell("session/cancel", {"sessionId": self.session.id})
                await asyncio.wait({asking})
        asking.cancel()
        await asyncio.wait({asking})
        if not asking.cancelled():
            asking.exception()  # nobody needs it

    async def show_files(self) -> None:
        """Shows it the files that have changed for it.

        Raises:
            AgentFailed: it would see old files.
        """
        async with self._files:
            try:
                await self._box.update()
            except ServiceError as error:
                raise AgentFailed(str(error)) from error

    async def take_changes(self) -> Changes:
        """What it has written since the last call.

        Raises:
            ToolError: it cannot be read.
        """
        async with self._files:
            changes = await self._box.take_changes()
        if self._ending is not None:  # its box may be half removed, which looks as if it had deleted its files
            return Changes()
        files = [each for each in changes.files if each.path not in self.definition.ignored]
        warnings = [MOVED if each == HEAD_MOVED else each for each in changes.warnings]
        return replace(changes, files=files, warnings=warnings)

    def start_ending(self) -> asyncio.Task[None]:
        """See `Pooled`."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._end())
        return self._ending

    async def _end(self) -> None:
        await self._connection.close()
        stdin = self._box.process.process.stdin
        if stdin is not None:
            stdin.close()  # most agents exit then
        await self._box.process.end()
        for each in self._servers:
            await each.aclose()

    async def _call_tool(self, name: str, input: Mapping[str, Any]) -> ToolAnswer:
        turn = self._turn
        if turn is None:
            return ToolAnswer("Error: this tool can be called only while you work on a prompt.", is_error=True)
        return await turn.call_tool(name, input)

    async def _started(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return await self._answered(self._within(self._connection.ask(method, params)))

    async def _within(self, answer: Awaitable[dict[str, Any]]) -> dict[str, Any]:
        try:
            async with asyncio.timeout(START_SECONDS):
                return await answer
        except TimeoutError as error:
            raise AgentFailed(f"it did not answer within {START_SECONDS:.0f} s") from error

    async def _answered(self, answer: Awaitable[dict[str, Any]]) -> dict[str, Any]:
        try:
            return await answer
        except Refused as error:
            kind = SignInNeeded if error.code == AUTH_REQUIRED else AgentFailed
            raise kind(error.message or f"it answered with the error {error.code}") from error

    def _notified(self, method: str, params: dict[str, Any]) -> None:
        if method != "session/update" or params.get("sessionId") != self.session.id:
            return
        update = read_update(fields_of(params.get("update")), self.session.calls)
        match update:
            case Options(options):
                self._use_options(options)
            case Commands(commands):
                self.session.commands = commands
                self._on_change()
            case ModeChanged(mode):
                self._use_options(
                    tuple(
                        replace(each, value=mode) if each.category == "mode" else each for each in self.session.options
                    )
                )
            case Used(cost=cost):
                self.session.cost = cost
                if self._turn is not None:
                    self._turn.take(update)
            case CallState() if self._turn is not None:
                if self._note_call(update):
                    self._turn.take(update)
            case None:
                pass
            case _ if self._turn is not None:
                self._turn.take(update)
            case _:
                pass

    async def _allows(self, turn: Turn, call: CallState) -> bool:
        """Asks about a call while the turn lasts, so that no question stays open after it."""
        asking = asyncio.ensure_future(turn.allows(call))
        self._asking.add(asking)
        try:
            return await asking
        except asyncio.CancelledError:
            if self._turn is turn:  # we are cancelled, and not the question
                raise
            return False
        finally:
            asking.cancel()
            self._asking.discard(asking)

    def _note_call(self, call: CallState) -> bool:
        """Notes what is known about a call. Returns whether it is one of those that are shown."""
        calls = self.session.calls
        if call.id not in calls and len(calls) >= MAX_CALLS:
            return False
        # nothing adds to a call that has ended
        calls[call.id] = replace(call, output="", input={}) if call.status in ENDED else call
        return True

    def _use_options(self, options: tuple[Option, ...]) -> None:
        self.session.options = options
        self._on_change()

    async def _asked(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        # fs/* and terminal/* too, which some agents call although they are not announced
        if method != "session/request_permission":
            raise Refused(METHOD_NOT_FOUND, "Method not found")
        given = params.get("options")
        options = [fields_of(each) for each in given] if is_list(given) else []
        call = read_call(fields_of(params.get("toolCall")), self.session.calls)
        turn = self._turn
        if call is None or turn is None or params.get("sessionId") != self.session.id or not self._note_call(call):
            return {"outcome": {"outcome": "cancelled"}}
        self._questions += 1
        is_allowed = self._questions <= MAX_QUESTIONS and await self._allows(turn, call)
        if self._turn is not turn:  # it has ended meanwhile
            return {"outcome": {"outcome": "cancelled"}}
        # never `always`: the agent would not ask again, and the user's rules may change
        kinds = ("allow_once", "allow_always") if is_allowed else ("reject_once", "reject_always")
        for kind in kinds:
            for option in options:
                if option.get("kind") == kind and isinstance(option.get("optionId"), str):
                    return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
        return {"outcome": {"outcome": "cancelled"}}
