"""docs/plan.md L12: an edit goes to the one exact place, or the error says what the file contains instead."""

import time

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.edits.match import MatchError, replace_once

# without a lone CR, because it would form one line ending with an LF that follows
PIECES = st.lists(st.sampled_from(["a", "b", " ", "\t", "\n", "\r\n", "\x0c", "日🚀"]), max_size=10).map("".join)


def explained(text: str, old: str, new: str = "something else") -> str:
    """The error for an edit that is refused."""
    with pytest.raises(MatchError) as error:
        replace_once(text, old, new)
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "old", "new", "replaced"),
    [
        ("a\nb\nc\n", "b", "B", "a\nB\nc\n"),
        ("a\nb\nc", "c", "", "a\nb\n"),
        ("a\nb\n", "b\n", "b\nc\n", "a\nb\nc\n"),
        ("naïve 日本語 🚀\n", "日本語 🚀", "漢字 🛰", "naïve 漢字 🛰\n"),
        ("x\x0cy\u2028z\x85\n", "y\u2028z", "Y", "x\x0cY\x85\n"),
        ("aaa", "aaa", "b", "b"),
        ("a.b*c\n", "a.b*c", r"\1\g<0>", "\\1\\g<0>\n"),
    ],
)
def test_the_one_place_is_replaced(text: str, old: str, new: str, replaced: str) -> None:
    """Only the characters of `old` are replaced, and neither `old` nor `new` is read as a regular expression."""
    assert replace_once(text, old, new) == replaced


@pytest.mark.parametrize(
    ("text", "old", "new", "replaced"),
    [
        ("a\r\nb\r\nc\r\n", "a\nb", "a\nX\nb", "a\r\nX\r\nb\r\nc\r\n"),
        ("a\r\nb\r\n", "b\n", "b\nc\n", "a\r\nb\r\nc\r\n"),
        ("a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"),
        ("a\rb\rc", "b\nc", "c\nd", "a\rc\rd"),
        ("a\nb\n", "a\r\nb", "A\r\nb", "A\nb\n"),
        # a match never takes half of a CRLF
        ("a\r\nb\r\nc\r\n", "\nb", "", "a\r\nc\r\n"),
        ("a\r\nb\r\nc\r\n", "\nb\n", "\nB\n", "a\r\nB\r\nc\r\n"),
        ("a\r\nb", "a\r", "x", "xb"),
        ("a\r\n\r\nb", "a\n\nb", "a\nb", "a\r\nb"),
        # mixed line endings: only the intended line changes
        ("a\r\nb\nc\r\nd\n", "a\nb\nc\n", "a\nb\nC\n", "a\r\nb\nC\r\nd\n"),
        ("a\nb\r\nc\rd\n", "b\nc\nd", "b\nX\nd", "a\nb\r\nX\rd\n"),
        ("a\r\nb\nc\r\n", "b\nc", "b\nnew\nc", "a\r\nb\nnew\nc\r\n"),
    ],
)
def test_only_line_endings_may_differ_and_the_file_keeps_its_own(text: str, old: str, new: str, replaced: str) -> None:
    """docs/faults.md 1: models write LF; CRLF, CR and mixed files change only in the intended lines."""
    assert replace_once(text, old, new) == replaced


@pytest.mark.parametrize(
    ("text", "old", "count", "lines"),
    [
        ("x = 1\ny\nx = 1\n", "x = 1", 2, "1, 3"),
        ("aaa\n", "aa", 2, "1, 1"),
        ("ab\nab\nab\n", "ab\nab", 2, "1, 2"),
        ("ab\r\nab\r\nab\r\n", "ab\nab", 2, "1, 2"),
        ("a\rb\ra\r", "a", 2, "1, 3"),
        ("a\r\n" * 20, "a", 20, "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, ..."),
        ("\n\n\n", "\n", 3, "1, 2, 3"),
        ("日本\n日本\n", "日", 2, "1, 2"),
    ],
)
def test_fault_03_more_than_one_place_is_refused_with_the_count_and_the_lines(
    text: str, old: str, count: int, lines: str
) -> None:
    """docs/faults.md 3, docs/plan.md L12: overlapping places count, and the first one is never taken silently."""
    message = explained(text, old)
    assert message.startswith(f"old_text occurs {count} times in the file, at lines {lines}. ")
    assert "until it is unique" in message


