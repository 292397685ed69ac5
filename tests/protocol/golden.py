"""The type of a golden message, the session and folder that all of them use, and a recording client."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from fairlead.lsp.rpc import AgentProtocol
from fairlead.wire.messages import (
    CLIENT_NOTIFICATIONS,
    CLIENT_REQUESTS,
    SERVER_NOTIFICATIONS,
    SERVER_REQUESTS,
)
from fairlead.workspace.paths import Roots

Direction = Literal["client-to-server", "server-to-client"]
Json = dict[str, Any]

SESSION = "5bda328d487f"
FOLDER = Path("C:/project" if os.name == "nt" else "/project")
ROOT = Roots.of(FOLDER)
URI = "file:///project"
CALL = "toolu_01"


@dataclass(frozen=True)
class Golden:
    """A message's content. The `direction` of a result is that of the answer, not that of the request."""

    name: str
    method: str
    direction: Direction
    part: Literal["params", "result"]
    value: Any

    @property
    def shape(self) -> Any:
        """The type of the content, which is Any for the messages of LSP."""
        requests = {**CLIENT_REQUESTS, **SERVER_REQUESTS}
        if self.method in requests:
            return requests[self.method][self.part == "result"]
        return {**CLIENT_NOTIFICATIONS, **SERVER_NOTIFICATIONS}.get(self.method, Any)

    @property
    def text(self) -> str:
        """The content of the golden file."""
        whole = {"method": self.method, "direction": self.direction, self.part: self.value}
        text = json.dumps(whole, ensure_ascii=False, indent=2) + "\n"
        for own, neutral in _SPELLINGS.items():
            text = text.replace(own, neutral)
        return text


# golden files are the same on all systems, so paths are written as on POSIX
_SPELLINGS = {} if os.name == "posix" else {
    "file:///C:/project": URI, "/C%3A/project": "/project", "C:\\\\project": "/project",
}  # fmt: skip


class RecordingClient:
    """A client that records what is sent and gives every request the same answer."""

    def __init__(self, answer: Any = None) -> None:
        self.sent: list[tuple[str, Any]] = []
        self._answer = answer

    @property
    def protocol(self) -> AgentProtocol:
        return cast("AgentProtocol", self)

    def send_notification(self, method: str, params: Any) -> None:
        self.sent.append((method, params))

    async def request(self, method: str, params: Any) -> Any:
        self.sent.append((method, params))
        return self._answer
