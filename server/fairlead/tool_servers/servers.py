"""The tool servers of a session: started when they are needed, ended when they are not."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from fairlead.agent.tool import RunningCall
from fairlead.display import end_sentence, escape_to_one_line, shorten
from fairlead.errors import ToolError
from fairlead.gate.gate import NotAllowed
from fairlead.gate.request import UseChangedTools
from fairlead.sentences import Sentence
from fairlead.shell.services.errors import ServiceError
from fairlead.shell.services.message_lines import Output
from fairlead.shell.services.pool import ServicePool
from fairlead.tool_servers.connection import ListedTool
from fairlead.tool_servers.definition import Definition
from fairlead.tool_servers.inputs import NotEntered
from fairlead.tool_servers.known import KnownServers, tool_digest
from fairlead.tool_servers.local import Workspace
from fairlead.tool_servers.names import tool_names
from fairlead.tool_servers.offers import ListedResource, Offer
from fairlead.tool_servers.pipes import ServerFailed, SessionEnded
from fairlead.tool_servers.questions import changed_tools, digest_of
from fairlead.tool_servers.results import Answer, untrusted
from fairlead.tool_servers.secrets import Secrets
from fairlead.tool_servers.server import RunningServer
from fairlead.tool_servers.sign_ins import SignInNeeded
from fairlead.tool_servers.starting import Starter
from fairlead.tool_servers.status import ServerStatus, State

log = logging.getLogger(__name__)
_Answered = TypeVar("_Answered")

MAX_FAILURES = 3
"""How often a server may fail in a session before it is started only at the user's request."""

HOW_TO_SIGN_IN = "Run “Agent: Sign In to Tool Server...” in VS Code, or `fairlead mcp login {server}` in a terminal."
NEEDS_SIGN_IN = (
    "The tool server {server} was not used, because the user must sign in to it. Ask them to. In VS Code it is “Agent: "
    "Sign In to Tool Server...”, in a terminal `fairlead mcp login {server}`."
)


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that the model may call."""

    name: str
    """As the model names it."""
    server: str
    tool: ListedTool
    digest: str
    """Identifies the server's definition and the tool as the model sees it."""
    has_effects_outside: bool


