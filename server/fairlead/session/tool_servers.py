"""The parts of a session that its tool servers may use."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from fairlead.agent.tool import RunningCall
from fairlead.display import end_sentence
from fairlead.gate.gate import Gate
from fairlead.gate.tool_rules import ToolPolicy, ToolRule
from fairlead.session.commands import SessionCommands
from fairlead.session.language_servers import ServersWorkspace
from fairlead.session.server_context import ServerContext
from fairlead.session.settings import Settings
from fairlead.shell.layer import Changes, Layer, Limits, View
from fairlead.tool_servers.definition import Definition
from fairlead.tool_servers.elicitation import Ask
from fairlead.tool_servers.workspace_files import WorkspaceServers
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots


def tool_policy(settings: Settings) -> ToolPolicy:
    """What the settings say about calls of tool servers."""
    rules = settings.tools
    return ToolPolicy(_rules(rules.allow), _rules(rules.deny), settings.approvals == "ask")


@lru_cache(maxsize=4)
def _rules(texts: tuple[str, ...]) -> tuple[ToolRule, ...]:
    return tuple(map(ToolRule.parse, texts))


class Definitions:
    """The tool servers of the user's settings, and those of the workspace's files under other names."""

    def __init__(self, files: Files, context: ServerContext) -> None:
        self._files, self._context, self._of_workspace = files, context, WorkspaceServers()

    def __call__(self) -> Mapping[str, Definition]:
        given = self._context.settings.mcp_servers
        found, problems = self._of_workspace.definitions(self._files.roots.paths)
        hidden = [
            f"{name} of {found[name].defined_in} is hidden by the server of the same name in your settings"
            for name in found
            if name in given
        ]
        for problem in (*problems, *hidden):
            self._context.warn_once(f"A tool server is left out. {end_sentence(problem)}")
        return {**given, **{name: each for name, each in found.items() if name not in given}}


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

    def ask(self, call: RunningCall) -> Ask:
        gate = self.gate

        async def ask(question: str, options: Sequence[str]) -> str | None:
            return await gate.editor.ask(gate.session_id, call.id, question, options)

        return ask
