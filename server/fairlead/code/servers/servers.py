"""The language servers of a session: started when they are needed, stopped when they are not."""

import asyncio
import contextlib
import logging
import shlex
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from fairlead.code.provider import ADVICE, MissingServer, NoAnswer
from fairlead.code.servers.find import Program, Programs, find_python
from fairlead.code.servers.server import Seconds, Server
from fairlead.code.servers.table import ServerSpec, server_specs
from fairlead.gate.gate import Gate, NotAllowed
from fairlead.gate.request import StartProgram
from fairlead.sentences import Sentence
from fairlead.shell.layer import Entry, Layer, Limits, ProgramBox, View
from fairlead.shell.services.errors import ServiceError
from fairlead.shell.services.pool import ServicePool
from fairlead.shell.services.process import ServiceProcess
from fairlead.shell.services.seen_files import SeenFiles

log = logging.getLogger(__name__)

PURPOSE = Sentence("It is a language server, which the agent wants to ask about the code.")
PAUSES = (0.0, 10.0, 60.0)
"""How many seconds after the first, second and third failure a server may start again. After the fourth, it may not."""
_CONFIGURATION = (".json", ".toml", ".mod", ".sum", ".work")
"""The suffixes of files that matter to all servers."""


class Workspace(Protocol):
    """What the servers need from their session."""

    @property
    def root(self) -> Path:
        """The folder that the servers work in. They see the other folders of the workspace too."""
        ...

    def specs(self) -> Sequence[ServerSpec]:
        """The servers in the user's settings."""
        ...

    def limits(self) -> Limits:
        """The resources that a server may use."""
        ...

    async def layer(self) -> Layer:
        """The layer that the servers run in. Raises ToolError if it cannot be made."""
        ...

    async def view(self, layer: Layer) -> View:
        """The files that a server sees in this layer at its start."""
        ...

    def change_token(self) -> object:
        """Differs after each change of `proposed`."""
        ...

    def proposed(self) -> Mapping[str, Entry | None]:
        """The files that differ from the disk, by path relative to `root`; None: there is no file."""
        ...

    def is_hidden(self, name: str) -> bool:
        """Whether a server must not see a file, given by its path relative to `root`."""
        ...

    @property
    def gate(self) -> Gate:
        """Decides whether a server may start."""
        ...


@dataclass
class _State:
    """What is known about one server of the session."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    running: Server | None = None
    seen: SeenFiles | None = None
    """The files that the running server sees."""
    token: object = None
    """The `Workspace.change_token` when the server was last updated."""
    updating: asyncio.Task[None] | None = None
    """The latest `_update`, until it succeeds."""
    failures: int = 0
    """How often it has failed in this session."""
    not_before: float = 0.0
    """The clock's time before which it is not started again."""
    given_up: str = ""
    """Why it is not started again in this session; empty if it may be."""

    @property
    def has_failed_update(self) -> bool:
        return self.updating is not None and self.updating.done() and self.updating.exception() is not None


