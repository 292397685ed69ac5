"""Merging two versions of one text: properties for any texts, and the regions in which the versions differ."""

import time
from itertools import pairwise

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.edits.merge import MergeConflict, Region, compare, merged, replaced
from fairlead.text_lines import split_lines

LINES = st.sampled_from(["a\n", "b\n", "\n", "c\r\n", "d\r", "é\u2028\n", "}\n"])
TEXTS = st.builds(lambda lines, last: "".join(lines) + last, st.lists(LINES, max_size=8), st.sampled_from(["", "z"]))


def merge_or_none(base: str, mine: str, theirs: str) -> str | None:
    try:
        return merged(base, mine, theirs)
    except MergeConflict:
        return None


@given(TEXTS, TEXTS)
def test_a_side_that_changed_nothing_leaves_the_other_as_it_is(base: str, text: str) -> None:
    """If both sides have the same changes, the result is their text."""
    assert merged(base, text, base) == merged(base, base, text) == merged(base, text, text) == text


@given(TEXTS, TEXTS, TEXTS)
def test_the_two_sides_are_interchangeable(base: str, mine: str, theirs: str) -> None:
    """The text, the conflicts and the regions are the same if the sides are exchanged."""
    assert merge_or_none(base, mine, theirs) == merge_or_none(base, theirs, mine)
    names = {"mine": "theirs", "theirs": "mine", "same": "same", "conflict": "conflict"}
    a, b, c = split_lines(base), split_lines(mine), split_lines(theirs)
    exchanged = [(names[r.side], r.base, r.theirs, r.mine) for r in compare(a, c, b)]
    assert [(r.side, r.base, r.mine, r.theirs) for r in compare(a, b, c)] == exchanged


@given(TEXTS, TEXTS, TEXTS)
def test_regions_cover_all_changes_and_nothing_else(base: str, mine: str, theirs: str) -> None:
    """They are in order, and between them all three texts are the same."""
    a, b, c = split_lines(base), split_lines(mine), split_lines(theirs)
    ends = (0, 0, 0)
    for region in [*compare(a, b, c), Region("same", (len(a), len(a)), (len(b), len(b)), (len(c), len(c)))]:
        starts = (region.base[0], region.mine[0], region.theirs[0])
        between = [lines[end:start] for lines, end, start in zip((a, b, c), ends, starts, strict=True)]
        assert between[0] == between[1] == between[2]
        ends = (region.base[1], region.mine[1], region.theirs[1])
        inside = [a[slice(*region.base)], b[slice(*region.mine)], c[slice(*region.theirs)]]
        if region.side == "mine":
            assert inside[0] == inside[2]
        elif region.side == "theirs":
            assert inside[0] == inside[1]
        else:
            assert (inside[1] == inside[2]) == (region.side == "same")


@given(TEXTS, TEXTS, TEXTS)
def test_each_merged_line_is_in_one_of_the_texts(base: str, mine: str, theirs: str) -> None:
    """No line is combined from two."""
    both = merge_or_none(base.replace("\r", ""), mine.replace("\r", ""), theirs.replace("\r", ""))
    if both is not None:
        known = {line for text in (base, mine, theirs) for line in split_lines(text.replace("\r", ""))}
        assert set(split_lines(both)) <= known


KINDS = st.sampled_from(["same", "change", "add", "drop"])
SIDES = st.lists(st.tuples(KINDS, KINDS), min_size=1, max_size=10)


def written(kind: str, number: int, name: str) -> str:
    """A numbered line as one side changes it."""
    line = f"line {number}\n"
    return {"same": line, "change": f"{name} {number}\n", "add": f"{line}{name} {number}\n", "drop": ""}[kind]


