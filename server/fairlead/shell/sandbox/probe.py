"""Finds out whether this machine can sandbox commands, by running one in a box. Can be imported on every system.

Entry points: `probe` once per workspace, then `Capability.layer` for each session.
"""

import asyncio
import os
import shlex
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.errors import ToolError
from fairlead.shell.layer import BoxSettings, Entry, Launch, NotRun, View
from fairlead.shell.sandbox import reasons
from fairlead.shell.sandbox.box import mounts
from fairlead.workspace.paths import Roots, real_path

if TYPE_CHECKING:
    from fairlead.shell.sandbox.overlay import SandboxLayer

BUBBLEWRAP = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap")
_FALLBACKS = ("/var/tmp", "/tmp", "/dev/shm")
_TIMEOUT = 10  # seconds
_FILE = "fairlead-probe-of-the-sandbox"


@dataclass(frozen=True, slots=True)
class Capability:
    """The result of a probe: how the workspace can be sandboxed, or why it cannot."""

    roots: Roots
    layers_folder: Path | None
    """Where the layers are stored. None: there is no sandbox."""
    bubblewrap: str = ""
    """The path of the program. Empty: the launcher makes the box without it."""
    reason: str = ""
    """Why there is no sandbox and what to do, as text for the user."""
    is_temporary: bool = False
    """Whether a later probe may succeed."""
    enforce_permissions: bool = False
    """For root's commands: whether the kernel denies access to files that only root may read, wherever they are."""
    weakness: str = ""
    """Why root's commands can read files that only root may read, and what to do, as text for the user."""

    async def layer(
        self, hidden: Sequence[Path] = (), settings: Callable[[], BoxSettings] = BoxSettings
    ) -> "SandboxLayer":
        """A layer for one session.

        Args:
            hidden: our own folders and files, which commands must not read.
            settings: returns the current settings.

        Raises:
            ToolError: there is no sandbox, or its folder cannot be created.
        """
        if self.layers_folder is None:
            raise ToolError(f"There is no sandbox. {self.reason}")
        try:
            return await asyncio.to_thread(self._layer, self.layers_folder, hidden, settings)
        except OSError as error:
            raise ToolError(f"The sandbox's folder could not be created: {error}.") from error

    def _layer(self, folder: Path, hidden: Sequence[Path], settings: Callable[[], BoxSettings]) -> "SandboxLayer":
        """Runs in a thread, because the first import takes long."""
        from fairlead.shell.sandbox.overlay import SandboxLayer  # noqa: PLC0415  imports only on Linux

        return SandboxLayer(
            self.roots,
            folder,
            self.bubblewrap,
            hidden,
            enforce_permissions=self.enforce_permissions,
            settings=settings,
        )


async def probe(roots: Roots, state: Path) -> Capability:
    """Tries a box on a workspace.

    `state` is the preferred folder for the layers of all sessions. It is created if necessary. Another folder is used
    if `state` is in the workspace or contains it, is not ours, or is on a file system that cannot hold a layer.
    """
    reals = [root.real for root in roots.folders]
    if not reals:
        return Capability(roots, None, reason="No folder is open.", is_temporary=True)
    obstacle = next((found for real in reals if (found := _obstacle(real))), "")
    if obstacle:
        return Capability(roots, None, reason=obstacle)
    failed: list[str] = []
    programs = [*filter(_is_trusted, BUBBLEWRAP), ""]
    modes = _permission_modes(reals[0])
    variants = [(program, mode) for mode in modes for program in programs]
    for folder in _layers_folders(reals, state):
        for bubblewrap, enforce_permissions in variants:
            if enforce_permissions != modes[0] and reasons.is_temporary(failed):
                continue  # a full disk, for example, is no reason for a weaker box
            found = Capability(roots, folder, bubblewrap, enforce_permissions=enforce_permissions)
            error = await _try(found)
            if not error and enforce_permissions != modes[0]:
                return replace(found, weakness=reasons.explain_weakness(failed[0]))
            if not error:
                return found
            failed.append(error)
    reason = await asyncio.to_thread(reasons.explain, failed, reals[0])
    return Capability(roots, None, reason=reason, is_temporary=reasons.is_temporary(failed))


def _permission_modes(root: Path) -> list[bool]:
    """The values of `enforce_permissions` to try, the best first."""
    try:
        return [True, False] if os.geteuid() == root.stat().st_uid == 0 else [False]
    except OSError:
        return [False]


async def _try(found: Capability) -> str:
    """Runs a trial command in a box of this kind; returns the error, or "" if its change was read back."""
    try:
        layer = await found.layer()
    except ToolError as error:
        return str(error)
    output, names = "", [found.roots.relative(root.path / _FILE) for root in found.roots.folders]
    try:
        command = f"rm {shlex.join(str(root.real / _FILE) for root in found.roots.folders)}"
        box = await layer.open(command, View(dict.fromkeys(names, Entry(b"seen"))))
        try:
            code, output = await _run(box.launch)
        finally:
            changes = await box.close()
    except TimeoutError:
        return reasons.TIMED_OUT
    except NotRun as error:
        return ": ".join(filter(None, (error.reason, output.strip())))
    except (OSError, ToolError) as error:
        return str(error)
    finally:
        await layer.aclose()
    if code or sorted(change.path for change in changes.files) != sorted(names):
        return output.strip() or "the trial command's change could not be read back"
    return ""


async def _run(launch: Launch) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        *launch.argv,
        cwd=launch.cwd,
        env=launch.env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        pass_fds=launch.pass_fds,
    )
    try:
        async with asyncio.timeout(_TIMEOUT):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, output.decode("utf-8", "replace")


def _obstacle(root: Path) -> str:
    """Why a trial in this folder of the workspace would be useless, as text for the user; "" if it would not."""
    if sys.platform != "linux":
        return f"Fairlead has no sandbox for this system ({sys.platform})."
    if mounts.home().is_relative_to(root):
        return "The workspace is or contains your home folder, which commands must not see. Open a subfolder."
    if any(root.is_relative_to(system) for system in ("/proc", "/sys", "/dev")) and not root.is_relative_to("/dev/shm"):
        return "The workspace is a system folder. Open another folder."
    inside = [point for point in mounts.mount_points() if point != root and point.is_relative_to(root)]
    if inside:
        return f"A file system is mounted inside the workspace ({inside[0]}). Unmount it, or open a subfolder."
    return ""


def _layers_folders(roots: Sequence[Path], state: Path) -> Iterator[Path]:
    """The folders that may hold layers, `state` first. Creates them.

    Leaves out those that cannot be created, belong to another user, or are in the workspace or contain it.
    """
    user = os.geteuid()
    mode = 0o711 if user == 0 else 0o700  # root's commands run as the workspace's owner, who must be able to enter
    for folder in (state, *(Path(parent) / f"fairlead-{user}" for parent in _FALLBACKS)):
        try:
            if folder is state:
                folder.mkdir(parents=True, exist_ok=True)
            else:
                folder.mkdir(mode, exist_ok=True)
            found = folder.lstat()
            ours = stat.S_ISDIR(found.st_mode) and found.st_uid == user
            if ours and folder is not state:  # never through a link that another user created
                folder.chmod(mode)
        except OSError:
            continue
        real = real_path(folder)
        if ours and not any(real.is_relative_to(root) or root.is_relative_to(real) for root in roots):
            yield real


def _is_trusted(program: str) -> bool:
    """Whether only root can have installed the program."""
    try:
        found = os.stat(program)
    except OSError:
        return False
    return found.st_uid == 0 and not found.st_mode & 0o022
