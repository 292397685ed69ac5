"""What starts a tool server, or where it is, and what it may use."""

import hashlib
import json
import shlex
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path, PurePath

from fairlead.shell.network import Service

CALL_SECONDS = 300
CONTAINERS = ("docker", "podman", "nerdctl")


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder outside of the workspace that a server sees."""

    path: str
    """May contain variables."""
    is_writable: bool = False


@dataclass(frozen=True, slots=True)
class Input:
    """A value that the user is asked for before a server starts."""

    id: str
    question: str
    is_secret: bool = False
    default: str = ""
    options: tuple[str, ...] = ()
    """What they choose from; empty: anything."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool server of the user's settings or of a file in the workspace.

    All texts but the name may contain variables (`variables.py`).
    """

    name: str
    command: tuple[str, ...] = ()
    """The program and its arguments; empty for a remote server."""
    url: str = ""
    """The address of a remote server; empty for a local one."""
    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables."""
    variables_file: str = ""
    """A file with more of them; empty: none."""
    headers: tuple[tuple[str, str], ...] = ()
    """Sent with each request to a remote server."""
    client_id: str = ""
    """How Fairlead is registered for the sign-in to a remote server; empty: it registers itself."""
    client_secret: str = ""
    folder: str = ""
    """Where a local server starts; empty: in the first folder of the workspace."""
    is_sandboxed: bool = True
    """Whether a local server runs in the sandbox, as far as there is one."""
    hosts: tuple[Service, ...] = ()
    """What a local server reaches over the network."""
    folders: tuple[Folder, ...] = ()
    seconds: int = CALL_SECONDS
    """How long a call may take without a sign of progress."""
    disabled_tools: frozenset[str] = frozenset()
    is_enabled: bool = True
    defined_in: Path | None = None
    """The file in the workspace; None: the user's settings."""
    inputs: tuple[Input, ...] = ()
    """Those that its texts name."""

    @property
    def is_remote(self) -> bool:
        return bool(self.url)

    @property
    def is_boxed(self) -> bool:
        """Whether it runs in the sandbox if there is one. A container is run by a daemon outside of every sandbox."""
        return bool(self.command) and self.is_sandboxed and PurePath(self.command[0]).stem not in CONTAINERS

    @property
    def has_own_key(self) -> bool:
        """Whether it has a key for a remote server, so that no sign-in is used."""
        return any(name.lower() == "authorization" for name, _ in self.headers)

    @property
    def text(self) -> str:
        """The whole command line, or the address."""
        return self.url or shlex.join(self.command)

    @property
    def has_effects_outside(self) -> bool:
        """Whether its calls can do something that nobody reviews."""
        return not self.is_boxed or bool(self.hosts) or any(folder.is_writable for folder in self.folders)

    @property
    def digest(self) -> str:
        """Identifies everything that decides what it is and may use."""
        return _digest(self)


@lru_cache(maxsize=256)  # each call needs it several times
def _digest(definition: Definition) -> str:
    given = asdict(definition)
    for name in ("is_enabled", "disabled_tools", "seconds"):
        del given[name]
    return hashlib.sha256(json.dumps(given, sort_keys=True, default=str).encode()).hexdigest()