@dataclass
class _Known:
    """What is known about one server of the session."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    running: RunningServer | None = None
    is_starting: bool = False
    failures: int = 0
    problem: str = ""
    """Why it is not running, if it failed or may not start."""
    is_refused: bool = False
    """Whether the user did not allow it."""
    refused_sign_ins: int | None = None
    """The version of the sign-ins with which it wanted another one; None: it did not."""
    output: Output = field(default_factory=Output)


class ToolServers:
    """The tool servers of one session.

    Args:
        definitions: returns the servers by name.
        packages: the folder for the packages of `npx` and `uvx` servers, and for what servers keep.
        pool: limits the local servers of all sessions, and stops idle ones.
        on_change: called when the status of a server has changed.
        secrets: what the user has entered for servers, and their sign-ins.
    """

    def __init__(
        self,
        workspace: Workspace,
        definitions: Callable[[], Mapping[str, Definition]],
        known: KnownServers,
        pool: ServicePool,
        packages: Path,
        on_change: Callable[[], None] = lambda: None,
        secrets: Secrets | None = None,
    ) -> None:
        self._workspace, self._definitions, self._known, self._pool = workspace, definitions, known, pool
        self._on_change = on_change
        self._secrets = secrets or Secrets()
        self._starter = Starter(workspace, known, pool, packages, self._secrets)
        self._states: dict[str, _Known] = {}
        """By the digest of the definition, so that a changed one begins anew."""
        self._closed = False

    async def prepare(self) -> None:
        """Learns the tools of the servers that are used for the first time, and those of changed servers.

        Ends the servers whose definitions are gone. A server that fails is left out; `statuses` says why.
        """
        definitions = [each for each in self._definitions().values() if each.is_enabled]
        wanted = {each.digest for each in definitions}
        for digest in [digest for digest in self._states if digest not in wanted]:
            await self._end(self._states.pop(digest))
        await asyncio.gather(*(self._learn(each) for each in definitions))

    def tools(self) -> Sequence[OfferedTool]:
        """The tools for the model, in a stable order: that of the definitions, then that of the server."""
        offered = [
            (definition, tool)
            for definition in self._definitions().values()
            if definition.is_enabled and not self._state(definition).is_refused
            for tool in self._known.tools(definition.digest) or ()
            if tool.name not in definition.disabled_tools
        ]
        names = tool_names((definition.name, tool.name) for definition, tool in offered)
        return [
            OfferedTool(
                names[definition.name, tool.name],
                definition.name,
                tool,
                f"{definition.digest} {tool_digest(tool)}",
                definition.has_effects_outside or not self._workspace.has_sandbox,
            )
            for definition, tool in offered
        ]

    def statuses(self) -> Sequence[ServerStatus]:
        """All servers that are defined, in their order."""
        return [self._status(each) for each in self._definitions().values()]

    async def call(
        self, offered: OfferedTool, arguments: dict[str, Any], call: RunningCall
    ) -> tuple[Answer, Sequence[str]]:
        """Calls a tool, and starts its server if necessary. See `RunningServer.call`.

        Raises:
            ToolRefused, TimeoutError: as there.
            ToolError: the server does not work, or the user did not allow it or the changed tool.
        """

        async def ask(server: RunningServer) -> tuple[Answer, Sequence[str]]:
            await self._learn_from(server)
            self._check_offered(server.definition, offered, server)
            return await server.call(offered.tool, arguments, call)

        return await self._ask(offered.server, ask)

    async def offers(self) -> Sequence[Offer]:
        """What the servers offer to the user. Starts none, and lists again what has changed of those that run."""
        definitions = [each for each in self._definitions().values() if each.is_enabled]
        return await asyncio.gather(*(self._offer(each) for each in definitions))

    async def prompt(self, server: str, name: str, arguments: dict[str, str]) -> Answer:
        """What a prompt of a server says. Raises as `call`, but nothing is asked about its tools."""
        return await self._ask(server, lambda running: running.prompt(name, arguments))

    async def read(self, server: str, uri: str) -> Answer:
        """Reads a resource of a server. Raises as `prompt`."""
        return await self._ask(server, lambda running: running.read(uri))

    async def _ask(self, name: str, ask: Callable[[RunningServer], Awaitable[_Answered]]) -> _Answered:
        """Asks a server, and starts it if necessary. Once more if it did not read the question."""
        definition = self._definitions().get(name)
        if definition is None or not definition.is_enabled:
            raise ToolError(f"The tool server {name} is no longer there.")
        try:
            answer = await self._ask_running(definition, ask, may_repeat=True)
        except SessionEnded:
            answer = await self._ask_running(definition, ask, may_repeat=False)
        self._state(definition).failures = 0
        return answer

    async def _ask_running(
        self, definition: Definition, ask: Callable[[RunningServer], Awaitable[_Answered]], *, may_repeat: bool
    ) -> _Answered:
        """As `_ask`. Raises SessionEnded if the server did not read the question, and it may be repeated."""
        state = self._state(definition)
        server = await self._running(definition)
        try:
            return await ask(server)
        except ServerFailed as error:
            self._note_end(definition, state, server, error)
            await self._end(state)
            if isinstance(error, SessionEnded) and may_repeat:
                raise
            raise self._failed(definition, state) from error

    async def restart(self, name: str) -> None:
        """Ends a server and starts it again, whatever happened before. `statuses` says whether it works."""
        await self.reset(name)
        definition = self._definitions().get(name)
        if definition is not None and definition.is_enabled:
            await self._start_and_learn(definition)

    async def reset(self, name: str) -> None:
        """Ends a server, which starts again when it is needed, whatever happened before."""
        definition = self._definitions().get(name)
        if definition is not None:
            state = self._state(definition)
            await self._end(state)
            state.failures, state.problem, state.is_refused, state.refused_sign_ins = 0, "", False, None

    async def aclose(self) -> None:
        """Ends all servers."""
        self._closed = True
        await asyncio.gather(*(self._end(state) for state in self._states.values()))

    def _state(self, definition: Definition) -> _Known:
        return self._states.setdefault(definition.digest, _Known())

    def _status(self, definition: Definition) -> ServerStatus:
        state = self._state(definition)
        shown: State = "stopped"
        if not definition.is_enabled:
            shown = "disabled"
        elif state.is_starting:
            shown = "starting"
        elif state.running is not None and state.running.is_running:
            shown = "running"
        elif state.is_refused:
            shown = "notAllowed"
        elif self._needs_sign_in(state):
            shown = "signIn"
        elif state.problem:
            shown = "failed"
        tools = self._known.tools(definition.digest) or ()
        return ServerStatus(definition, shown, state.problem, state.output.text, tools)

    async def _learn(self, definition: Definition) -> None:
        """Starts a server whose tools are not known, and asks about tools that have changed."""
        state = self._state(definition)
        is_known = self._known.tools(definition.digest) is not None
        has_changed = state.running is not None and "tools" in state.running.changed
        if (is_known and not has_changed) or state.is_refused or state.failures >= MAX_FAILURES:
            return
        if self._needs_sign_in(state):
            return
        await self._start_and_learn(definition)

    async def _start_and_learn(self, definition: Definition) -> None:
        """Starts a server if necessary, and learns its tools. `statuses` says why if it fails."""
        with contextlib.suppress(ToolError):
            server = await self._running(definition)
            try:
                await self._learn_from(server)
            except ServerFailed as error:
                state = self._state(definition)
                self._note_end(definition, state, server, error)
                await self._end(state)

    async def _learn_from(self, server: RunningServer) -> None:
        """Takes over the tools of a running server if they may have changed. Asks the user if they differ.

        Raises:
            NotAllowed: the user does not allow the changed tools.
            ServerFailed: the server does not list them.
        """
        async with server.learning:  # another call waits for the user's answer too
            if "tools" in server.changed:
                await self._learn_tools(server)

    async def _learn_tools(self, server: RunningServer) -> None:
        definition = server.definition
        found = await server.list_tools()
        before = self._known.tools(definition.digest)
        if before is None:
            self._known.keep_tools(definition.digest, found)
        elif changed := changed_tools(before, found):
            action = UseChangedTools(definition.name, changed, digest_of(definition, found))
            why = Sentence("The tool server {0} has changed its tools.", definition.name)
            await self._workspace.gate.check(action, reasons=[why])
            self._known.keep_tools(definition.digest, found)
        elif before != found:  # some are gone
            self._known.keep_tools(definition.digest, found)
        await self._learn_prompts(server)
        self._on_change()

    async def _learn_prompts(self, server: RunningServer) -> None:
        """Remembers the prompts of a running server if they have changed. If it does not list them, nothing is."""
        if "prompts" in server.changed:
            with contextlib.suppress(ServerFailed):
                self._known.keep_prompts(server.definition.digest, await server.list_prompts())

    async def _offer(self, definition: Definition) -> Offer:
        server, resources = self._state(definition).running, list[ListedResource]()
        if server is not None and server.is_running:
            await self._learn_prompts(server)
            with contextlib.suppress(ServerFailed):
                resources = [*await server.resources()]
        return Offer(definition.name, self._known.prompts(definition.digest), resources)

    def _check_offered(self, definition: Definition, offered: OfferedTool, server: RunningServer) -> None:
        """Raises ToolError if a tool is no longer what the model has seen, or what the user has allowed."""
        name = shorten(offered.tool.name)
        now = next(
            (tool for tool in self._known.tools(definition.digest) or () if tool.name == offered.tool.name), None
        )
        if now is None:
            raise ToolError(f"The tool server {definition.name} no longer has the tool {name}.")
        if now != offered.tool:
            raise ToolError(
                f"The tool {name} of {definition.name} has changed since this run began, so it was not called. The "
                "next run can use it."
            )
        if now not in server.tools:
            raise ToolError(f"The tool {name} of {definition.name} has changed, and the user did not allow that.")

    async def _running(self, definition: Definition) -> RunningServer:
        """The running server; starts it if necessary.

        Raises:
            ToolError: it cannot be used.
        """
        state = self._state(definition)
        async with state.lock:
            server = state.running
            if server is not None and not server.is_running:
                await server.start_ending()
                self._pool.remove(server)
                state.running = server = None
            if server is None:
                server = await self._start(definition, state)
            elif not definition.is_remote:
                self._pool.note_use(server)
            return server

    async def _start(self, definition: Definition, state: _Known) -> RunningServer:
        if self._closed:
            raise ToolError("The session has ended.")
        if state.is_refused:
            raise ToolError(f"The tool server {definition.name} is not used: {end_sentence(state.problem)}")
        if state.failures >= MAX_FAILURES or self._needs_sign_in(state):
            raise self._failed(definition, state)
        state.is_starting, state.output = True, Output()
        self._on_change()
        try:
            state.running = await self._starter.start(
                definition, state.output, lambda server, failure: self._ended(definition, server, failure)
            )
            state.problem, state.refused_sign_ins = "", None
            return state.running
        except (NotAllowed, NotEntered) as error:
            state.is_refused, state.problem = True, str(error)
            raise
        except (ServerFailed, ServiceError, ToolError) as error:
            self._note_failure(definition, state, error)
            raise self._failed(definition, state) from error
        finally:
            state.is_starting = False
            self._on_change()

    def _ended(self, definition: Definition, server: RunningServer, failure: ServerFailed) -> None:
        """A server can no longer answer."""
        if server.is_running and not self._closed:
            state = self._state(definition)
            if state.running is server:
                self._note_end(definition, state, server, failure)
            server.start_ending()
            self._on_change()

    def _note_end(self, definition: Definition, state: _Known, server: RunningServer, failure: ServerFailed) -> None:
        """Notes that a running server has failed, which both its pipes and its call may notice."""
        if not server.has_failed:
            server.has_failed = True
            self._note_failure(definition, state, failure)

    def _note_failure(self, definition: Definition, state: _Known, error: ToolError) -> None:
        state.problem = str(error)
        if isinstance(error, SessionEnded):
            return  # the next call begins another one
        log.warning("the tool server %s failed: %s", definition.name, error)
        if isinstance(error, SignInNeeded):
            state.problem = f"{end_sentence(state.problem)} {HOW_TO_SIGN_IN.format(server=definition.name)}"
            state.refused_sign_ins = self._secrets.version
        else:
            state.failures += 1
            if definition.inputs:
                how = HOW_TO_SIGN_IN.format(server=definition.name)
                state.problem = f"{end_sentence(state.problem)} Were the values that you entered right? {how}"

    def _needs_sign_in(self, state: _Known) -> bool:
        """Whether a server wanted another sign-in than those that there still are."""
        return state.refused_sign_ins == self._secrets.version

    def _failed(self, definition: Definition, state: _Known) -> ToolError:
        if self._needs_sign_in(state):
            return ToolError(NEEDS_SIGN_IN.format(server=definition.name))
        last = state.output.last_line
        said = f" Its last output:\n{untrusted(escape_to_one_line(last), definition.name)}" if last else ""
        again = " It is not started again until the user restarts it." if state.failures >= MAX_FAILURES else ""
        problem = end_sentence(state.problem)
        return ToolError(f"The tool server {definition.name} failed: {problem}{again}{said}")

    async def _end(self, state: _Known) -> None:
        async with state.lock:
            server, state.running = state.running, None
            if server is not None:
                await server.start_ending()
                self._pool.remove(server)
        self._on_change()
