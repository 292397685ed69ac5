"""A connection to a tool server, over the SDK of MCP in both of its revisions.

The SDK's contexts must be left by the task that entered them, so each connection has a task of its own.
"""

import asyncio
import importlib
import json
import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import fairlead
from fairlead.display import shorten
from fairlead.json_values import is_list, is_object
from fairlead.tool_servers.offers import MAX_OFFERS, ListedPrompt, ListedResource, listed_prompt, listed_resource
from fairlead.tool_servers.pipes import ServerFailed

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client._transport import TransportStreams
    from mcp.client.session import ClientRequestContext
    from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, GetPromptResult, ReadResourceResult

log = logging.getLogger(__name__)

START_SECONDS = 60.0
"""How long a server may take until it can be used."""
LIST_SECONDS = 30.0
MAX_PAGES, MAX_TOOLS = 50, 500
MAX_DEPTH = 50
"""How many levels a schema may have. The SDK reads up to 200, and recursion over so many is near Python's limit."""
MAX_SCHEMA, MAX_DESCRIPTION = 50_000, 10_000
"""The longest schema of a tool's input as JSON and the longest description that are used, in characters."""
_MAX_REASON = 300
_CLOSED = (
    "Connection closed",
    "SSE stream ended without a response",
    "SSE stream ended and reconnection attempts were exhausted",
)
"""What the SDK says with its code for a closed connection, which servers use for other errors."""

Listed = Literal["tools", "prompts", "resources"]
"""What a server lists."""
Progress = Callable[[float, float | None, str | None], Awaitable[None]]
Elicit = Callable[["ElicitRequestParams"], Awaitable["ElicitResult"]]
Transport = Callable[[], "AbstractAsyncContextManager[TransportStreams]"]
_Each = TypeVar("_Each")


_importing = threading.Lock()
NOT_INSTALLED = "the packages for tool servers are not installed; install fairlead[mcp]"


async def load_sdk() -> None:
    """Imports the SDK, which takes a while the first time.

    Raises:
        ServerFailed: it is not installed.
    """
    try:
        await asyncio.to_thread(_import_sdk)
    except ModuleNotFoundError as error:
        raise ServerFailed(NOT_INSTALLED) from error


def _import_sdk() -> None:
    with _importing:  # several servers start at once, and two threads must not clear the caches of importlib
        try:
            importlib.import_module("mcp")
        except ModuleNotFoundError:
            importlib.invalidate_caches()  # it may have been installed since the server started
            importlib.import_module("mcp")


class ToolRefused(Exception):
    """The server answered a call with an error of the protocol."""


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server describes it."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """The JSON Schema of its input."""
    title: str = ""
    reads_only: bool = False
    """What the server claims."""
    is_destructive: bool = False
    """What the server claims. A server that says nothing claims nothing, although MCP's default is that it may."""


