"""A shell in the sandbox that stays, for the tests of long-lived processes."""

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

from fairlead.shell.layer import DEFAULT_LIMITS, BoxSettings, ProgramBox, View
from fairlead.shell.services.process import ServiceProcess
from fairlead.workspace.paths import Roots
from shell.boxes import find_sandbox

SHELL = ["bash", "-c", 'while read -r line; do eval "$line"; echo end; done 2>&1']


class Shell:
    """A shell that runs one line after the other in its box."""

    def __init__(self, started: ServiceProcess) -> None:
        self.started = started
        assert started.is_sandboxed

    async def run(self, line: str) -> str:
        process = self.started.process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{line}\n".encode())
        return (await process.stdout.readuntil(b"end\n")).decode().removesuffix("end\n")

    async def contents(self) -> dict[str, bytes | None]:
        """The new bytes of each file that it has changed since the last call."""
        files = (await self.started.take_changes()).files
        return {change.path: change.after.data if change.after else None for change in files}


@contextlib.asynccontextmanager
async def shell(folder: Path, view: View, *others: Path, own: BoxSettings | None = None) -> AsyncGenerator[Shell]:
    layer = await (await find_sandbox(folder, folder.parent / "state", "unshare")).layer()
    if others:
        await layer.aclose()
        layer = type(layer)(Roots.of(folder, *others), folder.parent / "state")
    started = await ServiceProcess.start(SHELL, layer, folder, view, DEFAULT_LIMITS, ProgramBox(own=own))
    try:
        yield Shell(started)
    finally:
        if started.process.stdin is not None:
            started.process.stdin.close()  # so that it exits at once
        await started.end()
        await layer.aclose()
