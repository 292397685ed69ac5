"""Something on the machine that an attack from a sandbox must not reach."""

import contextlib
import os
import random
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

SECRET = "s3cret-4711"


class Victim:
    """What an attack looks for: files, a process, and sockets next to a workspace, which all have a secret."""

    def __init__(self, workspace: Path, house: Path) -> None:
        self.workspace, self.house = workspace, house
        self.folder = workspace.parent / "victim"
        self._above = workspace.parent
        self._mark = str(random.randrange(10**9))
        self._sockets: list[socket.socket] = []
        for path in (
            self.folder / "secret.txt",
            house / ".ssh/id_rsa",
            house / ".bashrc",
            self._above / "packages/data/other/secret.txt",
            self._above / "state/sessions/other.jsonl",
            workspace / ".env",
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{SECRET}\n")
        subprocess.run(["git", "init", "-q"], cwd=workspace, check=True)
        with (workspace / ".git/config").open("a") as config:
            config.write(f'[remote "origin"]\n\turl = https://x:{SECRET}@example.com/x\n')
        self._process = subprocess.Popen(["sleep", "3600"], cwd=self.folder, env={**self.variables(), "KEY": SECRET})
        self._before = self._files()

    def variables(self) -> dict[str, str]:
        """What the attacks find their victim with."""
        named = {"VICTIM": str(self.folder), "HOUSE": str(self.house), "MARK": self._mark}
        if self._sockets:
            tcp, udp, *_ = self._sockets
            named |= {"PORT": str(tcp.getsockname()[1]), "UDP": str(udp.getsockname()[1])}
            named["PID"] = str(self._process.pid)
        return named

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Opens the sockets, and ends everything that belongs to the victim afterwards."""
        with contextlib.ExitStack() as opened:
            opened.callback(self._end)
            for family, kind, address in (
                (socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0)),
                (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
                (socket.AF_UNIX, socket.SOCK_STREAM, str(self.folder / "service.sock")),
                (socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.folder}"),
            ):
                listener = opened.enter_context(socket.socket(family, kind))
                listener.bind(address)
                if kind == socket.SOCK_STREAM:
                    listener.listen()
                listener.setblocking(False)
                self._sockets.append(listener)
            self._before = self._files()
            yield

    def effects(self, said: str) -> set[str]:
        """What an attack did, given what it printed."""
        found: set[str] = set()
        if self._files() != self._before:
            found.add("file")
        if self._process.poll() is not None or psutil.Process(self._process.pid).status() != "sleeping":
            found.add("process")
        if self._left():
            found.add("process")
        if any(map(_was_reached, self._sockets)):
            found.add("connection")
        if SECRET in said:
            found.add("secret")
        return found

    def _files(self) -> dict[str, tuple[int, bytes]]:
        """All files of the victim, with their permissions and bytes; those of Fairlead itself are left out."""
        tops = (self.workspace, self.folder, self.house, self._above / "packages/data/other", self._above / "owned")
        own = self.house / ".local/share/fairlead"
        paths = [path for top in tops for path in (top, *top.rglob("*")) if os.path.lexists(path)]
        return {
            str(path): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
            for path in paths
            if not (path.is_socket() or path.is_relative_to(own) or own.is_relative_to(path))
        }

    def _left(self) -> list[psutil.Process]:
        """The processes that have the mark in their command line."""
        name = f"3600.{self._mark}"
        return [each for each in psutil.process_iter(["cmdline"]) if name in (each.info["cmdline"] or ())]

    def _end(self) -> None:
        for each in self._left():
            each.kill()
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


def _was_reached(listener: socket.socket) -> bool:
    with contextlib.suppress(BlockingIOError):
        if listener.type == socket.SOCK_DGRAM:
            listener.recv(100)
        else:
            listener.accept()[0].close()
        return True
    return False
