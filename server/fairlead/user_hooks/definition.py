"""A hook, as a file defines it."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from fairlead.user_hooks.events import Event

SECONDS, MAX_SECONDS = 60.0, 600.0
"""How long a hook may take, if its file does not say it and at most."""


@dataclass(frozen=True, slots=True)
class UserHook:
    """A command that runs when something happens."""

    event: Event
    matcher: str
    """Which of the events; see `EventRule.matched`."""
    command: str
    """A command line for bash."""
    file: Path
    """The file that defines it."""
    line: int
    """Where, from 1."""
    folder: Path | None = None
    """The folder of the workspace that the file is in; None: it is the user's own."""
    is_of_other_program: bool = False
    """Whether the user's own file was written for another program, or the agent could propose a change of it."""
    seconds: float = SECONDS
    """How long it may take."""
    variables: tuple[tuple[str, str], ...] = ()
    """More environment variables."""
    cwd: str = ""
    """Where it starts, relative to the workspace's folder."""

    @property
    def needs_approval(self) -> bool:
        """Whether the user must have allowed it before it runs."""
        return self.folder is not None or self.is_of_other_program

    def digest(self, scripts: object) -> str:
        """Identifies everything that decides what it does.

        Args:
            scripts: identifies the content of the scripts that it names.
        """
        parts = (self.event, self.matcher, self.command, str(self.file), self.variables, self.cwd, repr(scripts))
        return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class UnsupportedHook:
    """Something in a file that never runs."""

    event: str
    what: str
    """Its command, or its type."""
    file: Path
    line: int
    reason: str
