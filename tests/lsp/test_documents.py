"""Open documents (LSP 3.18, `didChange`): any changes, applied one after the other, against a plain model."""

from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from fairlead.code.positions import apply_text_edits, offset_at
from fairlead.edits.text import split_lines
from fairlead.lsp.convert import text_edits
from fairlead.lsp.documents import Documents
from fairlead.workspace.editor import FileEdit

TEXTS = st.text(st.sampled_from("a\r\n🚀\u2028é"), max_size=8)
PLACES = st.tuples(st.integers(0, 6), st.integers(0, 6))
CHANGES = st.lists(st.tuples(PLACES, PLACES, TEXTS), max_size=8)


@given(TEXTS, CHANGES, st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_changes_are_applied_as_to_the_whole_text(text: str, changes: list[Any], encoding: str) -> None:
    """The result is that of replacing in the whole text, even for half a line ending or a place beyond the end."""
    documents = Documents()
    documents.encoding = encoding
    uri = Path("/ws/a.txt").as_uri()
    path = documents.opened(uri, text, 1)
    assert path is not None
    for version, (one, other, new) in enumerate(changes, 2):
        start, end = ({"line": line, "character": column} for line, column in sorted((one, other)))
        lines = split_lines(text)
        first, last = offset_at(lines, start, encoding), offset_at(lines, end, encoding)
        text = text[:first] + new + text[max(first, last) :]
        documents.changed(uri, version, [{"range": {"start": start, "end": end}, "text": new}])
        buffer = documents.open_buffer(path)
        assert buffer is not None and (buffer.text, buffer.version) == (text, version)


@given(TEXTS, TEXTS, st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_an_edit_makes_exactly_the_new_text(old: str, new: str, encoding: str) -> None:
    """A client that applies the edit as LSP says has the new text, whatever both texts are."""
    changes = text_edits(FileEdit(Path("/ws/a.txt"), old, new), encoding)
    assert apply_text_edits(old, changes, encoding) == new


def test_lines_after_the_last_one_are_inserted_in_it() -> None:
    """An insertion after the last line ending would leave Neovim (0.11) with an extra empty line."""
    for ending in ("\n", "\r\n"):
        [change] = text_edits(FileEdit(Path("/ws/a.txt"), f"é{ending}", f"é{ending}b{ending}"), "utf-16")
        place = {"line": 0, "character": 1}
        assert change == {"range": {"start": place, "end": place}, "newText": f"{ending}b"}


def test_many_changes_in_a_long_file_are_quick() -> None:
    """A rename in a long file has thousands of ranges in one notification. The cost of each depends on its own size."""
    documents = Documents()
    uri = Path("/ws/a.txt").as_uri()
    documents.opened(uri, "line\n" * 100_000, 1)
    ranges = ({"start": {"line": n, "character": 0}, "end": {"line": n, "character": 4}} for n in range(0, 100_000, 10))
    documents.changed(uri, 2, [{"range": place, "text": "LINE"} for place in ranges])
    buffer = documents.open_buffer(Path("/ws/a.txt"))
    assert buffer is not None and buffer.text.count("LINE") == 10_000
