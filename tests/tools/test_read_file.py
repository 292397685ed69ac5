"""`read_file`: its results are bounded plain text, and say what was omitted."""

import os
import socket
import sys
import time
import tracemalloc

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.agent.tool import Location
from fairlead.errors import ToolError
from fairlead.messages.history import clean_text
from fairlead.messages.images import MAX_BYTES, image_of
from fairlead.tools.read_file import MAX_CHARS, MAX_LINES, excerpt
from support.pictures import HEIC, png
from tools.stand_ins import Desk, found, listed

TEN = "".join(f"line {n}\n" for n in range(1, 11))

EXCERPTS = {
    "all of it": (TEN, 1, 2000, TEN),
    "all of it, at the limit": (TEN, 1, 10, TEN),
    "the first lines": (TEN, 1, 2, "line 1\nline 2\n(Lines 1 to 2 of 10; continue with offset 3.)"),
    "lines in the middle": (TEN, 4, 2, "line 4\nline 5\n(Lines 4 to 5 of 10; continue with offset 6.)"),
    "the last lines": (TEN, 9, 2000, "line 9\nline 10\n(Lines 9 to 10 of 10.)"),
    "the last line": (TEN, 10, 1, "line 10\n(Lines 10 to 10 of 10.)"),
    "beyond the end": (TEN, 11, 5, "(The file has only 10 lines.)"),
    "empty": ("", 1, 5, "(The file is empty.)"),
    "one newline": ("\n", 1, 5, "\n"),
    "no last newline": ("a\nb", 1, 5, "a\nb"),
    "blank lines at the end of a part": ("a\n\n\nb\n", 1, 3, "a\n\n\n(Lines 1 to 3 of 4; continue with offset 4.)"),
    "CRLF and CR": ("a\r\nb\rc\r\n", 2, 1, "b\n(Lines 2 to 2 of 3; continue with offset 3.)"),
    "form feed and U+2028": (
        "a\x0cb\u2028c\u0085d\ne\n",
        1,
        1,
        "a\x0cb\u2028c\u0085d\n(Lines 1 to 1 of 2; continue with offset 2.)",
    ),
    "Chinese": ("日本\n語🚀\n", 2, 1, "語🚀\n(Lines 2 to 2 of 2.)"),
}


@pytest.mark.parametrize("name", EXCERPTS)
def test_omitted_lines_are_reported(name: str) -> None:
    """The note names the offset to continue at, if there is more. Lines are numbered as in an editor."""
    text, offset, limit, shown = EXCERPTS[name]
    assert excerpt(text, offset, limit) == shown


def test_there_are_no_more_lines_than_the_limit() -> None:
    """A result has at most MAX_LINES lines, even if the call requests more."""
    text = "x\n" * 5000
    assert excerpt(text, 1, 10**9).endswith(f"(Lines 1 to {MAX_LINES} of 5000; continue with offset {MAX_LINES + 1}.)")


def test_there_are_no_more_characters_than_the_limit() -> None:
    """The result has as many whole lines as fit."""
    text = "".join(f"{n:099}\n" for n in range(1000))
    shown = excerpt(text, 1, 2000)
    assert shown.endswith("(Lines 1 to 600 of 1000; continue with offset 601.)")
    assert len(shown) < MAX_CHARS + 100


HUGE = "a\n" + "x" * (MAX_CHARS + 7) + "\nb\n"


def test_a_line_that_does_not_fit_is_cut_off() -> None:
    """A line that does not fit is cut off if it is the first one, otherwise left to the next call. The note names the
    next offset, so the model never gets stuck.
    """
    assert excerpt(HUGE, 1, 2000) == "a\n(Lines 1 to 1 of 3; continue with offset 2.)"
    cut = "x" * MAX_CHARS
    assert excerpt(HUGE, 2, 2000) == f"{cut}\n(The last 7 characters of line 2 were omitted; continue with offset 3.)"
    assert excerpt(HUGE, 2, 1) == f"{cut}\n(The last 7 characters of line 2 were omitted; continue with offset 3.)"
    assert excerpt(HUGE, 3, 2000) == "b\n(Lines 3 to 3 of 3.)"
    assert excerpt("y" * MAX_CHARS + "\n", 1, 5) == "y" * MAX_CHARS + "\n"
    assert excerpt("y" * (MAX_CHARS + 9), 1, 5).endswith("\n(The last 9 characters of line 1 were omitted.)")


@given(st.lists(st.text(st.sampled_from("ab \x0c日"), max_size=4), max_size=12), st.integers(1, 14), st.integers(1, 14))
def test_continuing_shows_every_line_once(lines: list[str], offset: int, limit: int) -> None:
    """From any line, pieces of any size add up to the rest of the file."""
    text = "".join(f"{line}\n" for line in lines)
    expected, shown = "".join(f"{line}\n" for line in lines[offset - 1 :]), ""
    while offset <= len(lines):
        part = excerpt(text, offset, limit)
        if part == text:
            shown += part
            break
        body, _, note = part.rpartition("\n")
        shown += f"{body}\n"
        offset = int(note.removesuffix(".)").rpartition(" ")[2]) if "continue with" in note else len(lines) + 1
    assert shown == expected


