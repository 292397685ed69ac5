"""What all tests share: an empty workspace, and a fake Messages API with a server process that talks to it."""

import gc
import json
import os
import signal
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from support import footprint
from support.client import Client
from support.fake_api import FakeApi
from support.server_process import ForkedServer

KEY = "test-key"
# SIGTERM is handled as an interrupt, at which pytest ends its workers. Otherwise, pytest would leave them running.
if "PYTEST_XDIST_WORKER" not in os.environ:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
# below nohup, SIGHUP is ignored, and programs inherit that
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
HOME = ("HOME", "USERPROFILE", "LOCALAPPDATA", "APPDATA")

footprint.install()

# no deadline: how long an example takes depends on the machine, and on what else runs there
settings.register_profile("fairlead", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fairlead")
for variable, tool in {"PYENV_ROOT": ".pyenv", "RUSTUP_HOME": ".rustup", "CARGO_HOME": ".cargo"}.items():
    if (Path.home() / tool).is_dir():  # otherwise the tool's programs look for their files in the test's home folder
        os.environ.setdefault(variable, str(Path.home() / tool))
for variable in [name for name in os.environ if name.startswith("XDG_")]:
    del os.environ[variable]  # so that all these folders are in the test's home folder
# npm adds its packages' programs to PATH. Some are language servers, which only tests that ask for them may use.
os.environ["PATH"] = os.pathsep.join(
    folder for folder in os.environ["PATH"].split(os.pathsep) if Path(folder).parent.name != "node_modules"
)
ForkedServer.use()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Switches garbage collection off during the collection of the tests.

    Each worker imports all tests, and all of it stays in memory, so there is no garbage to find.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test's own home folder, for itself and each process that it starts, so that none uses the user's."""
    folder = tempfile.mkdtemp(prefix="home-", dir=tmp_path_factory.getbasetemp())
    os.environ.update(dict.fromkeys(HOME, folder))
    return Path(folder)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty workspace folder."""
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def replay(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Writes the model's turns as a recording; returns the settings that play it."""

    def write(*turns: dict[str, Any], **settings: Any) -> dict[str, Any]:
        path = tmp_path / "script.replay.yaml"
        path.write_text(json.dumps({"replay": 1, "turns": list(turns)}, ensure_ascii=False), encoding="utf-8")
        return {"replay": str(path), **settings}

    return write


@pytest.fixture
def connect(workspace: Path) -> Callable[..., Client]:
    """A client whose server talks to a fake API with a valid key: `async with connect(api) as client`."""

    def make(api: FakeApi, **options: Any) -> Client:
        env = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.url}
        return Client(workspace, env=env, **options)

    return make
