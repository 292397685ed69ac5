"""The action `problems` of the tool `code` without an editor, as in the terminal."""

from pathlib import Path

import pytest

from fairlead.code.queries import CodeQueries
from fairlead.edits.origins import Author
from fairlead.lsp.documents import Documents
from fairlead.tools.problems import Problems
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots
from support.line_server import LineServers


@pytest.mark.parametrize(("names", "count"), [(["a.x"], "1 file"), (["a.x", "b.x"], "2 files")])
async def test_without_an_editor_a_note_says_that_only_proposed_edits_were_checked(
    workspace: Path, names: list[str], count: str
) -> None:
    """A folder has the problems of its proposed files. A file has its own, without a note."""
    files = Files(Roots.of(workspace), Documents())
    for name in names:
        await files.propose(workspace / name, f"error in {name}\n", Author("1", "call-1"))
    problems = Problems(files, CodeQueries(files, LineServers(), lambda: None), None)
    lines = [f"{name}:1:1 error error in {name} [lines]" for name in names]
    note = f"(Only your proposed edits were checked, in {count}. Name another file to check it.)"
    assert await problems.render(None) == "\n".join([*lines, note])
    assert await problems.render("a.x") == lines[0]
