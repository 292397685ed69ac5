"""Changes of a file's encoding by a command. The text may stay the same, and only the bytes are proposed."""

from pathlib import Path

import pytest

from fairlead.lsp.documents import Documents
from fairlead.session.review import decisions
from fairlead.session.review.target import Target
from fairlead.session.review.undo_item import undo_item
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
    [outcome] = run_sync(decisions.accept(harness.session.review, Target(), None, overwrite))
    return outcome.outcome, outcome.message


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (None, "\ufeffwide\n".encode("utf-16-le"), "wide\n"),
        # UTF-16 can decode any bytes of an even number, so only the missing byte order mark shows the other encoding
        ("\ufeffhello world\n".encode("utf-16-le"), b"hello there\n", "hello there\n"),
    ],
    ids=["a new file in UTF-16", "UTF-16 to UTF-8"],
)
def test_a_text_in_another_encoding_keeps_its_bytes(
    harness: SessionHarness, old: bytes | None, new: bytes, text: str
) -> None:
    """It is shown as text, and written with the bytes of the command."""
    path = harness.folder / "a.txt"
    if old is not None:
        path.write_bytes(old)
    capture_changes(harness, change("a.txt", old, new))
    [proposal] = harness.session.files.changes
    assert proposal.proposed == text
    assert harness.accept() == ["applied"]
    assert path.read_bytes() == new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("une élève\n".encode("latin-1"), "une élève\n".encode()),
        ("une élève\n".encode(), "une élève\n".encode("latin-1")),
        ("\ufeffhello world\n".encode("utf-16-le"), b"hello world\n"),
        ("\ufeffhello\n".encode(), b"hello\n"),
        (b"hello\n", "\ufeffhello\n".encode()),
    ],
    ids=["Latin-1 to UTF-8", "UTF-8 to Latin-1", "UTF-16 to UTF-8", "BOM removed", "BOM added"],
)
def test_a_file_of_which_a_command_changes_only_the_encoding(harness: SessionHarness, old: bytes, new: bytes) -> None:
    """The new bytes are proposed, although the text stays. They are decided, undone and withdrawn like others."""
    path = harness.folder / "a.txt"
    path.write_bytes(old)
    report = "Proposed for review: a.txt"
    assert capture_changes(harness, change("a.txt", old, new)) == [f"{report} (another encoding, as a whole)."]
    [proposal] = harness.session.files.changes
    assert proposal.item_ids == ("1",) and proposal.base == proposal.proposed
    assert proposed_entries(harness.session.files) == {"a.txt": Entry(new)}
    assert harness.accept() == ["applied"]
    assert path.read_bytes() == new and not len(harness.session.files.changes)
    assert harness.undo()
    assert path.read_bytes() == old and len(harness.session.files.changes) == 1
    assert harness.redo()
    assert path.read_bytes() == new
    assert [outcome.outcome for outcome in run_sync(undo_item(harness.session.review, "1"))] == ["applied"]
    assert path.read_bytes() == old
    capture_changes(harness, change("a.txt", old, new))
    assert capture_changes(harness, change("a.txt", new, old)) == [f"{report} (now as on disk)."]
    assert not len(harness.session.files.changes)


def test_a_rejected_encoding_does_not_make_another_one_a_rejected_change(harness: SessionHarness) -> None:
    """Only the same bytes are refused."""
    (harness.folder / "a.txt").write_bytes(b"hello\n")
    capture_changes(harness, change("a.txt", b"hello\n", "\ufeffhello\n".encode()))
    assert harness.reject() == ["rejected"] and not len(harness.session.files.changes)
    assert "Proposed" in capture_changes(harness, change("a.txt", b"hello\n", "\ufeffhello\n".encode("utf-16-le")))[0]
    assert harness.reject() == ["rejected"]
    assert "rejected" in capture_changes(harness, change("a.txt", b"hello\n", "\ufeffhello\n".encode()))[0]


