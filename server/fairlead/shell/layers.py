"""Chooses where the commands of a server's sessions run.

The sandbox is probed once per workspace, and again only if the probe failed temporarily or was not completed.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

from fairlead.shell.direct import DirectLayer
from fairlead.shell.layer import BoxSettings, Layer
from fairlead.shell.sandbox.probe import Capability, probe
from fairlead.workspace.paths import Roots


class CommandLayers:
    """Opens the layers of a server's sessions.

    `storage` is the folder for our data, which sandboxed commands never see. `warn` gets a text for the user if the
    boxes of a workspace are weaker than docs/sandbox.md promises: once per workspace, when its first layer is opened.
    """

    def __init__(self, storage: Path, warn: Callable[[str], None] = lambda _: None) -> None:
        self._warn, self._warned = warn, set[Roots]()
        self._storage, self._state = storage, storage / "layers"
        self._probes: dict[Roots, asyncio.Task[Capability]] = {}

    def start_probe(self, roots: Roots) -> asyncio.Task[Capability]:
        """Starts the probe of a workspace, unless there is one already. Returns its task.

        Repeats a probe that was cancelled, raised an error or failed temporarily. Needs a running event loop.
        """
        found = self._probes.get(roots)
        if found is None or (found.done() and (found.cancelled() or found.exception() or found.result().is_temporary)):
            found = self._probes[roots] = asyncio.create_task(probe(roots, self._state))
        return found

    async def capability(self, roots: Roots) -> Capability:
        """The result of the probe, which is started if necessary. Cancelling the caller does not stop the probe."""
        return await asyncio.shield(self.start_probe(roots))

    async def open(self, roots: Roots, settings: Callable[[], BoxSettings]) -> Layer:
        """A new layer for a session: the sandbox if there is one, otherwise the workspace itself.

        `settings` is as for `Capability.layer`.

        Raises:
            ToolError: the sandbox's folder cannot be created.
        """
        found = await self.capability(roots)
        if found.layers_folder is None:
            return DirectLayer(roots)
        if found.weakness and roots not in self._warned:
            self._warned.add(roots)
            self._warn(found.weakness)
        return await found.layer([self._storage], settings)