async def test_a_proposal_is_read_first_then_the_buffer_then_the_disk(desk: Desk) -> None:
    """A proposal hides the open buffer, and the buffer hides the file on disk."""
    path = desk.write("a.txt", "disk\n")
    assert await desk.call("read_file", path="a.txt") == "disk\n"
    desk.documents.type(path, "buffer\n")
    assert await desk.call("read_file", path="a.txt") == "buffer\n"
    await desk.call("write_file", path="a.txt", content="proposed\n")
    assert await desk.call("read_file", path="a.txt") == "proposed\n"


async def test_a_picture_is_shown(desk: Desk) -> None:
    """The result has the picture; the text says how large it is."""
    desk.write("a.png", png(30, 20))
    assert await desk.call("read_file", path="a.png") == "(A picture, 30 × 20 pixels.)"
    assert desk.last.images == (image_of("image/png", png(30, 20)),)


async def test_a_picture_that_is_too_large_is_refused(desk: Desk) -> None:
    desk.write("a.png", png() + bytes(MAX_BYTES))
    with pytest.raises(ToolError, match=r"^a.png is too large: the limit for a picture is 5 MB.$"):
        await desk.call("read_file", path="a.png")


async def test_the_offset_counts_lines_from_one(desk: Desk) -> None:
    """docs/plan.md L2: the user sees which file the call reads, and from which line."""
    desk.write("a.txt", TEN)
    assert (await desk.call("read_file", path="a.txt", limit=1, offset=3)).startswith("line 3\n(Lines 3 to 3 of 10;")
    described = desk.tools["read_file"].describe({"path": "a.txt", "offset": 3})
    assert described == ("Read a.txt", (Location("a.txt", 3),))


async def test_the_byte_order_mark_is_not_text(desk: Desk) -> None:
    """docs/faults.md 2: the model does not see the byte order mark. Otherwise it would send the mark back."""
    desk.write("a.txt", "\ufeffa\n")
    assert await desk.call("read_file", path="a.txt") == "a\n"


async def test_the_error_for_a_missing_file_lists_similar_names(desk: Desk) -> None:
    """The names are from the same folder, and there are at most three."""
    for name in ("src/main.py", "src/mains.py", "src/mian.py", "src/maim.py", "src/other.txt"):
        desk.write(name)
    with pytest.raises(ToolError) as error:
        await desk.call("read_file", path="src/man.py")
    assert str(error.value).startswith("No such file: src/man.py. Similar names there: ")
    assert str(error.value).count(",") == 2
    for path in ("gone/a.py", "src/xyzzy", "src/main.py/below", "日本.txt"):
        with pytest.raises(ToolError, match=f"^No such file: {path}$"):
            await desk.call("read_file", path=path)


async def test_similar_names_include_no_deleted_or_renamed_file(desk: Desk) -> None:
    """A file that is proposed to be deleted or renamed cannot be read there, so it is not named."""
    for name in ("main.py", "mains.py", "mian.py"):
        desk.write(name)
    await desk.call("delete_file", path="mains.py")
    await desk.call("rename_file", path="mian.py", new_path="b/c.py")
    with pytest.raises(ToolError, match=r"^No such file: man\.py\. Similar names there: main\.py$"):
        await desk.call("read_file", path="man.py")


ENCODED = {
    "UTF-16": ("hello é\r\n".encode("utf-16"), "hello é\n", True),
    "Latin-1": ("é\n".encode("latin-1"), "é\n", False),
    "with a byte order mark": (b"\xef\xbb\xbfhello \xc3\xa9", "hello é", True),
    "cut off within a character": ("abc 日".encode()[:-1], "abc æ—", False),
}


@pytest.mark.parametrize("name", ENCODED)
async def test_text_in_another_encoding_is_read_as_text(desk: Desk, name: str) -> None:
    """The byte order mark is not part of the text. A proposed text that the encoding cannot represent is refused, and
    any new character beyond ASCII if nothing shows the encoding.
    """
    data, text, is_known = ENCODED[name]
    path = desk.write("file.txt", data)
    assert await desk.call("read_file", path="file.txt") == text
    await desk.call("edit_file", path="file.txt", old_text=text.strip(), new_text="x")
    if is_known:
        await desk.call("write_file", path="file.txt", content="日")
        assert desk.proposed("file.txt") == "日"
    else:
        with pytest.raises(ToolError, match=r"file.txt is in Windows-1252, which cannot represent U\+65E5"):
            await desk.call("write_file", path="file.txt", content="日")
        with pytest.raises(ToolError, match=r"nothing shows its encoding, so .* cannot be added: U\+00FC"):
            await desk.call("write_file", path="file.txt", content="ü")
        assert (desk.proposed("file.txt") or "").strip() == "x"
    assert path.read_bytes() == data


