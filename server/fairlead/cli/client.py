"""The LSP client of the terminal. It starts its own server, as an editor does.

It does not import lsprotocol, because the import takes as long as the start of the server.
"""

import asyncio
import contextlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import IO, Any, Protocol

from fairlead.app.sign_in_file import SIGN_INS, SignInFile
from fairlead.errors import FairleadError
from fairlead.wire import protocol as wire
from fairlead.workspace.paths import Roots

Json = dict[str, Any]
METHOD_NOT_FOUND = -32601
STOP_SECONDS = 5.0

CAPABILITIES: Json = {
    "general": {"positionEncodings": ["utf-16"]},
    "experimental": {"agent": {"approvals": True, "questions": True, "signIns": True}},
}


class ServerExited(FairleadError):
    """The server process ended unexpectedly. The message contains the end of its log."""


class ServerProcess(Protocol):
    """The part of `asyncio.subprocess.Process` that the client needs."""

    @property
    def stdin(self) -> asyncio.StreamWriter | None: ...
    @property
    def stdout(self) -> asyncio.StreamReader | None: ...
    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...
    def kill(self) -> None: ...
    async def wait(self) -> int: ...


StartServer = Callable[[IO[bytes]], Awaitable[ServerProcess]]
"""Starts a server. Its stderr goes to the given file."""

Answers = Mapping[str, Callable[[Json], Awaitable[Json | None]]]
"""What answers the requests of a server, by their methods."""


async def spawn_server(log: IO[bytes]) -> ServerProcess:
    """Starts `fairlead serve` with the current Python."""
    # -P: do not import modules from the current folder. With its own process group, the server does not receive
    # Ctrl-C, so that the client can shut it down.
    new_group: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "fairlead",
        "serve",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=log,
        start_new_session=sys.platform != "win32",
        creationflags=new_group,
    )


class AgentClient:
    """A server process and the messages to and from it.

    Args:
        workspace: the folders that the server works in.
        on_notification: called with the method and params of each notification, in order.
        answers: return the results of the server's requests, by method. All others are refused.
        start_server: starts the process.
    """

    def __init__(
        self,
        workspace: Roots,
        on_notification: Callable[[str, Json], None],
        answers: Answers,
        start_server: StartServer = spawn_server,
    ) -> None:
        self._workspace = workspace
        self._on_notification = on_notification
        self._start_server = start_server
        self._sign_ins: SignInFile | None = None
        self._answers = answers
        self._numbers = itertools.count(1)
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._process: ServerProcess | None = None
        self._read_error: BaseException | None = None
        """The error that ended the reading of messages; None while they are read, and if the server ended."""
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed by stop()

    async def start(self, settings: Json, storage: Path | None = None) -> Json:
        """Starts and initializes the server. Returns the result of `initialize`.

        Args:
            settings: the server's settings (docs/protocol.md, `Settings`).
            storage: the folder of the saved sessions and sign-ins; None: nothing is saved. The server restores a
                session only when a request names it, so other clients can open all the rest.

        Raises:
            RequestError, ServerExited: as for `request`.
            OSError: the process cannot be started.
        """
        self._process = await self._start_server(self._log)
        reader = asyncio.ensure_future(self._read())
        self._add_task(reader)
        reader.add_done_callback(self._fail_pending)
        folders = [{"uri": root.path.as_uri(), "name": root.name} for root in self._workspace.folders]
        sessions = {"storageDir": str(storage), "restore": False} if storage is not None else {}
        answer = await self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": folders[0]["uri"],
                "workspaceFolders": folders,
                "capabilities": CAPABILITIES,
                "initializationOptions": {"settings": settings, "trusted": True, **sessions},
            },
        )
        self.notify("initialized", {})
        if storage is not None:
            self._sign_ins = SignInFile(storage / SIGN_INS)
            if secrets := self._sign_ins.read():
                await self.request(wire.SECRETS, {"secrets": secrets})
        return answer

    async def request(self, method: str, params: Any) -> Any:
        """Sends a request and returns the result. Cancelling the caller ends only the wait, not the server's work.

        Raises:
            RequestError: the server answered with an error.
            ServerExited: the process has ended, before the request or during it.
            Exception: a message of the server could not be handled, before the request or during it. The client then
                reads no further messages, so every request raises this error.
        """
        number = next(self._numbers)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        try:
            self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return await answer
        finally:
            self._pending.pop(number, None)

    def notify(self, method: str, params: Any) -> None:
        """Sends a notification. Raises ServerExited if the process has ended."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def stop(self) -> None:
        """Shuts down the server.

        Kills it if it refuses or does not end within `STOP_SECONDS`, or if its messages are no longer read.
        """
        process = self._process
        if process is None:
            return
        try:
            if self._read_error is None:
                with contextlib.suppress(TimeoutError, ServerExited, wire.RequestError):
                    async with asyncio.timeout(STOP_SECONDS):
                        await self.request("shutdown", None)
                        self.notify("exit", None)
                        await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            for task in list(self._tasks):
                task.cancel()
            self._log.close()

    def _send(self, message: Json) -> None:
        process = self._process
        if self._read_error is not None:
            raise self._read_error
        if process is None or process.stdin is None or process.returncode is not None:
            raise self._exit_error()
        body = json.dumps(message).encode()
        process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    async def _read(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        stream = self._process.stdout
        try:
            while True:
                header = await stream.readuntil(b"\r\n\r\n")
                length = int(header.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                self._dispatch(json.loads(await stream.readexactly(length)))
        except (asyncio.IncompleteReadError, ConnectionResetError):
            await self._process.wait()

    def _fail_pending(self, reader: asyncio.Task[None]) -> None:
        """Fails all requests when nothing is read anymore: the server ended, or a message could not be handled."""
        if reader.cancelled():
            return
        self._read_error = reader.exception()
        for answer in self._pending.values():  # empty after `stop`, which closes the log that `_exit_error` reads
            if not answer.done():
                answer.set_exception(self._read_error or self._exit_error())

    def _dispatch(self, message: Json) -> None:
        method = message.get("method")
        if method is None:
            self._handle_answer(message)
        elif "id" in message:
            self._add_task(
                asyncio.ensure_future(self._answer_request(message["id"], method, message.get("params") or {}))
            )
        elif method == wire.SECRET_CHANGED and self._sign_ins is not None:
            self._sign_ins.change(message["params"]["key"], message["params"]["value"])
        else:
            self._on_notification(method, message.get("params") or {})

    def _handle_answer(self, message: Json) -> None:
        answer = self._pending.get(message["id"])
        if answer is None or answer.done():
            return
        if "error" in message:
            answer.set_exception(wire.RequestError(message["error"]["code"], message["error"]["message"]))
        else:
            answer.set_result(message.get("result"))

    async def _answer_request(self, msg_id: Any, method: str, params: Json) -> None:
        answer: Json = {"jsonrpc": "2.0", "id": msg_id}
        if method in self._answers:
            answer["result"] = await self._answers[method](params)
        else:
            answer["error"] = {"code": METHOD_NOT_FOUND, "message": f"Method not found: {method}"}
        self._send(answer)

    def _add_task(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _exit_error(self) -> ServerExited:
        code = self._process.returncode if self._process else None
        self._log.seek(0)
        tail = self._log.read().decode("utf-8", "replace").strip().splitlines()[-5:]
        return ServerExited("\n".join([f"The server ended (exit code {code}).", *tail]))
