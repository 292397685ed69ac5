"""A session with tool servers in real boxes."""

import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairlead.agent.events import Event, ToolOutput
from fairlead.agent.schema import read_input
from fairlead.agent.tool import RunningCall, Tool
from fairlead.gate.request import ApprovalAnswer, ApprovalOption, ApprovalRequest, ValueRequest
from fairlead.session.session import Session
from fairlead.shell.layer import Layer
from fairlead.tool_servers.definition import Definition
from fairlead.tool_servers.secrets import Secrets
from fairlead.tools.kept_results import KeptResults
from fairlead.tools.server_tools import USUAL_WINDOW, ServerToolsContext, server_tools
from session.boxed import BoxedSession, boxed_session
from session.harness import Editor
from tools.stand_ins import Documents

SCRIPTED = Path(__file__).with_name("scripted.py")


def scripted(name: str = "files", *arguments: str, **fields: Any) -> Definition:
    """The definition of a scripted server in the user's settings."""
    return Definition(name, (sys.executable, str(SCRIPTED), *arguments), **fields)


class User(Editor):
    """A user who writes accepted edits to the disk, and gives the next of these answers to each question.

    Repeats the last one.
    """

    def __init__(self, *answers: ApprovalOption, said: Sequence[str | None] = ()) -> None:
        self._answers, self._said = list(answers) or ["reject"], list(said)
        self.asked: list[ApprovalRequest] = []
        self.questions: list[tuple[str, Sequence[str]]] = []
        self.entries: list[ValueRequest] = []

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        return ApprovalAnswer(self._answers.pop(0) if len(self._answers) > 1 else self._answers[0])

    async def enter(self, request: ValueRequest) -> str | None:
        self.entries.append(request)
        return self._said.pop(0) if self._said else None

    async def ask(self, session_id: str, call_id: str, question: str, options: Sequence[str]) -> str | None:
        self.questions.append((question, options))
        return self._said.pop(0) if self._said else None


@dataclass
class World:
    """A session whose model calls the tools of servers."""

    boxed: BoxedSession
    user: User
    context: ServerToolsContext
    output: list[str] = field(default_factory=list)
    """What the user has seen while calls ran."""
    calls: int = 0
    last: RunningCall | None = None

    @property
    def session(self) -> Session:
        return self.boxed.session

    @property
    def folder(self) -> Path:
        return self.boxed.folder

    @property
    def documents(self) -> Documents:
        """The open documents of the user's editor."""
        documents = self.session._context.buffers  # pyright: ignore[reportPrivateUsage]
        assert isinstance(documents, Documents)
        return documents

    async def layer(self) -> Layer:
        return await self.session.commands.layer()

    def define(self, *definitions: Definition) -> None:
        """Replaces the servers in the settings."""
        self.change_settings(mcp_servers={each.name: each for each in definitions})

    def change_settings(self, **changes: Any) -> None:
        context = self.session._context  # pyright: ignore[reportPrivateUsage]
        context.settings = replace(context.settings, **changes)

    async def call(self, name: str, **given: Any) -> str:
        """Calls a tool as a new run does. Raises ToolError."""
        return await self.run(self.tool(name), **given)

    def tool(self, name: str) -> Tool:
        """A tool as a run gets it at its start."""
        return next(tool for tool in server_tools(self.context, USUAL_WINDOW) if tool.spec.name == name)

    async def run(self, tool: Tool, /, **given: Any) -> str:
        """Calls a tool of a run. Raises ToolError."""
        self.calls += 1
        self.last = call = RunningCall(f"call-{self.calls}", "step-1", self._on_event)
        return await tool.run(read_input(tool.spec, given), call)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, ToolOutput):
            self.output.append(event.text)
        else:
            self.session.publish(event)

    @property
    def proposals(self) -> Mapping[str, str | None]:
        """The proposed text of each file, by name; None: its removal is proposed."""
        files = self.session.files
        return {
            files.roots.relative(Path(each.path)): None if each.kind == "delete" else each.proposed
            for each in files.changes
        }


@asynccontextmanager
async def world(
    *definitions: Definition,
    paths: Sequence[str] = (),
    user: User | None = None,
    packages: Path | None = None,
    secrets: Secrets | None = None,
) -> AsyncIterator[World]:
    """A session with these servers in the settings.

    Args:
        packages: the folder of their packages and of what they keep.
    """
    user = user or User()
    async with boxed_session(paths, lambda: user, packages, secrets) as boxed:
        session = boxed.session
        found = World(boxed, user, ServerToolsContext(session.tool_servers, session.commands.gate, KeptResults()))
        found.define(*definitions)
        await session.tool_servers.prepare()
        yield found
