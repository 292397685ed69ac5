"""A session in a real folder, with an editor that writes files: tools, decisions and undo without a server."""

import asyncio
from collections.abc import Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from fairlead.agent.schema import read_input
from fairlead.agent.tool import RunningCall
from fairlead.edits.selection import Change
from fairlead.errors import ToolError
from fairlead.gate.request import ApprovalAnswer, ApprovalRequest, AskingEditor, ValueRequest
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.factory import ModelChoice
from fairlead.session.errors import RequestRefused
from fairlead.session.model_selection import ModelSelection
from fairlead.session.review import decisions, undo
from fairlead.session.review.target import Target
from fairlead.session.server_context import ServerContext
from fairlead.session.session import Session
from fairlead.session.settings import Settings
from fairlead.session.store.journal import Journals
from fairlead.shell.layers import CommandLayers
from fairlead.tools.table import tool_table
from fairlead.workspace.disk import BOM, decode_or_describe
from fairlead.workspace.editor import (
    Applied,
    Buffers,
    Claims,
    EditCapabilities,
    FileEdit,
)
from fairlead.workspace.paths import Roots
from tools.stand_ins import Documents, ScriptedUser, direct_commands, own_checks

T = TypeVar("T")


class Editor:
    """Writes each edit to the disk, as an editor does for closed files."""

    @property
    def edit_capabilities(self) -> EditCapabilities:
        return EditCapabilities(edits=True, checks=True, operations=frozenset(("create", "rename", "delete")))

    async def apply(self, label: str, edits: Sequence[FileEdit]) -> Applied:
        for edit in sorted(edits, key=lambda edit: edit.new is not None):
            now = decode_or_describe(edit.path.read_bytes(), "").text if edit.path.exists() else None
            if now != edit.old:
                return Applied(False, f"{edit.path.name} has changed")
            if edit.new is None:
                edit.path.unlink()
                continue
            if edit.new_path is not None:
                if edit.new_path.exists():
                    return Applied(False, f"{edit.new_path.name} exists")
                edit.new_path.parent.mkdir(parents=True, exist_ok=True)
                edit.path.rename(edit.new_path)
            edit.target.parent.mkdir(parents=True, exist_ok=True)
            mark = BOM if edit.target.exists() and edit.target.read_bytes().startswith(BOM) else b""
            edit.target.write_bytes(mark + edit.new.encode())
        return Applied(True)

    async def claims(self, paths: Sequence[Path]) -> Claims:
        return Claims(paths)

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        return ApprovalAnswer("reject")

    async def enter(self, request: ValueRequest) -> str | None:
        return None

    async def ask(self, session_id: str, call_id: str, question: str, options: Sequence[str]) -> str | None:
        return None


def no_model(_: ModelSelection) -> ModelChoice:
    """A model that refuses each request, because it has no key."""
    return ModelChoice(Endpoint("none", 1, None, None, None, None))


class SessionHarness:
    """A session with the actions of the agent and the user. `tree` has the text of each file, by relative path."""

    def __init__(self, folder: Path, buffers: Buffers | None = None, editor: AskingEditor | None = None) -> None:
        self.folder = folder
        buffers, editor = buffers or Documents(), editor or Editor()
        context = ServerContext(
            buffers,
            editor,
            no_model,
            Settings(),
            CommandLayers(folder.parent / "state"),
            roots=Roots.of(folder),
        )
        self.session = Session("0123456789ab", "", Roots.of(folder), context, lambda _: None, Journals().in_memory())
        files, commands = self.session.files, direct_commands(folder, ScriptedUser("reject"))
        self._tools = tool_table(files, self.session.plan, commands, own_checks(files, commands))
        self._calls = 0
        self.item_id = "1"
        """The plan item under which the agent calls tools."""

    def call(self, name: str, **given: Any) -> str | None:
        """Calls a tool; None if the result is an error.

        Sends the call again if the error is that the user rejected the same edit before.
        """
        tool = self._tools[name]
        given = read_input(tool.spec, given)
        self._calls += 1
        try:
            return run_sync(tool.run(given, RunningCall(f"call-{self._calls}", self.item_id, print)))
        except ToolError as error:
            return self.call(name, **given) if "Send the same call again" in str(error) else None

    def view(self, name: str) -> str | None:
        """A file as the agent reads it."""
        return self.session.files.read(self.folder / name)

    def accept(self, name: str | None = None) -> list[str]:
        return [hunk.outcome for hunk in run_sync(decisions.accept(self.session.review, self._target(name), None))]

    def reject(self, name: str | None = None) -> list[str]:
        return [hunk.outcome for hunk in run_sync(decisions.reject(self.session.review, self._target(name), None))]

    def undo(self) -> bool:
        """Returns whether the undo was done."""
        return self._succeeds(undo.undo(self.session.review))

    def redo(self) -> bool:
        return self._succeeds(undo.redo(self.session.review))

    def _succeeds(self, work: Coroutine[Any, Any, list[Any]]) -> bool:
        try:
            run_sync(work)
        except RequestRefused:
            return False
        return True

    def _target(self, name: str | None) -> Target:
        return Target() if name is None else Target((Change(str(self.folder / name)),))

    @property
    def tree(self) -> dict[str, str]:
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return {path.relative_to(self.folder).as_posix(): path.read_text() for path in files}


@contextmanager
def harness_with(tree: Mapping[str, str]) -> Generator[SessionHarness]:
    """A session in a temporary folder with these files: the text by relative path."""
    with TemporaryDirectory() as home:
        folder = Path(home)
        for name, text in tree.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        yield SessionHarness(folder)


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)
