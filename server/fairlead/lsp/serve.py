"""Runs a server process, from the first frame to the last."""

import asyncio
import contextlib
import gc
import logging
import os
import sys
from typing import TYPE_CHECKING

from lsprotocol import types

from fairlead.app.process import CLOSE_SECONDS, configure_log, schedule_exit
from fairlead.app.streams import FramingError, StdioFrames, StdoutWriter, take_stdin, take_stdout
from fairlead.lsp.connection import ClientConnection
from fairlead.lsp.initialization import Initialization
from fairlead.lsp.transport import read_frame

if TYPE_CHECKING:
    from fairlead.lsp.server import AgentServer

log = logging.getLogger(__name__)

# the parameter of glibc's mallopt for the maximum number of heaps (arenas)
_M_ARENA_MAX = -8


async def serve() -> int:
    """Serves one client over stdio until it sends `exit`, disconnects, or sends an invalid frame.

    Returns the exit code for the process. If the process has not exited `END_SECONDS` later, it is ended.
    """
    configure_log(os.environ.get("FAIRLEAD_LOG", ""))
    # pygls logs every refused request with a traceback; ClientConnection.report_server_error logs what matters
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    connection = ClientConnection()
    protocol, server = connection.protocol, None
    frames = StdioFrames(take_stdin(), read_frame, asyncio.get_running_loop())
    protocol.set_writer(StdoutWriter(take_stdout(), frames.end))
    code = 0
    try:
        while protocol.exit_code is None:
            frame = await frames.next()
            if frame is None:
                break
            protocol.receive(frame)
            if server is None and protocol.initialization is not None:
                server = _import_server(connection, protocol.initialization)
        code = protocol.exit_code or 0
    except FramingError as error:
        log.critical("the client sent an invalid frame: %s", error)
        code = 1
    protocol.disconnected("The client has disconnected.")
    if server is not None:
        closing = asyncio.ensure_future(_close(server, asyncio.current_task()))
        await asyncio.wait({closing}, timeout=CLOSE_SECONDS)
        if not closing.done():
            log.warning("a task was still running %g s after the client disconnected", CLOSE_SECONDS)
        server.sessions.close_journals()
    schedule_exit(code)
    return code


def _import_server(connection: ClientConnection, initialization: Initialization) -> "AgentServer":
    """Imports most of Fairlead and starts the server, after `initialize` is answered, so that the client need not wait.

    The messages that arrive meanwhile wait in the queue of frames.
    """
    try:
        from fairlead.lsp.features.registry import start_server  # noqa: PLC0415  see above
    except Exception:
        message = "Fairlead cannot start because part of it cannot be imported. Reinstall it. The log has the details."
        connection.show_message(types.MessageType.Error, message)
        raise
    _use_one_heap()
    # modules stay in memory, and examining them in each collection would stall the event loop
    gc.freeze()
    gc.enable()  # `main` has disabled it
    return start_server(connection, initialization)


def _use_one_heap() -> None:
    """Makes all threads allocate from one heap, so that each can use what another freed. Only glibc can do it."""
    if not sys.platform.startswith("linux"):
        return
    # fails with an incomplete build of Python, or with another C library
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes  # noqa: PLC0415  not needed for `initialize`

        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


async def _close(server: "AgentServer", serving: asyncio.Task[int] | None) -> None:
    """Ends the runs and their commands, and waits for all other tasks."""
    await server.app.close()
    others = asyncio.all_tasks() - {serving, asyncio.current_task()}
    if others:
        await asyncio.wait(others)
