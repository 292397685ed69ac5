"""Open documents (LSP 3.18): changes by the client, edits by the server, and documents that are open through links."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.app.streams import without_lone_surrogates
from fairlead.lsp.convert_edits import text_edits
from fairlead.lsp.documents import Documents
from fairlead.positions import apply_text_edits, offset_at
from fairlead.text_lines import split_lines
from fairlead.workspace.editor import FileEdit
from support.client import Client

TEXTS = st.text(st.sampled_from("a\r\n🚀\u2028é"), max_size=8)
PLACES = st.tuples(st.integers(0, 6), st.integers(0, 6))
CHANGES = st.lists(st.tuples(PLACES, PLACES, TEXTS), max_size=8)


@given(TEXTS, CHANGES, st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_changes_have_the_effect_of_replacements_in_the_text(text: str, changes: list[Any], encoding: str) -> None:
    """This holds even if a range begins or ends within a line ending, or beyond the end of the line or the text."""
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
def test_an_edit_results_in_exactly_the_new_text(old: str, new: str, encoding: str) -> None:
    """A client that applies the edit as LSP specifies gets the new text, for any old and new text."""
    changes = text_edits(FileEdit(Path("/ws/a.txt"), old, new), encoding)
    assert apply_text_edits(old, changes, encoding) == new


def test_appended_lines_are_inserted_before_the_last_line_ending() -> None:
    """An insertion after the last line ending would leave Neovim (0.11) with an extra empty line."""
    for ending in ("\n", "\r\n"):
        [change] = text_edits(FileEdit(Path("/ws/a.txt"), f"é{ending}", f"é{ending}b{ending}"), "utf-16")
        place = {"line": 0, "character": 1}
        assert change == {"range": {"start": place, "end": place}, "newText": f"{ending}b"}


def test_many_changes_in_a_long_file_are_quick() -> None:
    """A rename in a long file has thousands of ranges in one notification. The cost of a change depends on the size of
    the change, not of the file.
    """
    documents = Documents()
    uri = Path("/ws/a.txt").as_uri()
    documents.opened(uri, "line\n" * 100_000, 1)
    ranges = ({"start": {"line": n, "character": 0}, "end": {"line": n, "character": 4}} for n in range(0, 100_000, 10))
    documents.changed(uri, 2, [{"range": place, "text": "LINE"} for place in ranges])
    buffer = documents.open_buffer(Path("/ws/a.txt"))
    assert buffer is not None and buffer.text.count("LINE") == 10_000


def test_a_document_changes_and_closes_after_its_link_is_retargeted(tmp_path: Path) -> None:
    """Switching branches can retarget a link that is open. Text typed afterwards belongs to the new target."""
    first, second, link = (tmp_path / name for name in ("first", "second", "link"))
    first.write_text("1\n")
    second.write_text("2\n")
    link.symlink_to(first)
    documents = Documents()
    documents.opened(link.as_uri(), "1\n", 1)
    buffer = documents.open_buffer(first)
    assert buffer is not None and documents.uri(first) == link.as_uri()
    link.unlink()
    link.symlink_to(second)
    assert documents.open_buffer(first) is None and documents.uri(first) == first.as_uri()
    documents.changed(link.as_uri(), 2, [{"text": "typed\n"}])
    buffer = documents.open_buffer(second)
    assert buffer is not None and (buffer.text, buffer.version) == ("typed\n", 2)
    assert documents.open_buffer(first) is None
    link.unlink()
    link.symlink_to(first)
    documents.closed(link.as_uri())
    assert not documents.open_paths()
    assert documents.open_buffer(first) is None and documents.open_buffer(second) is None


def test_a_file_that_is_open_under_two_paths_stays_open_until_both_are_closed(tmp_path: Path) -> None:
    """Each of the documents has its own text and version, and each path returns its own document."""
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("1\n")
    link.symlink_to(file)
    documents = Documents()
    documents.opened(file.as_uri(), "1\n", 1)
    documents.opened(link.as_uri(), "1\n", 1)
    documents.changed(link.as_uri(), 2, [{"text": "2\n"}])
    for path, text in ((file, "1\n"), (link, "2\n")):
        buffer = documents.open_buffer(path)
        assert buffer is not None and buffer.text == text
    documents.closed(file.as_uri())
    buffer = documents.open_buffer(file)
    assert buffer is not None and (buffer.text, buffer.version) == ("2\n", 2)
    documents.closed(link.as_uri())
    assert documents.open_buffer(file) is None


async def test_the_model_reads_the_disk_after_a_retargeted_link_is_closed(
    workspace: Path, replay: Callable[..., dict[str, Any]]
) -> None:
    """Otherwise the text of the closed document would hide the new content of the file."""
    link = workspace / "link"
    (workspace / "first").write_text("old\n")
    (workspace / "second").write_text("2\n")
    link.symlink_to("first")
    settings = replay({"calls": [{"read_file": {"path": "first"}}]}, {"text": "End."})
    async with Client(workspace, settings=settings) as client:
        uri = client.open(link)
        # an answer shows that the server has handled everything sent before
        await client.request("agent/sessions/list", {})
        link.unlink()
        link.symlink_to("second")
        client.close(uri)
        (workspace / "first").write_text("new\n")
        await client.run()
        [read] = client.events("tool_finished")
        assert "new" in read["text"] and "old" not in read["text"]


@pytest.mark.parametrize("text", ["a\udce9b", "\ud83d", "\udce9\ud83d\ude80\udce9", "\\udce9", "\\\udce9", "é🚀"])
def test_no_message_contains_a_lone_surrogate(text: str) -> None:
    """docs/faults.md 135: it becomes U+FFFD, because Neovim refuses such JSON. All other text stays, and so does the
    length of the message.
    """
    data = json.dumps({"text": text}).encode()
    sent = without_lone_surrogates(data)
    assert len(sent) == len(data)
    # a pair in two escapes is one character
    expected = ["\ufffd" if "\ud800" <= each <= "\udfff" else each for each in json.loads(data)["text"]]
    assert json.loads(sent)["text"] == "".join(expected)