class SessionServers:
    """Implements `LanguageServers` for one folder of a session's workspace.

    Args:
        pool: limits the servers of all sessions, and stops idle ones.
        clock: returns a time in seconds that never decreases.
        seconds: the time limits of requests.
    """

    def __init__(
        self,
        workspace: Workspace,
        pool: ServicePool,
        clock: Callable[[], float],
        seconds: Seconds = Seconds(),  # noqa: B008  frozen
    ) -> None:
        self._workspace, self._pool, self._clock, self._seconds = workspace, pool, clock, seconds
        self._programs = Programs(workspace.root, clock)
        self._states: dict[ServerSpec, _State] = {}
        self._closed = False

    def name_for(self, path: Path) -> str:
        found = self._choose(path)
        return found[0].name if found is not None and not self._state(found[0]).given_up else ""

    def suffixes(self) -> Collection[str]:
        known = {suffix for spec in server_specs(self._workspace.specs()) for suffix in spec.languages}
        return {suffix for suffix in known if self.name_for(Path(f"a{suffix}"))}

    def missing(self) -> Collection[MissingServer]:
        return {
            MissingServer(spec.name, spec.command[0], frozenset(spec.languages))
            for spec in self._workspace.specs()
            if spec.command and spec.package is None and self._programs.find(spec.command[0]) is None
        }

    async def server(self, path: Path) -> Server:
        found = self._choose(path)
        if found is None:
            raise NoAnswer(f"There is no language server for {path.name}. {ADVICE}")
        spec, program = found
        state = self._state(spec)
        async with state.lock:
            server = state.running
            if server is not None and not server.is_running:
                if not server.was_stopped:
                    self._note_failure(spec, state, server.connection.ended.result())
                await self._stop(state)
                server = None
            if server is None:
                server = await self._start(spec, program, state)
            self._pool.note_use(server)
            try:
                # busy, so that it is not stopped to make room for another one
                with self._noting_failures(spec, state), server.question():
                    await self._update_uncancelled(server, state)
            finally:
                if state.has_failed_update:  # the server may have missed changes
                    await self._stop(state)
        return server

    async def aclose(self) -> None:
        self._closed = True
        await asyncio.gather(*(self._stop_locked(state) for state in self._states.values()))

    async def _stop_locked(self, state: _State) -> None:
        async with state.lock:
            await self._stop(state)

    async def _stop(self, state: _State) -> None:
        server, state.running = state.running, None
        updating, state.updating = state.updating, None
        if server is not None:
            await server.end()
            self._pool.remove(server)
        if updating is not None:
            updating.cancel()
            await asyncio.wait({updating})

    def _choose(self, path: Path) -> tuple[ServerSpec, Program] | None:
        """The first server for a file's language whose program is found, with the program; None if there is none."""
        for spec in server_specs(self._workspace.specs()):
            program = self._programs.find(spec.command[0], spec.package) if spec.language_of(path) else None
            if program is not None:
                return spec, program
        return None

    def _state(self, spec: ServerSpec) -> _State:
        return self._states.setdefault(spec, _State())

    async def _start(self, spec: ServerSpec, program: Program, state: _State) -> Server:
        if self._closed:
            raise NoAnswer("The session has ended.")
        if state.given_up:
            raise NoAnswer(f"{spec.name} is not available: {state.given_up}. {ADVICE}")
        wait = state.not_before - self._clock()
        if wait > 0:
            raise NoAnswer(f"{spec.name} failed, and is started again in {wait:.0f} s at the earliest. {ADVICE}")
        root, layer = self._workspace.root, await self._workspace.layer()
        argv = [str(program.path), *spec.command[1:]]
        python = find_python(root)
        given = spec.with_python(python)
        action = StartProgram(
            shlex.join(argv), root, layer.where, program.from_workspace, python if given != spec else None
        )
        try:
            await self._workspace.gate.check(action, reasons=[PURPOSE])
        except NotAllowed as error:
            state.given_up = "the user did not allow it"
            raise NoAnswer(f"The user did not allow the language server {argv[0]}. {ADVICE}") from error
        programs = [*([] if program.from_workspace else [program.path]), *spec.named_files()]
        view = await self._workspace.view(layer)
        token, proposed = self._workspace.change_token(), self._workspace.proposed()
        seen = SeenFiles(root, (*spec.languages, *_CONFIGURATION), proposed, self._workspace.is_hidden)
        # the first search, before the server starts, so that no later change is missed
        await asyncio.to_thread(seen.changes, None, on_disk=True)
        async with self._pool.slot():
            with self._noting_failures(spec, state):
                process = await ServiceProcess.start(
                    argv, layer, root, view, self._workspace.limits(), ProgramBox(programs)
                )
                server = Server(given, root, process, self._seconds, lambda: self._pool.note_use(server))
                try:
                    await server.initialize()
                except BaseException:
                    await asyncio.shield(server.end())
                    raise
            state.running, state.seen, state.token = server, seen, token
            self._pool.add(server)
        return server

    @contextlib.contextmanager
    def _noting_failures(self, spec: ServerSpec, state: _State) -> Generator[None]:
        """Notes a failure within the `with` block. Turns a `ServiceError` into a `NoAnswer`."""
        try:
            yield
        except NoAnswer as error:
            self._note_failure(spec, state, str(error))
            raise
        except ServiceError as error:
            self._note_failure(spec, state, str(error))
            raise NoAnswer(f"{error} {ADVICE}") from error

    def _note_failure(self, spec: ServerSpec, state: _State, reason: str) -> None:
        # the message of a `NoAnswer` may end with the advice, which `_start` adds
        reason = reason.removesuffix(ADVICE).rstrip(" .")
        log.warning("%s failed: %s", spec.name, reason)
        state.failures += 1
        if state.failures > len(PAUSES):
            state.given_up = f"it failed {state.failures} times; the last time: {reason}"
        else:
            state.not_before = self._clock() + PAUSES[state.failures - 1]

    async def _update_uncancelled(self, server: Server, state: _State) -> None:
        """Calls `_update`, and lets it finish even if the caller is cancelled: otherwise the server misses changes."""
        if state.updating is not None:
            await asyncio.shield(state.updating)
        state.updating = asyncio.ensure_future(self._update(server, state))
        await asyncio.shield(state.updating)
        state.updating = None

    async def _update(self, server: Server, state: _State) -> None:
        """Shows a running server the files that have changed since the last question."""
        assert state.seen is not None
        process = server.process
        token = self._workspace.change_token()
        proposed = self._workspace.proposed() if token != state.token else None
        changes = await asyncio.to_thread(state.seen.changes, proposed, on_disk=not process.is_sandboxed)
        await process.show({change.name: change.data for change in changes})
        state.token = token
        server.files_changed(changes)
