"""What a command was asked to do, checked. How it stood on the command line is main.py's business."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Accept = Literal["ask", "all", "none"]

GO_ON = "Go on where you stopped."
"""What the agent reads when a task is gone on with and the person has no further words."""


@dataclass(frozen=True)
class RunOptions:
    """One `fairlead run`. Paths are absolute; `accept` None leaves the choice to the terminal.

    `address` is where the model is asked, as it is shown; empty: at the provider's usual address.
    `storage` is where tasks are kept (None: nowhere), `goes_on` takes up the newest one of the workspace.
    """

    prompt: str
    workspace: Path
    storage: Path | None = None
    goes_on: bool = False
    replay: Path | None = None
    model: str = ""
    provider: str = ""
    base_url: str = ""
    address: str = ""
    max_tokens: int = 0
    max_silence: int = 0
    accept: Accept | None = None
    record: Path | None = None
    allow_commands: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """The server's settings (docs/protocol.md, `Settings`); what was not asked for stays the server's choice."""
        given = {
            "model": self.model,
            "provider": self.provider,
            "baseUrl": self.base_url,
            "maxTokens": self.max_tokens,
            "maxSilenceSeconds": self.max_silence,
            "replay": str(self.replay or ""),
        }
        return {name: value for name, value in given.items() if value}


@dataclass(frozen=True)
class DemoOptions:
    """One `fairlead demo`; `keep` is the folder to work in, None for a temporary one."""

    keep: Path | None = None
