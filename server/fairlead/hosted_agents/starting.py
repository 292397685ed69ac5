"""Starts a hosted agent in a box of its own, after the user has allowed that."""

import asyncio
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import platformdirs

from fairlead.gate.gate import Gate
from fairlead.gate.remembered import Remembered
from fairlead.gate.request import InstallAgent, StartAgent
from fairlead.hosted_agents.agent import RunningAgent
from fairlead.hosted_agents.connection import AgentFailed
from fairlead.hosted_agents.definition import AgentDefinition
from fairlead.hosted_agents.own_tools import AgentTools
from fairlead.hosted_agents.state_folders import Owner, StateFolders
from fairlead.sentences import Sentence
from fairlead.shell.layer import BoxSettings, Layer, ProgramBox, ShownFolder
from fairlead.shell.network import Network
from fairlead.shell.services import workspace_process
from fairlead.shell.services.message_lines import Output
from fairlead.shell.services.packages import Package, install, installed_program
from fairlead.shell.services.pool import ServicePool
from fairlead.shell.services.process import named_files
from fairlead.shell.services.workspace_process import WorkspaceProcess
from fairlead.workspace.paths import Roots, real_path

if TYPE_CHECKING:
    from fairlead.hosted_agents.key_relay import KeyRelay
    from fairlead.hosted_agents.tool_server import ToolServer

MAX_AGENTS = 3
"""How many agents of all sessions run at once. Each takes 100 MB to 800 MB of memory."""
NO_SANDBOX = (
    "{title} cannot work here, because there is no sandbox, and it would write to your files without asking: {reason}"
)
NOT_INSTALLED = "{title} is not installed: the program {program} was not found. Install it, and try again."


class Workspace(workspace_process.Workspace, Protocol):
    """What an agent needs from its session."""

    @property
    def roots(self) -> Roots: ...

    @property
    def gate(self) -> Gate: ...

    @property
    def no_sandbox(self) -> str:
        """Why there is no sandbox; empty if there is one."""
        ...

    async def layer(self) -> Layer:
        """The layer that an agent runs in. Raises ToolError if it cannot be made."""
        ...


@dataclass(frozen=True)
class AgentsContext:
    """What the agents of all sessions share."""

    folder: Path = field(default_factory=lambda: platformdirs.user_data_path("fairlead", appauthor=False) / "agents")
    """For the packages and the state folders of agents."""
    allowed: Remembered = field(default_factory=lambda: Remembered(None))
    """The agents that the user has allowed."""
    pool: ServicePool = field(default_factory=lambda: ServicePool(MAX_AGENTS))

    def state_folders(self, definition: AgentDefinition) -> StateFolders:
        """Where an agent keeps its settings and its sign-in. They are Fairlead's own: never some of the user's."""
        return StateFolders.of(definition, real_path(self.folder))

    def package_folder(self, package: Package) -> Path:
        return real_path(package.folder(self.folder / "packages"))


def package_of(definition: AgentDefinition) -> Package | None:
    """The package that contains an agent's program; None if the user installs it."""
    if not definition.package:
        return None
    return Package("npm", definition.package, definition.command[0], definition.command[1:])


def find_program(definition: AgentDefinition, context: AgentsContext) -> Path | None:
    """The program of an agent: that of its package, or the one that the user has installed; None if there is none."""
    package = package_of(definition)
    if package is not None:
        return installed_program(package, context.package_folder(package))
    found = shutil.which(os.path.expanduser(definition.command[0]))
    return Path(os.path.abspath(found)) if found is not None else None


async def install_packages(definition: AgentDefinition, context: AgentsContext) -> Path:
    """Installs the packages of an agent, outside of the sandbox. Returns its program.

    Raises:
        ToolError: it has none, or they cannot be installed.
    """
    package = package_of(definition)
    if package is None:
        raise AgentFailed("Fairlead does not know its packages")
    await install(package, context.package_folder(package))
    program = await asyncio.to_thread(find_program, definition, context)
    if program is None:
        raise AgentFailed(f"the package {package.specs[0]} has no program {package.program}")
    return program


def sign_in_of(definition: AgentDefinition, context: AgentsContext) -> tuple[Sequence[str], Mapping[str, str]] | None:
    """The command with which the user signs in to an installed agent, and its variables; None if there is none.

    It runs in the user's terminal, outside of the sandbox. So it reads nothing that the agent could have written.
    """
    if not definition.sign_in:
        return None
    name, *arguments = definition.sign_in
    package = package_of(definition)
    program = (
        installed_program(replace(package, program=name), context.package_folder(package))
        if package is not None
        else shutil.which(name)
    )
    if program is None:
        return None
    return [str(program), *arguments], {**dict(definition.variables), **context.state_folders(definition).for_sign_in()}


