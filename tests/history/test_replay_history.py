"""The replay of history (benchmarks/history): it replays a small history of odd files, and notices mistakes."""

import codecs
import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from history.editor import edited, typed
from history.edits import pieces
from history.git import Entry, GitError, Repository, repository_of, usable
from history.recording import write_recording
from history.replay import Figures, Place, run
from history.text import decode, decode_as
from history.tree import Workspace
from hypothesis import given
from hypothesis import strategies as st

NUMBERED = [f"line {number}" for number in range(1, 31)]
UTF16 = codecs.BOM_UTF16_LE


def lines(end: str = "\n", **changes: str) -> str:
    """Thirty lines. `l7="x"` replaces the seventh."""
    return "".join(changes.get(f"l{number}", line) + end for number, line in enumerate(NUMBERED, 1))


FIRST: dict[str, bytes] = {
    "crlf.txt": lines("\r\n").encode(),
    "latin-1.txt": lines(l3="caf\xe9").encode("latin-1"),
    "utf-16.txt": UTF16 + lines(l3="café").encode("utf-16-le"),
    "bom.py": codecs.BOM_UTF8 + lines().encode(),
    "mixed.txt": (lines() + lines("\r\n").replace("line", "row")).encode(),
    "moved.py": lines().encode(),
    "renamed only.txt": lines().encode(),
    "gone.txt": b"gone\n",
    "naïve 名 %20.md": lines(l9="名").encode(),
    "no newline": lines().encode() + b"last",
    "run.sh": b"#!/bin/sh\n",
    "image": b"\x89PNG\0\r\n",
    ".gitignore": b"ignored.txt\n",
    "ignored.txt": b"1\n2\n",
    "file to folder": b"1\n",
    "folder to file/inner": b"1\n",
    "lf to crlf": b"1\n2\n",
    "crlf to lf": b"1\r\n2\r\n",
    "empty": b"",
    "untouched": b"x",
}
SECOND: dict[str, bytes] = {
    "crlf.txt": lines("\r\n", l2="two", l9="nine", l20="20\r\n21").encode(),
    "latin-1.txt": lines(l3="caf\xe9s", l12="nol", l25="u").encode("latin-1"),
    "utf-16.txt": UTF16 + lines(l3="cafés", l20="🚀").encode("utf-16-le"),
    "bom.py": codecs.BOM_UTF8 + lines(l1="first", l30="last").encode(),
    "mixed.txt": (lines(l5="five") + lines("\r\n", l25="25").replace("line", "row")).encode(),
    "sub/folder/moved.py": lines(l4="four", l29="29").encode(),
    "renamed.txt": lines().encode(),
    "naïve 名 %20.md": lines(l9="名前", l10="").encode(),
    "new\nname": "éè\u2028\x85🚀\r\n".encode(),
    "no newline": lines(l1="1").encode() + b"the last",
    "run.sh": b"#!/bin/sh\necho\n",
    "image": b"\x89PNG\0\n",
    ".gitignore": b"ignored.txt\n",
    "ignored.txt": b"1\n3\n",
    "file to folder/inner": b"1\n",
    "folder to file": b"2\n",
    "lf to crlf": b"1\r\n2\r\n",
    "crlf to lf": b"1\n2\n",
    "empty": b"full\n",
    "untouched": b"x",
}


