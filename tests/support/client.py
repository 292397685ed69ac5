"""A language client for tests: a real server process over stdio, and a small editor with configurable answers.

It shows the wire from outside: none of the server's code is used to read or write it.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote, urlparse

from fairlead.code.servers.table import TABLE
from support import server_process

Json = dict[str, Any]
Answer = Callable[[Json], Any] | Callable[[Json], Awaitable[Any]]

# seconds; long, because a busy machine is slow and only a failure waits that long
DEADLINE = 100.0

EDITOR: Json = {
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
        "textDocumentContent": {"dynamicRegistration": True},
        "didChangeConfiguration": {"dynamicRegistration": True},
    },
    "window": {"workDoneProgress": True, "showMessage": {}},
    "experimental": {"agent": {"approvals": True, "checksEdits": True, "claimsFiles": True}},
}
NOTHING: Json = {}


class WireError(Exception):
    """The server answered a request with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(error.get("message"))
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data = error.get("data")


NO_LANGUAGE_SERVERS: Json = {"languageServers": {spec.name: False for spec in TABLE}}
"""Settings that disable all language servers: some may be on PATH. A test that needs one sets `languageServers`."""


class Refuse(Exception):
    """Raised by an answer of the test's editor: the request gets an error."""


class Client:
    """A server process and the conversation with it.

    `log` contains everything that arrived, in the order of the wire: `(method, params)`, and for responses
    `("answer:" + method, result or error)`. `answers` maps the methods of the server's requests to functions. By
    default `workspace/applyEdit` changes files and open buffers as an editor does, simple requests are accepted, and
    any other method gets MethodNotFound.
    """

    def __init__(
        self,
        workspace: Path | None,
        *,
        settings: Json | None = None,
        capabilities: Json = EDITOR,
        env: dict[str, str] | None = None,
        trusted: bool | None = None,
        answers: dict[str, Answer] | None = None,
        storage: Path | None = None,
        restore: bool = True,
        more_folders: Sequence[Path] = (),
    ) -> None:
        self.command = server_process.SERVE
        self.storage, self.restore = storage, restore
        self.workspace, self.more_folders = workspace, more_folders
        self.settings = settings
        self.capabilities = capabilities
        self.trusted = trusted
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC_", "OPENAI_"))}
        self.env |= env or {}
        self.answers: dict[str, Answer] = {
            "workspace/applyEdit": self.apply_edit,
            "agent/editor/claims": lambda params: {"claimed": params["uris"], "refused": []},
            "client/registerCapability": lambda _: None,
            "window/workDoneProgress/create": lambda _: None,
            "workspace/textDocumentContent/refresh": lambda _: None,
            **(answers or {}),
        }
        self.log: list[tuple[str, Any]] = []
        self.buffers: dict[str, tuple[str, int]] = {}
        self._changed = asyncio.Condition()
        self._waiting: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._number = 0
        self._tasks: list[asyncio.Task[Any]] = []
        self.process: server_process.ServerProcess
        self.server: Json = {}

    async def __aenter__(self) -> Self:
        await self.start()
        self.server = await self.request("initialize", self.initialize_params())
        self.notify("initialized", {})
        return self

    async def __aexit__(self, kind: Any, *_: object) -> None:
        try:
            if self.process.returncode is None and kind is None:
                await self.request("shutdown", None)
                self.notify("exit", None)
                async with asyncio.timeout(DEADLINE):
                    assert await self.process.wait() == 0
        finally:
            if self.process.returncode is None:
                self.process.kill()
                await self.process.wait()
            for task in self._tasks:
                task.cancel()

    async def start(self) -> None:
        self.process = await server_process.start(self.command, self.env)
        self._tasks.append(asyncio.ensure_future(self._read()))

    def initialize_params(self) -> Json:
        uri = self.workspace.as_uri() if self.workspace else None
        options: Json = {"settings": {**NO_LANGUAGE_SERVERS, **(self.settings or {})}}
        if self.trusted is not None:
            options["trusted"] = self.trusted
        if self.storage is not None:
            options["storageDir"] = str(self.storage)
        if not self.restore:
            options["restore"] = False
        more = [{"uri": folder.as_uri(), "name": folder.name} for folder in self.more_folders]
        return {
            "processId": os.getpid(),
            "rootUri": uri,
            "workspaceFolders": [{"uri": uri, "name": "ws"}, *more] if uri else None,
            "capabilities": self.capabilities,
            "initializationOptions": options,
        }

    def send(self, message: Json) -> None:
        self.send_raw(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def send_raw(self, body: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def notify(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def begin(self, method: str, params: Any) -> tuple[int, asyncio.Future[Any]]:
        """Sends a request. Returns its id and the future of its answer."""
        self._number += 1
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[self._number] = (method, answer)
        self.send({"id": self._number, "method": method, "params": params})
        return self._number, answer

    async def request(self, method: str, params: Any, deadline: float = DEADLINE) -> Any:
        """Sends a request and returns its result.

        Raises:
            WireError: the server answered with an error.
        """
        _, answer = self.begin(method, params)
        async with asyncio.timeout(deadline):
            return await answer

    async def run(self, prompt: str = "Do it.", deadline: float = DEADLINE, **params: Any) -> Json:
        """Runs a task and returns the result of `agent/runTask`."""
        return await self.request("agent/runTask", {"prompt": prompt, **params}, deadline)

    async def error(self, method: str, params: Any) -> WireError:
        """Sends a request that must fail, and returns its error."""
        try:
            result = await self.request(method, params)
        except WireError as error:
            return error
        raise AssertionError(f"{method} was not refused: {result}")

    async def until(self, found: Callable[[], Any], deadline: float = DEADLINE) -> Any:
        """Waits until `found()` is true, checked after each message, and returns its value."""
        async with asyncio.timeout(deadline), self._changed:
            await self._changed.wait_for(found)
        return found()

    async def event(self, kind: str, **fields: Any) -> Json:
        """The first `agent/event` of a kind with these fields. Waits for it if it has not arrived yet."""
        return await self.until(
            lambda: next((event for event in self.events(kind) if fields.items() <= event.items()), None)
        )

    def all(self, method: str) -> list[Any]:
        return [params for name, params in self.log if name == method]

    def last(self, method: str) -> Any:
        return next((params for name, params in reversed(self.log) if name == method), None)

    def events(self, kind: str | None = None) -> list[Json]:
        return [event for event in self.all("agent/event") if kind in (None, event["kind"])]

    def results(self) -> list[str]:
        """The results of the tool calls that have finished."""
        return [event["text"] for event in self.events("tool_finished")]

    def text(self, kind: str = "text") -> str:
        """The joined text of all events of a kind; by default, everything that the model said."""
        return "".join(event["text"] for event in self.events(kind))

    @property
    def encoding(self) -> str:
        """The position encoding that was agreed on."""
        return self.server["capabilities"].get("positionEncoding", "utf-16")

    # what the user does in the editor

    def open(self, path: Path, text: str | None = None) -> str:
        uri = path.as_uri()
        content = path.read_bytes().decode() if text is None else text
        self.buffers[uri] = (content, 1)
        document = {"uri": uri, "languageId": "x", "version": 1, "text": content}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return uri

    def type(self, path: Path, text: str) -> None:
        """Replaces the text of an open buffer, as the user does."""
        uri = path.as_uri()
        version = self.buffers[uri][1] + 1
        self.buffers[uri] = (text, version)
        document = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def save_buffer(self, path: Path) -> None:
        """Writes the text of an open buffer to its file, and reports that it was saved."""
        uri = path.as_uri()
        path.write_bytes(self.buffers[uri][0].encode())
        self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def close(self, uri: str) -> str:
        """Closes an open buffer and returns its text."""
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        return self.buffers.pop(uri)[0]

    def apply_edit(self, params: Json) -> Json:
        """Applies an edit like an editor: changes and reports open buffers, checks and writes closed files."""
        for uri, digest in params.get("digests", {}).items():
            path = uri_path(uri)
            if uri not in self.buffers and (not path.exists() or sha256(path.read_bytes()).hexdigest() != digest):
                return {"applied": False, "failureReason": f"{path.name} changed on disk."}
        plain = params["edit"].get("changes", {})
        texts = [{"textDocument": {"uri": uri, "version": None}, "edits": edits} for uri, edits in plain.items()]
        for change in params["edit"].get("documentChanges", texts):
            if change.get("kind") in ("delete", "rename"):
                refused = self._remove(change)
                if refused:
                    return {"applied": False, "failureReason": refused}
                continue
            if change.get("kind") == "create":
                path = uri_path(change["uri"])
                if path.exists():
                    return {"applied": False, "failureReason": f"{path.name} exists"}
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(b"")
                continue
            uri, version = change["textDocument"]["uri"], change["textDocument"]["version"]
            if uri in self.buffers:
                text, known = self.buffers[uri]
                if version != known and uri not in plain:
                    return {"applied": False}
                self.type(uri_path(uri), edited(text, change["edits"], self.encoding))
            else:
                path = uri_path(uri)
                data = path.read_bytes()
                bom = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
                text = edited(data[len(bom) :].decode(), change["edits"], self.encoding)
                path.write_bytes(bom + text.encode())
        return {"applied": True}

    def _remove(self, change: Json) -> str:
        """Deletes or renames a file with its buffer. Returns the reason if that failed, otherwise an empty string."""
        uri, new_uri = change.get("uri") or change["oldUri"], change.get("newUri")
        path, new = uri_path(uri), uri_path(new_uri) if new_uri else None
        if not path.exists() or (new is not None and new.exists()):
            return f"{path.name} cannot be renamed: the new name exists" if path.exists() else f"{path.name} is missing"
        text = self.close(uri) if uri in self.buffers else None
        if new is None:
            path.unlink()
            return ""
        new.parent.mkdir(parents=True, exist_ok=True)
        path.rename(new)
        if text is not None:
            self.open(new, text)
        return ""

    async def _read(self) -> None:
        assert self.process.stdout is not None
        stream = self.process.stdout
        while True:
            try:
                header = await stream.readuntil(b"\r\n\r\n")
                length = int(header.split(b"Content-Length:")[1].split(b"\r\n")[0])
                message = json.loads(await stream.readexactly(length))
            except asyncio.IncompleteReadError:
                for _, answer in self._waiting.values():
                    if not answer.done():
                        answer.set_exception(ConnectionError("the server is gone"))
                return
            await self._take(message)

    async def _take(self, message: Json) -> None:
        method = message.get("method")
        if method is None:
            name, answer = self._waiting.pop(message["id"], ("?", None))  # type: ignore[arg-type]
            self.log.append((f"answer:{name}", message.get("error") or message.get("result")))
            if answer is not None and not answer.done():
                if "error" in message:
                    answer.set_exception(WireError(message["error"]))
                else:
                    answer.set_result(message["result"])
        else:
            self.log.append((method, message.get("params")))
            if "id" in message:
                self._tasks.append(asyncio.ensure_future(self._answer(message)))
        async with self._changed:
            self._changed.notify_all()

    async def _answer(self, message: Json) -> None:
        answer = self.answers.get(message["method"])
        if answer is None:
            self.send({"id": message["id"], "error": {"code": -32601, "message": "not here"}})
            return
        try:
            result = answer(message["params"])
            if asyncio.iscoroutine(result):
                result = await result
        except Refuse as error:
            self.send({"id": message["id"], "error": {"code": -32603, "message": str(error)}})
            return
        self.send({"id": message["id"], "result": result})


def uri_path(uri: str) -> Path:
    return Path(unquote(urlparse(uri).path))


def edited(text: str, edits: list[Json], encoding: str = "utf-16") -> str:
    """Applies LSP TextEdits to a text, with positions in the units of an encoding."""
    codec, size = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}[encoding]
    starts = [0]
    index = 0
    while index < len(text):
        if text[index] in "\r\n":
            index += 2 if text[index : index + 2] == "\r\n" else 1
            starts.append(index)
        else:
            index += 1

    def offset(position: Json) -> int:
        if position["line"] >= len(starts):
            return len(text)
        start = starts[position["line"]]
        units = text[start:].encode(codec)[: size * position["character"]]
        return start + len(units.decode(codec))

    for edit in sorted(edits, key=lambda edit: offset(edit["range"]["start"]), reverse=True):
        text = text[: offset(edit["range"]["start"])] + edit["newText"] + text[offset(edit["range"]["end"]) :]
    return text
