"""Updates the files that a running process in the sandbox sees.

A small bash loop in the process's box writes and removes them through the box's own mount. So a link that the process
created leads nowhere outside its box, and the changes disappear with the box.
"""

import asyncio
import os
from collections.abc import Mapping
from io import FileIO

from fairlead.shell.services.errors import ServiceError

SECONDS, SECONDS_PER_FILE = 20.0, 0.05
"""The time limit for one set of changes: this long, and longer for each file."""
_LOOP = r"""
mirror() {
  local action name length
  umask 022
  while IFS= read -r -d '' action && IFS= read -r -d '' name && IFS= read -r -d '' length; do
    case $action in
      write)
        head -c "$length" >/tmp/.fairlead-mirror || return
        if [ -f "$name" ]; then chmod --reference="$name" /tmp/.fairlead-mirror; fi
        [ -d "${name%/*}" ] || mkdir -p -- "${name%/*}"
        if [ -d "$name" ] && [ ! -L "$name" ]; then rm -rf -- "$name"; fi
        mv -fT -- /tmp/.fairlead-mirror "$name" ;;
      remove) rm -rf -- "$name" ;;
      done) printf '%s\n' "$name" ;;
    esac
  done
}
mirror <&READ >&WRITE 2>/dev/null READ<&- WRITE>&- &
exec READ<&- WRITE>&-
"""


class Mirror:
    """The pipes to and from the loop. Create it before the box, and close it after the process has ended."""

    def __init__(self) -> None:
        read, to_box = os.pipe()
        from_box, write = os.pipe()
        self.descriptors = read, write
        """The file descriptors that the process must inherit."""
        self._pipes = FileIO(to_box, "wb"), FileIO(from_box, "rb")
        self._writer: asyncio.WriteTransport | None = None
        self._reader = asyncio.StreamReader(limit=1 << 10)
        self._transports: list[asyncio.BaseTransport] = []
        self._batches = 0

    def command_line(self, command: str) -> str:
        """A bash command line that starts the loop, then runs `command`."""
        read, write = map(str, self.descriptors)
        return _LOOP.replace("READ", read).replace("WRITE", write) + command

    def close_inherited(self) -> None:
        """Closes our copies of the descriptors. Call it once the process has inherited them, or failed to start."""
        for descriptor in self.descriptors:
            os.close(descriptor)

    async def apply(self, changes: Mapping[str, bytes | None]) -> None:
        """Writes and removes files. Files keep their permissions. Returns when the loop has processed all of them.

        The loop does not report files that it could not write or remove.

        Args:
            changes: the contents by path relative to the process's folder, with `/`; None removes a file.

        Raises:
            ServiceError: the loop did not answer in time, has ended, or gave a wrong answer.
        """
        self._batches += 1
        try:
            async with asyncio.timeout(SECONDS + SECONDS_PER_FILE * len(changes)):
                writer = self._writer or await self._connect()
                for name, data in changes.items():
                    action = b"remove" if data is None else b"write"
                    fields = action, os.fsencode(f"./{name}"), str(len(data or b"")).encode()
                    writer.write(b"".join(field + b"\0" for field in fields) + (data or b""))
                writer.write(b"done\0%d\0000\0" % self._batches)
                answer = await self._reader.readuntil(b"\n")
        except (TimeoutError, OSError, EOFError, asyncio.LimitOverrunError) as error:
            raise ServiceError("The sandbox of the process did not accept the changed files.") from error
        if answer != b"%d\n" % self._batches:
            raise ServiceError("The sandbox of the process is broken.")

    async def _connect(self) -> asyncio.WriteTransport:
        loop, (to_box, from_box) = asyncio.get_running_loop(), self._pipes
        reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self._reader), from_box)
        self._writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, to_box)
        self._transports = [reading, self._writer]
        return self._writer

    def close(self) -> None:
        """Closes the pipes, which ends the loop."""
        for transport in self._transports:
            transport.close()
        if not self._transports:
            for pipe in self._pipes:
                pipe.close()
