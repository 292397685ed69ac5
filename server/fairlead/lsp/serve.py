"""A server process's life, from the first frame to the last."""

import asyncio
import logging
import os
import sys

from fairlead.lsp.features.registry import register
from fairlead.lsp.server import AgentServer
from fairlead.lsp.transport import FramingError, StdioFrames, StdoutWriter, own_stdin, own_stdout

log = logging.getLogger(__name__)

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


async def serve() -> int:
    """Serves one client over stdio until it leaves; returns the process's exit code."""
    _begin_log(os.environ.get("FAIRLEAD_LOG", ""))
    server = AgentServer()
    register(server)
    gone = asyncio.Event()
    server.protocol.set_writer(StdoutWriter(own_stdout(), gone.set))
    frames = StdioFrames(own_stdin(), asyncio.get_running_loop())
    code = 0
    try:
        while server.protocol.exit_code is None and not gone.is_set():
            frame = await frames.next()
            if frame is None:
                break
            server.protocol.receive(frame)
        code = server.protocol.exit_code or 0
    except FramingError as error:
        log.critical("the client's stream is out of step: %s", error)
        code = 1
    server.protocol.disconnected("The client is gone.")
    await server.watcher.close()
    await server.sessions.close()
    await _settle()
    server.sessions.keep()
    return code


def _begin_log(wanted: str) -> None:
    """Logs to stderr from the wanted level on, WARNING where it is none."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_is_harmless)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, format=LOG_FORMAT, force=True)
    level = wanted.strip().upper() or "WARNING"
    logging.getLogger("fairlead").setLevel(level if level in LEVELS else "WARNING")
    if level not in LEVELS:
        log.warning("FAIRLEAD_LOG=%.40r is no level, so it is WARNING; levels are %s", wanted, ", ".join(LEVELS))
    # pygls logs every refused request with a traceback; what matters of it comes through report_server_error
    logging.getLogger("pygls").setLevel(logging.CRITICAL)


def _is_harmless(record: logging.LogRecord) -> bool:
    """Libraries log requests with their headers, bodies and addresses, so with their secrets, at their finer levels.

    Asked of each record, not by a level: some set their own by a variable (ANTHROPIC_LOG) when they are imported.
    """
    return record.levelno >= logging.WARNING or record.name.partition(".")[0] == "fairlead"


async def _settle() -> None:
    """Lets the runs that were just cancelled come to their end, with their commands."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    if others:
        _, late = await asyncio.wait(others, timeout=3)
        for task in late:
            task.cancel()
