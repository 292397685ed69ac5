"""A long-lived process with pipes, such as a server. It runs where the session's commands run."""

import asyncio
import contextlib
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fairlead.display import end_sentence
from fairlead.errors import ToolError
from fairlead.shell.layer import NO_PROGRAM, Box, Change, Changes, Entry, Layer, Limits, ProgramBox, View
from fairlead.shell.network import NO_NETWORK, Network
from fairlead.shell.process import GRACE, kill_all, signal_group
from fairlead.shell.services.errors import ServiceError
from fairlead.shell.services.mirror import Mirror
from fairlead.workspace.limited import limit

EXIT_SECONDS = 1.0
"""How long a process may take to exit after it is asked to, before it gets SIGTERM."""
STREAM_LIMIT = 1 << 16
"""The limit of asyncio's reader, in bytes: the longest line. It reads about twice as much ahead."""


class ServiceProcess:
    """A process with its box."""

    def __init__(
        self, process: asyncio.subprocess.Process, box: Box, mirror: Mirror | None, name_of: Callable[[str], str]
    ) -> None:
        """
        Args:
            name_of: returns the name of a file in the workspace (`Roots.relative`), given its path for the mirror.
        """
        self.process = process
        """Its three standard streams are pipes."""
        self._box, self._mirror, self._name_of = box, mirror, name_of
        self._known: dict[str, Entry | None] = {}
        """The files in the box that differ from its view at the start and are no changes to report, by name."""
        self._told = set[Change | str]()
        """What cannot be proposed, and the warnings, that were reported."""
        self._repository_changed = 0

    @property
    def is_sandboxed(self) -> bool:
        """Whether it sees the files that `show` gives it. Otherwise it sees those on disk."""
        return self._mirror is not None

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        layer: Layer,
        folder: Path,
        view: View,
        limits: Limits,
        program: ProgramBox = NO_PROGRAM,
        network: Network = NO_NETWORK,
    ) -> "ServiceProcess":
        """Starts a program in a folder.

        Args:
            argv: the program and its arguments.
            folder: its current folder.
            view: the files that it sees in the sandbox.
            program, network: see `Layer.open`.

        Raises:
            ServiceError: it cannot be started.
        """
        mirror = Mirror() if layer.where == "sandboxed" else None
        command = f"exec {shlex.join(argv)}"
        try:
            if mirror is not None:
                command = mirror.command_line(command)
            box = await layer.open(
                command,
                view,
                folder=folder,
                limits=limits,
                network=network,
                background=True,
                program=program,
            )
            try:
                process = await _spawn(box, mirror.descriptors if mirror is not None else ())
                if layer.where == "workspace":  # a box has limits of its own
                    limit(process.pid, limits.memory)
            except BaseException:
                with contextlib.suppress(ToolError):  # it would replace the error that the caller needs
                    await box.close()
                raise
        except (OSError, ValueError, ToolError) as error:
            raise ServiceError(f"{argv[0]} cannot be started: {end_sentence(str(error))}") from error
        finally:
            if mirror is not None:
                mirror.close_inherited()
        return cls(process, box, mirror, lambda name: layer.roots.relative(Path(os.path.normpath(folder / name))))

    async def show(self, changes: Mapping[str, bytes | None]) -> None:
        """Shows it files in the sandbox, except those that it wrote with the same content. See `Mirror.apply`."""
        shown = {name: data for name, data in changes.items() if not self._has(self._name_of(name), data)}
        if self._mirror is not None and shown:
            await self._mirror.apply(shown)
            self._known |= {self._name_of(name): None if data is None else Entry(data) for name, data in shown.items()}

    def _has(self, name: str, data: bytes | None) -> bool:
        """Whether a file that differs from its view at the start had this content when it was last noted."""
        if name not in self._known:
            return False
        entry = self._known[name]
        return (None if entry is None else entry.data) == data

    async def take_changes(self) -> Changes:
        """What it has changed since the last call, apart from what `show` has written. Empty without a sandbox.

        A file that both have written counts as changed if it differs from what `show` wrote. What was returned counts
        as its view from then on.

        Raises:
            ToolError: see `Box.changes`.
        """
        found = await self._box.changes(self._known)
        if found.repository_changed > self._repository_changed:  # what is said about it holds for a new change
            self._repository_changed = found.repository_changed
            self._told.difference_update(found.warnings)
        files = [change for change in found.files if not (change.not_proposed and change in self._told)]
        warnings = [warning for warning in found.warnings if warning not in self._told]
        self._known |= {change.path: _after(change) for change in files if not change.not_proposed}
        self._told.update(warnings, (change for change in files if change.not_proposed))
        return replace(found, files=files, warnings=warnings)

    async def end(self) -> None:
        """Ends the process with all that it started, and removes its box. What it wrote in the sandbox is discarded.

        Waits up to `EXIT_SECONDS` before it sends a signal, so that a process that was asked to exit can do so.
        """
        # asyncio waits until the pipes are closed, and unread output would prevent that
        draining = [asyncio.create_task(_drain(stream)) for stream in (self.process.stdout, self.process.stderr)]
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), EXIT_SECONDS)
        pid = self.process.pid
        if self.process.returncode is None:
            signal_group(pid, signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.process.wait(), GRACE)
        kill_all(pid, exited=self.process.returncode is not None)
        with contextlib.suppress(TimeoutError):  # the kernel may not be able to end the process
            await asyncio.wait_for(self.process.wait(), GRACE)
        for task in draining:
            task.cancel()
        if self._mirror is not None:
            self._mirror.close()
        with contextlib.suppress(ToolError):  # its changes are discarded anyway
            await self._box.close()


def named_files(texts: Iterable[str]) -> list[Path]:
    """The files that texts of the user's settings name by absolute paths, such as a script, also after `--option=`."""
    named = (text.rpartition("=")[2] if text.startswith("-") else text for text in texts)
    return [Path(text) for text in dict.fromkeys(named) if os.path.isabs(text) and os.path.isfile(text)]


def _after(change: Change) -> Entry | None:
    """The file after a change, with its permissions even if these did not change."""
    after, before = change.after, change.before
    if after is None or before is None or after.mode is not None:
        return after
    return replace(after, mode=before.mode)


async def _spawn(box: Box, descriptors: Sequence[int]) -> asyncio.subprocess.Process:
    launch = replace(box.launch, pass_fds=(*box.launch.pass_fds, *descriptors))
    windows_flags: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    return await asyncio.create_subprocess_exec(
        *launch.argv,
        cwd=launch.cwd,
        env=dict(launch.env),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=sys.platform != "win32",
        creationflags=windows_flags,
        pass_fds=tuple(launch.pass_fds),
        limit=STREAM_LIMIT,
    )


async def _drain(stream: asyncio.StreamReader | None) -> None:
    while stream is not None and await stream.read(1 << 16):
        pass
