"""Runs the process of `fairlead acp`, from the first line to the last."""

import asyncio
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlead.acp.agent import AcpAgent
from fairlead.acp.lines import LineTransport, read_line
from fairlead.app.process import CLOSE_SECONDS, configure_log, schedule_exit
from fairlead.app.streams import StdioFrames, StdoutWriter, take_stdin, take_stdout

log = logging.getLogger(__name__)


async def serve(settings: Mapping[str, Any], storage: Path, agent_name: str = "") -> int:
    """Serves one client over stdio until it disconnects. Returns the exit code for the process.

    Args:
        settings, storage, agent_name: as for `AcpAgent`.
    """
    configure_log(os.environ.get("FAIRLEAD_LOG", ""))
    lines = StdioFrames(take_stdin(), read_line, asyncio.get_running_loop())
    transport = LineTransport(lines, StdoutWriter(take_stdout(), lines.end))
    agent = AcpAgent(settings, storage, transport, agent_name)
    await agent.connection.main_loop()
    closing = asyncio.ensure_future(agent.close())
    await asyncio.wait({closing}, timeout=CLOSE_SECONDS)
    if not closing.done():
        log.warning("a session was still running %g s after the client disconnected", CLOSE_SECONDS)
    await agent.connection.close()
    schedule_exit(0)
    return 0
