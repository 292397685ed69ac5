"""`edit_file` and `write_file` propose; the user's files do not change."""

import pytest

from fairlead.agent.tool import Location
from fairlead.errors import ToolError
from fairlead.text_lines import distinct_line_endings
from tools.stand_ins import Desk

Stamp = tuple[bytes, int, int]


def stamp(desk: Desk, name: str) -> Stamp:
    """Everything about a file that an edit could change: its bytes, modification time and inode."""
    path = desk.path / name
    status = path.stat()
    return path.read_bytes(), status.st_mtime_ns, status.st_ino


EDITS = {
    "LF": (b"a\nb\nc\n", "b", "B", "a\nB\nc\n"),
    "fault 1: CRLF": (b"a\r\nb\r\nc\r\n", "b\nc\n", "B\nnew\nc\n", "a\r\nB\r\nnew\r\nc\r\n"),
    "fault 1: CR": (b"a\rb\rc\r", "b\nc", "B\nC", "a\rB\rC\r"),
    "fault 1: mixed": (b"a\r\nb\nc\r\n", "a\nb\nc\n", "a\nb\nC\n", "a\r\nb\nC\r\n"),
    "fault 2: byte order mark": (b"\xef\xbb\xbfa\nb\n", "a\n", "A\n", "A\nb\n"),
    "fault 2: no final newline": (b"a\nb", "b", "B", "a\nB"),
    "Chinese and emoji": ("日本\n語🚀\n".encode(), "語🚀", "语🛰", "日本\n语🛰\n"),
    "NFD stays": ("cafe\u0301 x\n".encode(), "x", "y", "cafe\u0301 y\n"),
    "trailing blanks stay": (b"a  \nb\t\n", "a", "A", "A  \nb\t\n"),
    "form feed and U+2028 stay": ("a\x0c\u2028\nb\n".encode(), "b", "B", "a\x0c\u2028\nB\n"),
}


@pytest.mark.parametrize("name", EDITS)
async def test_fault_01_02_an_edit_is_proposed_and_all_else_stays(desk: Desk, name: str) -> None:
    """docs/faults.md 1 and 2: the proposal differs only in the intended text; the file on disk does not change."""
    data, old, new, proposed = EDITS[name]
    desk.write("a.txt", data)
    before = stamp(desk, "a.txt")
    result = await desk.call("edit_file", path="a.txt", old_text=old, new_text=new)
    assert desk.proposed("a.txt") == proposed
    assert result.startswith("Proposed at line ")
    assert stamp(desk, "a.txt") == before
    proposal = desk.files.proposal(desk.path / "a.txt")
    assert proposal is not None
    assert proposal.base == data.decode("utf-8-sig")


REWRITES = {
    "LF": (b"a\nb\n", "a\nB\nc\n", "a\nB\nc\n"),
    "fault 1: CRLF": (b"a\r\nb\r\n", "a\nB\n", "a\r\nB\r\n"),
    "fault 1: mixed": (b"a\r\nb\nc\r\n", "a\nb\nC\nd\n", "a\r\nb\nC\r\nd\r\n"),
    "CRLF on purpose": (b"a\nb\n", "a\r\nb\r\n", "a\r\nb\r\n"),
    "fault 2: no final newline": (b"a\nb", "a\nB", "a\nB"),
    "fault 2: byte order mark": (b"\xef\xbb\xbfa\n", "A\n", "A\n"),
    "emptied": (b"a\n", "", ""),
}


@pytest.mark.parametrize("name", REWRITES)
async def test_fault_01_02_a_rewrite_keeps_the_files_own_line_endings_and_mark(desk: Desk, name: str) -> None:
    """docs/faults.md 1 and 2: a CRLF file stays one, although models write LF; the file on disk does not change."""
    data, content, proposed = REWRITES[name]
    desk.write("a.txt", data)
    before = stamp(desk, "a.txt")
    await desk.call("write_file", path="a.txt", content=content)
    assert desk.proposed("a.txt") == proposed
    assert stamp(desk, "a.txt") == before


async def test_a_new_file_is_proposed_and_not_created(desk: Desk) -> None:
    """docs/faults.md 14: a new file may be in a folder that does not exist. It has the line endings of the call."""
    result = await desk.call("write_file", path="src/新 file.py", content="a\r\nb\r\n")
    assert result == "Proposed (new file, 2 lines)."
    assert list(desk.path.iterdir()) == []
    proposal = desk.files.proposal(desk.path / "src" / "新 file.py")
    assert proposal is not None
    assert (proposal.kind, proposal.base, proposal.proposed) == ("create", None, "a\r\nb\r\n")
    assert await desk.call("read_file", path="src/新 file.py") == "a\nb\n"


