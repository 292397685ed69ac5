"""A session whose commands run in a real box, with an editor that edits files or leaves that to the server."""

import shutil
import stat
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fairlead.agent.events import Event, ToolOutput
from fairlead.agent.tool import RunningCall
from fairlead.edits.selection import Change
from fairlead.gate.request import AskingEditor
from fairlead.session.review import decisions
from fairlead.session.review.target import HunkOutcome, Target
from fairlead.session.server_context import ServerContext
from fairlead.session.session import Session
from fairlead.session.settings import Settings
from fairlead.session.store.journal import Journals
from fairlead.shell.layers import CommandLayers
from fairlead.tool_servers.secrets import Secrets
from fairlead.tools.table import tool_table
from fairlead.workspace.editor import EditCapabilities
from fairlead.workspace.paths import Roots
from session.harness import Editor, no_model
from tools.stand_ins import Documents, own_checks

Tree = dict[str, tuple[int, str | None]]
"""For each path, the permission bits and the text; None for a folder."""


class NoEditor(Editor):
    """An editor that edits no files, so that the server writes all of them."""

    @property
    def edit_capabilities(self) -> EditCapabilities:
        return EditCapabilities()


class BoxedSession:
    """A session in `folder`, with the actions of the agent and the user."""

    def __init__(self, folder: Path, session: Session) -> None:
        self.folder, self.session = folder, session
        self.output: list[str] = []
        """What the user has seen of the commands' output."""
        self._calls = 0
        commands = session.commands.tools()
        self._tools = tool_table(session.files, session.plan, commands, own_checks(session.files, commands))

    async def call(self, name: str, **given: Any) -> str:
        """Calls a tool and returns its result. Raises ToolError."""
        self._calls += 1
        return await self._tools[name].run(given, RunningCall(f"call-{self._calls}", None, self._on_event))

    def _on_event(self, event: Event) -> None:
        if isinstance(event, ToolOutput):
            self.output.append(event.text)
        else:
            self.session.publish(event)

    async def bash(self, command: str) -> str:
        return await self.call("bash", command=command)

    async def accept(self, *names: str) -> list[HunkOutcome]:
        """Accepts the proposals for some files; without names, all."""
        changes = tuple(Change(str(self.folder / name)) for name in names)
        return await decisions.accept(self.session.review, Target(changes) if changes else Target(), None)

    @property
    def tree(self) -> Tree:
        return tree_of(self.folder)


def tree_of(folder: Path) -> Tree:
    return {
        path.relative_to(folder).as_posix(): (
            stat.S_IMODE(path.stat().st_mode),
            None if path.is_dir() else path.read_text(),
        )
        for path in folder.rglob("*")
    }


def write_tree(folder: Path, paths: Sequence[str]) -> None:
    """Creates files that contain their own path. A path that ends with `/` becomes a folder."""
    for name in paths:
        path = folder / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_text(f"{name}\n")


@asynccontextmanager
async def boxed_session(
    paths: Sequence[str],
    editor: Callable[[], AskingEditor] = Editor,
    packages: Path | None = None,
    secrets: Secrets | None = None,
) -> AsyncIterator[BoxedSession]:
    """A session in a new folder with these files and folders (`write_tree`)."""
    with TemporaryDirectory() as home:
        folder, state = Path(home, "ws"), Path(home, "state")
        folder.mkdir()
        write_tree(folder, paths)
        context = ServerContext(
            buffers=Documents(),
            editor=editor(),
            choose_model=no_model,
            settings=Settings(),
            roots=Roots.of(folder),
            layers=CommandLayers(state),
            packages=packages or Path(home, "packages"),
            server_secrets=secrets or Secrets(),
        )
        session = Session("0123456789ab", "", context.roots, context, lambda _: None, Journals().in_memory())
        await session.commands.ready()
        try:
            yield BoxedSession(folder, session)
        finally:
            await session.close()
            shutil.rmtree(state, ignore_errors=True)