def test_an_exact_place_wins_over_one_with_other_line_endings() -> None:
    """If there is an exact place, places with other line endings do not count, so the edit is not ambiguous."""
    assert replace_once("a\r\nb\na\nb\n", "a\nb", "X") == "a\r\nb\nX\n"


@pytest.mark.parametrize(
    ("text", "old", "new", "said"),
    [
        ("a", "", "b", "old_text is empty. To write a whole file, use write_file."),
        ("a", "a", "a", "old_text and new_text are the same"),
        ("a\r\nb", "a\nb", "a\r\nb", "differ only in line endings"),
        ("", "a", "b", "the file is empty"),
        ("one\ntwo\n", "zzz qqq", "b", "the file contains nothing similar. Read the file again."),
    ],
)
def test_an_edit_that_makes_no_sense_is_refused(text: str, old: str, new: str, said: str) -> None:
    """The error says what is wrong."""
    assert said in explained(text, old, new)


EXPLAINED = {
    "tabs in the file": (
        "all:\n\tgcc -o x\n",
        "    gcc -o x",
        "The file has tabs where old_text has spaces",
        "→gcc -o x",
    ),
    "tabs in old_text": ("all:\n    gcc\n", "\tgcc", "The file has spaces where old_text has tabs", "····gcc"),
    "tabs inside": ("a\tb\n", "a b", "The file has tabs where old_text has spaces", "a→b"),
    "too few spaces": ("  x = 1\n", "    x = 1", "Only the whitespace differs", "··x = 1"),
    "no-break space": ("x\u00a0= 1\n", "x = 1", "Only the whitespace differs", "x\\u00a0= 1"),
    "ideographic space": ("如果\u3000是\n", "如果 是", "Only the whitespace differs", "如果\\u3000是"),
    "trailing spaces": ("a = 1  \nb\n", "a = 1\nb", "The spaces at the end of a line differ", "a = 1··\nb"),
    "NFD in the file": ("cafe\u0301 = 1\n", "caf\u00e9 = 1", "another Unicode form: the file is in NFD", "cafe\u0301"),
    "NFC in the file": ("caf\u00e9 = 1\n", "cafe\u0301 = 1", "another Unicode form: the file is in NFC", "caf\u00e9"),
    "both forms": ("e\u0301\u00e9\n", "\u00e9\u00e9", "neither NFC nor NFD", "e\u0301\u00e9"),
    "Hangul in NFD": ("\u1112\u1161\u11ab\n", "\ud55c", "the file is in NFD", "\u1112\u1161\u11ab"),
    "curly quotes": ("say(“hi”)\n", 'say("hi")', "The quotes differ (straight and curly)", "say(“hi”)"),
    "straight quotes": ("it's\n", "it’s", "The quotes differ (straight and curly)", "it's"),
    "case": ("Hello World\n", "HELLO world", "Upper and lower case differ", "Hello World"),
    "case of Greek": ("ΣΟΦΟΣ\n", "σοφος", "Upper and lower case differ", "ΣΟΦΟΣ"),
    "no final newline": ("foo\nbar", "bar\n", "ends with a newline, but the last line of the file has none", "bar"),
    "a typo": (
        "a\ndef compute(value):\n",
        "def compute(valeu):",
        "The nearest line is 2:",
        "def compute(value):",
    ),
    "one line of three": ("a = 1\nb = 2\nc = 3\n", "a = 1\nb = 9\nc = 3", "are 1 to 3:", "a = 1\nb = 2\nc = 3"),
    "two things differ": (
        "\tsay(“hi”)\n",
        '    say("hi")',
        "old_text not found. The nearest line is 1",
        "\tsay(“hi”)",
    ),
    "the end of the file": ("a = 1\nb = 2\n", "b = 2\nc = 3", "The nearest line is 2:", "b = 2"),
    "the line among many like it": (
        "".join(f"v{n} = {n}\n" for n in range(99)),
        "v57 == 57",
        "line is 58:",
        "v57 = 57",
    ),
}


