"""Starts the process of a local tool server in its box."""

import asyncio
import os
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from fairlead.agent.tool import RunningCall
from fairlead.gate.gate import Gate
from fairlead.gate.request import InstallServer, ValueRequest
from fairlead.shell.layer import BoxSettings, Layer, ProgramBox, ShownFolder
from fairlead.shell.network import Network
from fairlead.shell.services import workspace_process
from fairlead.shell.services.packages import install, installed_program, package_of
from fairlead.shell.services.process import named_files
from fairlead.shell.services.workspace_process import WorkspaceProcess
from fairlead.tool_servers.definition import Definition
from fairlead.tool_servers.elicitation import Ask
from fairlead.tool_servers.pipes import ServerFailed
from fairlead.tool_servers.questions import INSTALLS, NO_SCRIPTS
from fairlead.tool_servers.server import Propose
from fairlead.tool_servers.variables import uses_data
from fairlead.workspace.paths import Roots, real_path


class Workspace(workspace_process.Workspace, Protocol):
    """What the servers need from their session."""

    @property
    def roots(self) -> Roots: ...

    @property
    def gate(self) -> Gate: ...

    @property
    def has_sandbox(self) -> bool: ...

    async def layer(self) -> Layer:
        """The layer that the servers run in. Raises ToolError if it cannot be made."""
        ...

    def direct(self) -> Layer:
        """The workspace itself as a layer."""
        ...

    @property
    def propose(self) -> Propose: ...

    async def enter(self, request: ValueRequest) -> str | None:
        """See `AskingEditor`."""
        ...

    def ask(self, call: RunningCall) -> Ask:
        """Asks the user, for a call."""
        ...


async def start_box(
    definition: Definition, known: Definition, layer: Layer, workspace: Workspace, packages: Path
) -> WorkspaceProcess:
    """Starts the program of a definition, after its package is installed if it has one.

    Args:
        known: the definition without variables.
        packages: see `ToolServers`.

    Raises:
        NotAllowed: the user does not want the package to be installed.
        ServerFailed, ServiceError, ToolError: it cannot be started.
    """
    data = data_folder(definition, packages)
    keeps_data = uses_data(definition)
    if keeps_data:
        await asyncio.to_thread(data.mkdir, parents=True, exist_ok=True)
    known, package_folder = await _installed(definition, known, workspace, packages)
    folder = workspace.roots.first.path / known.folder
    program = await asyncio.to_thread(_find, known.command[0], folder)
    shown = [ShownFolder(await asyncio.to_thread(_folder, each.path), each.is_writable) for each in known.folders]
    shown += [ShownFolder(package_folder)] if package_folder else []
    shown += [ShownFolder(data, True)] if keeps_data else []
    own = BoxSettings(variables=dict(known.variables), folders=shown)
    chosen = [Path(program)] if definition.defined_in is None or package_folder is not None else []
    if definition.defined_in is None:
        texts = (*known.command[1:], *(text for _, text in known.variables))
        named = await asyncio.to_thread(named_files, texts)
        # a mount of its own would not let the server replace a file of a folder in which it may write
        chosen += [path for path in named if not any(path.is_relative_to(folder.path) for folder in shown)]
    return await WorkspaceProcess.start(
        [program, *known.command[1:]],
        layer,
        folder,
        workspace,
        ProgramBox(chosen, own),
        Network(services=frozenset(known.hosts)),
    )


def data_folder(definition: Definition, packages: Path) -> Path:
    """The folder for what a server keeps, which no other definition has."""
    return packages / "data" / definition.digest[:32]


async def _installed(
    definition: Definition, known: Definition, workspace: Workspace, packages: Path
) -> tuple[Definition, Path | None]:
    """The definition with the installed program in place of `npx` or `uvx`, and the folder of its package."""
    package = package_of(known.command)
    if package is None:
        return known, None
    folder = package.folder(packages)
    program = installed_program(package, folder)
    if program is None:
        command = shlex.join(package.install_command(folder))
        action = InstallServer(definition.name, command, folder)
        await workspace.gate.check(action, reasons=[INSTALLS, NO_SCRIPTS])
        await install(package, folder)
        program = installed_program(package, folder)
    if program is None:
        raise ServerFailed(f"its package {package.specs[0]} has no program {package.program or 'of this name'}")
    return replace(known, command=(str(program), *package.arguments)), folder


def _folder(path: str) -> Path:
    """The folder at a path. Raises ServerFailed if there is none."""
    found = real_path(os.path.expanduser(path))
    if not found.is_dir():
        raise ServerFailed(f"the folder {path} of its definition does not exist")
    return found


def _find(program: str, folder: Path) -> str:
    """The path of a program. Raises ServerFailed if there is none."""
    name = os.path.expanduser(program)
    found = str(folder / name) if "/" in name else shutil.which(name)
    if found is None or not os.path.isfile(found):
        raise ServerFailed(f"the program {program} was not found")
    return found
