"""Closed files: from bytes to text and back, without changing any byte but the intended ones."""

import contextlib
import subprocess
import sys
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.errors import ToolError
from fairlead.workspace.disk import MAX_BYTES, BinaryFile, DiskText, decode, read_bytes


def read_text(path: Path) -> DiskText | None:
    data = read_bytes(path)
    return None if data is None else decode(data, path.name)


TEXTS = st.text(st.sampled_from("ab\r\n\t\x0c\x85\u2028\ufeff日🚀e\u0301")) | st.text(
    st.characters(codec="utf-8", exclude_characters="\0")
)


@given(TEXTS)
def test_fault_01_02_text_comes_back_byte_for_byte(text: str) -> None:
    """docs/faults.md 1 and 2: a text is written as it was read, with its byte order mark, its line endings and its
    Unicode form, and without a newline at the end if there was none.
    """
    data = text.encode()
    disk = decode(data, "a.txt")
    assert disk.encode(disk.text) == data


@given(st.binary(max_size=60) | TEXTS.map(lambda text: text.encode("utf-16")) | TEXTS.map(lambda text: text.encode()))
def test_whatever_is_read_comes_back_byte_for_byte(data: bytes) -> None:
    """Bytes are read in some encoding and written as the same bytes again, or they are refused."""
    with contextlib.suppress(BinaryFile):
        disk = decode(data, "a.txt")
        assert disk.encode(disk.text) == data
        assert "\ufffd" not in disk.text or b"\xef\xbf\xbd" in data or disk.encoding.startswith("utf-16")


def test_fault_02_the_byte_order_mark_is_not_part_of_the_text() -> None:
    """docs/faults.md 2: another text of the same file is written with the same mark."""
    disk = decode(b"\xef\xbb\xbfa\r\n", "a.txt")
    assert disk == DiskText("a\r\n", bom=b"\xef\xbb\xbf")
    assert disk.encode("b") == b"\xef\xbb\xbfb"
    assert decode(b"a", "a.txt").encode("b") == b"b"


ENCODED: list[tuple[bytes, DiskText, str]] = [
    ("é日".encode("utf-16"), DiskText("é日", "utf-16-le", b"\xff\xfe"), "its encoding (UTF-16)"),
    (b"\xfe\xff" + "🚀\n".encode("utf-16-be"), DiskText("🚀\n", "utf-16-be", b"\xfe\xff"), "its encoding (UTF-16)"),
    (b"caf\xe9 \x80\n", DiskText("café €\n", "cp1252", is_guess=True), "its encoding (Windows-1252)"),
    (b"abc\xff", DiskText("abcÿ", "cp1252", is_guess=True), "its encoding (Windows-1252)"),
    (b"\xed\xa0\x80", DiskText("í\xa0€", "cp1252", is_guess=True), "its encoding (Windows-1252)"),
    (b"\xc0\xaf", DiskText("À¯", "cp1252", is_guess=True), "its encoding (Windows-1252)"),
    (b"\x81\xe9", DiskText("\x81é", "latin-1", is_guess=True), "its encoding (Latin-1)"),
    (b"\xc3\xa9\xe9", DiskText("Ã©é", "cp1252", is_guess=True), "its encoding (Windows-1252)"),
    ("日".encode() + b"\xe9", DiskText("日\udce9"), "its bytes that are not UTF-8"),
    ("日本".encode()[:-1], DiskText("日\udce6\udc9c"), "its bytes that are not UTF-8"),
    (b"\xef\xbb\xbf\xe9", DiskText("\udce9", bom=b"\xef\xbb\xbf"), "its bytes that are not UTF-8"),
    (b"a\rb\r", DiskText("a\rb\r"), "its line endings (CR alone)"),
    (b"a\r\nb\n", DiskText("a\r\nb\n"), "its mixed line endings"),
    (b"\xef\xbb\xbfa\r\nb\r\n", DiskText("a\r\nb\r\n", bom=b"\xef\xbb\xbf"), ""),
    ("日\x0c\u2028\n".encode(), DiskText("日\x0c\u2028\n"), ""),
]


