"""A `WorkspaceEdit` becomes edits of files exactly as it says, or is refused."""

from pathlib import Path
from typing import Any

import pytest

from fairlead.code.decode import read_answer
from fairlead.code.provider import NoAnswer
from fairlead.code.workspace_edit import apply_workspace_edit
from fairlead.workspace.editor import FileEdit

ROOT = Path("/ws")
FILES = {ROOT / "a.py": "x = '🚀'; y = x\n", ROOT / "b.py": "import a\r\nprint(a.x)\r\n"}


def uri(name: str) -> str:
    return (ROOT / name).as_uri()


def change(line: int, start: int, end: int, text: str) -> dict[str, Any]:
    span = {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}
    return {"range": span, "newText": text}


def edits(name: str, *changes: dict[str, Any]) -> dict[str, Any]:
    return {"textDocument": {"uri": uri(name), "version": None}, "edits": list(changes)}


def applied(edit: Any, encoding: str = "utf-16") -> list[FileEdit]:
    return read_answer(lambda json: apply_workspace_edit(json, FILES.get, encoding), edit, "the server")


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 16), ("utf-16", 14), ("utf-32", 13)])
def test_columns_are_in_the_providers_encoding(encoding: str, column: int) -> None:
    """`🚀` has four bytes, two UTF-16 units and one character. All positions refer to the old text."""
    edit = {"documentChanges": [edits("a.py", change(0, 0, 1, "name"), change(0, column, column + 1, "name"))]}
    assert applied(edit, encoding) == [FileEdit(ROOT / "a.py", FILES[ROOT / "a.py"], "name = '🚀'; y = name\n")]


def test_both_forms_mean_the_same() -> None:
    """`changes` and `documentChanges` give the same result, and the file keeps its CRLF line endings."""
    text_edits = [change(1, 8, 9, "name")]
    plain = applied({"changes": {uri("b.py"): text_edits}})
    assert plain == applied({"documentChanges": [edits("b.py", *text_edits)]})
    assert plain[0].new == "import a\r\nprint(a.name)\r\n"


def test_files_are_created_moved_and_deleted_in_order() -> None:
    """A moved file is edited under its new name, and a created file gets its text afterwards."""
    operations = [
        {"kind": "create", "uri": uri("new.py")},
        edits("new.py", change(0, 0, 0, "x = 1\n")),
        {"kind": "rename", "oldUri": uri("a.py"), "newUri": uri("c.py")},
        edits("c.py", change(0, 0, 1, "z")),
        {"kind": "delete", "uri": uri("b.py")},
    ]
    assert applied({"documentChanges": operations}) == [
        FileEdit(ROOT / "new.py", None, "x = 1\n"),
        FileEdit(ROOT / "a.py", FILES[ROOT / "a.py"], "z = '🚀'; y = x\n", new_path=ROOT / "c.py"),
        FileEdit(ROOT / "b.py", FILES[ROOT / "b.py"], None),
    ]


def test_a_file_that_is_moved_and_then_deleted_is_only_deleted() -> None:
    """The result has no new path. A file that the edit creates and then deletes is not in the result."""
    operations = [
        {"kind": "rename", "oldUri": uri("a.py"), "newUri": uri("c.py")},
        {"kind": "delete", "uri": uri("c.py")},
        {"kind": "create", "uri": uri("new.py")},
        {"kind": "rename", "oldUri": uri("new.py"), "newUri": uri("newer.py")},
        {"kind": "delete", "uri": uri("newer.py")},
    ]
    assert applied({"documentChanges": operations}) == [FileEdit(ROOT / "a.py", FILES[ROOT / "a.py"], None)]


def test_a_file_is_moved_to_the_path_of_one_that_the_edit_created_moved_and_deleted() -> None:
    """It gets the path that the edit names."""
    operations = [
        {"kind": "create", "uri": uri("new.py")},
        {"kind": "rename", "oldUri": uri("new.py"), "newUri": uri("c.py")},
        {"kind": "delete", "uri": uri("c.py")},
        {"kind": "rename", "oldUri": uri("a.py"), "newUri": uri("c.py")},
    ]
    text = FILES[ROOT / "a.py"]
    assert applied({"documentChanges": operations}) == [FileEdit(ROOT / "a.py", text, text, new_path=ROOT / "c.py")]


def test_an_edit_that_changes_nothing_is_empty() -> None:
    assert applied({"documentChanges": [edits("a.py", change(0, 0, 1, "x"))]}) == []
    assert applied({}) == []


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"documentChanges": [edits("gone.py", change(0, 0, 0, "x"))]}, "changes gone.py, which does not exist"),
        ({"documentChanges": [{"kind": "create", "uri": uri("a.py")}]}, "creates a.py, which exists"),
        (
            {"documentChanges": [{"kind": "rename", "oldUri": uri("a.py"), "newUri": uri("b.py")}]},
            "renames a file to one that exists",
        ),
        (
            {"documentChanges": [{"kind": "rename", "oldUri": uri("gone.py"), "newUri": uri("new.py")}]},
            "renames gone.py, which does not exist",
        ),
        ({"documentChanges": [{"kind": "explode", "uri": uri("a.py")}]}, "an unknown operation (explode)"),
        ({"changes": {"untitled:x": []}}, "something that is not a file (untitled:x)"),
        ({"documentChanges": [edits("a.py", {"range": change(0, 0, 0, "")["range"], "snippet": {}})]}, "snippets"),
        ({"documentChanges": [edits("a.py", change(0, 0, 3, ""), change(0, 2, 4, ""))]}, "is malformed"),
        ([], "The answer from the server is malformed"),
        ({"changes": {uri("a.py"): [{"newText": "x"}]}}, "The answer from the server is malformed"),
        ({"changes": {uri("a.py"): [change(-1, 0, 0, "x")]}}, "The answer from the server is malformed"),
        ({"changes": {uri("a.py"): [change(0, -1, 0, "x")]}}, "The answer from the server is malformed"),
        (
            {"changes": {uri("a.py"): [change(0, 0, 0, "x") | {"range": "all"}]}},
            "The answer from the server is malformed",
        ),
    ],
)
def test_an_edit_that_cannot_be_applied_exactly_is_refused(edit: Any, message: str) -> None:
    """The error says what is wrong."""
    with pytest.raises(NoAnswer) as caught:
        applied(edit)
    assert message in str(caught.value)
