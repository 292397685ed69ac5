"""Layers on real folders for the tests of the sandbox, with each of the programs that can make a box."""

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fairlead.shell.layer import DEFAULT_LIMITS, Box, BoxSettings, Change, Changes, Entry, Limits, ProgramBox, View
from fairlead.shell.network import NO_NETWORK, Network, Service
from fairlead.shell.sandbox.probe import BUBBLEWRAP, Capability, probe
from fairlead.workspace.paths import Roots

if TYPE_CHECKING:
    from fairlead.shell.sandbox.overlay import SandboxLayer

BACKENDS = ("unshare", "bubblewrap")
# The boxes of both are the same, so only some tests also use bubblewrap, and only in `npm run test:all`.
EACH_BACKEND = ["unshare", pytest.param("bubblewrap", marks=pytest.mark.slow)]
PLAIN = View()

# commands, and what they leave running when they exit
LEFT_RUNNING = {
    "sleep 1000 & sleep 0.1; echo on": ["sleep 1000"],
    "setsid sleep 1000 & (sleep 1001 &) ; sleep 0.1; exit 3": ["sleep 1000", "sleep 1001"],
    "sleep 0.01 & wait": [],
    "sleep 1000 & kill %1; wait": [],
    "seq 100000 | head -n 1": [],
    "true": [],
}


@dataclass(frozen=True)
class RunResult:
    """A command that ended: its exit code (negative: killed), its output and its changes."""

    code: int | None
    output: str
    changes: Changes

    @property
    def contents(self) -> dict[str, bytes | None]:
        """The new bytes of each changed file that can be proposed; None for deleted ones."""
        proposed = [change for change in self.changes.files if not change.not_proposed]
        return {change.path: change.after.data if change.after else None for change in proposed}

    @property
    def not_proposed(self) -> dict[str, str]:
        return {change.path: change.not_proposed for change in self.changes.files if change.not_proposed}

    def change(self, path: str) -> Change:
        return next(change for change in self.changes.files if change.path == path)


class Boxes:
    """Runs commands in the boxes of one layer."""

    def __init__(self, layer: "SandboxLayer") -> None:
        self.layer = layer

    async def run(
        self,
        command: str,
        view: View = PLAIN,
        *,
        limits: Limits = DEFAULT_LIMITS,
        network: Network = NO_NETWORK,
        background: bool = False,
        programs: Sequence[Path] = (),
        retained: bool = True,
        records: bool = False,
    ) -> RunResult:
        box = await self.layer.open(
            command,
            replace(view, retained=retained),
            limits=limits,
            network=network,
            background=background,
            program=ProgramBox(programs),
            records=records,
        )
        process = await start(box)
        output, _ = await process.communicate()
        return RunResult(process.returncode, output.decode("utf-8", "replace"), await box.close())

    async def output(self, command: str, view: View = PLAIN, *, network: Network = NO_NETWORK) -> str:
        """The output of a command that must succeed."""
        ran = await self.run(command, view, network=network)
        assert ran.code == 0, ran.output
        return ran.output


async def start(box: Box) -> asyncio.subprocess.Process:
    launch = box.launch
    return await asyncio.create_subprocess_exec(
        *launch.argv,
        cwd=launch.cwd,
        env=dict(launch.env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        pass_fds=launch.pass_fds,
        start_new_session=True,
    )


async def find_sandbox(workspace: Path, state: Path, backend: str) -> Capability:
    """The sandbox of this machine with the named backend. Skips the test if there is no sandbox."""
    found = await probe(Roots.of(workspace), state)
    if found.layers_folder is None:
        pytest.skip(found.reason)
    if backend == "unshare":
        return replace(found, bubblewrap="")
    assert found.bubblewrap, "bubblewrap is installed but was not chosen"
    return found


def is_installed(backend: str) -> bool:
    return backend == "unshare" or any(os.path.exists(path) for path in BUBBLEWRAP)


@contextlib.asynccontextmanager
async def boxes(
    workspace: Path, state: Path, backend: str = "unshare", services: Sequence[Service] = ()
) -> AsyncIterator[Boxes]:
    layer = await (await find_sandbox(workspace, state, backend)).layer(settings=lambda: BoxSettings(services=services))
    try:
        yield Boxes(layer)
    finally:
        await layer.aclose()


def write(root: Path, files: dict[str, str]) -> None:
    root.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def on_disk(root: Path) -> dict[str, str]:
    """The text of every file below a folder, except links."""
    files = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(root)): path.read_text("utf-8", "replace") for path in files}


def seen(**files: str | None) -> View:
    return View({name: None if text is None else Entry(text.encode()) for name, text in files.items()})


def has(program: str) -> bool:
    return shutil.which(program) is not None