@given(SIDES)
def test_changes_to_separate_lines_are_both_applied(kinds: list[tuple[str, str]]) -> None:
    """There is a conflict only where both sides change a line differently, or both add a line after it."""
    base = mine = theirs = both = ""
    conflicts: list[int] = []
    for number, (one, other) in enumerate(kinds):
        frame, line = f"frame {number}\n", f"line {number}\n"
        left, right = written(one, number, "mine"), written(other, number, "theirs")
        base, mine, theirs = base + frame + line, mine + frame + left, theirs + frame + right
        added = [text.removeprefix(line) for kind, text in ((one, left), (other, right)) if kind == "add"]
        changed = [text for kind, text in ((one, left), (other, right)) if kind in ("change", "drop")]
        both += frame + (changed[0] if changed else line) + "".join(added)
        if len(added) == 2 or len(set(changed)) == 2:
            conflicts.append(number)
    assert merge_or_none(base, mine, theirs) == (None if conflicts else both)
    regions = compare(split_lines(base), split_lines(mine), split_lines(theirs))
    assert [(r.base[0] - 1) // 2 for r in regions if r.side == "conflict"] == conflicts


@given(st.lists(st.sampled_from(["no one", "one", "other"]), min_size=1, max_size=8), st.data())
def test_separate_changes_commute(who: list[str], data: st.DataObject) -> None:
    """Applied one after the other in either order, or merged, they give the same text."""
    base = one = other = both = ""
    for number, name in enumerate(who):
        line = f"line {number}\n"
        new = written(data.draw(KINDS), number, name) if name != "no one" else line
        base, both = base + line, both + new
        one, other = one + (new if name == "one" else line), other + (new if name == "other" else line)
    apart = all(a == b or "no one" in (a, b) for a, b in pairwise(who))
    if apart or merge_or_none(base, one, other) is not None:
        assert merged(base, one, other) == merged(base, other, one) == both
        assert merge_or_none(one, one, both) == both


SCENARIOS: dict[str, tuple[str, str, str, str | None]] = {
    "side by side": ("a\nb\n", "A\nb\n", "a\nB\n", "A\nB\n"),
    "inserted before a changed line": ("a\nb\n", "a\nx\nb\n", "a\nB\n", "a\nx\nB\n"),
    "inserted after a changed line": ("a\nb\n", "a\nx\nb\n", "A\nb\n", "A\nx\nb\n"),
    "both insert at the same place": ("a\nb\n", "a\nx\nb\n", "a\ny\nb\n", None),
    "both insert the same": ("a\nb\n", "a\nx\nb\n", "a\nx\nb\n", "a\nx\nb\n"),
    "inserted where lines were removed": ("a\nb\nc\nd\n", "a\nd\n", "a\nb\nx\nc\nd\n", None),
    "one inside the other": ("a\nb\nc\n", "1\n2\n3\n", "a\nB\nc\n", None),
    "two inside one of the other's": ("a\nb\nc\nd\ne\n", "1\n2\n3\n4\n5\n", "a\nB\nc\nD\ne\n", None),
    "a chain": ("a\nb\nc\nd\ne\n", "A\n1\nc\nD\n2\n", "a\n3\n4\n5\ne\n", None),
    "the last line loses its ending, one is inserted after it": ("a\n", "a", "a\nx\n", None),
    "the last line is removed, one is inserted after it": ("a\nb\n", "a\n", "a\nb\nx\n", "a\nx\n"),
    "both empty it": ("a\nb\n", "", "", ""),
    "one empties it, the other adds": ("a\n", "", "a\nx\n", "x\n"),
    "other line endings are other lines": ("a\nb\n", "a\r\nb\r\n", "a\nB\n", None),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_overlapping_changes_are_a_conflict_and_adjacent_ones_are_not(name: str) -> None:
    """A scenario whose result is None is a conflict."""
    base, mine, theirs, both = SCENARIOS[name]
    assert merge_or_none(base, mine, theirs) == both


def test_a_chain_of_overlaps_is_one_region() -> None:
    """The lines that it spans are counted in each text separately."""
    base, mine = split_lines("x\na\nb\nc\ny\n"), split_lines("new\nx\n1\n2\n3\nc\ny\n")
    theirs = split_lines("x\na\n4\ny\nend\n")
    assert compare(base, mine, theirs) == [
        Region("mine", (0, 0), (0, 1), (0, 0)),
        Region("conflict", (1, 4), (2, 6), (1, 3)),
        Region("theirs", (5, 5), (7, 7), (4, 5)),
    ]


def test_replacing_takes_spans_in_order() -> None:
    """An empty span is a place where lines are inserted."""
    lines = ["a", "b", "c", "d"]
    assert replaced(lines, [((0, 0), ["x"]), ((1, 3), ["y"]), ((4, 4), ["z"])]) == ["x", "a", "y", "d", "z"]
    assert replaced(lines, []) == lines


def test_large_texts_merge_in_bounded_time() -> None:
    """A merge runs at each keystroke in a file with a proposal."""
    base = [f"line {number}\n" for number in range(50_000)]
    mine = [f"mine {number}\n" if number % 100 == 0 else line for number, line in enumerate(base)]
    theirs = [f"theirs {number}\n" if number % 100 == 50 else line for number, line in enumerate(base)]
    began = time.process_time()
    both = merged("".join(base), "".join(mine), "".join(theirs))
    assert time.process_time() - began < 2
    assert (both.count("mine"), both.count("theirs"), both.count("\n")) == (500, 500, 50_000)
