"""Runs a `fairlead` command and its server as forked processes, so that they need not import anything."""

import os
import socket
import sys
from typing import IO, NoReturn

from fairlead.__main__ import main
from fairlead.cli.main import run_command_line
from support.forked import CAN_FORK, ForkedProcess, Streams

CAN_FORK_COMMANDS = CAN_FORK and hasattr(os, "pidfd_open")


def command(arguments: list[str], streams: Streams, env: dict[str, str], folder: str, terminal: bool) -> NoReturn:
    """Runs a command in the forked process, and ends the process with the command's exit code.

    Args:
        folder: the command's current folder.
        terminal: whether the streams are its controlling terminal; otherwise they are plain files.
    """
    streams.take(env)
    if terminal:
        os.login_tty(0)
    os.chdir(folder)
    server = WaitingServer()
    sys.stdin, sys.stdout = os.fdopen(0, encoding="utf-8"), os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace")
    sys.exit(run_command_line(arguments, server.start))


class WaitingServer:
    """A server process that is forked before the command has an event loop or a thread, and waits for its streams."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            self._ours.close()
            _serve(theirs)
        theirs.close()

    async def start(self, log: IO[bytes]) -> ForkedProcess:
        """Like `fairlead.cli.client.spawn_server`."""
        (theirs_in, ours_in), (ours_out, theirs_out) = os.pipe(), os.pipe()
        socket.send_fds(self._ours, [b"."], [theirs_in, theirs_out, log.fileno()])
        os.close(theirs_in)
        os.close(theirs_out)
        forked = ForkedProcess(self._pid, os.pidfd_open(self._pid), self._reap)
        await forked.connect(ours_in, ours_out)
        return forked

    def _reap(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def _serve(channel: socket.socket) -> NoReturn:
    code = 1
    try:
        os.setsid()
        _, streams, _, _ = socket.recv_fds(channel, 1, 3)
        if streams:  # otherwise the command ended without starting a server
            channel.close()
            Streams(streams).take(dict(os.environ))
            code = main(["serve"])
    finally:
        os._exit(code)