def folder(where: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        path = where / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return where


def replayed(repository: Repository, tmp_path: Path, newest: int) -> Figures:
    place = Place(tmp_path / "home", tmp_path / "kept")
    return run(repository, place, "files", repository.commits(newest, first_parent=False))


def test_odd_files_end_up_as_in_the_commit(tmp_path: Path) -> None:
    """Every kind of file that the agent can change is replayed; the others are counted, with the reason."""
    first, second = folder(tmp_path / "1", FIRST), folder(tmp_path / "2", SECOND)
    (first / "link").symlink_to("gone.txt")
    (second / "link").symlink_to("run.sh")
    (second / "run.sh").chmod(0o755)
    figures = replayed(repository_of([first, second], tmp_path / "git"), tmp_path, newest=2)
    assert figures.mismatches == []
    assert figures.commits == 2
    assert {"created", "deleted", "modified", "renamed", "renamed and changed"} <= figures.kinds.keys()
    assert {"CRLF", "mixed", "cp1252", "utf-16-le", "utf-8 with BOM", "no final newline"} <= figures.kinds.keys()
    assert {"write_file", "edit_file", "delete_file", "rename_file"} <= figures.calls.keys()
    assert {"binary", "symbolic link", "file mode", "line ends become LF"} <= figures.direct.keys()
    assert figures.decisions["hunks accepted"] > 0


MARK_OF_A_NEW_FILE = ({"other": b"x"}, {"other": b"x", "new": codecs.BOM_UTF8 + b"one\n"})
LAST_LETTER_BEYOND_ASCII = ({"f": b"caf\xe9\n2\n3\n"}, {"f": b"cafe\n2\nnoel\n"})


@pytest.mark.parametrize("states", [MARK_OF_A_NEW_FILE, LAST_LETTER_BEYOND_ASCII], ids=["mark", "letter"])
def test_marks_and_encodings_survive_accept_and_undo(tmp_path: Path, states: tuple[dict[str, bytes], ...]) -> None:
    """A new file keeps its byte order mark, and a file keeps its encoding when its last non-ASCII letter is removed."""
    folders = [folder(tmp_path / str(number), files) for number, files in enumerate(states)]
    assert replayed(repository_of(folders * 3, tmp_path / "git"), tmp_path, newest=5).mismatches == []


def test_a_pair_of_folders_from_the_command_line(tmp_path: Path) -> None:
    """The program writes the figures as JSON and exits with 0. It reports an invalid source, and then exits with 2."""
    old, new = folder(tmp_path / "old", {"a": b"1\n"}), folder(tmp_path / "new", {"a": b"2\n", "b": b"3\n"})
    program = Path(__file__).parents[2] / "benchmarks" / "history" / "run.py"
    out = tmp_path / "figures.json"
    command = [sys.executable, str(program), "--pair", str(old), str(new), "--json", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    total = json.loads(out.read_text())["total"]
    assert (total["commits"], total["kinds"]) == (1, {"modified": 1, "created": 1})
    done = subprocess.run([*command[:2], "--repo", str(old)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "cannot be read" in done.stdout


def test_a_wrong_tree_is_noticed(tmp_path: Path) -> None:
    """The differences are other bytes, a leftover file, a missing file, another mode, and a needless write."""
    workspace = Workspace(tmp_path / "ws")
    tree = {name: Entry("100644", name) for name in ("bytes", "missing", "mode", "written", "fine", "changed")}

    def blob(entry: Entry) -> bytes:
        return entry.oid.encode()

    workspace.become(tree, blob)
    for name in ("bytes", "written", "leftover.tmp", "changed"):
        (workspace.root / name).write_bytes(b"other" if name == "bytes" else name.encode())
    (workspace.root / "missing").unlink()
    (workspace.root / "mode").chmod(0o600)
    found = {one.path: one.what for one in workspace.differences(tree, {"bytes", "changed", "mode"}, blob)}
    assert found == {
        "bytes": "has other bytes",
        "missing": "is missing",
        "mode": "has mode 600, not 100644",
        "written": "was written, although nothing in it changes",
        "leftover.tmp": "must not exist",
    }


def test_a_hostile_repository_runs_nothing(tmp_path: Path) -> None:
    """Programs in the repository's configuration never run, and unsafe names are refused."""
    folders = [folder(tmp_path / name, {"a": name.encode()}) for name in ("1", "2")]
    repository = repository_of(folders, tmp_path / "r")
    trap = tmp_path / "trap"
    program = tmp_path / "trap.sh"
    program.write_text(f"#!/bin/sh\ntouch {trap}\n")
    program.chmod(0o755)
    with (tmp_path / "r" / "config").open("a") as config:
        config.write(f"[core]\n\tfsmonitor = {program}\n\tpager = {program}\n[diff]\n\texternal = {program}\n")
        config.write(f'[diff "x"]\n\ttextconv = {program}\n\tcommand = {program}\n')
    (tmp_path / "r" / "info").mkdir(exist_ok=True)
    (tmp_path / "r" / "info" / "attributes").write_text("* diff=x\n")
    commits = repository.commits(None, False)
    assert [change.status for commit in commits for change in repository.changes(commit)] == ["A", "M"]
    assert repository.blob(repository.tree(commits[1].id)["a"]) == b"2"
    repository.close()
    assert not trap.exists()
    assert [usable(name) for name in ("a/../b", ".GIT/config", "a//b", "..a/b c")] == [False, False, False, True]
    with pytest.raises(GitError):
        repository.commit("--output=/tmp/x")


LINES = st.lists(st.sampled_from(["a", "b", "ab", "", "é"]), max_size=8)
ENDS = st.sampled_from(["\n", "\r\n"])


@given(LINES, LINES, ENDS, st.booleans(), st.integers(0, 99))
def test_pieces_lead_from_one_text_to_the_other(a: list[str], b: list[str], end: str, last: bool, seed: int) -> None:
    """Each piece occurs once in the text so far. As in the product, pieces without CRLF get the file's line endings."""
    old, new = (end.join(one) + (end if last else "") for one in (a, b))
    text = old
    found = pieces(old, new, Random(seed))
    for piece in found or []:
        wanted, replacement = piece.old, piece.new
        if end == "\r\n" and end not in wanted + replacement:
            wanted, replacement = wanted.replace("\n", "\r\n"), replacement.replace("\n", "\r\n")
        assert text.count(wanted) == 1
        text = text.replace(wanted, replacement)
    assert text == (old if found is None else new)


@given(st.text("a\r\né🚀", max_size=8), st.text("a\r\né🚀", max_size=8), st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_a_typed_change_is_reported_as_it_was_made(old: str, new: str, units: str) -> None:
    """Applying the change that the replay's editor reports to the server gives the text after the change."""
    change = typed(old, new, units)
    text, _ = edited(old, [{"range": change["range"], "newText": change["text"]}], units)
    assert text == new


@given(st.binary(max_size=40))
def test_decoded_text_encodes_to_the_same_bytes(data: bytes) -> None:
    """Bytes that can be decoded are the same when the text is encoded again."""
    found = decode(data)
    assert found is None or (found.encode() == data and decode_as(data, found.text_format) == found.text)


def test_any_text_can_be_recorded(tmp_path: Path) -> None:
    """A recording is read back unchanged, because characters that YAML reads differently from JSON are escaped."""
    from fairlead.models.recording import read_recording

    text = "".join(chr(code) for code in (*range(1, 0xD800), *range(0xE000, 0x10000))) + "🚀"
    write_recording(tmp_path / "r", [[[{"write_file": {"path": "a", "content": text}}]]])
    assert read_recording(tmp_path / "r").turns[0].calls == (("write_file", {"path": "a", "content": text}),)