def test_a_converted_text_is_shown_as_itself(harness: SessionHarness) -> None:
    """A command converts a file from Latin-1 to UTF-8 and edits it. UTF-8 could also be read as Latin-1.

    A text that stays in the encoding of the file, or that is only ASCII afterwards, is proposed as text.
    """
    old = "un élève\n".encode("latin-1")
    (harness.folder / "a.txt").write_bytes(old)
    capture_changes(harness, change("a.txt", old, "deux élèves\n".encode()))
    [proposal] = harness.session.files.changes
    assert (proposal.base, proposal.proposed) == ("un élève\n", "deux élèves\n")
    assert capture_changes(harness, change("a.txt", "deux élèves\n".encode(), b"two pupils\n")) == [
        "Proposed for review: a.txt (+1 -1)."
    ]
    assert harness.reject() == ["rejected"]
    capture_changes(harness, change("a.txt", old, "deux élèves\n".encode("latin-1")))
    assert harness.view("a.txt") == "deux élèves\n"
    assert harness.accept() == ["applied"]
    assert (harness.folder / "a.txt").read_bytes() == "deux élèves\n".encode("latin-1")


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
    assert [outcome.outcome for outcome in run_sync(undo_item(harness.session.review, "1"))] == ["applied"]
    assert contents() == {"a.txt": MARK + b"one\n"}
    assert harness.undo()
    assert contents() == {"b.txt": b"one\n"}
    assert harness.redo()
    assert contents() == {"a.txt": MARK + b"one\n"}


def test_the_report_says_that_a_command_changed_no_text(harness: SessionHarness) -> None:
    """A command puts an edited text back into the file's encoding, and another one makes the file executable."""
    (harness.folder / "a.txt").write_bytes(MARK + b"one\n")
    report = "Proposed for review: a.txt"
    assert capture_changes(harness, change("a.txt", MARK + b"one\n", b"two\n")) == [
        f"{report} (another encoding, as a whole)."
    ]
    edited = MARK + b"two\n"
    assert capture_changes(harness, change("a.txt", b"two\n", edited)) == [f"{report} (the text does not change)."]
    assert harness.view("a.txt") == "two\n"
    assert capture_changes(harness, change("a.txt", edited, edited, 0o755)) == [f"{report} (the text does not change)."]
    assert proposed_entries(harness.session.files) == {"a.txt": Entry(edited, 0o755)}


def test_a_rejected_encoding_does_not_return_with_the_text_of_a_later_command(harness: SessionHarness) -> None:
    """The command found the encoding, so only its text is proposed, in the encoding of the file."""
    path, mark = harness.folder / "a.txt", "\ufeff".encode("utf-16-le")
    path.write_bytes(mark + "é\n".encode("utf-16-le"))
    capture_changes(harness, change("a.txt", path.read_bytes(), "é\n".encode()))
    assert harness.reject() == ["rejected"]
    report = capture_changes(harness, change("a.txt", "é\n".encode(), "é\nnew\n".encode()))
    assert report == ["Proposed for review: a.txt (+1 -0)."]
    assert harness.accept() == ["applied"]
    assert path.read_bytes() == mark + "é\nnew\n".encode("utf-16-le")
    path.write_bytes("é\n".encode("latin-1"))
    report = capture_changes(harness, change("a.txt", "é\n".encode(), "é\n日\n".encode()))
    assert "are lost: a.txt: a.txt is in Windows-1252, which cannot represent U+65E5" in report[0]
    assert not len(harness.session.files.changes)


def test_a_command_that_did_not_see_a_new_encoding_does_not_drop_it(harness: SessionHarness) -> None:
    """Its text in the old encoding cannot be merged with the proposed bytes, so the model learns that it is lost."""
    path = harness.folder / "a.txt"
    path.write_bytes(MARK + b"one\n")
    capture_changes(harness, change("a.txt", MARK + b"one\n", b"one\n"))
    assert capture_changes(harness, change("a.txt", MARK + b"one\n", MARK + b"one\ntwo\n")) == [
        "Not proposed, so these changes are lost: a.txt: the file got another change while the command ran."
    ]
    assert harness.accept() == ["applied"]
    assert path.read_bytes() == b"one\n"


def test_bytes_that_a_command_damages_or_repairs(harness: SessionHarness) -> None:
    """Bytes that are not UTF-8 come into a file only as bytes. In a damaged file, the rest is text."""
    path, text = harness.folder / "a.txt", "日本\n".encode()
    damaged = text + b"\xff\n"
    path.write_bytes(text)
    assert "another encoding, as a whole" in capture_changes(harness, change("a.txt", text, damaged))[0]
    assert harness.accept() == ["applied"] and path.read_bytes() == damaged
    assert "(+1 -1)" in capture_changes(harness, change("a.txt", damaged, text + b"x\n"))[0]
    assert harness.accept() == ["applied"] and path.read_bytes() == text + b"x\n"
    assert harness.undo() and path.read_bytes() == damaged
    assert harness.redo() and path.read_bytes() == text + b"x\n"
    capture_changes(harness, change("new.txt", None, damaged))
    assert harness.accept() == ["applied"] and (harness.folder / "new.txt").read_bytes() == damaged
