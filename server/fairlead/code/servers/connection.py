"""The connection to one language server. Limits what the server can send, so that it cannot harm this process.

Built on the client of pygls, but reads the messages itself: pygls reads a message of any length into memory, parses it
on the event loop, and leaves requests without an answer.
"""

# pyright: reportUnknownMemberType=false
# pygls declares some attributes without their types

import asyncio
import contextlib
import itertools
import json
import logging
import re
from collections import deque
from collections.abc import Callable
from typing import Any

from pygls.client import JsonRPCClient
from pygls.protocol import JsonRPCProtocol

from fairlead.code.provider import ADVICE, NoAnswer
from fairlead.display import escape_to_one_line
from fairlead.json_values import is_object

log = logging.getLogger(__name__)

MAX_MESSAGE = 32 << 20
"""The size of the longest allowed message, in bytes. A server that sends a longer one is ended."""
MAX_UNSENT = 64 << 20
"""How many bytes may wait for the server to read them. A server with more is ended, because it does not read."""
MAX_PARSED_ON_LOOP = 64 << 10
"""Messages of more bytes are parsed in a thread, so that they do not block the event loop."""
_MAX_HEADER_LINES = 32
_MAX_STDERR = 2_000  # bytes
_HEADER = re.compile(rb"([A-Za-z-]+): *([^\r\n]*)\r?\n")
_METHOD_NOT_FOUND = -32601


class Ended(Exception):
    """The connection cannot continue. The message says why."""


class Refused(NoAnswer):
    """The server answered with an error. `code` is the error's code in JSON-RPC; 0 if it has none."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


class _PlainProtocol(JsonRPCProtocol):
    """Sends messages that are plain JSON values."""

    def send(self, message: dict[str, Any]) -> None:
        self._send_data({"jsonrpc": "2.0", **message})


class Connection(JsonRPCClient):
    """Sends and receives the messages of a server.

    Args:
        name: the server's name, for errors and the log.
        on_notification: gets each notification of the server, as method and params.
        on_request: answers each request of the server; raises KeyError for an unknown method.
    """

    protocol: _PlainProtocol

    def __init__(
        self,
        name: str,
        on_notification: Callable[[str, Any], None],
        on_request: Callable[[str, Any], Any],
    ) -> None:
        super().__init__(_PlainProtocol)
        self._name = name
        self._on_notification, self._on_request = on_notification, on_request
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Resolves to the reason when the connection ends."""
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._stderr: deque[bytes] = deque()
        self._input: asyncio.StreamWriter | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, process: asyncio.subprocess.Process) -> None:
        """Connects to a process whose three standard streams are pipes, and starts to read."""
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self._input = process.stdin
        self.protocol.set_writer(process.stdin)
        self._tasks = [
            asyncio.create_task(self._read(process, process.stdout)),
            asyncio.create_task(self._read_errors(process.stderr)),
        ]

    async def aclose(self) -> None:
        """Stops reading and writing. The caller ends the process."""
        self.end("it was stopped")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._input is not None:
            self._input.close()

    def end(self, reason: str) -> None:
        """Fails all requests, now and later, with this reason. Does nothing if the connection has already ended.

        The reason continues a sentence that begins with the server's name, such as "gopls is not running: ".
        """
        if self.ended.done():
            return
        self.ended.set_result(reason)
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(self.error())

    def notify(self, method: str, params: Any) -> None:
        """Sends a notification.

        Raises:
            NoAnswer: the connection has ended or not started.
        """
        self._send({"method": method, **_given(params)})

    async def request(self, method: str, params: Any, seconds: float) -> Any:
        """Sends a request and returns the result. Cancelling the caller cancels the request.

        Raises:
            Refused: the server answered with an error.
            NoAnswer: there was no answer within `seconds`, or the connection has ended or not started.
        """
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._send({"id": number, "method": method, **_given(params)})
            async with asyncio.timeout(seconds):
                return await answer
        except (TimeoutError, asyncio.CancelledError) as error:
            if not self.ended.done():
                self._send({"method": "$/cancelRequest", "params": {"id": number}})
            if isinstance(error, TimeoutError):
                text = f"{self._name} did not answer {method} within {seconds:g} s. {ADVICE}"
                raise NoAnswer(text) from error
            raise
        finally:
            del self._waiting[number]
            if answer.done() and not answer.cancelled():
                answer.exception()  # read, so that asyncio does not report it

    def _send(self, message: dict[str, Any]) -> None:
        if self.ended.done() or self._input is None:
            raise self.error()
        self.protocol.send(message)
        if self._input.transport.get_write_buffer_size() > MAX_UNSENT:
            self.end("it does not read what it is sent")

    def error(self) -> NoAnswer:
        """The error for a request that cannot be sent or answered, because the connection has ended or not started."""
        reason = self.ended.result() if self.ended.done() else "it was not started"
        return NoAnswer(f"{self._name} is not running: {reason}. {ADVICE}")

    async def _read(self, process: asyncio.subprocess.Process, stdout: asyncio.StreamReader) -> None:
        try:
            while True:
                self._receive(await _parsed(await _frame(stdout)))
        except (EOFError, ConnectionError):
            with contextlib.suppress(TimeoutError):  # it may only have closed its output
                await asyncio.wait_for(process.wait(), 2)
            await asyncio.wait(self._tasks[1:], timeout=1)
            stderr, code = self.stderr_tail(), process.returncode
            how = "it closed its output" if code is None else f"it ended with exit code {code}"
            self.end(f"{how}{': ' + stderr if stderr else ''}")
        except Ended as error:
            self.end(str(error))
        except RecursionError:
            self.end("it sent a message that is nested too deeply")
        except NoAnswer:  # the connection ended while a request of the server was answered
            pass
        except Exception as error:  # an unforeseen message must not leave requests without an answer
            log.exception("%s sent a message that could not be handled", self._name)
            self.end(f"it sent a message that Fairlead could not handle ({type(error).__name__})")

    async def _read_errors(self, stderr: asyncio.StreamReader) -> None:
        size = 0
        while chunk := await stderr.read(1 << 14):
            log.debug("%s: %s", self._name, chunk)
            self._stderr.append(chunk)
            size += len(chunk)
            while size - len(self._stderr[0]) > _MAX_STDERR:
                size -= len(self._stderr.popleft())

    def stderr_tail(self) -> str:
        """The end of what the server wrote to its standard error so far, as one line; "" if it wrote nothing."""
        text = b"".join(self._stderr)[-_MAX_STDERR:].decode("utf-8", "replace").strip()
        return escape_to_one_line("\n".join(text.splitlines()[-5:]))[-500:]

    def _receive(self, message: Any) -> None:
        if not is_object(message):
            raise Ended("it sent a message that is not an object")
        method, number = message.get("method"), message.get("id")
        if isinstance(method, str) and "id" in message:
            self._answer(number, method, message.get("params"))
        elif isinstance(method, str):
            self._on_notification(method, message.get("params"))
        elif isinstance(number, int):
            self._take_answer(number, message)

    def _answer(self, number: Any, method: str, params: Any) -> None:
        answer: dict[str, Any] = {"id": number}
        try:
            answer["result"] = self._on_request(method, params)
        except KeyError:
            answer["error"] = {"code": _METHOD_NOT_FOUND, "message": f"Method not found: {method}"}
        if not self.ended.done():
            self._send(answer)

    def _take_answer(self, number: int, message: dict[str, Any]) -> None:
        waiting = self._waiting.get(number)
        if waiting is None or waiting.done():
            return
        error = message.get("error")
        if not is_object(error):
            waiting.set_result(message.get("result"))
            return
        code, text = error.get("code"), escape_to_one_line(str(error.get("message", "")))[:300]
        refusal = f"{self._name} could not answer: {text}"
        waiting.set_exception(Refused(refusal, code if isinstance(code, int) else 0))


