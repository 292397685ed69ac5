"""JSON-RPC over the pipes of an agent: one message per line (ACP, "stdio"). The agent is not trusted."""

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from fairlead.display import shorten
from fairlead.errors import ToolError
from fairlead.json_values import fields_of, is_object, read_message
from fairlead.shell.services.errors import ServiceError
from fairlead.shell.services.message_lines import MessageLines, Output

log = logging.getLogger(__name__)

MAX_REQUESTS = 64
"""How many requests of the agent are answered at the same time; further ones are refused."""
FLOOD_SECONDS = 60.0
"""The limit for what an agent sends (`MessageLines`) holds for this long: a prompt may take hours."""
MAX_UNANSWERED = 4 * MAX_REQUESTS
"""How many answers, refusals too, may wait until the agent reads them. Until then, nothing more of it is read."""
METHOD_NOT_FOUND, INTERNAL, BUSY = -32601, -32603, -32000


class AgentFailed(ToolError):
    """An agent does not work. The message says what happened, but not what to do."""


class Refused(Exception):
    """An error that answers a request, of the agent or of ours."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


OnNotification = Callable[[str, dict[str, Any]], None]
"""Takes a notification of the agent: its method and its parameters."""
OnRequest = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Answers a request of the agent. Raises Refused."""


class Connection:
    """The connection to an agent's process.

    Notifications are taken in their order, and before the answers that follow them.

    Args:
        on_end: called once when the agent can no longer answer.
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        output: Output,
        on_notification: OnNotification,
        on_request: OnRequest,
        on_end: Callable[[AgentFailed], None],
    ) -> None:
        self._process, self._messages = process, MessageLines(process, output)
        self._on_notification, self._on_request, self._on_end = on_notification, on_request, on_end
        self._last_id = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._writing = asyncio.Lock()
        self.failure: AgentFailed | None = None
        """Why the agent can no longer answer; None while it can."""

    def open(self) -> None:
        """Starts reading."""
        self._tasks = [
            asyncio.create_task(self._read()),
            asyncio.create_task(self._messages.read_errors()),
            asyncio.create_task(self._renew_limit()),
        ]

    async def close(self) -> None:
        """Stops reading. Whoever waits for an answer gets AgentFailed."""
        tasks = [*self._tasks, *self._answering]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._fail(AgentFailed("it was ended"))

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Sends a request, and waits for its answer.

        Raises:
            Refused: the agent answers with an error.
            AgentFailed: it ended.
        """
        self._last_id += 1
        number, answer = self._last_id, asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            await self._send({"id": number, "method": method, "params": params})
            return fields_of(await answer)
        finally:
            del self._waiting[number]

    async def tell(self, method: str, params: dict[str, Any]) -> None:
        """Sends a notification. Raises AgentFailed if the agent has ended."""
        await self._send({"method": method, "params": params})

    async def _send(self, message: dict[str, Any]) -> None:
        if self.failure is not None:
            raise self.failure
        stdin = self._process.stdin
        assert stdin is not None
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
        try:
            async with self._writing:
                stdin.write(line.encode("utf-8", "replace") + b"\n")
                await stdin.drain()
        except OSError as error:
            raise self.failure or AgentFailed("it ended") from error

    async def _read(self) -> None:
        failure = AgentFailed("it ended")
        try:
            async for line in self._messages.read():
                self._take(line)
                if len(self._answering) > MAX_UNANSWERED:
                    await asyncio.wait(self._answering, return_when=asyncio.FIRST_COMPLETED)
        except ServiceError as error:
            failure = AgentFailed(str(error))
        except Exception as error:  # noqa: BLE001  the pipe is broken
            log.info("an agent cannot be read: %s", error)
        self._fail(failure)

    def _fail(self, failure: AgentFailed) -> None:
        if self.failure is not None:
            return
        self.failure = failure
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(failure)
        self._on_end(failure)

    def _take(self, line: bytes) -> None:
        message = read_message(line)
        if message is None:
            self._messages.add_other(line)
            return
        method, number = message.get("method"), message.get("id")
        if isinstance(method, str) and number is None:
            self._on_notification(method, fields_of(message.get("params")))
        elif isinstance(method, str):
            task = asyncio.create_task(self._answer(number, method, fields_of(message.get("params"))))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        elif isinstance(number, int) and (answer := self._waiting.get(number)) is not None and not answer.done():
            if is_object(error := message.get("error")):
                answer.set_exception(_refusal(error))
            else:
                answer.set_result(message.get("result"))

    async def _answer(self, number: Any, method: str, params: dict[str, Any]) -> None:
        try:
            if len(self._answering) > MAX_REQUESTS:
                raise Refused(BUSY, "Too many requests at once")
            answer: dict[str, Any] = {"result": await self._on_request(method, params)}
        except Refused as error:
            answer = {"error": {"code": error.code, "message": error.message}}
        except Exception:
            log.exception("a request of an agent failed")
            answer = {"error": {"code": INTERNAL, "message": "Internal error in Fairlead"}}
        with contextlib.suppress(AgentFailed):
            await self._send({"id": number, **answer})

    async def _renew_limit(self) -> None:
        while True:
            await asyncio.sleep(FLOOD_SECONDS)
            self._messages.expect()


def _refusal(error: dict[str, Any]) -> Refused:
    code, message = error.get("code"), error.get("message")
    text = message if isinstance(message, str) else ""
    data = fields_of(error.get("data"))
    details = data.get("details", data.get("message", error.get("data")))
    if isinstance(details, str) and details not in text:
        text = f"{text}: {details}" if text else details
    return Refused(code if isinstance(code, int) else INTERNAL, shorten(text, 500))
