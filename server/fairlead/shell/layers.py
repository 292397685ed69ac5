"""Where the commands of a server's sessions run: whether there is a sandbox is tried once for each workspace."""

import asyncio
from pathlib import Path

import platformdirs

from fairlead.shell.direct import DirectLayer
from fairlead.shell.layer import Layer
from fairlead.shell.sandbox.probe import Capability, probe
from fairlead.workspace.paths import Root


class Layers:
    """`storage` is the front end's folder for data of ours; no command ever sees it."""

    def __init__(self, storage: Path | None) -> None:
        self._storage = [storage] if storage is not None else []
        self._state = (storage or platformdirs.user_state_path("fairlead", appauthor=False)) / "layers"
        self._tried: dict[Path, asyncio.Task[Capability]] = {}

    def look(self, root: Root) -> asyncio.Task[Capability]:
        """Begins to find out what this machine can do for a workspace, or does so again where what failed may pass."""
        tried = self._tried.get(root.path)
        if tried is None or (tried.done() and (tried.cancelled() or tried.exception() or tried.result().may_pass)):
            tried = self._tried[root.path] = asyncio.create_task(probe(root.path, self._state))
        return tried

    async def capability(self, root: Root) -> Capability:
        """What was found."""
        return await asyncio.shield(self.look(root))

    async def open(self, root: Root) -> Layer:
        """A new layer for a session: boxes where this machine has them, else the workspace itself."""
        found = await self.capability(root)
        if found.place is None:
            return DirectLayer(root.path)
        return await found.layer(self._storage)
