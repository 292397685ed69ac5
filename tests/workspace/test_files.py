"""One session's view of the workspace: the proposal first, then the open buffer, then the disk."""

import os
import sys
from pathlib import Path

import pytest

from fairlead.edits.origins import Author
from fairlead.errors import ToolError
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots
from session.harness import run_sync
from tools.stand_ins import Documents


@pytest.fixture
def documents() -> Documents:
    return Documents()


@pytest.fixture
def files(workspace: Path, documents: Documents) -> Files:
    return Files(Roots.of(workspace), documents)


@pytest.fixture
def path(workspace: Path) -> Path:
    """A file with a text on the disk."""
    path = workspace / "a.txt"
    path.write_text("disk\n")
    return path


def propose(files: Files, path: Path, text: str) -> None:
    run_sync(files.propose(path, text, Author("1", "call")))


def test_a_read_finds_the_proposal_or_buffer_before_the_disk(files: Files, documents: Documents, path: Path) -> None:
    """The agent reads the proposal; `current` returns the user's text."""
    assert (files.read(path), files.current(path)) == ("disk\n", "disk\n")
    documents.type(path, "typed\n")
    assert (files.read(path), files.current(path)) == ("typed\n", "typed\n")
    propose(files, path, "proposed\n")
    assert (files.read(path), files.current(path)) == ("proposed\n", "typed\n")
    documents.close(path)
    assert (files.read(path), files.current(path)) == ("proposed\n", "disk\n")
    assert path.read_text() == "disk\n"


def test_a_missing_file_has_no_text(files: Files, workspace: Path) -> None:
    """Once a missing file is proposed, the agent reads the proposed text, but for the user it still has none."""
    assert files.read(workspace / "new") is None
    propose(files, workspace / "new", "")
    assert files.read(workspace / "new") == ""
    assert files.current(workspace / "new") is None
    assert list(workspace.iterdir()) == []


def test_an_open_binary_file_has_the_text_of_its_buffer(files: Files, documents: Documents, path: Path) -> None:
    """The open document takes precedence over the disk."""
    path.write_bytes(b"\0\xff")
    with pytest.raises(ToolError):
        files.read(path)
    documents.type(path, "text\n")
    assert files.read(path) == "text\n"


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links")
def test_fault_34_a_path_that_leads_through_a_new_link_is_noticed(files: Files, path: Path) -> None:
    """docs/faults.md 34: between a proposal and its accept, a command may have replaced the path with a link."""
    folder = path.parent / "sub"
    folder.mkdir()
    inner = folder / "b.txt"
    assert files.roots.leads_to_itself(path)
    assert files.roots.leads_to_itself(inner)
    folder.rmdir()
    folder.symlink_to(path.parent.parent)
    path.unlink()
    path.symlink_to("b.txt")
    assert not files.roots.leads_to_itself(inner)
    assert not files.roots.leads_to_itself(path)


def test_fault_06_a_change_on_disk_is_a_conflict_until_it_is_undone(files: Files, path: Path) -> None:
    """docs/faults.md 6: another text, a deleted file and a binary one are conflicts until the base is back on disk."""
    propose(files, path, "proposed\n")
    for change in (lambda: path.write_text("other\n"), path.unlink, lambda: path.write_bytes(b"\0"), path.unlink):
        change()
        run_sync(files.observe_all())
        proposal = files.proposal(path)
        assert proposal is not None
        assert proposal.in_conflict
        assert (proposal.base, proposal.proposed) == ("disk\n", "proposed\n")
    path.write_text("disk\n")
    run_sync(files.observe_all())
    proposal = files.proposal(path)
    assert proposal is not None
    assert not proposal.in_conflict


def test_what_is_computed_too_late_is_not_applied(files: Files, path: Path) -> None:
    """A decision that begins in between comes first."""
    path.write_text("one\ntwo\nthree\n")
    propose(files, path, "one\nTWO\nthree\n")
    path.write_text("one\ntwo\nthree\nfour\n")
    run_sync(files.observe([path], lambda: False))
    assert files.read(path) == "one\nTWO\nthree\n"
    run_sync(files.observe([path], lambda: True))
    assert files.read(path) == "one\nTWO\nthree\nfour\n"


def test_a_change_with_the_same_size_and_time_is_seen_before_a_decision(files: Files, path: Path) -> None:
    """docs/faults.md 6: elsewhere the signature is enough, but before an accept the bytes themselves are compared."""
    propose(files, path, "proposed\n")
    status = path.stat()
    path.write_text("dusk\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    run_sync(files.observe_all())
    assert files.current(path) == "dusk\n"


def test_versions_tell_which_files_changed(files: Files, path: Path, workspace: Path) -> None:
    """There is a version of each file and one of all files. Reading changes neither."""
    other = workspace / "b.txt"
    propose(files, path, "one\n")
    seen = files.version
    propose(files, other, "x\n")
    assert files.version > seen
    assert files.changed_since(seen, None)
    assert files.changed_since(seen, [other])
    assert not files.changed_since(seen, [path])
    assert files.changed_since(seen, [path, other])
    seen = files.version
    files.read(path)
    run_sync(files.observe_all())
    assert not files.changed_since(seen, None)
    files.changes = files.changes.without(str(other))
    assert files.changed_since(seen, [other])


def test_the_change_token_changes_with_proposals_and_documents(files: Files, documents: Documents, path: Path) -> None:
    """docs/plan.md L10: when the token has changed, a repeated call can have another result."""
    stamps = [files.change_token]
    propose(files, path, "x\n")
    stamps.append(files.change_token)
    documents.type(path, "y\n")
    stamps.append(files.change_token)
    assert len(set(stamps)) == 3
    files.read(path)
    assert files.change_token == stamps[-1]


def test_unsaved_texts_are_those_of_proposals_and_open_documents(
    files: Files, documents: Documents, path: Path, workspace: Path
) -> None:
    """Each file is listed once, with its proposal if there is one. Documents outside the workspace are left out."""
    documents.type(path, "typed\n")
    documents.type(workspace / "b.txt", "b\n")
    documents.type(workspace.parent / "outside.txt", "o\n")
    propose(files, path, "proposed\n")
    assert list(files.texts_not_on_disk()) == [(path, "proposed\n"), (workspace / "b.txt", "b\n")]


def test_only_files_that_may_have_changed_are_read_between_rounds(files: Files, path: Path) -> None:
    """Another text, a deleted file and a created one are found; an unchanged file is not read again."""
    new = path.parent / "new.txt"
    propose(files, path, "proposed\n")
    propose(files, new, "created\n")
    assert files.paths_to_observe() == []
    path.write_text("other text\n")
    new.write_text("by the user\n")
    assert files.paths_to_observe() == [path, new]
    run_sync(files.observe(files.paths_to_observe()))
    assert files.paths_to_observe() == []
    path.unlink()
    assert files.paths_to_observe() == [path]
