"""One running language server, which gets the proposed texts as open documents."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fairlead
from fairlead.code.provider import ADVICE, NoAnswer
from fairlead.code.servers import tsserver
from fairlead.code.servers.capabilities import CAPABILITIES, capability_of, sync_kind
from fairlead.code.servers.connection import Connection, Refused
from fairlead.code.servers.scan import WorkspaceScan
from fairlead.code.servers.table import ServerSpec
from fairlead.edits.bad_bytes import as_shown
from fairlead.json_values import fields_of, is_list, is_object
from fairlead.shell.services.process import ServiceProcess
from fairlead.shell.services.seen_files import SeenChange
from fairlead.uris import file_path

log = logging.getLogger(__name__)

MAX_REGISTRATIONS = 1_000
_ABOUT_ALL_FILES = (
    "textDocument/references",
    "textDocument/implementation",
    "textDocument/rename",
    "workspace/symbol",
)
_PULL = "textDocument/diagnostic"
_RETRIED = (-32801, -32802)  # ContentModified, ServerCancelled
_RETRIES = 3
_FILE_CHANGE_TYPES = {"created": 1, "changed": 2, "deleted": 3}  # LSP 3.18, `FileChangeType`


@dataclass(frozen=True, slots=True)
class Seconds:
    """Time limits. Some servers read a large workspace at the start, others during the first request."""

    start: float = 60.0
    """For the answer to `initialize`."""
    request: float = 30.0
    """For the answer to any other request. The wait for a server that loads the workspace has the same limit.

    Each retry has both limits again.
    """
    diagnostics: float = 60.0
    """For one call of `Server.diagnostics`, however many files it is about."""
    scan: float = 15.0
    """For this long after the start, questions about all files wait until the server has read the workspace."""
    report: float = 0.5
    """How long after `initialized` such a question waits for the server to report that it reads the workspace."""
    index: float = 5.0
    """How long such a question waits for the server to read the shown texts."""
    exit: float = 2.0
    """For the answer to `shutdown`."""
    settle: float = 0.5
    """Diagnostics count as complete after this time without new ones: most servers publish syntax errors first."""
    notice: float = 3.0
    """How long a server may take to notice created or removed files. Until then, a text with problems is sent again."""


class Server:
    """Implements `LanguageServer`."""

    def __init__(
        self, spec: ServerSpec, root: Path, process: ServiceProcess, seconds: Seconds, on_use: Callable[[], None]
    ) -> None:
        """
        Args:
            root: the folder that the server works in.
            on_use: called after each question.
        """
        self._spec, self._root, self.process, self._seconds = spec, root, process, seconds
        self._on_use = on_use
        self.connection = Connection(spec.name, self._on_notification, self._answer)
        self._capabilities: dict[str, Any] = {}
        self._registered: dict[str, str] = {}
        self._shown: dict[Path, str] = {}
        self.versions: dict[Path, int] = {}
        """The versions of the documents that were shown. A version increases when a text is sent."""
        self._published: dict[Path, _Published] = {}
        self._unsure: set[Path] = set()
        """The documents that were sent while `_is_noticing`. After that time, `diagnostics` sends them again."""
        self._noticed_at = 0.0
        """The event loop's time by which the server should have noticed which files were created or removed."""
        self._can_pull = asyncio.Event()
        """Set while the server answers requests for problems. Some servers announce this only after the start."""
        self._has_tsserver = False
        """Whether the server can be asked for problems with `tsserver.COMMAND`."""
        self._scan = WorkspaceScan(spec.scanned_message, seconds.scan)
        self._exit: asyncio.Task[None] | None = None
        self._questions = 0
        self.was_stopped = False
        """Whether Fairlead asked the server to end. A server that ended otherwise has failed."""
        self.connection.ended.add_done_callback(self._ensure_ending)

    @property
    def name(self) -> str:
        return self._spec.name

    @property
    def encoding(self) -> str:
        given = self._capabilities.get("positionEncoding")
        return given if given in ("utf-8", "utf-16", "utf-32") else "utf-16"

    @property
    def is_running(self) -> bool:
        """Whether the server can be asked."""
        return self._exit is None

    @property
    def is_busy(self) -> bool:
        """Whether a question, which may need several requests, waits for its answer."""
        return self._questions > 0

    @contextlib.contextmanager
    def question(self) -> Generator[None]:
        """Makes the server busy for the `with` block. `request` and `diagnostics` do this too."""
        self._questions += 1
        try:
            yield
        finally:
            self._questions -= 1
            self._on_use()

    def supports(self, method: str) -> bool:
        if method == "codeAction/resolve":
            return bool(fields_of(self._capabilities.get("codeActionProvider")).get("resolveProvider"))
        return bool(self._capabilities.get(capability_of(method))) or method in self._registered.values()

    @property
    def unfinished(self) -> str:
        return self._scan.unfinished

    async def initialize(self) -> None:
        """Initializes the server. Call it once, before everything else.

        Raises:
            NoAnswer: the server has ended, refused, or did not answer within `Seconds.start`.
        """
        self.connection.start(self.process.process)
        folder = {"uri": self._root.as_uri(), "name": self._root.name}
        params = {
            "processId": None,  # in the server's namespace, our id may be that of another process
            "clientInfo": {"name": "Fairlead", "version": fairlead.__version__},
            "rootUri": folder["uri"],
            "rootPath": str(self._root),
            "workspaceFolders": [folder],
            "capabilities": CAPABILITIES,
            "initializationOptions": self._spec.initialization_options,
        }
        answer = await self.connection.request("initialize", params, self._seconds.start)
        self._capabilities = fields_of(fields_of(answer).get("capabilities"))
        self._has_tsserver = tsserver.is_available(self._capabilities)
        self._note_pull()
        self.connection.notify("initialized", {})
        self.connection.notify("workspace/didChangeConfiguration", {"settings": self._spec.initialization_options})
        self._scan.expect_report(self._seconds.report)

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        if not self.supports(method):
            raise NoAnswer(f"{self.name} does not support {method}. {ADVICE}")
        with self.question():
            if method in _ABOUT_ALL_FILES:
                await self._scan.wait()
                await self._wait_until_checked()
            answer = None
            for _ in range(_RETRIES):
                finished = self._scan.finished
                answer = await self._loaded_answer(method, params)
                if not answer:
                    await self._scan.wait()
                elif method not in _ABOUT_ALL_FILES:
                    break
                if finished == self._scan.finished:
                    break
            return answer

    async def _loaded_answer(self, method: str, params: dict[str, Any]) -> Any:
        """The answer to a request that the server did not refuse, or answer, while it was loading the workspace."""
        left = _RETRIES
        while True:
            await self._wait_until_loaded()
            reports = self._scan.loading_reports
            try:
                answer = await self.connection.request(method, params, self._seconds.request)
                if reports == self._scan.loading_reports or not left:
                    return answer
            except Refused as error:
                if error.code not in _RETRIED or not left:
                    raise
            left -= 1

    async def _wait_until_loaded(self) -> None:
        try:
            async with asyncio.timeout(self._seconds.request):
                await self._scan.wait_until_loaded()
        except TimeoutError as error:
            raise NoAnswer(f"{self.name} is still loading the workspace. {ADVICE}") from error

    async def _wait_until_checked(self) -> None:
        """Waits until the server has read the shown texts, at most `Seconds.index`.

        clangd answers from an index that it updates right before it publishes problems. A server that answers requests
        for problems reads the texts before it answers, so there is nothing to wait for.
        """
        if self._can_pull.is_set() or not self._published:
            return
        checked = asyncio.ensure_future(self._all_published())
        ended = self.connection.ended
        try:
            await asyncio.wait({checked, ended}, timeout=self._seconds.index, return_when=asyncio.FIRST_COMPLETED)
        finally:
            checked.cancel()

    async def _all_published(self) -> None:
        while unchecked := [published for published in self._published.values() if not published.first.is_set()]:
            await unchecked[0].first.wait()

    async def show(self, texts: Mapping[Path, str]) -> None:
        for path in [path for path in self._shown if path not in texts]:
            self.connection.notify("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})
            del self._shown[path]
            self._published.pop(path).wake()
            self._unsure.discard(path)
        for path, text in texts.items():
            shown = self._shown.get(path)
            if self._spec.language_of(path) and shown is not text and shown != text:
                self._send_text(path, text)

    def _send_text(self, path: Path, text: str) -> None:
        version, shown = self.versions.get(path, 0) + 1, as_shown(text)
        self.versions[path] = version
        document: dict[str, Any] = {"uri": path.as_uri(), "version": version}
        published, self._published[path] = self._published.get(path), _Published()
        if published is not None:
            published.wake()
        self._unsure.add(path) if self._is_noticing() else self._unsure.discard(path)
        if path not in self._shown:
            document |= {"languageId": self._spec.language_of(path), "text": shown}
            self.connection.notify("textDocument/didOpen", {"textDocument": document})
        elif sync_kind(self._capabilities):
            changes = [{"text": shown}]
            self.connection.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})
        self._shown[path] = text

    async def diagnostics(self, paths: Sequence[Path]) -> Mapping[Path, Sequence[Any]]:
        shown = [path for path in paths if path in self._shown]
        if not self._is_noticing():
            for path in self._unsure.intersection(shown):
                self._send_text(path, self._shown[path])
        tasks = {path: asyncio.ensure_future(self._checked(path)) for path in shown}
        with self.question():
            try:
                if tasks:
                    await asyncio.wait(tasks.values(), timeout=self._seconds.diagnostics)
                return {path: task.result() for path, task in tasks.items() if task.done()}
            finally:
                for task in tasks.values():
                    task.cancel()
                await asyncio.gather(*tasks.values(), return_exceptions=True)

    async def _checked(self, path: Path) -> Sequence[Any]:
        """The problems in an open document, once the server has checked its text. Has no time limit."""
        while not self.supports(_PULL):
            found = await (self._from_tsserver(path) if self._has_tsserver else self._settled(path))
            if found is None:
                continue
            if not (found and self._is_noticing()):
                return found
            await asyncio.sleep(self._seconds.settle)
            if path in self._shown:
                self._send_text(path, self._shown[path])
        answer = await self.request(_PULL, {"textDocument": {"uri": path.as_uri()}})
        items = fields_of(answer).get("items")
        return items if is_list(items) else []

    async def _from_tsserver(self, path: Path) -> Sequence[Any] | None:
        """The problems in an open document. None: the server cannot be asked in this way, now or later.

        Raises:
            NoAnswer: the connection has ended, or there was no answer in time.
        """
        found: list[Any] = []
        for request in tsserver.REQUESTS:
            try:
                answer = await self.request("workspace/executeCommand", tsserver.params(request, path))
                part = tsserver.diagnostics(answer)
            except (Refused, KeyError, TypeError) as error:
                log.info("%s did not answer %s: %r", self.name, request, error)
                part = None
            if path not in self._shown:  # another question closed the document
                return ()
            if part is None:
                self._has_tsserver = False
                self._note_pull()
                return None
            found += part
        return found

    async def _settled(self, path: Path) -> Sequence[Any] | None:
        """The problems published for a document.

        None: check again, because more problems were published, the text was sent again, or the server can now be asked
        for problems.

        Raises:
            NoAnswer: the connection has ended.
        """
        published, ended = self._published.get(path), self.connection.ended
        if published is None:  # another question closed the document
            return ()
        waiting = [asyncio.ensure_future(event.wait()) for event in (published.first, self._can_pull)]
        try:
            await asyncio.wait({*waiting, ended}, return_when=asyncio.FIRST_COMPLETED)
            if published.first.is_set() and self._published.get(path) is published:
                published.again.clear()
                waiting.append(asyncio.ensure_future(published.again.wait()))
                done, _ = await asyncio.wait({waiting[-1], ended}, timeout=self._seconds.settle)
                if not done:
                    return published.items
        finally:
            for task in waiting:
                task.cancel()
        if ended.done():
            raise self.connection.error()
        return None

    def _is_noticing(self) -> bool:
        """Whether the server may still not know that files were created or removed (`Seconds.notice`)."""
        return asyncio.get_running_loop().time() < self._noticed_at

    def files_changed(self, files: Sequence[SeenChange]) -> None:
        """Tells the server which files have changed."""
        changes = [{"uri": (self._root / file.name).as_uri(), "type": _FILE_CHANGE_TYPES[file.kind]} for file in files]
        if changes:
            self.connection.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        if any(file.kind != "changed" for file in files):
            self._noticed_at = asyncio.get_running_loop().time() + self._seconds.notice
        if changes and not self._can_pull.is_set():
            # as new versions, so that problems published for the earlier ones are ignored (if they name the version)
            for path, text in self._shown.items():
                self._send_text(path, text)

    async def end(self) -> None:
        """Ends the server and its processes. May be called repeatedly."""
        await asyncio.shield(self.start_ending())

    def start_ending(self) -> asyncio.Task[None]:
        """Starts ending the server, as `end` does, and returns the task. From now on, the server cannot be asked."""
        if not self.connection.ended.done():
            self.was_stopped = True
        self._ensure_ending()
        assert self._exit is not None
        return self._exit

    def _ensure_ending(self, _: object = None) -> None:
        self._scan.on_status({})  # wakes the requests that wait for the workspace to be loaded; they get an error
        if self._exit is None:
            self._exit = asyncio.create_task(self._shut_down())

    async def _shut_down(self) -> None:
        with contextlib.suppress(NoAnswer):
            await self.connection.request("shutdown", None, self._seconds.exit)
            self.connection.notify("exit", None)
        await self.connection.aclose()
        await self.process.end()

    def _on_notification(self, method: str, params: Any) -> None:
        if method == "window/logMessage":
            message = str(fields_of(params).get("message"))[:1000]
            self._scan.on_message(message)
            log.debug("%s: %s", self.name, message)
        if method == "$/progress":
            self._scan.on_progress(fields_of(params))
        if method == "experimental/serverStatus":  # an extension of rust-analyzer
            self._scan.on_status(fields_of(params))
        if method != "textDocument/publishDiagnostics":
            return
        given = fields_of(params)
        path = file_path(str(given.get("uri")))
        published = self._published.get(path) if path is not None else None
        if path is None or published is None or given.get("version") not in (None, self.versions[path]):
            return
        items = given.get("diagnostics")
        published.items = items if is_list(items) else []
        published.wake()

    def _answer(self, method: str, params: Any) -> Any:
        """The answer to a request from the server. No request makes Fairlead change a file.

        Raises:
            KeyError: the method is unknown.
        """
        given = fields_of(params)
        if method == "workspace/configuration":
            items = given.get("items")
            return [self._section(fields_of(item).get("section")) for item in items[:100]] if is_list(items) else []
        if method == "client/registerCapability":
            self._register(given.get("registrations"))
            return None
        if method == "client/unregisterCapability":
            items = given.get("unregisterations")
            for item in items if is_list(items) else []:
                self._registered.pop(_registration_id(fields_of(item)), None)
            self._note_pull()
            return None
        if method == "workspace/workspaceFolders":
            return [{"uri": self._root.as_uri(), "name": self._root.name}]
        return _ANSWERS[method]

    def _register(self, registrations: Any) -> None:
        for item in registrations if is_list(registrations) else []:
            if is_object(item) and len(self._registered) < MAX_REGISTRATIONS:
                self._registered[_registration_id(item)] = str(item.get("method"))[:200]
        self._note_pull()

    def _note_pull(self) -> None:
        if self.supports(_PULL) or self._has_tsserver:
            self._can_pull.set()
        else:
            self._can_pull.clear()

    def _section(self, section: Any) -> Any:
        """A section of the settings, such as `python.analysis`; None if there is none. Without a name, all settings."""
        value: Any = dict(self._spec.initialization_options)
        for name in section.split(".") if isinstance(section, str) and section else ():
            value = fields_of(value).get(name)
        return value


def _registration_id(item: Mapping[str, Any]) -> str:
    return str(item.get("id"))[:200]


_ANSWERS: dict[str, Any] = {
    "window/workDoneProgress/create": None,
    "window/showMessageRequest": None,
    "window/showDocument": {"success": False},
    "workspace/applyEdit": {"applied": False, "failureReason": "Fairlead changes no files at a server's request."},
    "workspace/diagnostic/refresh": None,
    "workspace/semanticTokens/refresh": None,
    "workspace/inlayHint/refresh": None,
    "workspace/codeLens/refresh": None,
    "workspace/inlineValue/refresh": None,
    "workspace/foldingRange/refresh": None,
}


class _Published:
    """The problems that the server has published for one version of a document."""

    def __init__(self) -> None:
        self.items: Sequence[Any] = []
        self.first = asyncio.Event()
        """Set once problems have been published, another version has been sent, or the document has been closed."""
        self.again = asyncio.Event()
        """Set each time one of the events listed for `first` happens. `Server._settled` clears it."""

    def wake(self) -> None:
        """Makes the tasks that wait for problems check again."""
        self.first.set()
        self.again.set()
