"""Hunks: the changes that turn one text into another, in order, each with its own id."""

import random
import time

import hypothesis.strategies as st
import pytest
from hypothesis import given

from edits.patching import patched, unpatched
from fairlead.edits.diff import Hunk, changed_blocks, hunks
from fairlead.text_lines import split_lines

# few different lines, so that they repeat and cross, with all kinds of line endings, and sometimes none at the end
LINES = st.sampled_from(["a\n", "b\n", "\n", "c\r\n", "d\r", "é\u2028\n", "日本\n", "}\n"])
TEXTS = st.builds(lambda lines, last: "".join(lines) + last, st.lists(LINES, max_size=12), st.sampled_from(["", "z"]))


@given(TEXTS, TEXTS)
def test_hunks_lead_from_the_base_to_the_proposed_text_and_back(base: str, proposed: str) -> None:
    """Applying all of them to the base gives the proposed text, and reverting all of them there gives the base."""
    found = hunks(base, proposed)
    assert patched(base, found) == proposed
    assert unpatched(proposed, found) == base
    assert patched(base, []) == base
    assert unpatched(proposed, []) == proposed
    assert (found == ()) == (base == proposed)


@given(TEXTS, TEXTS, st.data())
def test_applying_some_hunks_equals_reverting_the_others(base: str, proposed: str, data: st.DataObject) -> None:
    """A selection of hunks, in any order, gives the same text from either side."""
    found = hunks(base, proposed)
    chosen = data.draw(st.lists(st.sampled_from(found), unique_by=lambda hunk: hunk.id)) if found else []
    others = [hunk for hunk in found if hunk not in chosen]
    assert patched(base, chosen) == unpatched(proposed, others)


@given(TEXTS, TEXTS)
def test_hunks_contain_the_lines_at_their_positions(base: str, proposed: str) -> None:
    """They are in order, and at least one equal line separates each from the next."""
    old, new = split_lines(base), split_lines(proposed)
    shift, end = 0, -1
    for hunk in hunks(base, proposed):
        assert tuple(old[hunk.old_start : hunk.old_start + len(hunk.old)]) == hunk.old
        assert tuple(new[hunk.new_start : hunk.new_start + len(hunk.new)]) == hunk.new
        assert hunk.new_start == hunk.old_start + shift
        assert hunk.old_start > end
        assert hunk.old != hunk.new
        shift += len(hunk.new) - len(hunk.old)
        end = hunk.old_start + len(hunk.old)


@given(TEXTS, TEXTS)
def test_ids_are_unique_and_depend_only_on_the_lines(base: str, proposed: str) -> None:
    """Equal changes have different ids. A blank line before both texts changes no id.

    Hunks are aligned after a blank line as they are at the start of a file.
    """
    found = hunks(base, proposed)
    assert len({hunk.id for hunk in found}) == len(found)
    framed = hunks(f"\n{base}", f"\n{proposed}")
    assert [(hunk.id, hunk.old_start - 1, hunk.new_start - 1) for hunk in framed] == [
        (hunk.id, hunk.old_start, hunk.new_start) for hunk in found
    ]


@st.composite
def edited_texts(draw: st.DrawFn) -> tuple[str, str]:
    """A text whose lines all differ, and the same text with some lines changed, added or removed."""
    old, new = [], []
    for number in range(draw(st.integers(1, 12))):
        change = draw(st.sampled_from(["same", "same", "change", "add", "drop"]))
        line = f"line {number}\n"
        old += [] if change == "add" else [line]
        new += {"same": [line], "change": [f"changed {number}\n"], "add": [f"added {number}\n"], "drop": []}[change]
    return "".join(old), "".join(new)


@given(edited_texts(), st.lists(st.integers(0, 99).map("typed {}\n".format), max_size=5))
def test_lines_before_and_after_change_no_id(texts: tuple[str, str], lines: list[str]) -> None:
    """If all lines differ, a change can be shown in only one way, whatever surrounds it."""
    base, proposed = texts
    found = [hunk.id for hunk in hunks(base, proposed)]
    frame = "".join(lines)
    assert [hunk.id for hunk in hunks(frame + base, frame + proposed)] == found
    assert [hunk.id for hunk in hunks(base + frame, proposed + frame)] == found


@given(edited_texts(), st.data())
def test_deciding_one_hunk_leaves_the_ids_of_the_others(texts: tuple[str, str], data: st.DataObject) -> None:
    """After an accept or a reject the rest of the list is the same, so the buttons that the user sees still work."""
    base, proposed = texts
    found = hunks(base, proposed)
    if not found:
        return
    one = data.draw(st.sampled_from(found))
    others = [hunk.id for hunk in found if hunk is not one]
    assert [hunk.id for hunk in hunks(patched(base, [one]), proposed)] == others
    assert [hunk.id for hunk in hunks(base, unpatched(proposed, [one]))] == others


def test_equal_changes_are_distinguished() -> None:
    """Two hunks with the same lines have different ids, and each is applied at its own position."""
    base, proposed = "x\na\ny\na\nz\n", "x\nb\ny\nb\nz\n"
    first, second = hunks(base, proposed)
    assert (first.old, first.new) == (second.old, second.new)
    assert first.id != second.id
    assert patched(base, [second]) == "x\na\ny\nb\nz\n"


