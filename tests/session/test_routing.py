"""The choice of who applies an accepted edit to an open document that is not saved, or has no file yet."""

from pathlib import Path

import pytest

from fairlead.session.review.routing import EDITOR, SERVER, TargetState, choose_route
from fairlead.workspace.editor import EditCapabilities, FileEdit
from fairlead.workspace.user_files import DocumentState

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


@pytest.mark.parametrize("state", ["unsaved", "new"])
def test_bytes_do_not_replace_a_file_that_the_editor_shows_differently(state: DocumentState) -> None:
    """The text in the editor is not on disk, so the bytes would not replace it. A deleted file can be restored."""
    able, target = EditCapabilities(edits=True, checks=True), TargetState(state)
    refused = choose_route(FileEdit(A, "x", "x", data=b"x"), able, target)
    assert (refused.writer, refused.message) == (
        None,
        "The text of a.txt in the editor is not the text on disk. Close it there, then try again.",
    )
    assert choose_route(FileEdit(A, None, "x", data=b"x"), able, target) == SERVER
    assert choose_route(FileEdit(A, "x", "x", data=b"x"), able, TargetState("saved")) == SERVER