def _account(workspace: Path) -> Owner:
    """The account that an agent runs as, if that is not the server's: for a server of root, the workspace's owner."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return None
    status = workspace.stat()
    return status.st_uid, status.st_gid


class AgentStarter:
    """Starts the agents of a session."""

    def __init__(self, workspace: Workspace, context: AgentsContext, tools: AgentTools) -> None:
        self._workspace, self._context, self._tools = workspace, context, tools

    async def start(
        self,
        definition: AgentDefinition,
        output: Output,
        on_end: Callable[[RunningAgent], None],
        on_change: Callable[[], None],
    ) -> RunningAgent:
        """Starts an agent, and connects to it. The arguments are those of `RunningAgent`.

        Raises:
            NotAllowed: the user does not want it.
            ToolError: it cannot be started; the message is for the user.
        """
        workspace = self._workspace
        if reason := workspace.no_sandbox:
            raise AgentFailed(NO_SANDBOX.format(title=definition.title, reason=reason))
        key = _key_of(definition)
        await self._allow(definition, has_key=key is not None)
        program, shown = await self._program(definition)
        relay = _relay(*key) if key is not None else None
        tools = _tool_server(self._tools) if definition.has_tools else None
        servers = [each for each in (relay, tools) if each is not None]
        async with self._context.pool.slot():
            try:
                for each in servers:
                    await each.start()
                box = await self._start_box(definition, program, shown, relay, tools)
            except BaseException:
                for each in servers:
                    await each.aclose()
                raise
            agent = RunningAgent(definition, box, output, on_end, on_change, tools, relay)
            try:
                await agent.open()
            except BaseException:
                await asyncio.shield(agent.start_ending())
                raise
            self._context.pool.add(agent)
            return agent

    async def _allow(self, definition: AgentDefinition, *, has_key: bool) -> None:
        """Asks the user once for each definition. Raises NotAllowed."""
        digest = sha256(repr((definition, has_key)).encode()).hexdigest()
        if self._context.allowed.is_allowed(digest):
            return
        command = definition.text if package_of(definition) is None else shlex.join(definition.command)
        action = StartAgent(definition.title, command, self._workspace.roots.first.path, digest)
        await self._workspace.gate.check(action, reasons=[*_about(definition, has_key=has_key)])
        self._context.allowed.allow(digest)

    async def _program(self, definition: AgentDefinition) -> tuple[list[str], list[ShownFolder]]:
        """The command line, and the folder of the package that contains the program. Installs it if necessary."""
        package, program = package_of(definition), await asyncio.to_thread(find_program, definition, self._context)
        if package is None:
            if program is None:
                raise AgentFailed(NOT_INSTALLED.format(title=definition.title, program=definition.command[0]))
            return [str(program), *definition.command[1:]], []
        folder = self._context.package_folder(package)
        if program is None:
            command = shlex.join(package.install_command(folder))
            action = InstallAgent(definition.title, command, folder)
            await self._workspace.gate.check(action, reasons=[INSTALLS, NO_SCRIPTS])
            program = await install_packages(definition, self._context)
        return [str(program), *package.arguments], [ShownFolder(folder)]

    async def _start_box(
        self,
        definition: AgentDefinition,
        command: list[str],
        shown: list[ShownFolder],
        relay: "KeyRelay | None",
        tools: "ToolServer | None",
    ) -> WorkspaceProcess:
        workspace = self._workspace
        layer = await workspace.layer()
        folders, root = self._context.state_folders(definition), workspace.roots.first.path
        try:
            named_folders = await asyncio.to_thread(lambda: folders.for_agent(_account(root)))
        except OSError as error:
            raise AgentFailed(f"its state folder cannot be used: {error}") from error
        variables = {**dict(definition.variables), **named_folders}
        hosts = set(definition.hosts)
        if relay is not None and definition.key is not None:
            variables[definition.key.variable] = relay.password
            variables[definition.key.address_variable] = relay.address
            hosts = {relay.service}
        if tools is not None:
            hosts.add(tools.service)
        named = await asyncio.to_thread(named_files, [*command[1:], *variables.values()])
        return await WorkspaceProcess.start(
            command,
            layer,
            root,
            workspace,
            ProgramBox(
                [Path(command[0]), *named],
                BoxSettings(variables=variables, folders=[*shown, ShownFolder(folders.state, is_writable=True)]),
            ),
            Network(services=frozenset(hosts)),
        )


INSTALLS = Sentence("It installs the packages once, with the versions that are given.")
NO_SCRIPTS = Sentence("No script of the packages runs during the installation.")


def _relay(address: str, key: str) -> "KeyRelay":
    from fairlead.hosted_agents.key_relay import KeyRelay  # noqa: PLC0415  its HTTP is rarely needed

    return KeyRelay(address, key)


def _tool_server(offered: AgentTools) -> "ToolServer":
    from fairlead.hosted_agents.tool_server import ToolServer  # noqa: PLC0415  as above

    return ToolServer(offered)


def _key_of(definition: AgentDefinition) -> tuple[str, str] | None:
    """The address of the agent's API and the user's key for it; None if there is no key that could stay outside."""
    if definition.key is None:
        return None
    given = {**os.environ, **dict(definition.variables)}
    key = given.get(definition.key.variable, "").strip()
    address = given.get(definition.key.address_variable, "").strip() or definition.key.address
    return (address, key) if key else None


def _about(definition: AgentDefinition, *, has_key: bool) -> Iterator[str]:
    """What the user must know about an agent, besides its command."""
    yield Sentence("What it writes in the workspace is proposed, and your files stay as they are until you accept.")
    if has_key and definition.key is not None:
        yield Sentence(
            "It uses your key in {0}, which it does not see, and reaches nothing else.", definition.key.variable
        )
    elif definition.hosts:
        yield Sentence("It reaches {0}.", ", ".join(map(str, definition.hosts)))
    yield Sentence("It sees neither your home nor your own settings of it: it has a folder of its own for its sign-in.")
