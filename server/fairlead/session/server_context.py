"""What the sessions of a server share: the workspace, the ports to the editor, the settings, the choice of a model."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fairlead.code.provider import Provider
from fairlead.display import end_sentence
from fairlead.gate.remembered import Remembered
from fairlead.gate.request import AskingEditor
from fairlead.hosted_agents.definition import AgentDefinition
from fairlead.hosted_agents.read_definitions import with_presets
from fairlead.hosted_agents.starting import AgentsContext
from fairlead.models.factory import ModelChoice
from fairlead.session.errors import RequestRefused
from fairlead.session.guarded_files import GuardedFiles
from fairlead.session.model_selection import ModelSelection
from fairlead.session.session_model import SpareModel
from fairlead.session.settings import Settings
from fairlead.session.store.journal import Journals
from fairlead.shell.layers import CommandLayers
from fairlead.shell.services.packages import packages_folder
from fairlead.shell.services.pool import ServicePool
from fairlead.tool_servers.definition import Definition
from fairlead.tool_servers.known import KnownServers
from fairlead.tool_servers.secrets import Secrets
from fairlead.tool_servers.workspace_files import WorkspaceServers
from fairlead.user_hooks.find import HookFiles
from fairlead.workspace.editor import Buffers, DiagnosticsSource
from fairlead.workspace.paths import Root, Roots

MAX_TOOL_SERVERS = 12


@dataclass
class ServerContext:
    """Shared by all sessions.

    The front end may replace `settings`, `roots` and `trusted` at any time, so sessions read them each time they need
    them. It sets the other values before the first session.
    """

    buffers: Buffers
    editor: AskingEditor
    choose_model: Callable[[ModelSelection], ModelChoice]
    settings: Settings
    layers: CommandLayers
    choose_small_model: Callable[[ModelSelection], ModelChoice | None] = lambda _: None
    """Returns the second model of a session that asks this one, for summaries and titles; None: there is none."""
    choose_named_model: Callable[[ModelSelection, str], ModelChoice | None] = lambda _, __: None
    """Returns the model with this name at the endpoint of a session's selection; None: it is not known there."""
    clock: Callable[[], float] = time.monotonic
    """Seconds since an arbitrary start, for durations."""
    now: Callable[[], float] = time.time
    """Seconds since the epoch."""
    warn_once: Callable[[str], None] = lambda _: None
    """Tells the user something, unless the same text was already shown since the start."""
    watch: Callable[[Path], None] = lambda _: None
    """Called with each file whose changes on disk matter."""
    journals: Journals = field(default_factory=Journals)
    roots: Roots = field(default_factory=Roots)
    """The folders that are open."""
    trusted: bool = True
    """Whether the user trusts the workspace. If not, `workspace` raises."""
    restores_sessions: bool = True
    """Whether unsettled sessions (`Sessions`) are loaded when they are found, not only when a request names them."""
    spare_model: SpareModel = field(default_factory=SpareModel)
    """The model that the next new session takes, connected in advance."""
    server_pool: ServicePool = field(default_factory=ServicePool)
    """The language servers of all sessions."""
    tool_server_pool: ServicePool = field(default_factory=lambda: ServicePool(MAX_TOOL_SERVERS))
    """The local tool servers of all sessions."""
    packages: Path = field(default_factory=packages_folder)
    """Where the packages of tool servers are installed, and what these servers keep."""
    known_servers: KnownServers = field(default_factory=lambda: KnownServers(None))
    server_secrets: Secrets = field(default_factory=Secrets)
    """What the user has entered for tool servers, and their sign-ins."""
    agents: AgentsContext = field(default_factory=AgentsContext)
    allowed_hooks: Remembered = field(default_factory=lambda: Remembered(None))
    """The hooks that the user has allowed."""
    hook_files: HookFiles = field(default_factory=HookFiles)
    diagnostics: DiagnosticsSource | None = None
    """None: the editor does not report its problems."""
    editor_code: Provider | None = None
    """None: the editor does not answer questions about code."""

    _workspace_servers: WorkspaceServers = field(default_factory=WorkspaceServers)
    _guarded: dict[Path, GuardedFiles] = field(default_factory=dict[Path, GuardedFiles])

    def guarded_files(self, root: Root) -> GuardedFiles:
        """In this folder, the files that commands must not read or write. All sessions share one search for them."""
        return self._guarded.setdefault(root.path, GuardedFiles(root.path, self.opened_secrets))

    def tool_definitions(self, roots: Roots) -> Mapping[str, Definition]:
        """The tool servers of the user's settings, and those of the workspace's files under other names."""
        given = self.settings.mcp_servers
        found, problems = self._workspace_servers.definitions(roots.paths)
        for name in found.keys() & given.keys():
            problems.append(f"{name} in {found[name].defined_in} has the name of one in your settings")
        for problem in problems:
            self.warn_once(f"A tool server is left out. {end_sentence(problem)}")
        return {**given, **{name: each for name, each in found.items() if name not in given}}

    def hosted_agents(self) -> Mapping[str, AgentDefinition]:
        """The agents of other makers that can work in a session, by name."""
        return with_presets(self.settings.agents)

    def opened_secrets(self) -> Sequence[str]:
        """The patterns of the files that look like secrets, and that the user opened."""
        return self.settings.secrets.allow

    def resolved(self, selection: ModelSelection) -> ModelSelection:
        """The selection with what the settings decide."""
        endpoint = self.choose_model(selection).endpoint
        return ModelSelection(endpoint.name, endpoint.model, endpoint.effort or "")

    def workspace(self) -> Roots:
        """The folders of the workspace.

        Raises:
            RequestRefused: no folder is open, an open folder is missing or is not a folder, or the workspace is not
                trusted.
        """
        if not self.roots.folders:
            raise RequestRefused("No folder is open. Open the folder that the agent should work in.")
        missing = next((path for path in self.roots.paths if not path.is_dir()), None)
        if missing is not None and self.roots.has_names:
            raise RequestRefused(f"A folder of the workspace does not exist: {missing}. Remove it from the workspace.")
        if missing is not None:
            raise RequestRefused(f"The workspace is not a folder: {missing}. Open another one.")
        if not self.trusted:
            raise RequestRefused("This workspace is not trusted. Trust it in the editor to let the agent work here.")
        return self.roots