NUMBERED = {
    "a line in the middle": ("a\nb\nc\n", "a\nB\nc\n", [(1, ["b\n"], 1, ["B\n"])]),
    "added at the start": ("a\n", "x\na\n", [(0, [], 0, ["x\n"])]),
    "added at the end": ("a\n", "a\nx\n", [(1, [], 1, ["x\n"])]),
    "removed": ("a\nb\nc\n", "a\nc\n", [(1, ["b\n"], 1, [])]),
    "a last newline added": ("a\nb", "a\nb\n", [(1, ["b"], 1, ["b\n"])]),
    "a line ending changed": ("a\r\nb\n", "a\nb\n", [(0, ["a\r\n"], 0, ["a\n"])]),
    "all of a file": ("", "a\nb", [(0, [], 0, ["a\n", "b"])]),
    "emptied": ("a\nb", "", [(0, ["a\n", "b"], 0, [])]),
    "two, the second shifted": (
        "a\nb\nc\nd\n",
        "a\nx\ny\nb\nc\nD\n",
        [(1, [], 1, ["x\n", "y\n"]), (3, ["d\n"], 5, ["D\n"])],
    ),
    "a block moved down": ("a\nb\nc\nd\n", "b\nc\na\nd\n", [(0, ["a\n"], 0, []), (3, [], 2, ["a\n"])]),
}


@pytest.mark.parametrize("name", NUMBERED)
def test_hunks_have_the_expected_lines_and_starts(name: str) -> None:
    """Starts count from 0; the start of an empty side is the line before which lines are inserted."""
    base, proposed, expected = NUMBERED[name]
    found = [(h.old_start, list(h.old), h.new_start, list(h.new)) for h in hunks(base, proposed)]
    assert found == expected


N = 50_000
PLAIN = [f"line {n}\n" for n in range(N)]
SHUFFLED = random.Random(1).sample(PLAIN, N)
LETTERS = random.Random(2).choices(["{\n", "}\n", "\n", "x\n"], k=N)
LARGE = {
    "two changes far apart": (PLAIN, ["X\n", *PLAIN[1:-1], "Y\n"], 2),
    "1,000 changes": (PLAIN, ["x\n" if n % 50 == 0 else line for n, line in enumerate(PLAIN)], 1000),
    "every second line": (PLAIN, [f"x{n}\n" if n % 2 else line for n, line in enumerate(PLAIN)], 5000),
    "shuffled": (PLAIN, SHUFFLED, None),
    "all lines equal": (["0\n"] * N, ["X\n", *["0\n"] * 9, "Y\n", *["0\n"] * N, "Z\n"], None),
    "four kinds of lines": (LETTERS, [line for n, line in enumerate(LETTERS) if n % 17], None),
    "alternating": (["a\n", "b\n"] * 300, ["b\n", "a\n", "c\n"] * 200, None),
    "too long to compare": ([f"{n}\n" for n in range(200_000)], [f"{n}\n" for n in range(199_999, -1, -1)], 1),
    "nothing in common": (PLAIN, [f"other {n}\n" for n in range(N)], 1),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_files_take_bounded_time(name: str) -> None:
    """The server cannot answer during a comparison, and must answer within two seconds."""
    old, new, count = LARGE[name]
    base, proposed = "".join(old), "".join(new)
    began = time.process_time()
    found = hunks(base, proposed)
    assert time.process_time() - began < 2
    assert patched(base, found) == proposed
    assert count is None or len(found) == count


def test_there_are_at_most_five_thousand_hunks() -> None:
    """If there are more changes, the ones nearest to each other are joined; the others stay as they are."""
    near = [f"x{n}\n" if n < 20_000 and n % 2 else line for n, line in enumerate(PLAIN)]
    new = [f"y{n}\n" if n > 20_000 and n % 10 == 0 else line for n, line in enumerate(near)]
    found = hunks("".join(PLAIN), "".join(new))
    assert [len(hunk.new) for hunk in found] == [*[9] * 2_000, *[1] * 2_999]
    assert patched("".join(PLAIN), found) == "".join(new)


def test_changes_at_equal_distances_can_still_be_decided_separately() -> None:
    """They do not all become one hunk, and deciding one of the joined hunks leaves the ids of the others."""
    new = [f"x{n}\n" if n % 2 else line for n, line in enumerate(PLAIN)]
    base, proposed = "".join(PLAIN), "".join(new)
    first, *others = hunks(base, proposed)
    assert {len(hunk.new) for hunk in (first, *others)} == {9}
    rest = hunks(patched(base, [first]), proposed)
    assert [hunk.id for hunk in rest] == [hunk.id for hunk in others]


def test_deeply_nested_anchors_take_bounded_time() -> None:
    """Each line is an anchor only between two others, so the nesting is as deep as there are lines."""
    old = [f"{n}\n" for n in range(2000)]
    new = [*old[1000:], *old[::-1], *old[:1000]]
    began = time.process_time()
    blocks = changed_blocks(old * 2, new)
    assert time.process_time() - began < 2
    assert patched("".join(old * 2), hunks("".join(old * 2), "".join(new))) == "".join(new)
    assert blocks == sorted(blocks)


def test_equal_texts_give_equal_hunks() -> None:
    """The ids are the same in every process."""
    assert hunks("a\n", "é\n") == hunks("a\n", "é\n") == (Hunk("42aa582bf7ed5e9e", 0, ("a\n",), 0, ("é\n",)),)