@pytest.mark.parametrize(("data", "disk", "oddity"), ENCODED)
def test_other_encodings_have_a_mark_or_are_western(data: bytes, disk: DiskText, oddity: str) -> None:
    """In a western encoding each byte is a character, so nothing is lost. UTF-8 with a few other bytes stays UTF-8.

    `oddity` names what an editor may change.
    """
    assert decode(data, "a.txt") == disk
    assert disk.encode(disk.text) == data
    assert disk.oddity == oddity


@pytest.mark.parametrize(
    ("data", "text", "said"),
    [
        (b"caf\xe9", "日🚀", "a.txt is in Windows-1252, which cannot represent U+65E5, U+1F680."),
        (b"\x81\xe9", "€", "a.txt is in Latin-1, which cannot represent U+20AC."),
    ],
)
def test_a_text_that_the_encoding_cannot_represent_is_refused(data: bytes, text: str, said: str) -> None:
    """No character is replaced with a question mark, and the file does not get an encoding that has the characters."""
    with pytest.raises(ToolError) as error:
        decode(data, "a.txt").encode(text, "a.txt")
    assert str(error.value) == said


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"a\0", "a.txt is a binary file (it contains NUL bytes)."),
        (b"\xff\xfea\0\0\0", "a.txt is a binary file (it contains NUL characters)."),
        (b"abc\xff\x01", "a.txt is a binary file (not UTF-8, and it contains control characters)."),
        (b"\xff\xfea", "a.txt begins like UTF-16 text but is not (byte 0)."),
        (b"\xff\xfe\x00\xd8a\0", "a.txt begins like UTF-16 text but is not (byte 0)."),
    ],
)
def test_fault_12_bytes_that_are_not_text_are_refused(data: bytes, said: str) -> None:
    """docs/faults.md 12: incomplete characters and lone surrogates are refused too. No bytes are ever replaced."""
    with pytest.raises(BinaryFile) as error:
        decode(data, "a.txt")
    assert str(error.value) == said


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    """An empty file has an empty text. A missing file has none, which is no error."""
    path = tmp_path / "日本.txt"
    path.write_bytes("a\r\n日".encode())
    assert read_text(path) == DiskText("a\r\n日")
    (tmp_path / "empty").touch()
    assert read_text(tmp_path / "empty") == DiskText("")
    assert read_text(tmp_path / "gone") is None
    assert read_text(path / "below") is None


def test_fault_12_the_size_limit_is_exact(tmp_path: Path) -> None:
    """docs/faults.md 12: a file of exactly MAX_BYTES is read, a file with one more byte is not."""
    path = tmp_path / "big"
    path.write_bytes(b"x" * MAX_BYTES)
    disk = read_text(path)
    assert disk is not None
    assert len(disk.text) == MAX_BYTES
    path.write_bytes(b"x" * (MAX_BYTES + 1))
    with pytest.raises(ToolError, match="too large"):
        read_text(path)


GROWING = """
import os, sys
from pathlib import Path
from fairlead.workspace.disk import read_bytes
from fairlead.workspace.errors import WorkspaceError
path, size = Path(sys.argv[1]), int(sys.argv[2])
# a descriptor is opened as a file after the size was checked
sys.addaudithook(lambda name, args: os.truncate(path, size) if name == "open" and isinstance(args[0], int) else None)
try:
    print(len(read_bytes(path)))
except WorkspaceError as error:
    print(error)
"""
TOO_LARGE = "log is too large to open: it grew beyond 20 MB while it was read."


@pytest.mark.parametrize(("size", "said"), [(MAX_BYTES, str(MAX_BYTES)), (MAX_BYTES + 1, TOO_LARGE)])
def test_fault_12_a_file_that_grows_while_it_is_read_is_never_cut_off(tmp_path: Path, size: int, said: str) -> None:
    """docs/faults.md 12: it is read completely, or refused like one that was too large before."""
    path = tmp_path / "log"
    path.write_bytes(b"begin")
    ended = subprocess.run([sys.executable, "-c", GROWING, path, str(size)], capture_output=True, text=True, check=True)
    assert ended.stdout == f"{said}\n"
