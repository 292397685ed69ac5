"""The start of the server: `initialize` is answered before most of it is imported (docs/performance.md)."""

import asyncio
import os
from pathlib import Path

from support.client import Client
from support.server_process import NEW_INTERPRETER


async def test_requests_wait_until_the_server_is_imported(workspace: Path) -> None:
    """Requests and notifications that directly follow `initialize` are served in order, and none is lost."""
    client = Client(workspace)
    client.command = NEW_INTERPRETER
    await client.start()
    try:
        _, initialized = client.begin("initialize", client.initialize_params())
        client.notify("initialized", {})
        _, created = client.begin("agent/sessions/create", {"title": "First"})
        _, listed = client.begin("agent/sessions/list", {})
        async with asyncio.timeout(30):
            assert (await initialized)["serverInfo"]["name"] == "fairlead"
            session = (await created)["sessionId"]
            assert [row["sessionId"] for row in (await listed)["sessions"]] == [session]
    finally:
        await client.__aexit__(None)


async def test_an_incomplete_installation_is_reported(workspace: Path, tmp_path: Path) -> None:
    """If an import fails after `initialize` has been answered, the server shows a message and ends."""
    (tmp_path / "platformdirs.py").write_text("raise ImportError('no platformdirs')\n")
    client = Client(workspace, env={"PYTHONPATH": os.pathsep.join([str(tmp_path), *_python_path()])})
    client.command = NEW_INTERPRETER
    await client.start()
    await client.request("initialize", client.initialize_params())
    shown = await client.until(lambda: client.last("window/showMessage"))
    assert shown["type"] == 1
    assert "Reinstall it" in shown["message"]
    async with asyncio.timeout(30):
        assert await client.process.wait() == 1
    await client.__aexit__(None)


def _python_path() -> list[str]:
    return list(filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))
