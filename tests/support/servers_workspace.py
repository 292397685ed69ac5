"""A workspace with language servers, in a real folder, for tests of `code/servers`."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from fairlead.code.servers.find import Programs
from fairlead.code.servers.server import Seconds
from fairlead.code.servers.servers import SessionServers
from fairlead.code.servers.table import TABLE, ServerSpec
from fairlead.gate.gate import Gate
from fairlead.gate.request import StartProgram
from fairlead.shell.command_line.policy import Policy
from fairlead.shell.direct import DirectLayer
from fairlead.shell.layer import DEFAULT_LIMITS, Entry, Layer, Limits, View, Where
from fairlead.shell.sandbox.probe import probe
from fairlead.shell.services.pool import ServicePool, Timer
from fairlead.workspace.paths import Roots
from tools.stand_ins import ScriptedUser

REPOSITORY = Path(__file__).parents[2]
TOOLS = {
    "basedpyright": Path(sys.executable).parent / "basedpyright-langserver",
    "pyright": REPOSITORY / "node_modules" / ".bin" / "pyright-langserver",
    "typescript-language-server": REPOSITORY / "node_modules" / ".bin" / "typescript-language-server",
}
BAD_SERVER = Path(__file__).parent / "bad_server.py"
# long, because a busy machine is slow, and servers in a box have a low priority; only a failure takes as long
PATIENT = Seconds(start=100.0, request=100.0, diagnostics=100.0)
QUICK = Seconds(request=1.0, diagnostics=1.0, exit=0.5, settle=0.1)
PARAMS = {"textDocument": {"uri": "file:///a.x"}, "position": {"line": 0, "character": 0}}


def real(name: str) -> ServerSpec:
    """A server of the table. The setup installs those of TOOLS. For any other, skips the test if it is not on PATH."""
    spec = next(spec for spec in TABLE if spec.name == name)
    found = Programs(Path("/nowhere"), Clock()).find(spec.command[0], spec.package)
    program = TOOLS.get(name) or (found and found.path)
    if program is None:
        pytest.skip(f"{spec.command[0]} is not installed")
    return replace(spec, command=(str(program), *spec.command[1:]))


def bad(case: str) -> ServerSpec:
    """The language server of `bad_server.py`, which misbehaves as `case` says, for `*.x`."""
    return ServerSpec("bad", (sys.executable, str(BAD_SERVER), case), {".x": "x"})


class Clock:
    """A clock and its timers, which move only when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[FakeTimer] = []

    def __call__(self) -> float:
        return self.now

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        self.timers.append(FakeTimer(self.now + seconds, callback))
        return self.timers[-1]

    def advance(self, seconds: float) -> None:
        self.now += seconds
        due = [timer for timer in self.timers if timer.at <= self.now and not timer.cancelled]
        self.timers = [timer for timer in self.timers if timer.at > self.now]
        for timer in due:
            timer.callback()


@dataclass(eq=False)
class FakeTimer:
    at: float
    callback: Callable[[], None]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


@dataclass
class Workspace:
    """Implements the port of `servers.py`."""

    root: Path
    where: Where
    given: Sequence[ServerSpec] = ()
    texts: dict[str, str | None] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    user: ScriptedUser = field(default_factory=lambda: ScriptedUser("allow_once"))
    most: Limits = DEFAULT_LIMITS
    _layer: Layer | None = None

    def __post_init__(self) -> None:
        self.gate = Gate("session-1", self.user, Policy)

    def specs(self) -> Sequence[ServerSpec]:
        return self.given

    def limits(self) -> Limits:
        return self.most

    async def layer(self) -> Layer:
        if self._layer is None and self.where == "sandboxed":
            found = await probe(Roots.of(self.root), self.root.parent / "state")
            if found.layers_folder is None:
                pytest.skip(found.reason)
            self._layer = await found.layer()
        self._layer = self._layer or DirectLayer(Roots.of(self.root))
        return self._layer

    async def view(self, layer: Layer) -> View:
        return View(self.proposed(), self.hidden)

    def change_token(self) -> object:
        return tuple(self.texts.items())

    def proposed(self) -> Mapping[str, Entry | None]:
        return {name: None if text is None else Entry(text.encode()) for name, text in self.texts.items()}

    def is_hidden(self, name: str) -> bool:
        return name in self.hidden

    @property
    def asked(self) -> list[tuple[str, Sequence[str], Where]]:
        """The questions to the user: (command line, reasons, where it would run)."""
        asked = [(request.action, request.reasons) for request in self.user.asked]
        return [
            (action.command, reasons, action.where) for action, reasons in asked if isinstance(action, StartProgram)
        ]

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)

    async def aclose(self) -> None:
        if self._layer is not None:
            await self._layer.aclose()


def project(workspace: Path, case: str) -> Workspace:
    """A workspace with one file and the badly behaved server, outside the sandbox."""
    (workspace / "a.x").write_text("x\n")
    return Workspace(workspace, "workspace", [bad(case)])


class Started:
    """`async with Started(workspace) as servers`: its language servers, which end with the block."""

    def __init__(
        self, workspace: Workspace, clock: Clock | None = None, seconds: Seconds | None = None, most: int = 4
    ) -> None:
        clock = clock or Clock()
        self._workspace, self.pool = workspace, ServicePool(most, clock.call_later)
        self.servers = SessionServers(workspace, self.pool, clock, seconds or PATIENT)

    async def __aenter__(self) -> SessionServers:
        return self.servers

    async def __aexit__(self, *_: object) -> None:
        await self.servers.aclose()
        await self._workspace.aclose()


def processes_in(folder: Path, text: str) -> list[int]:
    """The ids of the processes whose current folder is `folder` and whose command line contains `text`."""
    found: list[int] = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            line, place = Path("/proc", name, "cmdline").read_bytes(), os.readlink(f"/proc/{name}/cwd")
        except OSError:
            continue
        if text.encode() in line and place == str(folder):
            found.append(int(name))
    return found