REFUSED = {
    "binary": b"a\0b",
    "HEIC": HEIC,
    "UTF-16 without a byte order mark": "hello".encode("utf-16-le"),
    "invalid UTF-16": b"\xff\xfeabc",
    "control characters": b"\x01\x02\xff",
}


@pytest.mark.parametrize("name", REFUSED)
async def test_fault_12_a_binary_file_is_refused(desk: Desk, name: str) -> None:
    """docs/faults.md 12: it is not read, edited or rewritten, and its bytes stay the same."""
    data = REFUSED[name]
    path = desk.write("file.bin", data)
    for tool, fields in (
        ("read_file", {}),
        ("edit_file", {"old_text": "a", "new_text": "b"}),
        ("write_file", {"content": "b"}),
    ):
        with pytest.raises(ToolError, match=r"^file.bin is a binary file"):
            await desk.call(tool, path="file.bin", **fields)
    assert path.read_bytes() == data
    assert len(desk.files.changes) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")
@pytest.mark.parametrize("kind", ["fifo", "folder", "socket", "unreadable", "loop"])
async def test_fault_12_an_unreadable_path_is_refused_at_once(desk: Desk, kind: str) -> None:
    """docs/faults.md 12: no tool waits for a pipe that has no writer, and no descriptor stays open."""
    path = desk.path / "odd"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            try:
                bound.bind(os.path.relpath(path))
            except OSError as error:
                pytest.skip(f"no socket here: {error}")
    elif kind == "loop":
        path.symlink_to("odd")
    else:
        desk.write("odd").chmod(0)
        if os.access(path, os.R_OK):
            pytest.skip("root reads everything")
    before = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    began = time.monotonic()
    for name in ("read_file", "write_file"):
        with pytest.raises(ToolError) as error:
            await desk.call(name, path="odd", **({"content": "x"} if name == "write_file" else {}))
        assert "odd" in str(error.value)
        assert "Errno" not in str(error.value)
    assert time.monotonic() - began < 10
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.skipif(sys.platform == "win32", reason="sparse files")
async def test_fault_12_a_sparse_file_of_two_gigabytes_is_refused(desk: Desk) -> None:
    """docs/faults.md 12: reading, editing and rewriting refuse it before they read it."""
    path = desk.write("big.txt", "needle\n")
    os.truncate(path, 2_000_000_000)
    began = time.monotonic()
    tracemalloc.start()
    for name, fields in (
        ("read_file", {}),
        ("edit_file", {"old_text": "a", "new_text": "b"}),
        ("write_file", {"content": "b"}),
    ):
        with pytest.raises(ToolError, match=r"big.txt is too large to open: 2,000 MB, the limit is 20 MB"):
            await desk.call(name, path="big.txt", **fields)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("path", ["a" * 300, "d/" * 3000, "a\0b", "\ud800"])
async def test_an_impossible_path_is_an_error_result(desk: Desk, path: str) -> None:
    """The result is short and does not contain the system's own error text."""
    for name, fields in (
        ("read_file", {}),
        ("write_file", {"content": "x"}),
        ("search", {"pattern": "x"}),
        ("list_files", {}),
    ):
        with pytest.raises(ToolError) as error:
            await desk.call(name, path=path, **fields)
        assert "Errno" not in str(error.value)
        assert len(str(error.value)) < 300


@pytest.mark.skipif(sys.platform != "linux", reason="names that are not UTF-8")
async def test_fault_137_a_file_whose_name_is_not_utf_8(desk: Desk) -> None:
    """docs/faults.md 137: it is listed, searched and read by the name that is shown. It cannot be changed."""
    (desk.path / os.fsdecode(b"caf\xe9.txt")).write_text("needle\n")
    [name] = await listed(desk)
    shown = clean_text(name)
    assert shown == "caf\ufffd.txt"
    assert await listed(desk, glob=shown) == [name]
    assert await desk.call("read_file", path=shown) == "needle\n"
    assert await found(desk, "needle") == await found(desk, "needle", path=shown) == [f"{name}:1:needle"]
    for tool, fields in (
        ("edit_file", {"old_text": "needle", "new_text": "x"}),
        ("write_file", {"content": "x"}),
        ("delete_file", {}),
        ("rename_file", {"new_path": "b.txt"}),
    ):
        with pytest.raises(ToolError, match="is not UTF-8, so it can be read but not"):
            await desk.call(tool, path=shown, **fields)
    assert len(desk.files.changes) == 0
