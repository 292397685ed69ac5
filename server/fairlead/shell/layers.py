"""Chooses where the commands of a server's sessions run. The sandbox is tried once per workspace."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import platformdirs

from fairlead.shell.direct import DirectLayer
from fairlead.shell.layer import Layer
from fairlead.shell.sandbox.probe import Capability, probe
from fairlead.workspace.paths import Root


class CommandLayers:
    """The layers of a server's sessions.

    `storage` is the front end's folder for our data; commands never see it. `warn` gets a text for the user before the
    first command that runs in a weaker box than docs/sandbox.md promises.
    """

    def __init__(self, storage: Path | None, warn: Callable[[str], None] = lambda _: None) -> None:
        self._warn, self._warned = warn, set[Path]()
        self._storage = [storage] if storage is not None else []
        self._state = (storage or platformdirs.user_state_path("fairlead", appauthor=False)) / "layers"
        self._probes: dict[Path, asyncio.Task[Capability]] = {}

    def start_probe(self, root: Root) -> asyncio.Task[Capability]:
        """Start the probe of a workspace, unless there is one already. Repeats a probe that failed temporarily."""
        found = self._probes.get(root.path)
        if found is None or (found.done() and (found.cancelled() or found.exception() or found.result().is_temporary)):
            found = self._probes[root.path] = asyncio.create_task(probe(root.path, self._state))
        return found

    async def capability(self, root: Root) -> Capability:
        """The result of the probe."""
        return await asyncio.shield(self.start_probe(root))

    async def open(self, root: Root) -> Layer:
        """A new layer for a session: the sandbox if this machine has one, otherwise the workspace itself."""
        found = await self.capability(root)
        if found.layers_folder is None:
            return DirectLayer(root.path)
        if found.weakness and root.path not in self._warned:
            self._warned.add(root.path)
            self._warn(found.weakness)
        return await found.layer(self._storage)
