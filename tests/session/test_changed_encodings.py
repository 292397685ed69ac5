"""Changes of a file's encoding by a command. The text may stay the same, and only the bytes are proposed."""

from pathlib import Path

import pytest

from fairlead.lsp.documents import Documents
from fairlead.session.review import decisions
from fairlead.session.review.target import Target
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
