"""What may need the user's permission, and the question to the user about it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from fairlead.shell.layer import Where
from fairlead.shell.network import NO_NETWORK, Network
from fairlead.workspace.editor import Editor

MAX_QUIET_URL = 200
"""How long a URL may be, in characters, to be fetched because its host is allowed. A name can carry something too."""


@dataclass(frozen=True, slots=True)
class RunCommand:
    """A command to run."""

    refusal: ClassVar[str] = "Not run: the user did not allow this command.{reason}"
    """What the model reads if the user rejects it."""
    command: str
    """The command line."""
    cwd: Path
    where: Where
    network: Network = NO_NETWORK


@dataclass(frozen=True, slots=True)
class StartProgram:
    """A program to start that stays, such as a language server. In the sandbox, it has no network."""

    refusal: ClassVar[str] = "Not run: the user did not allow this program.{reason}"
    command: str
    """The command line."""
    cwd: Path
    where: Where
    from_workspace: bool
    """Whether it comes from the workspace, so that anyone may have written it."""
    python: Path | None
    """The workspace's Python, if the program runs it."""


@dataclass(frozen=True, slots=True)
class StartServer:
    """A tool server to start or to connect to."""

    refusal: ClassVar[str] = "Not done: the user did not allow the tool server {action.server}.{reason}"
    server: str
    command: str
    """The whole command line, or the address."""
    cwd: Path
    where: Where | None
    """None: at its address."""
    digest: str
    """Identifies all that decides what it is and may use."""


@dataclass(frozen=True, slots=True)
class InstallServer:
    """The package of a tool server to install."""

    refusal: ClassVar[str] = "Not installed: the user did not allow the package of {action.server}.{reason}"
    server: str
    command: str
    """The whole command line that installs it."""
    cwd: Path
    where: Where = "workspace"


@dataclass(frozen=True, slots=True)
class StartAgent:
    """An agent of another maker to start, now and later."""

    refusal: ClassVar[str] = "Not started: the user did not allow {action.server}.{reason}"
    server: str
    """Its title."""
    command: str
    """The whole command line."""
    cwd: Path
    digest: str
    """Identifies all that decides what it is and may use."""
    where: Where = "sandboxed"


@dataclass(frozen=True, slots=True)
class InstallAgent:
    """The packages of an agent to install."""

    refusal: ClassVar[str] = "Not installed: the user did not allow the packages of {action.server}.{reason}"
    server: str
    """Its title."""
    command: str
    """The whole command line that installs them."""
    cwd: Path
    where: Where = "workspace"


@dataclass(frozen=True, slots=True)
class UseChangedTools:
    """Tools of a server that are no longer what the user and the model have seen."""

    refusal: ClassVar[str] = "Not done: the user did not allow the changed tools of {action.server}.{reason}"
    server: str
    command: str
    """What has changed, as a difference of texts."""
    digest: str
    """Identifies the server and its tools."""


@dataclass(frozen=True, slots=True)
class CallTool:
    """A call of a server's tool."""

    refusal: ClassVar[str] = "Not called: the user did not allow this call of {action.tool}.{reason}"
    server: str
    tool: str
    arguments: Mapping[str, Any]
    digest: str
    """That of the server and of the tool's description."""
    has_effects_outside: bool
    """Whether it can do something that nobody reviews."""
    is_destructive: bool
    """What the server claims."""

    @property
    def command(self) -> str:
        """The call for the user: the tool, then a line for each argument."""
        return call_text(f"{self.server}: {self.tool}", self.arguments)


def call_text(tool: str, given: Mapping[str, Any]) -> str:
    """A call for the user: the tool, then a line for each field of the input."""
    return "\n".join((tool, *(f"{name}: {_readable(value)}" for name, value in given.items())))


@dataclass(frozen=True, slots=True)
class FetchPage:
    """A request to a host of the web. What the user allows for the session is the host."""

    refusal: ClassVar[str] = "Not fetched: the user did not allow {action.host}.{reason}"
    host: str
    """With the port if it is unusual."""
    url: str
    """What is asked for, with all that it says to the host."""
    is_exposed: bool
    """Whether everyone on the way can read and change it: it is not encrypted, and leads out of the user's network."""
    is_redirect: bool
    """Whether another page led to it."""

    @property
    def command(self) -> str:
        """The URL, for the user."""
        return self.url

    @property
    def is_long(self) -> bool:
        """Whether it can carry much to the host."""
        return len(self.url) > MAX_QUIET_URL


def _readable(value: Any) -> str:
    if isinstance(value, str) and "\n" in value:
        return "\n" + "\n".join(f"  {line}" for line in value.split("\n"))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class RunHook:
    """A hook that is to run whenever its event happens."""

    refusal: ClassVar[str] = "Not run: the user did not allow this hook.{reason}"
    event: str
    command: str
    """The command line."""
    cwd: Path
    where: Where
    digest: str
    """Identifies its definition and its scripts."""


@dataclass(frozen=True, slots=True)
class ConfirmCall:
    """A call about which a hook wants the user to be asked."""

    refusal: ClassVar[str] = "Not run: the user did not allow this call.{reason}"
    command: str
    """The call for the user: the tool, then a line for each field of the input."""


@dataclass(frozen=True, slots=True)
class UseSecretFile:
    """Any use of a file that looks like a secret."""

    refusal: ClassVar[str] = (
        "Not done: {action.path.name} looks like a secret, and the user did not allow it.{reason} Continue without "
        "its content."
    )
    path: Path


@dataclass(frozen=True, slots=True)
class ChangeProtectedFile:
    """A change to a protected file."""

    refusal: ClassVar[str] = "Not done: the user did not confirm the change.{reason}"
    path: Path
    change: str
    """Identifies the change."""


Action = (
    RunCommand
    | StartProgram
    | StartServer
    | InstallServer
    | StartAgent
    | InstallAgent
    | UseChangedTools
    | CallTool
    | FetchPage
    | RunHook
    | ConfirmCall
    | UseSecretFile
    | ChangeProtectedFile
)
STARTS = StartServer | InstallServer | StartAgent | InstallAgent
"""What an answer allows until it changes."""
ApprovalOption = Literal["allow_once", "allow_session", "reject"]


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A question to the user: whether something may run, or whether a file may be read or written."""

    session_id: str
    call_id: str | None
    """None if no tool call asks."""
    action: Action
    reasons: Sequence[str] = ()
    """Why the user is asked, the most important reason first."""
    rules: Sequence[str] = ()
    """The allow rules with which this command, call or request would run without asking; empty if none can."""


@dataclass(frozen=True, slots=True)
class ApprovalAnswer:
    """The user's choice."""

    option: ApprovalOption
    reason: str = ""
    """Why they rejected; empty if they gave no reason."""


@dataclass(frozen=True, slots=True)
class ValueRequest:
    """A question for a value that a tool server needs before it starts."""

    server: str
    question: str
    is_secret: bool
    default: str
    """Suggested to the user; empty for a secret."""
    options: Sequence[str]
    """What they choose from; empty: anything."""


class AskingEditor(Editor, Protocol):
    """An editor that can ask its user for permission and for values."""

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Asks the user. Without an answer or a way to ask, returns a rejection. Cancelling closes the question."""
        ...

    async def enter(self, request: ValueRequest) -> str | None:
        """Asks the user for a value. Returns None without an answer or a way to ask."""
        ...
