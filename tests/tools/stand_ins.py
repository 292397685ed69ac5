"""An editor and its user in memory: small but real implementations of the ports in `workspace/editor.py`."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairlead.agent.events import Event, ToolOutput
from fairlead.agent.schema import read_input
from fairlead.agent.tool import RunningCall
from fairlead.edits.changeset import Changeset
from fairlead.gate.gate import Gate
from fairlead.gate.request import ApprovalAnswer, ApprovalOption, ApprovalRequest, ValueRequest
from fairlead.plan import TodoManager
from fairlead.shell.background import BackgroundCommands
from fairlead.shell.command_line.policy import Policy
from fairlead.shell.direct import DirectLayer
from fairlead.shell.layer import Changes, Layer, View
from fairlead.tools.check_queue import CheckQueue
from fairlead.tools.checks import Checks
from fairlead.tools.command_changes import ProposedChanges
from fairlead.tools.commands import Commands
from fairlead.tools.table import tool_table
from fairlead.workspace.editor import (
    Applied,
    Buffer,
    Claims,
    EditCapabilities,
    FileEdit,
)
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots


class Documents:
    """The open documents of an editor."""

    def __init__(self) -> None:
        self._open: dict[Path, Buffer] = {}
        self.change_token = 0

    def type(self, path: Path, text: str) -> None:
        """The user opens a document, or changes it."""
        self.change_token += 1
        self._open[path] = Buffer(text, self.change_token)

    def close(self, path: Path) -> None:
        self.change_token += 1
        del self._open[path]

    def open_buffer(self, path: Path) -> Buffer | None:
        return self._open.get(path)

    def open_paths(self) -> Sequence[Path]:
        return list(self._open)

    def note_removal(self, path: Path) -> None:
        if path in self._open:
            self._open[path] = replace(self._open[path], file_removed=True)


class ScriptedUser:
    """Gives the next of the given answers to each question, and repeats the last one."""

    def __init__(self, *answers: ApprovalOption | ApprovalAnswer) -> None:
        self._answers = [ApprovalAnswer(answer) if isinstance(answer, str) else answer for answer in answers]
        self.asked: list[ApprovalRequest] = []

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    async def enter(self, request: ValueRequest) -> str | None:
        return None

    async def ask(self, session_id: str, call_id: str, question: str, options: Sequence[str]) -> str | None:
        return options[0] if options else None

    @property
    def edit_capabilities(self) -> EditCapabilities:
        return EditCapabilities()

    async def claims(self, paths: Sequence[Path]) -> Claims:
        return Claims()

    async def apply(self, label: str, edits: Sequence[FileEdit]) -> Applied:
        return Applied(False, "nobody edits here")


NO_SANDBOX = "No sandbox here."


def own_checks(files: Files, commands: Commands) -> Checks:
    """The checks of plan items, without any from the settings. None counts as passed before."""

    async def still_passes(_: str) -> bool:
        return False

    return Checks(files, commands, CheckQueue(), lambda _: (), still_passes, without_seconds=30)


def direct_commands(root: Path, user: ScriptedUser, timeout: float = 20) -> Commands:
    """Commands that run outside the sandbox. The user is asked about each."""
    direct = DirectLayer(Roots.of(root))

    async def layer() -> Layer:
        return direct

    async def propose_changes(changes: Changes, roots: Roots, call: RunningCall) -> ProposedChanges:
        return ProposedChanges([], [], [])

    async def view(_roots: Roots, _changes: Changeset | None = None) -> View:
        return View()

    return Commands(
        layer,
        lambda: direct,
        view,
        propose_changes,
        lambda _: 0,
        Gate("session-1", user, lambda: Policy(no_sandbox=NO_SANDBOX)),
        timeout,
        BackgroundCommands(),
        NO_SANDBOX,
    )


@dataclass
class Desk:
    """A workspace with all tools of a session."""

    path: Path
    user: ScriptedUser = field(default_factory=lambda: ScriptedUser("allow_once"))
    timeout: float = 20
    documents: Documents = field(default_factory=Documents)
    plan: TodoManager = field(default_factory=TodoManager)
    commands: Commands | None = None
    opened_secrets: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.files = Files(Roots.of(self.path), self.documents, opened_secrets=lambda: self.opened_secrets)
        self.events: list[Event] = []
        self.commands = self.commands or direct_commands(self.path, self.user, self.timeout)
        self.tools = tool_table(self.files, self.plan, self.commands, own_checks(self.files, self.commands))
        self.streamed = ""
        self.last = RunningCall("none", None, self._on_event)
        self._calls = 0

    async def call(self, name: str, **given: Any) -> str:
        """The result of a call. As the dispatcher does, reads the input, then describes and runs the call.

        Raises:
            ToolError: as the model would read it.
        """
        tool = self.tools[name]
        given = read_input(tool.spec, given)
        tool.describe(given)
        self._calls += 1
        self.last = RunningCall(f"call-{self._calls}", "1", self._on_event)
        return await tool.run(given, self.last)

    def write(self, name: str, content: str | bytes = "") -> Path:
        """Writes a file, and creates its folders."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def proposed(self, name: str) -> str | None:
        """The proposed text of a file, None if there is no proposal."""
        proposal = self.files.proposal(self.path / name)
        return None if proposal is None else proposal.proposed

    def _on_event(self, event: Event) -> None:
        if isinstance(event, ToolOutput):
            self.streamed += event.text
        else:
            self.events.append(event)


async def listed(desk: Desk, **given: str) -> list[str]:
    """The lines of the result of `list_files`; none if there are no files."""
    text = await desk.call("list_files", **given)
    return [] if text == "No files." else text.split("\n")


async def found(desk: Desk, pattern: str, **given: object) -> list[str]:
    """The lines of the result of `search`; none if there are no matches."""
    text = await desk.call("search", pattern=pattern, **given)
    return [] if text == "No matches." else text.split("\n")
