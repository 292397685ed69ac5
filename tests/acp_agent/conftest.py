"""Fixtures of the tests of `fairlead acp`: recordings, and an agent that plays one.

The folder is not called `acp`, because pytest and pyright would take it for the SDK.
"""

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from acp_agent.raw_client import RawClient, connected
from support.sandbox import needs_sandbox

Open = Callable[..., contextlib.AbstractAsyncContextManager[RawClient]]


@pytest.fixture
def box() -> None:
    """Skips the test if there is no sandbox."""
    needs_sandbox()


@pytest.fixture
def agent(workspace: Path, tmp_path: Path) -> Open:
    """Starts an agent that plays turns: `async with agent(*turns) as client`. The client has sent `initialize`.

    Its arguments by name are the capabilities of the client; `options` are those of the command.
    """
    numbers = iter(range(1, 100))

    @contextlib.asynccontextmanager
    async def start(
        *turns: dict[str, Any], options: tuple[str, ...] = (), pace: float = 0.0, **capabilities: Any
    ) -> AsyncIterator[RawClient]:
        recording = tmp_path / f"script{next(numbers)}.replay.yaml"
        whole = {"replay": 1, "pace": pace, "turns": list(turns) or [{"text": "Nothing."}]}
        recording.write_text(yaml.safe_dump(whole, allow_unicode=True), encoding="utf-8")
        storage = tmp_path / "sessions"
        async with connected(tmp_path, "--replay", str(recording), "--storage", str(storage), *options) as client:
            await client.initialize(**capabilities)
            yield client

    return start
