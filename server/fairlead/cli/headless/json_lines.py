"""Writes the lines of `fairlead run --json` (docs/headless.md)."""

import json
from typing import Any, Literal, TextIO

from fairlead.wire import protocol as wire
from fairlead.wire.run_lines import MessageLine, RunLine

SHOW_MESSAGE = "window/showMessage"
LEVELS: dict[int, Literal["error", "warning", "info"]] = {1: "error", 2: "warning", 3: "info"}
"""LSP 3.18, `MessageType`. Higher ones are for logs."""
_STATES = {wire.EVENT: "event", wire.PLAN: "plan", wire.EDITS: "edits", wire.TOOL_SERVERS: "toolServers"}
"""The notifications that become lines, with their types, which are also the names of their fields."""


class JsonLines:
    """The lines of one run. The first one written is that of the type `start`; earlier ones wait for it.

    Args:
        stream: where they go; None: nowhere.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._waiting: list[RunLine] | None = []

    def write(self, line: RunLine) -> None:
        """Writes a line. `start` and `outcome` are written at once, with those that have waited after or before it."""
        if self._waiting is None:
            self._write(line)
        elif line["type"] in ("start", "outcome"):
            waiting, self._waiting = self._waiting, None
            for each in [line, *waiting] if line["type"] == "start" else [*waiting, line]:
                self._write(each)
        else:
            self._waiting.append(line)

    def add_notification(self, method: str, params: Any) -> None:
        """Writes the line of a notification of the server, if it has one."""
        name = _STATES.get(method)
        if name is not None:
            line: Any = {"type": name, name: params}
            self.write(line)

    def _write(self, line: RunLine) -> None:
        if self._stream is not None:
            # ASCII only, so that no encoding of the terminal or of a pipe can damage it
            self._stream.write(json.dumps(line, separators=(",", ":")) + "\n")
            self._stream.flush()


def message_line(params: dict[str, Any]) -> MessageLine | None:
    """The line of a `window/showMessage`; None if it is only for logs."""
    level = LEVELS.get(params["type"])
    return None if level is None else {"type": "message", "level": level, "text": params["message"]}
