"""The warm-up imports what the first run needs, and only the SDK of the chosen API: an SDK needs much memory."""

import asyncio
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from support.client import Client
from support.server_process import SERVE

PROGRAM = """
import sys, threading
from fairlead.app.warm_up import start_warm_up

start_warm_up({api!r})
next(thread for thread in threading.enumerate() if thread.name == "warm-up").join()
print(*(name for name in ("anthropic", "jsonschema", "openai", "watchfiles") if name in sys.modules))
"""


@pytest.mark.parametrize(
    ("api", "imported"),
    [
        ("messages", "anthropic jsonschema watchfiles"),
        ("chat", "jsonschema openai watchfiles"),
        ("responses", "jsonschema openai watchfiles"),
        (None, "jsonschema watchfiles"),
    ],
)
def test_only_the_sdk_of_the_chosen_api_is_imported(api: str | None, imported: str) -> None:
    command = [sys.executable, "-c", PROGRAM.format(api=api)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == imported


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the loaded libraries are read from /proc")
async def test_no_sdk_is_imported_before_there_is_a_key(workspace: Path) -> None:
    """An SDK is more than a third of the server's memory, and a hosted agent needs none."""
    client = Client(workspace)
    client.command = [SERVE[0], "-X", "utf8", *SERVE[1:]]  # so that it is not forked from a process that has all

    async def load(library: str) -> set[str]:
        """Waits until a library is loaded. Returns the names of all."""
        while True:
            loaded = {
                Path(each.path).name.partition(".")[0] for each in psutil.Process(client.process.pid).memory_maps()
            }
            if library in loaded:
                return loaded
            await asyncio.sleep(0.05)

    async with client:
        assert "_pydantic_core" not in await load("_rust_notify")  # of `watchfiles`, which is imported last
        await client.request("agent/credentials", {"keys": {"anthropic": "sk-test"}})
        await load("_pydantic_core")
