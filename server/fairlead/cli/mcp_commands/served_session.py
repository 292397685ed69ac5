"""The session in which another agent works."""

import asyncio
import contextlib
import shlex
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fairlead.cli.client import AgentClient, ServerExited
from fairlead.cli.mcp_commands.offered import Call, Offered, WrongCall
from fairlead.cli.mcp_commands.questions import Question, Questions
from fairlead.cli.program import program_name
from fairlead.cli.saved_sessions import delete_old_sessions
from fairlead.cli.summary import workspace_arguments
from fairlead.cli.view.diffs import draw_diff, two_sides
from fairlead.display import count_of, escape_to_one_line
from fairlead.uris import file_path
from fairlead.wire import protocol as wire
from fairlead.wire import states
from fairlead.wire.events import OpenedSession
from fairlead.workspace.paths import Roots

PROMPT = "{caller} works in this session over MCP."
ENDED = "Fairlead's server has ended. Call the tool again. {error}"
NOT_WRITTEN = "Nothing is written yet. The user reviews it with: {command}"
NOTHING = "No proposal is undecided."
IDLE_SECONDS = 3.0
"""After this time without a call, the session is closed, so that the user can review it in another program."""
MAX_PENDING = 60_000
"""The longest list of proposals, in characters."""


@dataclass(frozen=True)
class Answer:
    """The result of a call, as text for the calling model."""

    text: str
    is_error: bool = False


class ServedSession:
    """A session of Fairlead. It is created at the first call, and each call is a run of it.

    Only one process can have a session open, and the other agent may stay for hours. So the server ends when no call
    comes for a while, and starts again at the next one.

    Args:
        connect: starts a server.
        session_id: the saved session to continue; empty: a new one.
        questions: the questions of its calls.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[AgentClient]],
        workspace: Roots,
        session_id: str,
        questions: Questions,
    ) -> None:
        self._connect, self._workspace, self._id, self._questions = connect, workspace, session_id, questions
        self._client: AgentClient | None = None
        self._has_begun = False
        self._one_at_a_time = asyncio.Lock()
        self._closing: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Opens the saved session, if there is one. Otherwise the first call does everything.

        Raises:
            RequestError, ServerExited, OSError: it cannot be opened.
        """
        if self._id:
            async with self._one_at_a_time, self._connected() as client:
                await client.request(wire.OPEN_SESSION, {"sessionId": self._id})

    async def aclose(self) -> None:
        """Ends the server, if it runs. Call it when no call goes on."""
        async with self._one_at_a_time:
            if self._closing is not None:
                self._closing.cancel()
            await self._stop()

    async def call(
        self, tool: Offered, given: Mapping[str, Any], caller: str, ask: Callable[[Question], None]
    ) -> Answer:
        """Calls a tool. Calls wait for each other. If the caller is cancelled, the call is stopped.

        Args:
            ask: gets the questions of the call.
        """
        try:
            call = tool.call(given) if tool.call is not None else None
            if call is None and not self._id:
                return Answer(NOTHING)
            async with self._one_at_a_time, self._connected() as client:
                if call is None:
                    return Answer(await self._pending(client))
                with self._questions.passed_to(ask):
                    return await self._call(client, call, caller)
        except (wire.RequestError, WrongCall) as error:
            return Answer(f"Error: {error}", is_error=True)
        except (ServerExited, OSError) as error:
            return Answer(f"Error: {ENDED.format(error=error)}", is_error=True)

    @contextlib.asynccontextmanager
    async def _connected(self) -> AsyncGenerator[AgentClient]:
        """The server within the context, which is started if necessary. It ends some time afterwards."""
        if self._closing is not None:
            self._closing.cancel()  # it only waits, as it needs the lock to do more
        if self._client is None:
            self._client = await self._connect()
        try:
            yield self._client
        except ServerExited:
            await self._stop()  # the next call starts another one
            raise
        finally:
            self._closing = asyncio.create_task(self._close_when_idle())

    async def _close_when_idle(self) -> None:
        await asyncio.sleep(IDLE_SECONDS)
        async with self._one_at_a_time:
            await self._stop()

    async def _stop(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await asyncio.shield(client.stop())

    async def _call(self, client: AgentClient, call: Call, caller: str) -> Answer:
        if not self._id:
            for_user = PROMPT.format(caller=caller)
            self._id = (await client.request(wire.CREATE_SESSION, {"title": for_user}))["sessionId"]
            await delete_old_sessions(client)
        params: dict[str, Any] = {"sessionId": self._id, "name": call.name, "input": call.input, "caller": caller}
        if not self._has_begun:
            params["prompt"] = PROMPT.format(caller=caller)
        try:
            result: wire.CallToolResult = await client.request(wire.CALL_TOOL, params)
        except asyncio.CancelledError:
            with contextlib.suppress(wire.RequestError, ServerExited):
                await asyncio.shield(client.request(wire.CANCEL, {"sessionId": self._id}))
            raise
        self._has_begun = True
        changes = call.name in ("edit_file", "write_file", "delete_file") and not result["isError"]
        next_step = NOT_WRITTEN.format(command=self._review_command) if changes else ""
        return Answer("\n\n".join(filter(None, (result["text"], next_step, result["feedback"]))), result["isError"])

    @property
    def _review_command(self) -> str:
        return f"{program_name()} review --session {shlex.quote(self._id)}{workspace_arguments(self._workspace)}"

    async def _pending(self, client: AgentClient) -> str:
        opened: OpenedSession = await client.request(wire.OPEN_SESSION, {"sessionId": self._id})
        shown, left = list[str](), MAX_PENDING
        files = opened["edits"]["files"]
        for number, file in enumerate(files):
            text = await self._shown(client, file)
            if len(text) > left:
                shown.append(f"({count_of(len(files) - number, 'more file')}: too long to show here.)")
                break
            shown.append(text)
            left -= len(text)
        return "\n\n".join([*shown, NOT_WRITTEN.format(command=self._review_command)]) if shown else NOTHING

    async def _shown(self, client: AgentClient, file: states.FileEditsWire) -> str:
        """A proposal as a heading and a diff."""
        sides = two_sides(
            *[await self._text(client, scheme, file["uri"]) for scheme in (wire.BASE_SCHEME, wire.PROPOSED_SCHEME)]
        )
        moved = f" to {self._name(file['newUri'])}" if file["newUri"] else ""
        state = ", in conflict with the user's changes" if file["state"] == "conflict" else ""
        heading = f"{self._name(file['uri'])} ({file['kind']}{moved}{state})"
        return "\n".join([heading, *(line.plain for line in draw_diff(sides, file["hunks"], "^M"))])

    async def _text(self, client: AgentClient, scheme: str, uri: str) -> str:
        content_uri = uri.replace("file://", f"{scheme}://{self._id}", 1)
        return (await client.request("workspace/textDocumentContent", {"uri": content_uri}))["text"]

    def _name(self, uri: str) -> str:
        path = file_path(uri)
        return escape_to_one_line(self._workspace.relative(path) if path is not None else uri)
