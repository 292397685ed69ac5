"""Changes of files that nobody opened make verifications stale (docs/plan.md P16)."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from fairlead.session.evidence.known_files import KnownFiles
from fairlead.session.evidence.workspace_files import MAX_NAMED, MAX_READ_BYTES
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots
from tools.stand_ins import Documents

LONG = "x" * (MAX_READ_BYTES + 1)


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def files_of(folder: Path) -> Files:
    return Files(Roots.of(folder), Documents())


async def verified(files: Files) -> KnownFiles:
    """A session that knows no file, after one verification."""
    known = KnownFiles(files)
    known.record_state("sandboxed")
    await known.compare()
    return known


async def changed(known: KnownFiles, folder: Path, state: int = 0) -> list[str]:
    await known.compare()
    return sorted(Path(path).relative_to(folder).as_posix() for path in known.changed_since(state))


@pytest.mark.parametrize(
    ("name", "before", "after", "back"),
    [
        pytest.param("src/a.py", "one\n", "two\n", [], id="a text"),
        pytest.param(".github/ci.yml", "one\n", "two\n", [], id="a hidden file"),
        pytest.param("size.txt", "one\n", "two\n", [], id="the same size"),
        pytest.param("long.txt", LONG, f"{LONG}y", ["long.txt"], id="a file that is too large to be read"),
        pytest.param(".env", "A=1\n", "A=2\n", [".env"], id="a secret, which is not read"),
        pytest.param("pkg/__pycache__/a.pyc", "one\n", "two\n", None, id="a cache"),
        pytest.param("build/a.o", "one\n", "two\n", None, id="an ignored file"),
    ],
)
async def test_p16_a_change_of_a_file_that_nobody_opened(
    tmp_path: Path, name: str, before: str, after: str, back: list[str] | None
) -> None:
    """docs/faults.md 130: it is named, unless Git ignores it. With the old content, the verification holds again, if
    the content was read. The same after a restart.
    """
    write(tmp_path, {".gitignore": "build/\n", name: before})
    known = await verified(files_of(tmp_path))
    assert await changed(known, tmp_path) == []
    write(tmp_path, {name: after})
    restarted = KnownFiles(files_of(tmp_path))
    restarted.restore(known.states, known.workspace.saved, known.workspace.unseen)
    for each in (known, restarted):
        assert await changed(each, tmp_path) == ([name] if back is not None else [])
    write(tmp_path, {name: before})
    for each in (known, restarted):
        assert await changed(each, tmp_path) == (back or [])


async def test_p16_a_next_verification_holds(tmp_path: Path) -> None:
    """Files changed, created and deleted before a verification do not make it stale; only the one before them."""
    write(tmp_path, dict.fromkeys(("changed", "deleted", "same", "folder/deleted"), "one\n"))
    known = await verified(files_of(tmp_path))
    write(tmp_path, {"changed": "two\n", "created/new": "one\n"})
    (tmp_path / "deleted").unlink()
    (tmp_path / "folder" / "deleted").unlink()
    (tmp_path / "folder").rmdir()
    known.record_state("sandboxed")
    assert await changed(known, tmp_path, 0) == ["changed", "created/new", "deleted", "folder/deleted"]
    assert await changed(known, tmp_path, 1) == []


async def test_p16_more_changes_than_are_named(tmp_path: Path) -> None:
    """Some of the files are named. If only these have their old contents again, the verification does not hold."""
    names = [f"{number:04}.txt" for number in range(MAX_NAMED + 50)]
    write(tmp_path, dict.fromkeys(names, "one\n"))
    known = await verified(files_of(tmp_path))
    write(tmp_path, dict.fromkeys(names, "two\n"))
    known.record_state("sandboxed")
    assert await changed(known, tmp_path, 0) == names[:MAX_NAMED]
    write(tmp_path, dict.fromkeys(names[:MAX_NAMED], "one\n"))
    assert await changed(known, tmp_path, 0) == names[:MAX_NAMED]
    write(tmp_path, dict.fromkeys(names[:MAX_NAMED], "two\n"))
    assert await changed(known, tmp_path, 1) == []
    write(tmp_path, {names[-1]: "three\n"})
    assert await changed(known, tmp_path, 1) == [names[-1]]


async def test_p16_a_file_that_changes_while_the_command_starts(tmp_path: Path) -> None:
    """What the command saw of it is unknown, so that the verification never holds."""
    write(tmp_path, {"a.txt": "one\n", "b.txt": "one\n"})
    known = KnownFiles(files_of(tmp_path), lambda: (tmp_path / "a.txt").stat().st_ctime_ns + 1)
    known.record_state("sandboxed")
    while (tmp_path / "b.txt").stat().st_ctime_ns <= (tmp_path / "a.txt").stat().st_ctime_ns + 1:
        write(tmp_path, {"b.txt": "two\n"})
    assert await changed(known, tmp_path) == ["b.txt"]


@pytest.mark.parametrize("saved", ["", "damaged", "eJwDAAAAAAE="])
async def test_p16_nothing_holds_if_the_saved_comparison_is_lost(tmp_path: Path, saved: str) -> None:
    """All that exists may have changed since."""
    write(tmp_path, {"a.txt": "one\n"})
    known = await verified(files_of(tmp_path))
    restarted = KnownFiles(files_of(tmp_path))
    restarted.restore(known.states, saved, ())
    assert await changed(restarted, tmp_path) == ["a.txt"]


async def test_p16_a_folder_that_is_added_changes_nothing(tmp_path: Path) -> None:
    """Files in a folder that was not part of the workspace are followed from the next comparison on."""
    for name in ("one", "two"):
        write(tmp_path / name, {"a.txt": "one\n", os.fsdecode(b"\xff.txt"): ""})
    files = files_of(tmp_path / "one")
    known = await verified(files)
    files.roots = Roots.of(tmp_path / "one", tmp_path / "two")
    assert await changed(known, tmp_path) == []
    write(tmp_path / "two", {"a.txt": "two\n"})
    assert await changed(known, tmp_path) == ["two/a.txt"]
