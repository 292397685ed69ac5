"""docs/faults.md 73: no process of a box outlives it, whatever its command does and whichever of its processes dies."""

import asyncio
import contextlib
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("the sandbox needs Linux", allow_module_level=True)

from fairlead.shell.layer import Limits
from fairlead.shell.sandbox.overlay import SandboxLayer
from shell.boxes import EACH_BACKEND, PLAIN, Boxes, find_sandbox, is_installed, start
from shell.killed_server import PRCTL
from support.sandbox import needs_sandbox

# The name of a variable in the environment of every process of a box, including the launcher and the init: boxes pass
# variables with this prefix on.
MARK = "LC_FAIRLEAD_TEST"
SERVER = Path(__file__).parents[1] / "shell/killed_server.py"
NOBODY = 65534
WITHIN = 30.0  # in seconds; only detects a hang: benchmarks/campaigns/hogs.py measures the time
STUBBORN = "trap '' TERM; setsid sleep 60 & (setsid nohup sleep 60 >/dev/null 2>&1 &); echo ready; sleep 60"
COMMANDS = {
    "asks for 30 GB": "head -c 30G /dev/zero | tail",
    "forks in a loop": "python3 -c 'import os\nwhile 1: os.fork() or os.setsid()'",
    "leaves its session": "(setsid nohup sleep 60 >/dev/null 2>&1 &); setsid sleep 60 & echo ready",
}


@dataclass(frozen=True)
class Kind:
    """A layer, and the values with which a separate server process makes one of the same kind."""

    layer: SandboxLayer
    workspace: Path
    layers_folder: Path
    bubblewrap: str
    mark: str

    def living(self) -> Iterator[int]:
        """The living processes with the mark."""
        for name in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if name.isdigit() and f"{MARK}={self.mark}".encode() in Path("/proc", name, "environ").read_bytes():
                    yield int(name)

    async def end_in_time(self) -> bool:
        """Whether all processes with the mark end within `WITHIN` seconds. Kills those that do not."""
        deadline = time.monotonic() + WITHIN
        while living := list(self.living()):
            if time.monotonic() > deadline:
                for pid in living:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                return False
            await asyncio.sleep(0.02)
        return True


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


@pytest.fixture(params=[*EACH_BACKEND, "another user's workspace"])
async def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Kind]:
    backend = request.param if request.param == "bubblewrap" else "unshare"
    if not is_installed(backend):
        pytest.skip("bubblewrap is not installed")
    with tempfile.TemporaryDirectory(prefix="fairlead-ends-", dir="/var/tmp") as folder:
        workspace, state = Path(folder, "ws"), Path(folder, "state")
        workspace.mkdir()
        if request.param == "another user's workspace":
            if os.geteuid() != 0:
                pytest.skip("only root runs commands as another user")
            Path(folder).chmod(0o755)
            os.chown(workspace, NOBODY, NOBODY)
        mark = Path(folder).name
        monkeypatch.setenv(MARK, mark)
        found = await find_sandbox(workspace, state, backend)
        layer = await found.layer()
        try:
            assert found.layers_folder is not None
            yield Kind(layer, workspace, found.layers_folder, found.bubblewrap, mark)
        finally:
            await layer.aclose()


@pytest.mark.parametrize("way", COMMANDS)
async def test_fault_73_nothing_is_left_when_a_command_has_ended(kind: Kind, way: str) -> None:
    """docs/faults.md 73: no process is left, whether the command ended normally or reached a limit."""
    await Boxes(kind.layer).run(COMMANDS[way], limits=Limits(processes=40, memory=100 << 20))
    assert await kind.end_in_time()


@pytest.mark.parametrize("killed", ["launcher", "init"])
async def test_fault_73_nothing_is_left_of_a_box_that_is_killed(kind: Kind, killed: str) -> None:
    """docs/faults.md 73: neither of the two processes that make a box survives the other."""
    opened = await kind.layer.open(STUBBORN, PLAIN)
    process = await start(opened)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    [init] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(process.pid if killed == "launcher" else int(init), signal.SIGKILL)
    assert await kind.end_in_time()
    await process.wait()
    assert (await opened.close()).files == []


@pytest.mark.parametrize("deaf", [False, True], ids=["as usual", "the kernel sends no signal"])
async def test_fault_73_nothing_is_left_of_a_killed_server(kind: Kind, deaf: bool) -> None:
    """docs/faults.md 73: no process is left even if the kernel does not signal the launcher.

    The launcher also checks every second whether its server is alive.
    """
    if deaf and platform.machine() not in PRCTL:
        pytest.skip("no filter for this machine")
    run = [
        sys.executable,
        str(SERVER),
        str(kind.workspace),
        str(kind.layers_folder),
        kind.bubblewrap,
        *(["deaf"] * deaf),
    ]
    tests = SERVER.parents[1]
    paths = {"PYTHONPATH": f"{tests.parent / 'server'}:{tests}"}
    killed = subprocess.run(run, check=False, capture_output=True, text=True, env={**os.environ, **paths})
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert killed.stdout == "ready\n", killed.stdout + killed.stderr
    assert await kind.end_in_time()
