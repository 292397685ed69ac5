"""A language server in the settings whose program is not installed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.client import Client, Json

SERVER = {"command": ["no-such-language-server"], "languages": {".x": "x", ".y": "y"}}


@pytest.mark.parametrize(("name", "messages"), [("a.x", 1), ("a.z", 0)], ids=["needed", "not needed"])
async def test_the_user_learns_once_that_a_program_is_missing(
    workspace: Path, replay: Callable[..., Json], name: str, messages: int
) -> None:
    """The message says what to do. It does not appear if the workspace has no file for the server."""
    (workspace / name).write_text("one\n")
    settings = replay({"text": "Done."}, {"text": "Done again."}, languageServers={"mine": SERVER})
    async with Client(workspace, settings=settings) as client:
        await client.run()
        await client.run()
        shown = [params["message"] for params in client.all("window/showMessage")]
    assert shown == messages * [
        "Fairlead: The program “no-such-language-server” of the language server “mine” (setting languageServers) was "
        "found neither in the workspace nor on PATH. Install it, or set its full path in the setting."
    ]
