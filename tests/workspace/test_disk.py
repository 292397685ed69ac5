"""Closed files: bytes to text and back, without changing a byte that nobody asked to change."""

from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.agent.errors import ToolError
from fairlead.workspace.disk import MAX_BYTES, DiskText, decode, read_text

TEXTS = st.text(st.sampled_from("ab\r\n\t\x0c\x85\u2028\ufeff日🚀e\u0301")) | st.text(
    st.characters(codec="utf-8", exclude_characters="\0")
)


@given(TEXTS)
def test_fault_01_02_text_comes_back_byte_for_byte(text: str) -> None:
    """docs/faults.md 1 and 2: byte order mark, line ends of every kind, no last newline, either Unicode form."""
    data = text.encode()
    disk = decode(data, "a.txt")
    assert disk.encode(disk.text) == data


def test_fault_02_the_byte_order_mark_is_dress_and_not_text() -> None:
    """docs/faults.md 2: one of them; another text gets the same."""
    disk = decode(b"\xef\xbb\xbfa\r\n", "a.txt")
    assert disk == DiskText("a\r\n", bom=True)
    assert disk.encode("b") == b"\xef\xbb\xbfb"
    assert decode(b"a", "a.txt").encode("b") == b"b"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"a\0", "a.txt is a binary file (it holds NUL bytes)."),
        ("é日".encode("utf-16")[:2] + "日日".encode("utf-16-le"), "a.txt is not UTF-8 text (byte 0)."),
        (b"abc\xff", "a.txt is not UTF-8 text (byte 3)."),
        (b"\xef\xbb\xbf\xff", "a.txt is not UTF-8 text (byte 0)."),
        (b"\xed\xa0\x80", "a.txt is not UTF-8 text (byte 0)."),
        (b"\xc0\xaf", "a.txt is not UTF-8 text (byte 0)."),
    ],
)
def test_fault_12_what_is_no_utf_8_text_is_refused(data: bytes, said: str) -> None:
    """docs/faults.md 12: surrogates and overlong forms too; never a replacement character."""
    with pytest.raises(ToolError) as error:
        decode(data, "a.txt")
    assert str(error.value) == said


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    """An empty one too; where there is none, that is no error."""
    path = tmp_path / "日本.txt"
    path.write_bytes("a\r\n日".encode())
    assert read_text(path) == DiskText("a\r\n日")
    (tmp_path / "empty").touch()
    assert read_text(tmp_path / "empty") == DiskText("")
    assert read_text(tmp_path / "gone") is None
    assert read_text(path / "below") is None


def test_fault_12_the_limit_is_the_limit(tmp_path: Path) -> None:
    """docs/faults.md 12: a file of just that size is read, one byte more is not."""
    path = tmp_path / "big"
    path.write_bytes(b"x" * MAX_BYTES)
    disk = read_text(path)
    assert disk is not None
    assert len(disk.text) == MAX_BYTES
    path.write_bytes(b"x" * (MAX_BYTES + 1))
    with pytest.raises(ToolError, match="too large"):
        read_text(path)
