"""Text for a terminal stays within its columns, and nothing in it is lost or hidden."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from fairlead.cli.view.text import StreamWrapper, clean, escape_hidden, first_line, wrap

CONSOLE = Console()
SIGNS = ["a", "b", "é", " ", "  ", "(", ")", ",", "界", "あ", "，", "。", "「", "」", "👍", "👍🏽", "👩\u200d💻", "\n"]
texts = st.lists(st.sampled_from(SIGNS), max_size=80).map("".join)
widths = st.integers(min_value=8, max_value=40)


def solid(text: str) -> str:
    return "".join(text.split())


@given(texts, widths)
def test_rows_stay_within_their_columns(text: str, width: int) -> None:
    """No row is too wide, and no character is lost."""
    found = [row.plain for row in wrap(Text(text), CONSOLE, width)]
    assert all(cell_len(row) <= width for row in found)
    assert solid("".join(found)) == solid(text)


@given(texts, widths, st.integers(min_value=1, max_value=9))
def test_wrapping_pieces_loses_nothing(text: str, width: int, size: int) -> None:
    """Text that arrives in pieces of any size stays within the columns, and no character is lost."""
    flow, found = StreamWrapper(CONSOLE), list[str]()
    for start in range(0, len(text), size):
        found += [row.plain for row in flow.feed(text[start : start + size], width)]
        draft = flow.draft(width)
        assert draft is None or cell_len(draft.plain) <= width
    found += [row.plain for row in flow.finish(width)]
    assert all(cell_len(row) <= width for row in found)
    assert solid("".join(found)) == solid(text)


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_sequences_and_line_endings_may_be_split_between_pieces(size: int) -> None:
    """Terminal sequences are removed completely, and each line ending ends one row."""
    text = "one\r\n\x1b]0;title\x07two \x1b[1;31mred\x1b[0m\r\nthree\x1b[2J\n\n\n"
    flow, found = StreamWrapper(CONSOLE), list[str]()
    for start in range(0, len(text), size):
        found += [row.plain for row in flow.feed(text[start : start + size], None)]
    found += [row.plain for row in flow.finish(None)]
    assert found == ["one", "two red", "three"]


def test_scripts_without_blanks_fill_the_line() -> None:
    """Chinese text continues after a Latin word on the same line, and no line starts with a closing mark."""
    found = wrap(Text("我先列出 src/core 目录下的文件，然后逐个分析。"), CONSOLE, 20)
    assert [row.plain.rstrip() for row in found] == ["我先列出 src/core 目", "录下的文件，然后逐个", "分析。"]


@pytest.mark.parametrize(
    ("change", "text", "shown"),
    [
        (escape_hidden, "rm\u202e -rf \u200b~", "rm\\u202e -rf \\u200b~"),
        (escape_hidden, "a\x1b[31mb\x00", "a\\x1b[31mb\\x00"),
        (escape_hidden, "pass\u200dword", "pass\\u200dword"),
        (escape_hidden, "你好　世界 👩\u200d💻 tab\t.", "你好　世界 👩\u200d💻 tab\t."),
        (clean, "\x1b[31mred\x1b[0m \ud800 \u2066x", "red \ufffd x"),
        (clean, "10%\r100%\r\n", "100%\n"),
        (first_line, "\n \x1b[1m\n  Error: no.\nmore", "Error: no."),
    ],
)
def test_special_characters(change: Callable[[str], str], text: str, shown: str) -> None:
    """`escape_hidden` shows special characters as escapes, and `clean` removes or replaces them. `first_line` is the
    first cleaned line that is not blank. Ordinary text does not change.
    """
    assert change(text) == shown