class Connection:
    """An open connection."""

    def __init__(
        self,
        transport: Transport,
        on_changed: Callable[[Listed], None],
        elicit: Elicit,
    ) -> None:
        """
        Args:
            transport: opens the streams of messages.
            on_changed: called when the server says that a list has changed.
            elicit: asks the user what the server wants to know.
        """
        self._transport, self._on_changed, self._elicit = transport, on_changed, elicit
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._client: Client | None = None

    @property
    def instructions(self) -> str:
        return (self._client.instructions or "") if self._client is not None else ""

    @property
    def version(self) -> str:
        """The revision of MCP; empty before the connection is open."""
        return self._client.protocol_version if self._client is not None else ""

    async def open(self, seconds: float = START_SECONDS) -> None:
        """Connects. Call it once.

        Raises:
            ServerFailed: the server did not answer in time, or as MCP says.
        """
        ready = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(ready))
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(ready)
        except TimeoutError:
            await self.close()
            raise ServerFailed(f"it did not answer within {seconds:.0f} s") from None
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Ends the connection, but not the server's process."""
        self._closing.set()
        if self._task is not None:
            done, _ = await asyncio.wait({self._task}, timeout=2)
            if not done:
                self._task.cancel()
                await asyncio.wait({self._task}, timeout=2)

    async def list_tools(self, seconds: float = LIST_SECONDS) -> list[ListedTool]:
        """The tools that the server offers. Leaves out tools that no model can use.

        Args:
            seconds: how long it may take.

        Raises:
            ServerFailed: it does not list them.
        """
        return await self._list("tools", _listed, MAX_TOOLS, seconds)

    async def list_prompts(self, seconds: float = LIST_SECONDS) -> list[ListedPrompt]:
        """The prompts that the server offers. Otherwise as `list_tools`."""
        return await self._list("prompts", listed_prompt, MAX_OFFERS, seconds)

    async def list_resources(self, seconds: float = LIST_SECONDS) -> list[ListedResource]:
        """The resources that the server offers. Otherwise as `list_tools`."""
        return await self._list("resources", listed_resource, MAX_OFFERS, seconds)

    async def _list(
        self, kind: Listed, convert: Callable[[Any], _Each | None], most: int, seconds: float
    ) -> list[_Each]:
        """All pages of a list, without what `convert` leaves out."""
        found: list[_Each] = []
        try:
            client = self._connected
            if kind != "tools" and getattr(client.server_capabilities, kind) is None:
                return []
            list_page = getattr(client, f"list_{kind}")
            async with asyncio.timeout(seconds):
                cursor = None
                for _ in range(MAX_PAGES):
                    page = await list_page(cursor=cursor, cache_mode="bypass")
                    found += [each for each in map(convert, getattr(page, kind)) if each is not None]
                    cursor = page.next_cursor
                    if cursor is None or len(found) > most:
                        break
        except TimeoutError as error:
            raise ServerFailed(f"it did not list its {kind} within {seconds:.0f} s") from error
        except Exception as error:
            raise ServerFailed(f"it did not list its {kind}: {reason_of(error)}") from error
        return found[:most]

    async def call(
        self, name: str, arguments: dict[str, Any], seconds: float, on_progress: Progress
    ) -> "CallToolResult":
        """Calls a tool. If the caller is cancelled, the server is told.

        Args:
            seconds: how long it may take without a sign of progress.

        Raises:
            ToolRefused: the server answered with an error.
            TimeoutError: it did not answer in time.
            ServerFailed: it ended, or answered what MCP does not allow.
        """
        async with self._answering(seconds) as limit:

            async def progressed(progress: float, total: float | None, message: str | None) -> None:
                limit.reschedule(asyncio.get_running_loop().time() + seconds)
                await on_progress(progress, total, message)

            return await self._connected.call_tool(name, arguments, progress_callback=progressed)

    async def get_prompt(self, name: str, arguments: dict[str, str], seconds: float) -> "GetPromptResult":
        """Gets a prompt with these values for its arguments. Otherwise as `call`."""
        async with self._answering(seconds):
            return await self._connected.get_prompt(name, arguments)

    async def read_resource(self, uri: str, seconds: float) -> "ReadResourceResult":
        """Reads a resource. Otherwise as `call`."""
        async with self._answering(seconds):
            return await self._connected.read_resource(uri, cache_mode="bypass")

    @asynccontextmanager
    async def _answering(self, seconds: float) -> AsyncGenerator[asyncio.Timeout]:
        """Limits how long an answer may take, and replaces the errors of the SDK by those of `call`."""
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415  with the SDK
        from mcp_types import CONNECTION_CLOSED  # noqa: PLC0415

        async with asyncio.timeout(seconds) as limit:
            try:
                yield limit
            except MCPError as error:
                if error.code == CONNECTION_CLOSED and error.message in _CLOSED:
                    raise ServerFailed("it ended during the call") from error
                raise ToolRefused(error.message) from error
            except Exception as error:
                raise ServerFailed(reason_of(error)) from error

    @property
    def _connected(self) -> "Client":
        if self._client is None:
            raise ServerFailed("it is not connected")
        return self._client

    async def _live(self, ready: "asyncio.Future[None]") -> None:
        """Keeps the connection open until it is closed."""
        from mcp import Client  # noqa: PLC0415  slow to import, and rarely needed
        from mcp_types import Implementation  # noqa: PLC0415

        info = Implementation(name="fairlead", title="Fairlead", version=fairlead.__version__)
        try:
            async with Client(
                self._transport(),
                client_info=info,
                elicitation_callback=self._on_elicit,
                message_handler=self._on_message,
                cache=None,
            ) as client:
                self._client = client
                ready.set_result(None)
                listening = asyncio.create_task(self._listen(client))
                try:
                    await self._closing.wait()
                finally:
                    listening.cancel()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(ServerFailed(reason_of(error)))
            elif not isinstance(error, Exception | asyncio.CancelledError):
                raise
        finally:
            self._client = None

    async def _listen(self, client: "Client") -> None:
        """Waits for changes of the lists, which servers of the newer revision do not announce otherwise."""
        from mcp.client.subscriptions import PromptsListChanged, ResourcesListChanged, ToolsListChanged  # noqa: PLC0415
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS  # noqa: PLC0415

        able = client.server_capabilities
        tools, prompts, resources = (
            each is not None and bool(each.list_changed) for each in (able.tools, able.prompts, able.resources)
        )
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS and (tools or prompts or resources):
            with suppress(Exception):  # without it, changes are noticed when the server starts again
                async with client.listen(
                    tools_list_changed=tools, prompts_list_changed=prompts, resources_list_changed=resources
                ) as changes:
                    async for change in changes:
                        match change:
                            case ToolsListChanged():
                                self._on_changed("tools")
                            case PromptsListChanged():
                                self._on_changed("prompts")
                            case ResourcesListChanged():
                                self._on_changed("resources")
                            case _:
                                pass

    async def _on_message(self, message: Any) -> None:
        match getattr(message, "method", ""):
            case "notifications/tools/list_changed":
                self._on_changed("tools")
            case "notifications/prompts/list_changed":
                self._on_changed("prompts")
            case "notifications/resources/list_changed":
                self._on_changed("resources")
            case _:
                pass

    async def _on_elicit(self, context: "ClientRequestContext", params: "ElicitRequestParams") -> "ElicitResult":
        return await self._elicit(params)


