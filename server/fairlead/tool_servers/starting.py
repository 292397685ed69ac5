"""Starts a tool server, after the user has allowed that and entered what it needs."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from fairlead.display import escape_invisible
from fairlead.gate.request import StartServer
from fairlead.shell.layer import Layer
from fairlead.shell.services.message_lines import Output
from fairlead.shell.services.pool import ServicePool
from fairlead.tool_servers.connection import load_sdk
from fairlead.tool_servers.definition import Definition
from fairlead.tool_servers.inputs import entered_values
from fairlead.tool_servers.known import KnownServers
from fairlead.tool_servers.local import Workspace, data_folder, start_box
from fairlead.tool_servers.pipes import Pipes, ServerFailed
from fairlead.tool_servers.questions import STAYS_ALLOWED, about
from fairlead.tool_servers.secrets import Secrets
from fairlead.tool_servers.server import RunningServer
from fairlead.tool_servers.sign_ins import NO_SDK
from fairlead.tool_servers.variables import Values, expanded

OnEnd = Callable[[RunningServer, ServerFailed], None]
"""Called when a server can no longer answer."""


class Starter:
    """Starts the tool servers of a session.

    Args:
        packages: the folder for the packages of `npx` and `uvx` servers, and for what servers keep.
        pool: limits the local servers of all sessions, and stops idle ones.
    """

    def __init__(
        self, workspace: Workspace, known: KnownServers, pool: ServicePool, packages: Path, secrets: Secrets
    ) -> None:
        self._workspace, self._known, self._pool = workspace, known, pool
        self._packages, self._secrets = packages, secrets

    async def start(self, definition: Definition, output: Output, on_end: OnEnd) -> RunningServer:
        """Starts a server, and connects to it.

        Args:
            output: gets what it writes besides its messages.

        Raises:
            NotAllowed, NotEntered: it must not start, or the user has not entered what it needs.
            ServerFailed, ServiceError, ToolError: it cannot be used.
        """
        await load_sdk()
        layer = None
        if not definition.is_remote:
            layer = await self._workspace.layer() if definition.is_boxed else self._workspace.direct()
        await self._allow(definition, layer)
        entered = await entered_values(definition, self._secrets, self._workspace.enter)
        data = data_folder(definition, self._packages)
        values = Values(self._workspace.roots.first.path, Path.home(), data, os.environ.get, entered)
        known = expanded(definition, values)
        if layer is None:
            return await _opened(self._connect(definition, known, output, on_end))
        async with self._pool.slot():
            server = await _opened(await self._start_local(definition, known, layer, output, on_end))
            self._pool.add(server)
            return server

    async def _allow(self, definition: Definition, layer: Layer | None) -> None:
        """Asks the user if a definition is the workspace's, or if there is no sandbox.

        Args:
            layer: where a local server runs; None for a remote one.

        Raises:
            NotAllowed: it must not start.
        """
        is_outside = layer is not None and layer.where == "workspace"
        digest = f"{definition.digest}{' outside' if is_outside else ''}"
        if (definition.defined_in is None and not is_outside) or self._known.is_allowed(digest):
            return
        where = layer.where if layer is not None else None
        action = StartServer(
            definition.name, escape_invisible(definition.text), self._workspace.roots.first.path, where, digest
        )
        await self._workspace.gate.check(action, reasons=[*about(definition, is_outside=is_outside), STAYS_ALLOWED])
        self._known.allow(digest)

    async def _start_local(
        self, definition: Definition, known: Definition, layer: Layer, output: Output, on_end: OnEnd
    ) -> RunningServer:
        """Starts the process of a local server. `known` is its definition without variables."""
        workspace = self._workspace
        box = await start_box(definition, known, layer, workspace, self._packages)
        server: RunningServer
        pipes = Pipes(box.process.process, output, lambda failure: on_end(server, failure))
        server = RunningServer(
            definition, pipes.streams, box, pipes, workspace.propose, workspace.ask, self._pool.note_use, output
        )
        return server

    def _connect(self, definition: Definition, known: Definition, output: Output, on_end: OnEnd) -> RunningServer:
        """A remote server, not yet open. `known` is its definition without variables."""
        try:  # they import the SDK, which is optional and slow to import
            from fairlead.tool_servers.http import HttpStreams  # noqa: PLC0415
            from fairlead.tool_servers.oauth import SavedSignIn, key_of  # noqa: PLC0415
        except ImportError as error:
            raise ServerFailed(NO_SDK) from error
        auth = None if known.has_own_key else SavedSignIn(self._secrets, key_of(definition, known.url), known)
        server: RunningServer
        streams = HttpStreams(known.url, dict(known.headers), lambda failure: on_end(server, failure), auth)
        workspace = self._workspace
        server = RunningServer(
            definition, streams.streams, None, streams, workspace.propose, workspace.ask, lambda _: None, output
        )
        return server


async def _opened(server: RunningServer) -> RunningServer:
    try:
        await server.open()
    except BaseException:
        await asyncio.shield(server.start_ending())
        raise
    return server
