"""Chooses where the commands of a server's sessions run.

The sandbox is probed once per workspace, and again only if the probe failed temporarily or was not completed.
"""

import asyncio
import contextlib
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
    `former_storage` is the folder before `storage`, in which dead servers may have left layers.
    """

    def __init__(
        self,
        storage: Path,
        warn: Callable[[str], None] = lambda _: None,
        former_storage: Path | None = None,
    ) -> None:
        self._warn, self._warned = warn, set[Roots]()
        self._former = former_storage
        self._storage, self._state = storage, storage / "layers"
        self._probes: dict[Roots, asyncio.Task[Capability]] = {}
        self._sweeping: asyncio.Future[None] | None = None
        """Set once the removal of dead layers in the former storage has begun. Nothing waits for it."""

    def start_probe(self, roots: Roots) -> asyncio.Task[Capability]:
        """Starts the probe of a workspace, unless there is one already. Returns its task.

        Repeats a probe that was cancelled, raised an error or failed temporarily. Needs a running event loop.
        """
        found = self._probes.get(roots)
        if found is None or (found.done() and (found.cancelled() or found.exception() or found.result().is_temporary)):
            found = self._probes[roots] = asyncio.create_task(self._probe(roots))
        return found

    async def _probe(self, roots: Roots) -> Capability:
        found = await probe(roots, self._state)
        if found.layers_folder is not None and self._former is not None and self._sweeping is None:
            self._sweeping = asyncio.ensure_future(asyncio.to_thread(_sweep, self._former / "layers"))
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


def _sweep(layers_folder: Path) -> None:
    """Removes the layers of dead servers. Runs in a thread, because a layer can be large."""
    from fairlead.shell.sandbox.layer.layer_folder import sweep  # noqa: PLC0415  imports only on Linux

    with contextlib.suppress(OSError):  # it cannot be read
        sweep(layers_folder)