def _listed(tool: Any) -> ListedTool | None:
    """A tool of the SDK; None if no model can use it."""
    schema = tool.input_schema
    try:
        if not is_object(schema) or _is_deep(schema) or len(json.dumps(schema)) > MAX_SCHEMA or not tool.name.strip():
            return None
    except ValueError:
        return None
    hints = tool.annotations
    reads_only = bool(hints is not None and hints.read_only_hint)
    is_destructive = bool(hints is not None and hints.destructive_hint)
    return ListedTool(
        tool.name,
        (tool.description or "")[:MAX_DESCRIPTION],
        schema,
        tool.title or (hints.title if hints is not None and hints.title else ""),
        reads_only,
        not reads_only and is_destructive,
    )


def _is_deep(value: Any) -> bool:
    """Whether JSON has more than `MAX_DEPTH` levels."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        inner = [each.values() if is_object(each) else each for each in level if is_object(each) or is_list(each)]
        level = [each for values in inner for each in values]
        if not level:
            return False
    return True


def reason_of(error: BaseException) -> str:
    """What an error of the SDK says, in one line. It may be in several groups."""
    first = next(_leaves(error), error)
    if isinstance(first, ServerFailed):
        return str(first)
    return shorten(str(first).partition("\n")[0] or type(first).__name__, _MAX_REASON)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _leaves(each)
    else:
        yield error
