"""Answers that a provider should never send, and files that change before it answers: nothing wrong is proposed."""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fairlead.code.decode import problems, read_answer
from fairlead.code.provider import NoAnswer
from fairlead.code.queries import CodeQueries
from fairlead.edits.origins import Author
from fairlead.errors import ToolError
from fairlead.lsp.documents import Documents
from fairlead.session.context.attachments import Attacher
from fairlead.session.context.context_item import ContextItem
from fairlead.shell.services.seen_files import SeenFiles
from fairlead.skills.library import SkillLibrary
from fairlead.tool_servers.results import Answer
from fairlead.tools.kept_results import KeptResults
from fairlead.workspace.editor import FileEdit
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots
from support.line_server import LineServer, LineServers

AUTHOR = Author("1", "call-1")
SPAN = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}


class Renamer(LineServer):
    """Calls `first` if it is given, then answers each request with `edit`."""

    def __init__(self, edit: Any, first: Callable[[], Awaitable[None]] | None) -> None:
        super().__init__()
        self._edit, self._first = edit, first

    def supports(self, method: str) -> bool:
        return True

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        if self._first is not None:
            await self._first()
        return self._edit


class Renamers(LineServers):
    def __init__(self, edit: Any, first: Callable[[], Awaitable[None]] | None = None) -> None:
        super().__init__()
        self.only = Renamer(edit, first)


async def renamed(files: Files, uri: str, first: Callable[[], Awaitable[None]] | None = None) -> Sequence[FileEdit]:
    """The edits that a rename returns if the server answers with an edit of the file with this URI."""
    edit = {"changes": {uri: [{"range": SPAN, "newText": "b"}]}}
    queries = CodeQueries(files, Renamers(edit, first), lambda: None)
    return (await queries.rename(files.roots.first.path / "a.x", "a", 1, "b")).value


@pytest.fixture
def files(workspace: Path) -> Files:
    (workspace / "a.x").write_text("a\n")
    return Files(Roots.of(workspace), Documents())


async def test_an_edit_must_name_each_file_by_its_own_path(files: Files, workspace: Path, tmp_path: Path) -> None:
    """Any other path is refused: it could lead outside, to a secret, or to one file under two names."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "o.x").write_text("a\n")
    (workspace / ".env").write_text("a\n")
    (workspace / "link.x").symlink_to(workspace / ".env")
    (workspace / "folder").symlink_to(outside)
    root = workspace.as_uri()
    for name in ("folder/../a.x", "../outside/o.x", "folder/o.x", "link.x", ".env"):
        with pytest.raises(NoAnswer, match=r"nothing was proposed"):
            await renamed(files, f"{root}/{name}")
    assert await renamed(files, f"{root}/a.x") == [FileEdit(workspace / "a.x", "a\n", "b\n")]


async def test_a_text_that_changes_before_the_answer_is_not_edited(files: Files, workspace: Path) -> None:
    """The answer is refused, because its positions refer to the text that was shown."""

    async def first() -> None:
        await files.propose(workspace / "a.x", "new line\na\n", AUTHOR)

    with pytest.raises(NoAnswer, match=r"a\.x changed before lines answered"):
        await renamed(files, (workspace / "a.x").as_uri(), first)


async def test_a_file_that_changes_while_edits_are_proposed_is_not_proposed(files: Files, workspace: Path) -> None:
    """A long text is compared in a thread. If the file changes meanwhile, nothing is proposed."""
    path, old = workspace / "a.x", "a\n" * 200_000
    path.write_text(old)
    proposing = asyncio.create_task(files.propose_all([FileEdit(path, old, f"b\n{old}")], AUTHOR))
    await asyncio.sleep(0)
    path.write_text(f"typed\n{old}")
    with pytest.raises(WorkspaceError, match="at the same moment"):
        await proposing
    assert not list(files.changes)


def test_an_infinite_severity_is_malformed() -> None:
    """JSON can contain 1e999, which Python reads as infinity."""
    item = {"range": SPAN, "message": "m", "severity": float("inf")}
    with pytest.raises(NoAnswer, match="malformed"):
        read_answer(lambda json: problems(json, "a\n", "utf-16"), [item], "lines")


def test_a_file_that_cannot_be_looked_at_is_skipped(workspace: Path) -> None:
    """A file may have disappeared since its folder was listed. The test makes a file whose path is too long instead."""
    folder, before = workspace, os.open(".", os.O_RDONLY)
    try:
        os.chdir(workspace)
        while len(os.fsencode(folder)) < 3900:
            folder /= "d" * min(200, 4080 - len(os.fsencode(folder)))
            os.mkdir(folder.name)
            os.chdir(folder.name)
        Path("n" * 230 + ".x").write_text("")
    finally:
        os.fchdir(before)
        os.close(before)
    seen = SeenFiles(workspace, (".x",), {}, lambda _: False)
    assert seen.changes(None, on_disk=True) == []
    shutil.rmtree(workspace)  # most other programs cannot remove such a path


async def no_resource(server: str, uri: str) -> Answer:
    raise ToolError("There is no tool server.")


async def test_a_secret_file_with_conflicts_is_omitted_from_the_changes(files: Files) -> None:
    """In Git's diff, a file with conflicts has a different header (`diff --cc`)."""
    diff = (
        "diff --git a/a.x b/a.x\n--- a/a.x\n+++ b/a.x\n@@ -1 +1 @@\n-a\n+b\n"
        "diff --cc .env\nindex 1,2..3\n--- a/.env\n+++ b/.env\n@@@ -1,1 -1,1 +1,5 @@@\n++KEY=s3cret\n"
    )
    attacher = Attacher(files, None, no_resource, KeptResults(), SkillLibrary(lambda: files.roots), None)
    attached = await attacher.attach([ContextItem(kind="changes", text=diff)])
    text = "".join(attached.contents)
    assert "a/a.x" in text
    assert "s3cret" not in text
    assert "1 of 2 files omitted" in text
