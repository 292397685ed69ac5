"""The content of the user's files; closed ones are read from disk."""

import tracemalloc
from dataclasses import replace
from pathlib import Path

from fairlead.workspace.disk import DiskText
from fairlead.workspace.paths import Roots
from fairlead.workspace.user_files import UserFiles
from tools.stand_ins import Documents


def test_an_encoding_stays_when_its_last_letter_is_removed(tmp_path: Path) -> None:
    """A Windows-1252 file keeps its encoding when its only non-ASCII letter is removed, also under another name.

    So an undo restores the original byte.
    """
    file, moved = tmp_path / "a.txt", tmp_path / "b.txt"
    file.write_bytes(b"caf\xe9\n")
    user_files = UserFiles(Roots.of(tmp_path), Documents())
    before = user_files.on_disk(file)
    assert before is not None
    file.write_bytes(b"cafe\n")
    now = user_files.on_disk(file)
    assert now is not None and now.encode(before.text) == b"caf\xe9\n"
    file.rename(moved)
    user_files.note_move(file, moved)
    there = user_files.on_disk(moved)
    assert there is not None and there.encode(before.text) == b"caf\xe9\n"
    moved.write_bytes("café\n".encode())
    utf_8 = user_files.on_disk(moved)
    assert utf_8 is not None and utf_8.encoding == "utf-8"


def test_a_document_stays_when_its_file_cannot_be_read(tmp_path: Path) -> None:
    """A folder has replaced the file: the document, even a blank one, is the only text, and counts as unsaved."""
    documents = Documents()
    user_files = UserFiles(Roots.of(tmp_path), documents)
    for text in ("typed\n", "\n"):
        path = tmp_path / f"{len(text)}.txt"
        path.mkdir()
        documents.type(path, text)
        buffer = user_files.buffer(path)
        assert buffer is not None and buffer.text == text
        assert user_files.document_state(path) == "unsaved"


def test_a_written_file_takes_no_memory_unless_its_bytes_alone_are_ambiguous(tmp_path: Path) -> None:
    """A Windows-1252 text whose bytes are also UTF-8 keeps its meaning, whatever was written before it."""
    file = tmp_path / "a.txt"
    user_files = UserFiles(Roots.of(tmp_path), Documents())
    latin = DiskText("â‚¬\n", "cp1252")

    def write(disk: DiskText) -> DiskText | None:
        data = disk.encode(disk.text)
        file.write_bytes(data)
        user_files.note_write(file, data, disk)
        return user_files.on_disk(file)

    for text in ("café\n", "cafe\n"):
        assert write(replace(latin, text=text)) == replace(latin, text=text)
    assert write(DiskText("cafe\n")) == DiskText("cafe\n")
    assert write(latin) == latin
    tracemalloc.start()
    data = b"x" * 4_000_000
    user_files.note_write(tmp_path / "b.txt", data, DiskText(data.decode()))
    del data
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used < 1_000_000
