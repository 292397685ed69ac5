"""Lines and line endings: only `\\n`, `\\r\\n` and `\\r` end a line."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.edits.line_endings import match_line_endings
from fairlead.text_lines import line_number, split_lines, usual_line_ending, with_line_endings, without_line_ending

# every character that some library treats as a line ending, among other characters
TEXTS = st.text(st.sampled_from("ab\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\ufeff日🚀"), max_size=30)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\n", ["\n"]),
        ("a", ["a"]),
        ("a\nb\r\nc\rd", ["a\n", "b\r\n", "c\r", "d"]),
        ("a\r\r\nb\n\r", ["a\r", "\r\n", "b\n", "\r"]),
        ("form\x0cfeed\nU+2028\u2028 and U+0085\x85.\n", ["form\x0cfeed\n", "U+2028\u2028 and U+0085\x85.\n"]),
        ("\x0b\x1c\x1d\x1e\u2029", ["\x0b\x1c\x1d\x1e\u2029"]),
        ("日本\n語🚀", ["日本\n", "語🚀"]),
    ],
)
def test_a_text_is_cut_where_an_editor_cuts_it(text: str, lines: list[str]) -> None:
    """Form feed, U+2028, U+0085 and similar characters stay inside their line."""
    assert split_lines(text) == lines


@given(TEXTS)
def test_the_lines_add_up_to_the_text(text: str) -> None:
    """Nothing is lost, and no line contains a line ending other than its own."""
    lines = split_lines(text)
    assert "".join(lines) == text
    assert all("\n" not in without_line_ending(line) and "\r" not in without_line_ending(line) for line in lines)
    assert all(line != without_line_ending(line) for line in lines[:-1])


@given(TEXTS, st.data())
def test_the_start_of_a_line_has_the_number_of_the_line(text: str, data: st.DataObject) -> None:
    """Lines are counted from 1, and a CRLF is one line ending."""
    lines = split_lines(text)
    index = data.draw(st.integers(0, max(0, len(lines) - 1)))
    start = len("".join(lines[:index]))
    assert line_number(text, start) == index + 1


@pytest.mark.parametrize(
    ("text", "end"),
    [("a\r\nb\n\r\n", "\r\n"), ("a\nb\r\nc\n", "\n"), ("a\rb\r", "\r"), ("a", "?"), ("", "?"), ("a\x85b\u2028", "?")],
)
def test_the_usual_line_ending_is_the_most_frequent(text: str, end: str) -> None:
    """A CRLF counts neither as LF nor as CR. A text without line endings gets the default."""
    assert usual_line_ending(text, "?") == end


@given(TEXTS, st.sampled_from(["\n", "\r\n", "\r"]))
def test_all_line_endings_can_be_made_equal(text: str, end: str) -> None:
    """Only line endings change, and each becomes the given one."""
    changed = with_line_endings(text, end)
    assert [*map(without_line_ending, split_lines(changed))] == [*map(without_line_ending, split_lines(text))]
    assert {line[len(without_line_ending(line)) :] for line in split_lines(changed)} <= {end, ""}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a\r\nb\r\n", "a\nx\nb\n", "a\r\nx\r\nb\r\n"),
        ("a\rb\r", "b\na\n", "b\ra\r"),
        ("a\nb\n", "a\r\nb\r\n", "a\nb\n"),
        ("", "a\nb\n", "a\nb\n"),
        # mixed: lines that stay or are replaced keep their line endings, added lines get the usual one
        ("a\r\nb\nc\r\n", "a\nB\nc\n", "a\r\nB\nc\r\n"),
        ("a\r\nb\nc\r\nd\n", "a\nd\n", "a\r\nd\n"),
        ("a\r\nb\nc\r\n", "a\nb\nnew\nc\n", "a\r\nb\nnew\r\nc\r\n"),
        ("a\r\nb\rc\n\n", "a\nb\nc\nlast", "a\r\nb\rc\nlast"),
        ("a\r\nb\nc", "a\nb\nc\nd", "a\r\nb\nc\r\nd"),
        ("\n\r", "\n\n\n", "\n\r\r"),
    ],
)
def test_a_rewrite_keeps_the_line_endings_of_the_file(old: str, new: str, expected: str) -> None:
    """docs/faults.md 1: only the intended lines change, even in a file with mixed line endings."""
    assert match_line_endings(old, new) == expected


@given(TEXTS, TEXTS)
def test_a_rewrite_has_the_new_text(old: str, new: str) -> None:
    """Only its line endings may differ. Rewriting a text with itself, with other line endings, changes nothing."""
    assert [*map(without_line_ending, split_lines(match_line_endings(old, new)))] == [
        *map(without_line_ending, split_lines(new))
    ]
    assert match_line_endings(old, with_line_endings(old, "\n")) == old
