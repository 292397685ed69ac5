"""Starts the other programs that these tests need."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from local_model.llama import DEADLINE, INSTALLED, LOOK_AGAIN, free_port, get

LITELLM = "FAIRLEAD_LITELLM"
DASLLAMA = "FAIRLEAD_DASLLAMA"
PACKAGES = {INSTALLED: "xllamacpp", LITELLM: "litellm", DASLLAMA: "dasllama"}
"""By the environment variable with the folder into which `npm run test:local-model` installs a program: its package."""
ATTACHED = Path(__file__).with_name("attached.py")


@contextlib.contextmanager
def running(command: Sequence[str], home: Path, path: str, **env: str) -> Iterator[str]:
    """Runs a program with a port as its last argument, from when it answers at `path`. Yields its address."""
    url = f"http://127.0.0.1:{(port := free_port())}"
    process = subprocess.Popen(
        [sys.executable, str(ATTACHED), *command, str(port)],
        env={**os.environ, "HOME": str(home), "USERPROFILE": str(home), **env},
        stdin=subprocess.PIPE,
    )
    try:
        deadline = time.monotonic() + DEADLINE
        while get(f"{url}{path}")[0] != 200:
            assert time.monotonic() < deadline, f"{command[0]} does not answer"
            with contextlib.suppress(subprocess.TimeoutExpired):
                raise AssertionError(f"{command[0]} ended: {process.wait(LOOK_AGAIN)}")
        yield url
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