def _given(params: Any) -> dict[str, Any]:
    """The part of a message with its params. Without params there is none: TypeScript's server refuses a null."""
    return {} if params is None else {"params": params}


async def _frame(stdout: asyncio.StreamReader) -> bytes:
    """The body of the next message.

    Raises:
        Ended: the data is not a message, or the message is too long.
        EOFError: the stream ended, maybe within a message.
    """
    length = None
    for _ in range(_MAX_HEADER_LINES):
        try:
            line = await stdout.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            if error.partial:
                raise Ended(_not_a_message(error.partial)) from error
            raise
        except asyncio.LimitOverrunError as error:
            raise Ended(_not_a_message(await stdout.read(100))) from error
        if not line.strip() and length is not None:
            if length > MAX_MESSAGE:
                raise Ended(f"it sent a message of {length >> 20:,} MB; at most {MAX_MESSAGE >> 20} MB are allowed")
            return await stdout.readexactly(length)
        header = _HEADER.fullmatch(line)
        if header is None:
            raise Ended(_not_a_message(line + await _rest(stdout)))
        if header[1].lower() == b"content-length":
            if length is not None or not re.fullmatch(rb"[0-9]{1,12}", header[2]):
                raise Ended(_not_a_message(line))
            length = int(header[2])
    raise Ended("it sent a message with an endless header")


async def _rest(stdout: asyncio.StreamReader) -> bytes:
    """More of what the server wrote, for the error: the first line alone may not explain it."""
    try:
        async with asyncio.timeout(0.2):
            return await stdout.read(300)
    except TimeoutError:
        return b""


def _not_a_message(data: bytes) -> str:
    return f"it wrote something to standard output that is not a message: {_quote(data)}"


def _quote(data: bytes) -> str:
    return escape_to_one_line(data.decode("utf-8", "replace").strip())[:200]


async def _parsed(body: bytes) -> Any:
    """The JSON of a message.

    Raises:
        Ended: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    try:
        return json.loads(body) if len(body) <= MAX_PARSED_ON_LOOP else await asyncio.to_thread(_parse_slowly, body)
    except ValueError as error:
        raise Ended(f"it sent a message that is not valid JSON: {_quote(body[:100])}") from error


def _parse_slowly(body: bytes) -> Any:
    """Like `json.loads`, but lets other threads run: the interpreter can switch threads when it calls the hook."""
    return json.loads(body, object_hook=lambda value: value)
