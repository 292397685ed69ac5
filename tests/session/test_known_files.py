"""The files that a verification ran on, and which of them have changed since (docs/plan.md P16)."""

import asyncio
import contextlib
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairlead.edits.origins import Author
from fairlead.edits.proposal import Raw
from fairlead.session.evidence.known_files import ABSENT, EXECUTABLE, KnownFiles
from fairlead.tools.command_changes import proposed_entries
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots
from tools.stand_ins import Documents

NAMES = st.sampled_from(["a", "b", "c"])
TEXTS = st.sampled_from(["", "1\n", "1\n2\n", "2\n"])
OTHER_NAMES = st.sampled_from(["d", "e", "folder/f"])
"""The files that nobody has opened. At first, only d exists."""
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("propose"), NAMES, TEXTS),
        st.tuples(st.just("delete"), NAMES, st.none()),
        st.tuples(st.just("reject"), NAMES, st.none()),
        st.tuples(st.just("accept"), NAMES, st.none()),
        st.tuples(st.just("user writes"), NAMES, TEXTS),
        st.tuples(st.just("user types"), NAMES, TEXTS),
        st.tuples(st.just("user removes"), NAMES, st.none()),
        st.tuples(st.just("another program writes"), OTHER_NAMES, TEXTS),
        st.tuples(st.just("another program removes"), OTHER_NAMES, st.none()),
        st.tuples(st.just("agent reads"), st.just("d"), st.none()),
        st.tuples(st.just("compare"), st.just(""), st.none()),
        st.tuples(st.just("verify"), st.just(""), st.none()),
        st.tuples(st.just("restart"), st.just(""), st.none()),
    ),
    min_size=3,
    max_size=14,
)


VERIFY, COMPARE, RESTART = ("verify", "", None), ("compare", "", None), ("restart", "", None)


class TrackedFiles:
    """A session's files and their known states. `verified` has the texts that a command saw at each state."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.documents = Documents()
        self.files = Files(Roots.of(folder), self.documents)
        self.known = KnownFiles(self.files)
        self.verified: list[dict[str, str | None]] = []

    def visible(self) -> dict[str, str | None]:
        return {name: self.files.read(self.folder / name) for name in (*"abcde", "folder/f")}

    async def do(self, step: str, name: str, text: str | None) -> None:
        path = self.folder / name
        match step:
            case "propose":
                await self.files.propose(path, text or "", Author("1", "call"))
            case "delete":
                await self.files.delete(path, Author("1", "call"))
            case "reject":
                self.files.changes = self.files.changes.without(str(path))
            case "accept":
                proposal = self.files.proposal(path)
                if proposal is not None:
                    self.write(path, proposal.proposed)
                    await self.files.observe([path])
            case "user writes" | "user removes":
                self.write(path, text)
                await self.files.observe([path])
            case "another program writes" | "another program removes":
                self.write(path, text)
            case "agent reads":
                await self.files.read_for_agent(path)
            case "compare":
                await self.known.compare()
            case "user types":
                self.documents.type(path, text or "")
                await self.files.observe([path])
            case "restart":
                changes, states, workspace = self.files.changes, self.known.states, self.known.workspace
                self.files = Files(Roots.of(self.folder), self.documents)
                self.known = KnownFiles(self.files)
                await self.files.restore(changes, 0)
                self.known.restore(states, workspace.saved, workspace.unseen)
                await self.known.compare()
            case _:
                self.known.record_state("sandboxed")
                await self.known.compare()
                self.verified.append(self.visible())
        self.known.update(self.files.take_touched())

    @staticmethod
    def write(path: Path, text: str | None) -> None:
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)


async def play(folder: Path, steps: list[tuple[str, str, Any]]) -> None:
    for name in "abd":
        (folder / name).write_text("1\n")
    tracked = TrackedFiles(folder)
    tracked.known.update(folder / name for name in "abc")
    for step in steps:
        with contextlib.suppress(WorkspaceError):  # a proposal that cannot be made
            await tracked.do(*step)
        now = tracked.visible()
        is_compared = step[0] in ("compare", "verify", "restart")
        for number, then in enumerate(tracked.verified):
            changed = {Path(path).relative_to(folder).as_posix() for path in tracked.known.changed_since(number)}
            names = set(now) if is_compared else set("abc")
            assert changed & names == {name for name in names if now[name] != then[name]}, step


@settings(max_examples=60, deadline=None)
@given(STEPS)
@example([VERIFY, ("another program writes", "d", "2\n"), ("agent reads", "d", None), COMPARE])
@example(
    [
        ("another program removes", "d", None),
        VERIFY,
        ("another program writes", "d", "2\n"),
        ("agent reads", "d", None),
        COMPARE,
    ]
)
@example(
    [
        ("another program removes", "d", None),
        VERIFY,
        ("another program writes", "d", ""),
        ("agent reads", "d", None),
        RESTART,
    ]
)
@example([VERIFY, ("another program removes", "d", None), VERIFY, ("another program writes", "d", "1\n"), RESTART])
def test_p16_a_verification_holds_for_exactly_the_text_that_it_saw(steps: list[tuple[str, str, Any]]) -> None:
    """For any sequence of edits, commands, decisions, other programs and restarts: the files that changed since a state
    are those whose content differs from what a command saw then. After a comparison, files that nobody opened too."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder).resolve(), steps))


BYTES = {
    "UTF-8": "schön\n".encode(),
    "CRLF and no final newline": b"one\r\ntwo",
    "byte order mark": b"\xef\xbb\xbfone\n",
    "UTF-16": "one\n".encode("utf-16"),
    "Windows-1252": b"sch\xf6n \x80\n",
    "Latin-1": b"\x81 sch\xf6n\n",
    "empty": b"",
    "binary": b"\0\1\2\xff",
}


