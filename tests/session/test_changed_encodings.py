"""Changes of a file's encoding by a command. The text may stay the same, and only the bytes are proposed."""

import json
from pathlib import Path

import pytest

from fairlead.lsp.documents import Documents
from fairlead.session.review import decisions
from fairlead.session.review.target import Target
from fairlead.session.review.undo_item import undo_item
from fairlead.session.state import SessionState
from fairlead.session.store.entries import EntryEncoder, read_entries
from fairlead.shell.layer import Entry
from fairlead.tools.command_changes import proposed_entries
from session.harness import SessionHarness, run_sync
from session.test_captured import capture_changes, change

MARK = b"\xef\xbb\xbf"


@pytest.fixture
def documents() -> Documents:
    return Documents()


@pytest.fixture
def harness(tmp_path: Path, documents: Documents) -> SessionHarness:
    return SessionHarness(tmp_path, documents)


def accept(harness: SessionHarness, *, overwrite: bool = False) -> tuple[str, str]:
    """Accepts the only change. Returns the outcome and its message."""
    [outcome] = run_sync(decisions.accept(harness.session, Target(), None, overwrite))
    return outcome.outcome, outcome.message


def test_an_encoding_is_accepted_once_the_file_is_saved(harness: SessionHarness, documents: Documents) -> None:
    """The command saw the unsaved text. The message says why the accept fails, and the advice helps."""
    path = harness.folder / "a.txt"
    path.write_bytes(MARK + b"one\n")
    documents.opened(path.as_uri(), "one\ntwo\n", 1)
    capture_changes(harness, change("a.txt", MARK + b"one\ntwo\n", b"one\ntwo\n"))
    message = "The text of a.txt in the editor is not the text on disk. Close it there, then try again."
    assert accept(harness) == accept(harness, overwrite=True) == ("failed", message)
    assert path.read_bytes() == MARK + b"one\n"
    path.write_bytes(MARK + b"one\ntwo\n")
    documents.closed(path.as_uri())
    assert accept(harness)[0] == "applied"
    assert path.read_bytes() == b"one\ntwo\n"


def test_a_new_encoding_does_not_replace_an_edit_that_the_command_did_not_see(harness: SessionHarness) -> None:
    """Bytes cannot be merged with the edit, so the model learns that they are lost. An edit that they contain is no
    conflict."""
    path = harness.folder / "a.txt"
    path.write_bytes(MARK + b"one\n")
    harness.call("write_file", path="a.txt", content="two\n")
    assert capture_changes(harness, change("a.txt", MARK + b"one\n", b"one\n")) == [
        "Not proposed, so these changes are lost: a.txt: the file got another change while the command ran."
    ]
    assert harness.view("a.txt") == "two\n"
    assert "another encoding" in capture_changes(harness, change("a.txt", MARK + b"one\n", b"two\n"))[0]
    assert harness.accept() == ["applied"]
    assert path.read_bytes() == b"two\n"


def test_a_new_encoding_of_a_text_that_the_user_changed_is_a_conflict(harness: SessionHarness) -> None:
    """Nothing is overwritten unless the user says so. The user can also keep their own text."""
    path = harness.folder / "a.txt"
    path.write_bytes(MARK + b"one\n")
    capture_changes(harness, change("a.txt", MARK + b"one\n", b"one\n"))
    path.write_bytes(MARK + b"one\nmine\n")
    assert accept(harness)[0] == "conflict"
    assert path.read_bytes() == MARK + b"one\nmine\n"
    assert accept(harness, overwrite=True)[0] == "applied"
    assert path.read_bytes() == b"one\n"
    assert harness.undo()
    assert path.read_bytes() == MARK + b"one\nmine\n"
    assert harness.reject() == ["rejected"]
    assert path.read_bytes() == MARK + b"one\nmine\n" and not len(harness.session.files.changes)


def test_a_file_is_renamed_and_gets_another_encoding(harness: SessionHarness) -> None:
    """Both are accepted, undone and redone together, also if the user undoes the step."""
    (harness.folder / "a.txt").write_bytes(MARK + b"one\n")
    harness.call("rename_file", path="a.txt", new_path="b.txt")
    capture_changes(harness, change("b.txt", MARK + b"one\n", b"one\n"))
    [proposal] = harness.session.files.changes
    assert proposal.kind == "rename" and proposal.base == proposal.proposed
    assert proposed_entries(harness.session.files) == {"a.txt": None, "b.txt": Entry(b"one\n")}

    def contents() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in harness.folder.iterdir()}

    assert harness.accept() == ["applied"]
    assert contents() == {"b.txt": b"one\n"}
    assert harness.undo()
    assert contents() == {"a.txt": MARK + b"one\n"}
    assert harness.redo()
    assert contents() == {"b.txt": b"one\n"}
    assert [outcome.outcome for outcome in run_sync(undo_item(harness.session, "1"))] == ["applied"]
    assert contents() == {"a.txt": MARK + b"one\n"}
    assert harness.undo()
    assert contents() == {"b.txt": b"one\n"}
    assert harness.redo()
    assert contents() == {"a.txt": MARK + b"one\n"}


def test_a_new_encoding_survives_a_restart(harness: SessionHarness) -> None:
    """The text stays the same, so only the bytes in the journal say that something is proposed."""
    (harness.folder / "a.txt").write_bytes(MARK + b"one\n")
    capture_changes(harness, change("a.txt", MARK + b"one\n", b"one\n"))
    changes = harness.session.files.changes
    assert len(changes) == 1
    entry = EntryEncoder().entry(SessionState(changes=changes))
    assert read_entries([json.loads(json.dumps(entry))]).state.changes.files == changes.files


def test_the_report_says_that_a_command_changed_no_text(harness: SessionHarness) -> None:
    """A command puts an edited text back into the file's encoding, and another one makes the file executable."""
    (harness.folder / "a.txt").write_bytes(MARK + b"one\n")
    report = "The command's changes are proposed for review: a.txt"
    assert capture_changes(harness, change("a.txt", MARK + b"one\n", b"two\n")) == [
        f"{report} (another encoding, as a whole)."
    ]
    edited = MARK + b"two\n"
    assert capture_changes(harness, change("a.txt", b"two\n", edited)) == [f"{report} (the text does not change)."]
    assert harness.view("a.txt") == "two\n"
    assert capture_changes(harness, change("a.txt", edited, edited, 0o755)) == [f"{report} (the text does not change)."]
    assert proposed_entries(harness.session.files) == {"a.txt": Entry(edited, 0o755)}
