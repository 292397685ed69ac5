"""The index for commands that see only one folder, compared with git."""

import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from fairlead.shell.sandbox.layer.index import assume_unchanged
from shell.boxes import write

NAMES = [*(f"p/{number}" for number in range(300)), "p/ä ö", "p2/x", "a", "z/b/c", f"z/{'n' * 200}", "last"]


def git(root: Path, *arguments: str, **environment: str) -> list[str]:
    run = ["git", "-c", "core.quotePath=off", "-C", str(root), *arguments]
    env = {**os.environ, **environment}
    return subprocess.run(run, capture_output=True, text=True, check=True, env=env).stdout.splitlines()


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_files_outside_of_the_folder_are_not_reported_as_deleted(tmp_path: Path, version: int, form: str) -> None:
    """In each format of the index, git reports missing files in the folder and none outside; git accepts the index."""
    top, made = tmp_path / "repository", tmp_path / "index"
    subprocess.run(["git", "init", "-q", f"--object-format={form}", str(top)], check=True)
    write(top, dict.fromkeys(NAMES, "x\n"))
    git(top, "add", ".")
    git(top, "update-index", "--index-version", str(version))
    if version == 3:
        write(top, {"p/later": "", "q/later": ""})
        git(top, "add", "--intent-to-add", "p/later", "q/later")
    assert (top / ".git/index").read_bytes()[7] == version
    data = assume_unchanged((), top / ".git/index", [b"p"])
    assert data is not None
    made.write_bytes(data)
    tree = git(top, "ls-files", "--stage")
    for folder in ("p", "p2", "z"):
        shutil.rmtree(top / folder)
    own = [name for name in NAMES if name.startswith("p/")] + (["p/later"] if version == 3 else [])
    assert git(top, "ls-files", "--deleted", GIT_INDEX_FILE=str(made)) != []
    assert sorted(git(top, "diff", "--name-only", GIT_INDEX_FILE=str(made))) == sorted(own)
    assert git(top, "ls-files", "--stage", GIT_INDEX_FILE=str(made)) == tree
    shutil.copy(made, top / ".git/index")
    git(top, "fsck")


def test_a_split_index_is_left_alone(tmp_path: Path) -> None:
    """A split index stores a changed entry without a path, so an entry of the folder would count as outside of it."""
    git(tmp_path, "init", "-q")
    write(tmp_path, {"p/changed": "one\n", "q/other": "one\n"})
    git(tmp_path, "add", ".")
    assert assume_unchanged((), tmp_path / ".git/index", [b"p"]) is not None
    git(tmp_path, "update-index", "--split-index")
    write(tmp_path, {"p/changed": "two\n"})
    git(tmp_path, "add", ".")
    assert list((tmp_path / ".git").glob("sharedindex.*")) != []
    assert assume_unchanged((), tmp_path / ".git/index", [b"p"]) is None


def compressed_index(*entries: tuple[bytes, bytes]) -> bytes:
    """An index in version 4. Each entry gives the number of bytes to drop from the previous path, and those to add."""
    body = b"".join(b"\0" * 62 + dropped + added + b"\0" for dropped, added in entries)
    return struct.pack(">4sLL", b"DIRC", 4, len(entries)) + body + b"\0" * 20


def test_an_index_with_impossible_paths_is_left_alone(tmp_path: Path) -> None:
    """The result is None if a path drops more bytes than the previous one has or is longer than a system call accepts,
    or if a number does not end."""
    path = tmp_path / "index"
    path.write_bytes(compressed_index((b"\0", b"p/a"), (b"\1", b"b")))
    assert assume_unchanged((), path, [b"q"]) is not None
    growing = [(b"\0", b"x" * 50)] * 100
    for entries in ([(b"\0", b"p/a"), (b"\4", b"b")], [(b"\xff" * 100 + b"\0", b"a")], growing):
        path.write_bytes(compressed_index(*entries))
        assert assume_unchanged((), path, [b"q"]) is None


def test_an_unknown_index_is_left_alone(tmp_path: Path) -> None:
    """The result is None if there is no index, or if it is empty, in another format or truncated."""
    path = tmp_path / "index"
    assert assume_unchanged((), path, [b"q"]) is None
    for data in (b"", b"x" * 100, b"DIRC\0\0\0\x02\0\0\0\x05" + b"\0" * 60, b"DIRC\0\0\0\x04\0\0\0\x05" + b"\xff" * 80):
        path.write_bytes(data)
        assert assume_unchanged((), path, [b"q"]) is None