class ByteFiles:
    """A file with the given bytes, known to a session."""

    def __init__(self, folder: Path, data: bytes) -> None:
        self.path, self.documents = folder / "file", Documents()
        self.path.write_bytes(data)
        self.files = Files(Roots.of(folder), self.documents)
        self.known = KnownFiles(self.files)
        self.known.update([self.path])

    def digest_in_sandbox(self, path: Path) -> str:
        """The digest of the file as the next command sees it; ABSENT if it sees none."""
        self.known.update([path])
        state = self.known.record_state("sandboxed")
        return dict(self.known.states.at(state))[str(path)]

    def bytes_in_sandbox(self, path: Path) -> bytes:
        entry = proposed_entries(self.files).get(path.name)
        return path.read_bytes() if entry is None else entry.data


@pytest.mark.parametrize("data", BYTES.values(), ids=BYTES.keys())
async def test_a_digest_is_the_sha_256_of_the_bytes(tmp_path: Path, data: bytes) -> None:
    """`sha256sum` computes the same digests: of a file on disk, and of a renamed file that a command sees at its
    proposed path."""
    found = ByteFiles(tmp_path, data)
    assert found.known.on_disk() == {str(found.path): sha256(data).hexdigest()}
    moved = tmp_path / "moved"
    await found.files.rename(found.path, moved, Author("1", "call"))
    assert found.digest_in_sandbox(moved) == sha256(data).hexdigest()
    assert found.digest_in_sandbox(found.path) == ABSENT


@pytest.mark.parametrize("data", [data for data in BYTES.values() if b"\1" not in data])
async def test_the_digest_of_a_proposal_is_that_of_the_bytes_that_a_command_sees(tmp_path: Path, data: bytes) -> None:
    found = ByteFiles(tmp_path, data)
    text = found.files.read(found.path) or ""
    await found.files.propose(found.path, f"{text}more", Author("1", "call"))
    seen = found.bytes_in_sandbox(found.path)
    assert seen != data
    assert found.digest_in_sandbox(found.path) == sha256(seen).hexdigest()
    assert found.known.on_disk() == {str(found.path): sha256(data).hexdigest()}


SHOWN = {
    "Windows-1252 as UTF-8": (b"sch\xf6n\nx\n", "sch\ufffdn\nx\n"),
    "Latin-1 as UTF-8, with mixed line endings": (b"\x81 sch\xf6n\r\nx\n", "\ufffd sch\ufffdn\r\nx\r\n"),
    "binary as UTF-8": (b"\0\xff\nx\n", "\0\ufffd\nx\n"),
    "mixed line endings": (b"1\r\n2\nx\n", "1\n2\nx\n"),
    "carriage returns": (b"1\r2\rx\r", "1\n2\nx\n"),
    "GBK": ("\u4e2d\nx\n".encode("gbk"), "\u4e2d\nx\n"),
    "UTF-16 without a byte order mark": ("one\nx\n".encode("utf-16-le"), "one\nx\n"),
}


@pytest.mark.parametrize(("data", "shown"), SHOWN.values(), ids=SHOWN.keys())
async def test_a_command_sees_the_bytes_of_a_file_that_is_open_without_unsaved_changes(
    tmp_path: Path, data: bytes, shown: str
) -> None:
    """A command sees the bytes on disk, however the editor shows them. Once the user types, it sees the document's
    text."""
    found = ByteFiles(tmp_path, data)
    found.documents.type(found.path, shown)
    assert (found.bytes_in_sandbox(found.path), proposed_entries(found.files)) == (data, {})
    assert found.digest_in_sandbox(found.path) == sha256(data).hexdigest()
    found.documents.type(found.path, shown.replace("x", "typed"))
    seen = found.bytes_in_sandbox(found.path)
    assert b"typed" in seen.replace(b"\0", b"")
    assert found.digest_in_sandbox(found.path) == sha256(seen).hexdigest()


async def test_a_change_of_line_endings_in_the_editor_is_unsaved(tmp_path: Path) -> None:
    """Editors show uniform line endings unchanged, so a document with other line endings has unsaved changes."""
    found = ByteFiles(tmp_path, b"1\r\n2\r\n")
    found.documents.type(found.path, "1\n2\n")
    assert found.bytes_in_sandbox(found.path) == b"1\n2\n"


async def test_the_digests_of_unsaved_new_binary_and_executable_files(tmp_path: Path) -> None:
    found = ByteFiles(tmp_path, b"sch\xf6n\n")
    found.documents.type(found.path, "schöner \u4e16\n")  # Windows-1252 cannot represent it
    assert found.digest_in_sandbox(found.path) == sha256("schöner \u4e16\n".encode()).hexdigest()
    new, image = tmp_path / "new", tmp_path / "image"
    await found.files.propose(new, "\ufeffone\n", Author("1", "call"))
    assert found.digest_in_sandbox(new) == sha256(b"\xef\xbb\xbfone\n").hexdigest()
    await found.files.capture(image, None, "(binary)", Author("1", "call"), Raw(b"\0\1", 0o755))
    assert found.digest_in_sandbox(image) == sha256(b"\0\1").hexdigest() + EXECUTABLE
    script = tmp_path / "script"
    script.write_bytes(b"#!/bin/sh\n")
    script.chmod(0o755)
    assert found.digest_in_sandbox(script) == sha256(b"#!/bin/sh\n").hexdigest() + EXECUTABLE
