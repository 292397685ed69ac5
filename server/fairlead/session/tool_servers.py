"""The parts of a session that its tool servers may use, and what it sends about them."""

import asyncio
from collections.abc import Callable, Sequence
from functools import lru_cache

from fairlead.agent.tool import RunningCall
from fairlead.gate.gate import Gate
from fairlead.gate.request import ValueRequest
from fairlead.gate.tool_rules import ToolPolicy, ToolRule
from fairlead.session.commands import SessionCommands
from fairlead.session.events import SessionEvent, ToolServersChanged
from fairlead.session.language_servers import ServersWorkspace
from fairlead.session.outbox import HOLD_SECONDS
from fairlead.session.server_context import ServerContext
from fairlead.session.settings import Settings
from fairlead.shell.layer import Changes, Layer, Limits, View
from fairlead.tool_servers.elicitation import Ask
from fairlead.tool_servers.status import ServerStatus
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots


def tool_policy(settings: Settings) -> ToolPolicy:
    """What the settings say about calls of tool servers."""
    rules = settings.tools
    return ToolPolicy(_rules(rules.allow), _rules(rules.deny), settings.approvals == "ask")


@lru_cache(maxsize=4)
def _rules(texts: tuple[str, ...]) -> tuple[ToolRule, ...]:
    return tuple(map(ToolRule.parse, texts))


class ToolServersWorkspace:
    """Implements `Workspace` (`tool_servers/servers.py`)."""

    def __init__(self, files: Files, commands: Callable[[], SessionCommands], context: ServerContext) -> None:
        self._files, self._commands, self._context = files, commands, context

    @property
    def roots(self) -> Roots:
        return self._files.roots

    @property
    def folders(self) -> Sequence[ServersWorkspace]:
        return [
            ServersWorkspace(self._files, root.path, self._commands, self._context)
            for root in self._files.roots.folders
        ]

    @property
    def gate(self) -> Gate:
        return self._commands().gate

    @property
    def has_sandbox(self) -> bool:
        return not self._commands().tools().unavailable

    @property
    def no_sandbox(self) -> str:
        return self._commands().tools().unavailable

    def limits(self) -> Limits:
        bash = self._context.settings.bash
        return Limits.from_settings(bash.processes, bash.memory_mb)

    async def layer(self) -> Layer:
        return await self._commands().layer()

    def direct(self) -> Layer:
        return self._commands().tools().direct()

    async def view(self, layer: Layer) -> View:
        return await self._commands().view(layer.roots)

    async def propose(self, changes: Changes, call: RunningCall) -> Sequence[str]:
        layer = await self.layer()
        proposed = await self._commands().tools().propose_changes(changes, layer.roots, call)
        return proposed.report

    async def enter(self, request: ValueRequest) -> str | None:
        return await self.gate.editor.enter(request)

    def ask(self, call: RunningCall) -> Ask:
        gate = self.gate

        async def ask(question: str, options: Sequence[str]) -> str | None:
            return await gate.editor.ask(gate.session_id, call.id, question, options)

        return ask


class StatusSender:
    """Sends the statuses of a session's tool servers when they change, several changes at once.

    Args:
        statuses: returns them.
        sink: gets them as an event.
    """

    def __init__(
        self, statuses: Callable[[], Sequence[ServerStatus]], sink: Callable[[Sequence[SessionEvent]], None]
    ) -> None:
        self._statuses, self._sink = statuses, sink
        self._timer: asyncio.TimerHandle | None = None
        self._sent: Sequence[ServerStatus] = []

    def schedule(self) -> None:
        """Something may have changed."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(HOLD_SECONDS, self.flush)

    def flush(self) -> None:
        """Sends what waits, if it differs from what was sent last."""
        if self._timer is None:
            return
        self.close()
        now = self._statuses()
        if now != self._sent:
            self._sent = now
            self._sink([ToolServersChanged(now)])

    def close(self) -> None:
        """Sends nothing more of what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
