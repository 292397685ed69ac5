"""A client of lines, which sees every message of both sides and can send anything."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from acp import schema
from pydantic import TypeAdapter

from acp_agent.process import start
from cli.command import DEADLINE
from fairlead.cli.client import ServerProcess

Json = dict[str, Any]
Answer = Callable[[Json], Any]
UPDATE = TypeAdapter(schema.SessionNotification)


class Failed(Exception):
    """A request was answered with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(error["message"])
        self.code, self.message = error["code"], error["message"]


def by_kind(*kinds: str) -> Answer:
    """Answers each permission with the option of the next kind; the last one is used for all that follow."""
    left = list(kinds)

    def answer(params: Json) -> Json:
        kind = left.pop(0) if len(left) > 1 else left[0]
        option = next((each for each in params["options"] if each["kind"] == kind), None)
        if option is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}

    return answer


class RawClient:
    """One connection. Each message that arrives is checked against the schema of the protocol."""

    def __init__(self, process: ServerProcess) -> None:
        self.process = process
        self.received: list[Json] = []
        """All messages of the agent, in order."""
        self.transcript: list[Json] = []
        """The messages of both sides."""
        self.permission: Answer = by_kind("reject_once")
        """Answers `session/request_permission`. None as an answer sends nothing."""
        self.form: Answer = lambda _: {"action": "cancel"}
        self._numbers = itertools.count(1)
        self._waiting: dict[Any, asyncio.Future[Json]] = {}
        self._changed = asyncio.Event()
        self._reader = asyncio.ensure_future(self._read())
        self._reader.add_done_callback(self._fail_waiting)

    def send(self, message: Json) -> None:
        self.transcript.append(message)
        self.send_line(json.dumps(message).encode())

    def send_line(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")

    def notify(self, method: str, **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def begin(self, method: str, **params: Any) -> asyncio.Future[Json]:
        """Sends a request. The future has the whole answer."""
        number = next(self._numbers)
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return future

    async def request(self, method: str, **params: Any) -> Any:
        """The result of a request. Raises Failed."""
        answer = await asyncio.wait_for(self.begin(method, **params), DEADLINE)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["result"]

    async def initialize(self, **capabilities: Any) -> Json:
        return await self.request("initialize", protocolVersion=1, clientCapabilities=capabilities)

    async def new(self, folder: Path, **params: Any) -> str:
        return (await self.request("session/new", cwd=str(folder), **{"mcpServers": [], **params}))["sessionId"]

    async def prompt(self, session: str, *blocks: str | Json) -> str:
        """The stop reason of a turn."""
        return (await self.request("session/prompt", sessionId=session, prompt=as_blocks(blocks)))["stopReason"]

    def begin_prompt(self, session: str, *blocks: str | Json) -> asyncio.Future[Json]:
        return self.begin("session/prompt", sessionId=session, prompt=as_blocks(blocks))

    def updates(self, kind: str | None = None, session: str | None = None) -> list[Json]:
        """The updates in order: all, of a kind, of a session."""
        found = [each["params"] for each in self.received if each.get("method") == "session/update"]
        return [
            each["update"]
            for each in found
            if (session is None or each["sessionId"] == session)
            and (kind is None or each["update"]["sessionUpdate"] == kind)
        ]

    def text(self, kind: str = "agent_message_chunk", session: str | None = None) -> str:
        return "".join(each["content"]["text"] for each in self.updates(kind, session))

    def asked(self, method: str = "session/request_permission") -> list[Json]:
        """The params of the agent's requests."""
        return [each["params"] for each in self.received if each.get("method") == method]

    def calls(self) -> dict[str, Json]:
        """The calls by id, with what the last update said."""
        found: dict[str, Json] = {}
        for each in self.updates():
            if each["sessionUpdate"] in ("tool_call", "tool_call_update"):
                found.setdefault(each["toolCallId"], {}).update(each)
        return found

    def plan(self) -> list[tuple[str, str]]:
        """The last plan: the steps with their states."""
        plans = self.updates("plan")
        return [(entry["content"], entry["status"]) for entry in plans[-1]["entries"]] if plans else []

    async def until(self, holds: Callable[[], Any]) -> None:
        """Waits until what has arrived fulfils a condition."""
        async with asyncio.timeout(DEADLINE):
            while not holds():
                if self._reader.done():
                    raise self._reader.exception() or AssertionError("the agent has ended")
                self._changed.clear()
                await self._changed.wait()

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            message = json.loads(line.decode("ascii"))
            assert isinstance(message, dict) and line.endswith(b"\n"), line
            self.received.append(message)
            self.transcript.append(message)
            self._take(message)
            self._changed.set()

    def _fail_waiting(self, reader: asyncio.Future[None]) -> None:
        """Fails the requests that are not answered: a message was wrong, or the agent has ended."""
        error = None if reader.cancelled() else reader.exception()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(error or ConnectionError("the agent has ended"))
        self._changed.set()

    def _take(self, message: Json) -> None:
        method = message.get("method")
        if method is None:
            future = self._waiting.pop(message["id"], None)
            if future is not None:
                future.set_result(message)
        elif method == "session/update":
            UPDATE.validate_python(message["params"])
        elif method == "session/request_permission":
            schema.RequestPermissionRequest.model_validate(message["params"])
            self._answer(message, self.permission)
        elif method == "elicitation/create":
            schema.CreateFormSessionElicitationRequest.model_validate(message["params"])
            self._answer(message, self.form)
        else:
            raise AssertionError(f"the client announced no method {method}")

    def _answer(self, message: Json, answer: Answer) -> None:
        result = answer(message["params"])
        if result is not None:
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def stop_reading(self) -> None:
        """Closes the other end of the agent's stdout."""
        self._reader.cancel()
        transport: Any = getattr(self.process.stdout, "_transport", None)
        transport.close()

    async def end(self) -> int:
        """Closes stdin. Returns the exit code of the agent, which has sent all that it had to send."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with asyncio.timeout(DEADLINE):
            code = await self.process.wait()
            await self._reader
        return code

    async def aclose(self) -> None:
        self._reader.cancel()
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reader


def as_blocks(blocks: Sequence[str | Json]) -> list[Json]:
    return [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]


@asynccontextmanager
async def connected(cwd: Path, *options: str, **env: str) -> AsyncIterator[RawClient]:
    """A client with its agent, which is killed if the test leaves it running."""
    client = RawClient(await start(options, cwd, **env))
    try:
        yield client
    finally:
        await client.aclose()


Connect = Callable[..., Awaitable[RawClient]]
