"""The choice of who applies an accepted edit to an open document that has no file yet."""

from pathlib import Path

from fairlead.session.review.routing import EDITOR, TargetState, choose_route
from fairlead.workspace.editor import EditCapabilities, FileEdit

NEW = TargetState("new")
A, B = Path("a.txt"), Path("b.txt")


def test_a_document_without_a_file_is_not_moved_by_the_server() -> None:
    """There is no file to rename, and this editor cannot rename its document. The message says what to do."""
    able = EditCapabilities(edits=True, checks=True)
    refused = choose_route(FileEdit(A, "x", "x", new_path=B), able, NEW)
    assert (refused.writer, refused.message) == (
        None,
        "a.txt is not saved, and this editor cannot rename files. Save or close it there, then try again.",
    )
    assert choose_route(FileEdit(A, "x", None), able, NEW) == EDITOR


def test_an_editor_that_cannot_edit_does_not_delete_a_document_without_a_file() -> None:
    """Neither the server nor the editor can empty the document."""
    refused = choose_route(FileEdit(A, "x", None), EditCapabilities(), NEW)
    assert (refused.writer, "cannot delete files" in refused.message) == (None, True)
