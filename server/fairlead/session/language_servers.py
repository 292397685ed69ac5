"""What the language servers of a session need of it (`code/servers/servers.py`, `Workspace`)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from fairlead.code.servers.table import ServerSpec
from fairlead.session.commands import SessionCommands
from fairlead.session.server_context import ServerContext
from fairlead.shell.layer import Entry, Layer, Limits, View, Where
from fairlead.tools.command_changes import proposed_entries
from fairlead.workspace.editor import ApprovalAnswer, ApprovalRequest
from fairlead.workspace.files import Files


class ServersWorkspace:
    """A session's files, its place for commands, and its user."""

    def __init__(
        self,
        session_id: str,
        files: Files,
        commands: Callable[[], SessionCommands],
        context: ServerContext,
        approve: Callable[[ApprovalRequest], Awaitable[ApprovalAnswer]],
    ) -> None:
        self._id, self._files, self._commands, self._context = session_id, files, commands, context
        self._approve = approve

    @property
    def root(self) -> Path:
        return self._files.root.path

    def specs(self) -> Sequence[ServerSpec]:
        return tuple(self._context.settings.language_servers.values())

    def limits(self) -> Limits:
        bash = self._context.settings.bash
        return Limits.from_settings(bash.processes, bash.memory_mb)

    async def layer(self) -> Layer:
        return await self._commands().layer()

    async def view(self) -> View:
        return await self._commands().view()

    def change_token(self) -> object:
        return self._files.change_token

    def proposed(self) -> Mapping[str, Entry | None]:
        return proposed_entries(self._files)

    def is_hidden(self, name: str) -> bool:
        return self._files.secret_filter()(name)

    async def approve(self, command: str, reasons: Sequence[str], where: Where) -> bool:
        request = ApprovalRequest(self._id, None, command, self.root, where, tuple(reasons))
        return (await self._approve(request)).option != "reject"
