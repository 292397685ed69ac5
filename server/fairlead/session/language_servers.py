"""The language servers of a session, and the parts of the session that they may use."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from fairlead.code.provider import LanguageServer, LanguageServers, MissingServer, NoAnswer
from fairlead.code.servers.table import ServerSpec
from fairlead.gate.gate import Gate
from fairlead.session.commands import SessionCommands
from fairlead.session.server_context import ServerContext
from fairlead.shell.layer import Entry, Layer, Limits, View
from fairlead.tools.command_changes import KnownEntries, proposed_entries
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Root, Roots


class ServersWorkspace:
    """Implements `Workspace` (`code/servers/servers.py`) for one folder of a session."""

    def __init__(
        self,
        files: Files,
        root: Path,
        commands: Callable[[], SessionCommands],
        context: ServerContext,
    ) -> None:
        self._files, self._commands, self._context = files, commands, context
        self.root = root
        self._entries = KnownEntries()

    @property
    def gate(self) -> Gate:
        return self._commands().gate

    def specs(self) -> Sequence[ServerSpec]:
        return tuple(self._context.settings.language_servers.values())

    def limits(self) -> Limits:
        bash = self._context.settings.bash
        return Limits.from_settings(bash.processes, bash.memory_mb)

    async def layer(self) -> Layer:
        return await self._commands().layer()

    async def view(self, layer: Layer) -> View:
        return await self._commands().view(layer.roots)

    def change_token(self) -> object:
        return self._files.change_token

    def proposed(self) -> Mapping[str, Entry | None]:
        return proposed_entries(self._files, None, Roots.of(self.root), self._entries)

    def is_hidden(self, name: str) -> bool:
        return self._files.secret_filter()(self._files.roots.relative(self.root / name))


class FolderServers:
    """Implements `SessionLanguageServers` with separate servers for each folder of the workspace.

    `server` and `start` also stop the servers of folders that were removed from the workspace.
    """

    def __init__(
        self,
        files: Files,
        start: Callable[[Path], LanguageServers],
        waiting: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """
        Args:
            start: returns the servers of a folder; none of them is running yet.
            waiting: returns a context manager that is entered while a run waits for a server.
        """
        self._files, self._start, self._waiting = files, start, waiting
        self._by_folder: dict[Path, LanguageServers] = {}

    def name_for(self, path: Path) -> str:
        root = self._files.roots.folder_of(path)
        return self._of(root).name_for(path) if root is not None else ""

    async def server(self, path: Path) -> LanguageServer:
        with self._waiting():
            return await self._server(path)

    async def start(self, path: Path) -> None:
        await self._server(path)

    async def _server(self, path: Path) -> LanguageServer:
        for folder in self._by_folder.keys() - {*self._files.roots.paths}:
            closed = self._by_folder.pop(folder, None)
            if closed is not None:
                await closed.aclose()
        root = self._files.roots.folder_of(path)
        if root is None:
            raise NoAnswer(f"{path} is not in a folder of the workspace, so no language server can answer.")
        return await self._of(root).server(path)

    def suffixes(self) -> Collection[str]:
        return {suffix for root in self._files.roots.folders for suffix in self._of(root).suffixes()}

    def missing(self) -> Collection[MissingServer]:
        """Those that are missing in all folders: a folder's environment may have a program that others lack."""
        found = [set(self._of(root).missing()) for root in self._files.roots.folders]
        return set[MissingServer].intersection(*found) if found else ()

    async def aclose(self) -> None:
        await asyncio.gather(*(servers.aclose() for servers in self._by_folder.values()))

    def _of(self, root: Root) -> LanguageServers:
        if root.path not in self._by_folder:
            self._by_folder[root.path] = self._start(root.path)
        return self._by_folder[root.path]
