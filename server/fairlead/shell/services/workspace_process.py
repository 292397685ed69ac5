"""A long-lived process that sees the workspace as proposed, also after the proposals or the files have changed."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from fairlead.shell.layer import NO_PROGRAM, Changes, Entry, Layer, Limits, ProgramBox, View
from fairlead.shell.network import NO_NETWORK, Network
from fairlead.shell.services.process import ServiceProcess
from fairlead.shell.services.seen_files import SeenFiles
from fairlead.workspace.paths import Roots


class Folder(Protocol):
    """A folder of the workspace, as a process sees it."""

    @property
    def root(self) -> Path: ...

    def proposed(self) -> Mapping[str, Entry | None]:
        """The files that differ from the disk, by path relative to `root`; None: there is no file."""
        ...

    def is_hidden(self, name: str) -> bool:
        """Whether a process must not see a file, given by its path relative to `root`."""
        ...


class Workspace(Protocol):
    """The workspace of a session, for processes that stay."""

    @property
    def folders(self) -> Sequence[Folder]: ...

    def limits(self) -> Limits:
        """The resources that a process may use."""
        ...

    async def view(self, layer: Layer) -> View:
        """The files that a process sees in this layer at its start."""
        ...


@dataclass(frozen=True, slots=True)
class WorkspaceProcess:
    """A process, and what it sees."""

    process: ServiceProcess
    start_folder: Path
    folders: Sequence[Folder]
    seen: Sequence[SeenFiles]
    """For each of the folders."""
    roots: Roots
    """The folders at its start."""
    _written: set[Path] = field(default_factory=set[Path])
    """What it has written since the last `update`. Whether that is what it must see, only the proposals tell."""

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        layer: Layer,
        folder: Path,
        workspace: Workspace,
        program: ProgramBox = NO_PROGRAM,
        network: Network = NO_NETWORK,
    ) -> "WorkspaceProcess":
        """Starts a program. The arguments are those of `ServiceProcess.start`.

        Raises:
            ServiceError, ToolError: it cannot be started.
        """
        folders = workspace.folders
        seen = [SeenFiles(each.root, ("",), each.proposed(), each.is_hidden) for each in folders]
        for each in seen:  # the first search, before the program starts, so that no later change is missed
            await asyncio.to_thread(each.changes, None, on_disk=True)
        view = await workspace.view(layer)
        process = await ServiceProcess.start(argv, layer, folder, view, workspace.limits(), program, network)
        return cls(process, folder, folders, seen, layer.roots)

    async def take_changes(self) -> Changes:
        """What it has changed since the last call. See `ServiceProcess.take_changes`."""
        changes = await self.process.take_changes()
        self._written.update(self.roots.path_of(each.path) for each in changes.files if not each.not_proposed)
        return changes

    async def update(self) -> None:
        """Shows it the files that have changed since the last call.

        A file that it has written itself may not have been proposed like that, or may have been rejected at once.

        Raises:
            ServiceError: it would see old files.
        """
        written = set(self._written)
        self._written.clear()
        for folder, seen in zip(self.folders, self.seen, strict=True):
            shown = await asyncio.to_thread(self._to_show, folder.root, seen, folder.proposed(), written)
            await self.process.show({self._name(folder.root, name): data for name, data in shown.items()})

    def _to_show(
        self, root: Path, seen: SeenFiles, proposed: Mapping[str, Entry | None], written: set[Path]
    ) -> dict[str, bytes | None]:
        """The files of a folder that it must see again, with their contents. Blocks."""
        is_sandboxed = self.process.is_sandboxed
        shown = {each.name: each.data for each in seen.changes(proposed, on_disk=not is_sandboxed)}
        if is_sandboxed:
            own = (path.relative_to(root).as_posix() for path in written if path.is_relative_to(root))
            shown |= seen.now([name for name in own if name not in shown])
        return shown

    def _name(self, root: Path, name: str) -> str:
        """The path of a file relative to the folder in which the process started."""
        return os.path.relpath(root / name, self.start_folder)
