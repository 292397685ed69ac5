"""Text fit for a terminal: whatever comes, it keeps within its columns and nothing of it is lost or hidden."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from fairlead.cli.text import StreamWrapper, clean, first_line, reveal, wrap

CONSOLE = Console()
SIGNS = ["a", "b", "é", " ", "  ", "(", ")", ",", "界", "あ", "，", "。", "「", "」", "👍", "👍🏽", "👩\u200d💻", "\n"]
texts = st.lists(st.sampled_from(SIGNS), max_size=80).map("".join)
widths = st.integers(min_value=8, max_value=40)


def solid(text: str) -> str:
    return "".join(text.split())


@given(texts, widths)
def test_rows_keep_within_their_columns(text: str, width: int) -> None:
    """No row is wider than asked for, and no sign is lost."""
    found = [row.plain for row in wrap(Text(text), CONSOLE, width)]
    assert all(cell_len(row) <= width for row in found)
    assert solid("".join(found)) == solid(text)


@given(texts, widths, st.integers(min_value=1, max_value=9))
def test_a_flow_gives_out_what_came_in(text: str, width: int, size: int) -> None:
    """Text that comes in pieces keeps within the columns too, whatever the pieces are."""
    flow, found = StreamWrapper(CONSOLE), list[str]()
    for start in range(0, len(text), size):
        found += [row.plain for row in flow.feed(text[start : start + size], width)]
        draft = flow.draft(width)
        assert draft is None or cell_len(draft.plain) <= width
    found += [row.plain for row in flow.finish(width)]
    assert all(cell_len(row) <= width for row in found)
    assert solid("".join(found)) == solid(text)


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_a_sequence_in_two_pieces(size: int) -> None:
    """A terminal sequence or a line end that is cut by the pieces is still removed as a whole."""
    text = "one\r\n\x1b]0;title\x07two \x1b[1;31mred\x1b[0m\r\nthree\x1b[2J\n\n\n"
    flow, found = StreamWrapper(CONSOLE), list[str]()
    for start in range(0, len(text), size):
        found += [row.plain for row in flow.feed(text[start : start + size], None)]
    found += [row.plain for row in flow.finish(None)]
    assert found == ["one", "two red", "three"]


def test_a_script_without_blanks_is_cut_where_it_is_full() -> None:
    """Chinese text goes on behind a word of Latin letters, and no line begins with a closing sign."""
    found = wrap(Text("我先列出 src/core 目录下的文件，然后逐个分析。"), CONSOLE, 20)
    assert [row.plain.rstrip() for row in found] == ["我先列出 src/core 目", "录下的文件，然后逐个", "分析。"]


@pytest.mark.parametrize(
    ("change", "text", "shown"),
    [
        (reveal, "rm\u202e -rf \u200b~", "rm\\u202e -rf \\u200b~"),
        (reveal, "a\x1b[31mb\x00", "a\\x1b[31mb\\x00"),
        (reveal, "pass\u200dword", "pass\\u200dword"),
        (reveal, "你好　世界 👩\u200d💻 tab\t.", "你好　世界 👩\u200d💻 tab\t."),
        (clean, "\x1b[31mred\x1b[0m \ud800 \u2066x", "red \ufffd x"),
        (clean, "10%\r100%\r\n", "100%\n"),
        (first_line, "\n \x1b[1m\n  Error: no.\nmore", "Error: no."),
    ],
)
def test_what_becomes_of_signs(change: Callable[[str], str], text: str, shown: str) -> None:
    """What a person decides on hides nothing; what they only read carries nothing; ordinary text stays as it is."""
    assert change(text) == shown