@pytest.mark.parametrize(
    ("old", "content", "proposed"),
    [
        (None, "a\nb\r\nc\n", "a\nb\nc\n"),
        (None, "a\r\nb\nc\r\n", "a\r\nb\r\nc\r\n"),
        ("a\n", "a\nb\r\nc\n", "a\nb\nc\n"),
        ("a\r\n", "a\nb\r\nc\n", "a\r\nb\r\nc\r\n"),
        ("a\r\nb\n", "a\nB\r\nc\n", "a\r\nB\nc\r\n"),
        ("a\nb\n", "a\r\nb\r\n", "a\r\nb\r\n"),
    ],
)
async def test_mixed_line_endings_in_a_call_do_not_make_a_file_mixed(
    desk: Desk, old: str | None, content: str, proposed: str
) -> None:
    """docs/faults.md 136: they become those of the file, or the usual one of a new file. A call with CRLF everywhere
    changes the whole file to CRLF.
    """
    if old is not None:
        desk.write("a.txt", old)
    result = await desk.call("write_file", path="a.txt", content=content)
    assert desk.proposed("a.txt") == proposed
    assert ("adjusted" in result) == (len(distinct_line_endings(content)) > 1)


async def test_edits_build_on_each_other_and_know_their_item_and_call(desk: Desk) -> None:
    """The second edit is made on the first one's proposal; each hunk has the item and the call that it comes from."""
    desk.write("a.txt", "a\nb\nc\n")
    await desk.call("edit_file", path="a.txt", old_text="a\n", new_text="A\n")
    assert await desk.call("edit_file", path="./a.txt", old_text="A\nb\nc", new_text="A\nb\nC\nD") == (
        "Proposed at line 3 (+2 -1)."
    )
    proposal = desk.files.proposal(desk.path / "a.txt")
    assert proposal is not None
    assert proposal.proposed == "A\nb\nC\nD\n"
    origins = [proposal.origin(hunk) for hunk in proposal.hunks]
    assert [(origin.item_id, origin.call_id) for origin in origins if origin] == [("1", "call-1"), ("1", "call-2")]


async def test_a_rewrite_that_changes_nothing_is_not_proposed(desk: Desk) -> None:
    """A rewrite is not proposed if it differs only in line endings, which the result mentions. A rewrite back to the
    base ends the proposal.
    """
    desk.write("a.txt", "a\r\nb\r\n")
    assert await desk.call("write_file", path="a.txt", content="a\nb\n") == (
        "The file already has this content, apart from its line endings, which stay as they are; nothing was proposed."
    )
    assert await desk.call("write_file", path="a.txt", content="a\r\nb\r\n") == (
        "The file already has this content; nothing was proposed."
    )
    await desk.call("write_file", path="a.txt", content="x\n")
    await desk.call("write_file", path="a.txt", content="a\nb\n")
    assert len(desk.files.changes) == 0


async def test_a_missing_file_cannot_be_edited(desk: Desk) -> None:
    """The error says how to create the file. Once it is proposed, it can be edited."""
    with pytest.raises(ToolError, match=r"No such file: new.txt. To make a new file, use write_file."):
        await desk.call("edit_file", path="new.txt", old_text="a", new_text="b")
    await desk.call("write_file", path="new.txt", content="a\n")
    await desk.call("edit_file", path="new.txt", old_text="a", new_text="b")
    assert desk.proposed("new.txt") == "b\n"


async def test_nothing_can_be_created_below_a_file(desk: Desk) -> None:
    """No file can be created below a file, on disk or proposed, or in place of a proposed folder."""
    desk.write("a", "x")
    await desk.call("write_file", path="b", content="x")
    await desk.call("write_file", path="c/d/e", content="x")
    for path, said in (
        ("a/x", "a is a file"),
        ("a/x/y", "a is a file"),
        ("b/x", "b is a file"),
        ("c", "c is a folder: c/d/e is proposed in it"),
        ("c/d", "c/d is a folder"),
    ):
        with pytest.raises(ToolError) as error:
            await desk.call("write_file", path=path, content="y")
        assert said in str(error.value)
    await desk.call("write_file", path="c/d/f", content="fine")
    assert list(desk.files.changes.files) == [str(desk.path / name) for name in ("b", "c/d/e", "c/d/f")]


async def test_fault_12_a_text_with_nul_is_refused(desk: Desk) -> None:
    """docs/faults.md 12: a text with a NUL character is refused, because its file could not be read again."""
    desk.write("a.txt", "a\n")
    with pytest.raises(ToolError, match="NUL"):
        await desk.call("write_file", path="b.txt", content="a\0")
    with pytest.raises(ToolError, match="NUL"):
        await desk.call("edit_file", path="a.txt", old_text="a", new_text="\0")
    assert len(desk.files.changes) == 0


def test_a_user_sees_what_is_edited(desk: Desk) -> None:
    """The title and the location contain the path as the model wrote it."""
    for name, title in (("edit_file", "Edit src/日本.py"), ("write_file", "Write src/日本.py")):
        assert desk.tools[name].describe({"path": "src/日本.py"}) == (title, (Location("src/日本.py"),))
