"""Whether commands can be boxed on this machine: found out by really running one, once per workspace.

The way in: `probe`, then `Capability.layer` for each session. Can be imported on every system.
"""

import asyncio
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.agent.errors import ToolError
from fairlead.shell.layer import Entry, Launch, NotRun, View
from fairlead.shell.sandbox import mounts, reasons

if TYPE_CHECKING:
    from fairlead.shell.sandbox.overlay import SandboxLayer

BUBBLEWRAP = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap")
_FALLBACKS = ("/var/tmp", "/tmp", "/dev/shm")
_SECONDS = 10
_PROBE = "fairlead-probe-of-the-sandbox"


@dataclass(frozen=True, slots=True)
class Capability:
    """What was found: where layers of `root` can be held, and with which bubblewrap ("": without).

    Without a place there is no sandbox; `reason` says to people why, and what they can do, and `may_pass` whether a
    later try may find one. `by_permission`: for root's commands the kernel itself refuses what only root may read.
    """

    root: Path
    place: Path | None
    bubblewrap: str = ""
    reason: str = ""
    may_pass: bool = False
    by_permission: bool = False

    async def layer(self, hidden: Sequence[Path] = ()) -> "SandboxLayer":
        """A session's layer; `hidden` are folders and files of ours that no command shall read.

        Raises:
            ToolError: there is no sandbox here, or its folder cannot be made.
        """
        if self.place is None:
            raise ToolError(f"Commands cannot be boxed here: {self.reason}")
        try:
            return await asyncio.to_thread(self._layer, self.place, hidden)
        except OSError as error:
            raise ToolError(f"The sandbox's folder cannot be made: {error}.") from error

    def _layer(self, place: Path, hidden: Sequence[Path]) -> "SandboxLayer":
        """For a thread: the first time it imports a lot."""
        from fairlead.shell.sandbox.overlay import SandboxLayer  # noqa: PLC0415  not to be had on every system

        return SandboxLayer(self.root, place, self.bubblewrap, hidden, by_permission=self.by_permission)


async def probe(root: Path, state: Path) -> Capability:
    """Tries a box on a workspace. `state` is a folder of ours for all sessions, outside of the workspace; it is made.

    Where its file system cannot hold a layer, another place is taken.
    """
    real = await asyncio.to_thread(root.resolve)
    unfit = _unfit(real)
    if unfit:
        return Capability(root, None, reason=unfit)
    failed: list[str] = []
    programs = [*filter(_is_trusted, BUBBLEWRAP), ""]
    views = _views(real)
    ways = [(program, view) for view in views for program in programs]
    for place in _places(real, state):
        for bubblewrap, by_permission in ways:
            if by_permission != views[0] and reasons.may_pass(failed):
                continue  # a full disk, say, is no cause for less
            found = Capability(root, place, bubblewrap, by_permission=by_permission)
            error = await _try(found)
            if not error:
                return found
            failed.append(error)
    reason = await asyncio.to_thread(reasons.explained, failed, real)
    return Capability(root, None, reason=reason, may_pass=reasons.may_pass(failed))


def _views(root: Path) -> list[bool]:
    """Whether what only root may read is left out by permission: for root's commands, where the system lets us."""
    try:
        return [True, False] if os.geteuid() == root.stat().st_uid == 0 else [False]
    except OSError:
        return [False]


async def _try(found: Capability) -> str:
    """What is wrong with a box that is made so; "" if a command ran in it and its change came back."""
    try:
        layer = await found.layer()
    except ToolError as error:
        return str(error)
    output = ""
    try:
        box = await layer.open(f"rm {_PROBE}", View({_PROBE: Entry(b"seen")}))
        try:
            code, output = await _run(box.launch)
        finally:
            changes = await box.close()
    except TimeoutError:
        return reasons.NO_ANSWER
    except NotRun as error:
        return ": ".join(filter(None, (error.reason, output.strip())))
    except (OSError, ToolError) as error:
        return str(error)
    finally:
        await layer.aclose()
    if code or [change.path for change in changes.files] != [_PROBE]:
        return output.strip() or "the command's change did not come back"
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
        async with asyncio.timeout(_SECONDS):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, output.decode("utf-8", "replace")


def _unfit(root: Path) -> str:
    """What about the workspace itself stands against a layer."""
    if sys.platform != "linux":
        return f"Fairlead has no sandbox on this system ({sys.platform})."
    if mounts.home().is_relative_to(root):
        return "The workspace is, or contains, the home folder, which commands must not see. Open a folder in it."
    if any(root.is_relative_to(system) for system in ("/proc", "/sys", "/dev")) and not root.is_relative_to("/dev/shm"):
        return "The workspace is one of the system's own folders."
    inside = [point for point in mounts.mount_points() if point != root and point.is_relative_to(root)]
    if inside:
        return f"Something is mounted inside the workspace ({inside[0]}), which cannot be layered. Unmount it."
    return ""


def _places(root: Path, state: Path) -> Iterator[Path]:
    """Where layers might be held, ours first, made where they are not there."""
    user = os.geteuid()
    mode = 0o711 if user == 0 else 0o700  # root's commands run as the workspace's owner, who must get through
    for place in (state, *(Path(folder) / f"fairlead-{user}" for folder in _FALLBACKS)):
        try:
            if place is state:
                place.mkdir(parents=True, exist_ok=True)
            else:
                place.mkdir(mode, exist_ok=True)
            found = place.lstat()
            ours = stat.S_ISDIR(found.st_mode) and found.st_uid == user
            if ours and place is not state:  # never through a link that somebody else put there
                place.chmod(mode)
        except OSError:
            continue
        apart = not place.resolve().is_relative_to(root) and not root.is_relative_to(place.resolve())
        if ours and apart:
            yield place.resolve()


def _is_trusted(program: str) -> bool:
    """Whether nobody but root could have put a program there."""
    try:
        found = os.stat(program)
    except OSError:
        return False
    return found.st_uid == 0 and not found.st_mode & 0o022