@pytest.mark.parametrize("name", EXPLAINED)
def test_a_near_miss_is_explained(name: str) -> None:
    """docs/faults.md 4 and 5: the error names what differs and shows the file's own lines; nothing is normalized."""
    text, old, said, shown = EXPLAINED[name]
    message = explained(text, old)
    assert message.startswith("old_text not found.")
    assert said in message
    assert shown in message.partition(":\n")[2]


def test_the_explanation_is_bounded() -> None:
    """Long lines and long texts are cut off, and the error says so."""
    text = "".join(f"{n} {'x' * 10_000}\n" for n in range(100))
    message = explained(text, text.replace("7", "8"))
    assert len(message) < 5000
    assert "(88 more lines)" in message


BIG = "".join(f"    value_{n} = compute({n}, other={n * 7})\n" for n in range(50_000))
ROWS = "".join(("|".join(f"{n * 7919 * k % 99991:05}" for k in range(40)) + "\n") for n in range(4000))
SLOW = {
    "a typo at the end of 50,000 lines": (BIG, "    valeu_49999 = compute(49999, other=349993)", "line is 50000"),
    "tabs at the end of 50,000 lines": (BIG, "\tvalue_49999 = compute(49999, other=349993)", "has spaces where"),
    "nothing alike in 50,000 lines": (BIG, "zzz qqq", "nothing similar"),
    "2,000 lines that all differ a little": (
        BIG,
        BIG[:90_000].replace("compute", "computes"),
        "nearest lines are 1 to",
    ),
    "4,000 long rows alike": (ROWS, ROWS[-240:-1] + "x", "old_text not found"),
    "50,000 equal lines": ("  }\n" * 50_000, "\t}", "has spaces where"),
    "two lines of 200,000 characters": (
        "ab c" * 50_000,
        "ab c" * 25_000 + "d" + "ab c" * 25_000,
        "nearest line is 1",
    ),
    "a place at every character": ("a" * 1_000_000, "a" * 100, "more than 1000 times"),
    "a place at every line ending": ("\n" * 200_000, "\n\n", "more than 1000 times"),
}


@pytest.mark.parametrize("name", SLOW)
def test_the_search_for_near_lines_takes_bounded_time(name: str) -> None:
    """The server cannot answer during the search, and must answer within two seconds."""
    text, old, said = SLOW[name]
    began = time.process_time()
    assert said in explained(text, old)
    assert time.process_time() - began < 2


@given(PIECES, PIECES, PIECES, PIECES)
def test_the_text_around_the_place_stays(before: str, old: str, after: str, new: str) -> None:
    """Either exactly one place with the text `old` is replaced, or the edit is refused."""
    text = before + old + after
    try:
        replaced = replace_once(text, old, new)
    except MatchError:
        return
    assert old
    lf = [part.replace("\r\n", "\n").replace("\r", "\n") for part in (text, old, new, replaced)]
    places = [at for at in range(len(lf[0])) if lf[0].startswith(lf[1], at)]
    assert lf[3] in [lf[0][:at] + lf[2] + lf[0][at + len(lf[1]) :] for at in places]


@given(PIECES.filter(bool), st.integers(0, 3))
def test_occurrences_are_counted_correctly(old: str, times: int) -> None:
    """An edit with one place is made; one with none is refused as not found, and one with several as ambiguous."""
    text = "-".join(["x"] + [old] * times + ["y"])
    try:
        replaced, said = replace_once(text, old, "NEW"), ""
    except MatchError as error:
        replaced, said = "", str(error)
    assert replaced.count("NEW") == (not said)
    assert times == 1 or said
    assert ("not found" in said) == (times == 0)
