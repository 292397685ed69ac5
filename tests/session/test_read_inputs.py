"""What the result of a command depends on, from what was recorded of it (docs/plan.md P21)."""

import os
from pathlib import Path

from fairlead.plan.inputs import Inputs, unpack
from fairlead.session.evidence.other_inputs import OtherInputs
from fairlead.session.evidence.read_inputs import find_inputs
from fairlead.shell.layer import View
from fairlead.shell.reads import Access, AccessKind, Reads, Seen
from fairlead.workspace.paths import Roots


def access(folder: Path, kind: AccessKind, name: str, program: str = "") -> Access:
    """An access to what is there now. A file is made if there is nothing and its name has a suffix."""
    path = folder / name
    if not path.exists() and path.suffix:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text\n")
    status = os.stat(path)
    return Access(
        kind, str(path), Seen(status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, program)
    )


def inputs_of(folder: Path, *accesses: Access) -> Inputs:
    """What a command depends on in a folder whose files are all followed."""
    reads = Reads(accesses, is_complete=True)
    found = find_inputs(reads, Roots.of(folder), View(), lambda _: True, OtherInputs())
    assert found is not None
    return found


def counts(folder: Path, inputs: Inputs, name: str, *, appeared: bool = False, vanished: bool = False) -> bool:
    path = str(folder.resolve() / name)
    return inputs.depends_on(path, appeared=appeared, vanished=vanished, stays=lambda _: True)


def test_the_content_of_a_document_that_a_scanner_only_looked_at_does_not_count(tmp_path: Path) -> None:
    """pytest, node --test and cargo look at README.md. That it is there counts."""
    inputs = inputs_of(tmp_path, access(tmp_path, "look", "README.md", "python3.11"))
    assert not counts(tmp_path, inputs, "README.md")
    assert counts(tmp_path, inputs, "README.md", vanished=True)


def test_the_content_of_a_document_counts_for_any_other_program_or_access(tmp_path: Path) -> None:
    """make decides by the times of a file alone."""
    for accesses in (
        [access(tmp_path, "look", "README.md", "make")],
        [access(tmp_path, "look", "README.md", "node"), access(tmp_path, "look", "README.md", "make")],
        [access(tmp_path, "look", "README.md", "node"), access(tmp_path, "open", "README.md")],
        [access(tmp_path, "look", "README.md")],
        [access(tmp_path, "look", "main.js", "node"), access(tmp_path, "look", "README.md", "?")],
    ):
        assert counts(tmp_path, inputs_of(tmp_path, *accesses), "README.md"), accesses


def test_fault_324_the_content_of_a_document_counts_if_a_cache_of_results_was_read(tmp_path: Path) -> None:
    """docs/faults.md 324: `prettier --cache` looks only at the times of files that it has checked before."""
    look = access(tmp_path, "look", "README.md", "node")
    for name, is_result in (
        ("node_modules/.cache/prettier/x.json", True),
        (".eslintcache.json", True),
        ("src/__pycache__/a.pyc", False),
        (".pytest_cache/v/cache/lastfailed.txt", False),
    ):
        inputs = inputs_of(tmp_path, look, access(tmp_path, "open", name))
        assert counts(tmp_path, inputs, "README.md") is is_result, name


def test_fault_323_a_file_that_was_only_looked_at_shows_which_new_files_count(tmp_path: Path) -> None:
    """docs/faults.md 323: a second `cargo test` opens no source, but runs each new file in `tests`."""
    (tmp_path / "tests").mkdir()
    inputs = inputs_of(
        tmp_path,
        access(tmp_path, "open", "tests", "cargo"),
        access(tmp_path, "look", "tests/all.rs"),
        access(tmp_path, "open", "tests/expected.local"),
    )
    assert counts(tmp_path, inputs, "tests/new.rs", appeared=True)
    assert not counts(tmp_path, inputs, "tests/notes.md", appeared=True)


def test_fault_325_all_names_count_if_one_of_several_programs_that_list_a_folder_is_no_scanner(tmp_path: Path) -> None:
    """docs/faults.md 325: `pytest tests && test $(ls tests | wc -l) = 1`."""
    (tmp_path / "tests").mkdir()
    read = access(tmp_path, "open", "tests/test_a.py")
    scanned = access(tmp_path, "open", "tests", "python3.11")
    assert not counts(tmp_path, inputs_of(tmp_path, scanned, read), "tests/x.md", appeared=True)
    both = inputs_of(tmp_path, scanned, access(tmp_path, "open", "tests", "ls"), read)
    assert counts(tmp_path, both, "tests/x.md", appeared=True)


def test_fault_326_long_and_circular_paths_are_resolved(tmp_path: Path) -> None:
    """docs/faults.md 326: names with line breaks and bytes that are no UTF-8, 2,000 folders, links in a circle."""
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    names = ["new\nline", os.fsdecode(b"\xff\xfe"), "d/" * 2000 + "x", "one", "one/../y"]
    inputs = inputs_of(tmp_path, *(Access("look", f"{tmp_path}/{name}", None) for name in names))
    for name in (*names[:2], "d/x", "y"):
        assert counts(tmp_path, unpack(inputs.packed), name, appeared=True), name
    assert inputs.others[str(tmp_path.resolve() / "one")] == "link:two"
