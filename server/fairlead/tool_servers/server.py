"""One running tool server: it sees the files as proposed, and what a call writes is proposed."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from fairlead.agent.tool import RunningCall
from fairlead.errors import ToolError
from fairlead.shell.layer import HEAD_MOVED, REPOSITORY_DISCARDED, Changes
from fairlead.shell.services.errors import ServiceError
from fairlead.shell.services.message_lines import Output
from fairlead.shell.services.workspace_process import WorkspaceProcess
from fairlead.tool_servers.connection import START_SECONDS, Connection, Listed, ListedTool, Transport
from fairlead.tool_servers.definition import Definition
from fairlead.tool_servers.elicitation import MAX_QUESTIONS, Ask, elicited
from fairlead.tool_servers.offers import ListedPrompt, ListedResource
from fairlead.tool_servers.pipes import ServerFailed
from fairlead.tool_servers.results import Answer, answer_of, prompt_of, resource_of
from fairlead.uncancelled import finish_uncancelled

if TYPE_CHECKING:
    from mcp_types import ElicitRequestParams, ElicitResult

DISCARDED = (
    "What the server did to the repository itself (.git) is discarded: a commit, branch or stash that it reports does "
    "not exist."
)
MOVED = (
    "All that the server wrote since its last call is discarded, because it moved HEAD or the stash (git stash, "
    "switch, checkout, rebase). It was ended, and starts again at the next call. The proposals are unchanged."
)
TOO_MUCH = "The server was ended, so that what it wrote beyond that is gone. It starts again at the next call."
OFFER_SECONDS = 3.0
"""How long a list may take for which the user waits while typing."""

_Found = TypeVar("_Found")


Propose = Callable[[Changes, RunningCall], Awaitable[Sequence[str]]]
"""Proposes what a server wrote during or after a call. Returns lines for the model."""


class Streams(Protocol):
    """What carries the messages."""

    @property
    def failure(self) -> ServerFailed | None:
        """Why the server can no longer answer; None while it can."""
        ...

    def expect(self) -> None:
        """Something is asked of the server, so that it may send more."""
        ...


class RunningServer:
    """A server that is connected.

    Args:
        box: None for a remote server.
        streams: to the box's process, or to the remote server.
        ask: asks the user, given the call.
        on_use: called after each call.
    """

    def __init__(
        self,
        definition: Definition,
        transport: Transport,
        box: WorkspaceProcess | None,
        streams: Streams,
        propose: Propose,
        ask: Callable[[RunningCall], Ask],
        on_use: Callable[["RunningServer"], None],
        output: Output,
    ) -> None:
        self.definition, self.output = definition, output
        self._box, self._streams, self._propose, self._ask, self._on_use = box, streams, propose, ask, on_use
        self.changed: set[Listed] = {"tools", "prompts", "resources"}
        """What may differ from the last list, because there is none or the server has said so."""
        self.tools: Sequence[ListedTool] = ()
        """The last list."""
        self.learning = asyncio.Lock()
        """Held while the user is asked about changed tools."""
        self.has_failed = False
        self.connection = Connection(transport, self.changed.add, self._elicit)
        self._resources: Sequence[ListedResource] = ()
        self._uses = 0
        """How many callers wait for an answer."""
        self._calls: list[RunningCall] = []
        self._last_call: RunningCall | None = None
        self._questions = 0
        self._files = asyncio.Lock()
        self._ending: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        return self._ending is None

    @property
    def is_busy(self) -> bool:
        return self._uses > 0

    async def open(self) -> None:
        """See `Connection.open`."""
        with self._naming_reason():
            await self.connection.open(min(START_SECONDS, self.definition.seconds))

    async def list_tools(self) -> Sequence[ListedTool]:
        """See `Connection.list_tools`."""
        self.tools = await self._list("tools", self.connection.list_tools())
        return self.tools

    async def list_prompts(self) -> list[ListedPrompt]:
        """See `Connection.list_prompts`."""
        return await self._list("prompts", self.connection.list_prompts(OFFER_SECONDS))

    async def resources(self) -> Sequence[ListedResource]:
        """Its resources, which are listed only if they have changed. See `Connection.list_resources`."""
        if "resources" in self.changed:
            self._resources = await self._list("resources", self.connection.list_resources(OFFER_SECONDS))
        return self._resources

    async def _list(self, kind: Listed, listing: Awaitable[_Found]) -> _Found:
        self._streams.expect()
        self.changed.discard(kind)  # before, because it may change meanwhile
        try:
            with self._naming_reason():
                return await listing
        except ServerFailed:
            self.changed.add(kind)
            raise

    async def prompt(self, name: str, arguments: dict[str, str]) -> Answer:
        """Gets a prompt. See `Connection.get_prompt`."""
        async with self._reading():
            result = await self.connection.get_prompt(name, arguments, self.definition.seconds)
        return prompt_of(result, self.definition.name)

    async def read(self, uri: str) -> Answer:
        """Reads a resource. See `Connection.read_resource`."""
        async with self._reading():
            return resource_of(await self.connection.read_resource(uri, self.definition.seconds))

    async def call(
        self, tool: ListedTool, arguments: dict[str, Any], call: RunningCall
    ) -> tuple[Answer, Sequence[str]]:
        """Calls a tool. Returns its answer, and lines about what it wrote.

        If the caller is cancelled, a server that may have begun to write ends, and what it wrote is discarded.

        Raises:
            ToolRefused, TimeoutError, ServerFailed: as `Connection.call`.
            ServerFailed: the changed files cannot be shown to it.
            ToolError: its files cannot be read.
        """
        with self._calling(call):
            await finish_uncancelled(self._show_files())
            self._last_call = call
            self._streams.expect()
            try:
                with self._naming_reason():
                    result = await self.connection.call(
                        tool.name, arguments, self.definition.seconds, self._progress_of(call)
                    )
            except asyncio.CancelledError:
                if self._box is not None and not tool.reads_only:
                    self._last_call = None
                    self.start_ending()
                raise
            except ServerFailed:
                await finish_uncancelled(self.start_ending())  # proposes what it wrote
                raise
            return answer_of(result), await finish_uncancelled(self._take_changes(call))

    def start_ending(self) -> asyncio.Task[None]:
        """See `Pooled`."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._end())
        return self._ending

    async def _end(self) -> None:
        with contextlib.suppress(ToolError):  # what it wrote since the last call is lost
            if self._last_call is not None and self._box is not None:
                await self._take_changes(self._last_call)
        await self.connection.close()
        if self._box is not None:
            stdin = self._box.process.process.stdin
            if stdin is not None:
                stdin.close()  # asks the server to exit (MCP, "Shutdown")
            await self._box.process.end()

    async def _show_files(self) -> None:
        if self._box is not None:
            if self._last_call is not None:
                await self._take_changes(self._last_call)
            async with self._files:
                try:
                    await self._box.update()
                except ServiceError as error:  # it would see old files
                    raise ServerFailed(str(error)) from error

    async def _take_changes(self, call: RunningCall) -> Sequence[str]:
        if self._box is None:
            return ()
        async with self._files:
            changes = await self._box.take_changes()
            if HEAD_MOVED in changes.warnings:  # it sees another state of the files, so nothing that it writes fits
                self._last_call = None
                self.start_ending()
            if changes.omitted:  # the next call would have to look through all of it again
                self._last_call = None
                self.start_ending()
                changes = replace(changes, warnings=[*changes.warnings, TOO_MUCH])
            texts = {HEAD_MOVED: MOVED, REPOSITORY_DISCARDED: DISCARDED}
            changes = replace(changes, warnings=[texts.get(each, each) for each in changes.warnings])
            if not (changes.files or changes.warnings or changes.folders.removed or changes.folders.empty):
                return ()
            return await self._propose(changes, call)

    @contextlib.asynccontextmanager
    async def _reading(self) -> AsyncGenerator[None]:
        """What the user asks the server for outside of a call, of the files as they are now."""
        with self._in_use(), self._naming_reason():
            await finish_uncancelled(self._show_files())
            self._streams.expect()
            yield

    @contextlib.contextmanager
    def _calling(self, call: RunningCall) -> Generator[None]:
        with self._in_use():
            self._calls.append(call)
            self._questions = 0
            try:
                yield
            finally:
                self._calls.remove(call)

    @contextlib.contextmanager
    def _in_use(self) -> Generator[None]:
        self._uses += 1
        try:
            yield
        finally:
            self._uses -= 1
            self._on_use(self)

    @contextlib.contextmanager
    def _naming_reason(self) -> Generator[None]:
        """Replaces what the SDK says about a closed connection by what closed it."""
        try:
            yield
        except ServerFailed as error:
            if self._streams.failure is None:
                raise
            raise self._streams.failure from error

    def _progress_of(self, call: RunningCall) -> Callable[[float, float | None, str | None], Awaitable[None]]:
        reports = 0

        async def report(progress: float, total: float | None, message: str | None) -> None:
            nonlocal reports
            reports += 1
            if is_shown(reports):
                amount = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
                call.output(f"{message} ({amount})\n" if message else f"{amount}\n")

        return report

    async def _elicit(self, params: "ElicitRequestParams") -> "ElicitResult":
        from mcp_types import ElicitResult  # noqa: PLC0415  with the SDK

        self._questions += 1
        if not self._calls or self._questions > MAX_QUESTIONS:
            return ElicitResult(action="cancel")
        return await elicited(self.definition.name, params, self._ask(self._calls[-1]))


def is_shown(number: int) -> bool:
    """Whether the user sees a report of progress, given its number in the call, from 1.

    All of the first 999, then each tenth up to 9999, and so on: few even of a call that reports without end, and the
    last one is never much older than the call's latest.
    """
    return number % 10 ** max(0, len(str(number)) - 3) == 0
