"""What test_boxed.py runs: `killed_server.py WORKSPACE PLACE`, a server that is killed while a command of it runs."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from fairlead.shell.sandbox.probe import Capability
from shell.boxes import PLAIN, start


async def main(workspace: Path, place: Path) -> None:
    layer = await Capability(workspace, place).layer()
    box = await layer.open("readlink /proc/self/ns/net; trap '' TERM; setsid sleep 60", PLAIN, background=True)
    process = await start(box)
    assert process.stdout is not None
    print((await process.stdout.readline()).decode(), end="", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
