"""The origin of each line, maintained through every change of the proposed text."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.edits import changeset as cs
from fairlead.edits.changeset import Changeset
from fairlead.edits.diff import hunks
from fairlead.edits.origins import Author, Origin, Origins
from fairlead.text_lines import split_lines

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\r\n", "\n", "日\n"]), max_size=10).map("".join)


def after(base: str, *texts: str) -> list[str | None]:
    """The items of the final hunks, if text number n was proposed under item n (from 1)."""
    origins, last = Origins.empty(base), base
    for number, text in enumerate(texts, 1):
        origins = origins.after(last, text, Origin(number, str(number), f"call {number}"))
        last = text
    found = (origins.of(hunk) for hunk in hunks(base, last))
    return [origin and origin.item_id for origin in found]


@given(TEXTS, st.lists(st.tuples(TEXTS, st.booleans()), max_size=8))
def test_there_is_one_origin_for_each_line_and_one_for_each_gap(base: str, changes: list[tuple[str, bool]]) -> None:
    """For all changes and authors, there is one more gap than lines: at the start, between lines, and at the end."""
    origins, last = Origins.empty(base), base
    for order, (text, known) in enumerate(changes, 1):
        origins = origins.after(last, text, Origin(order, "1", "c") if known else None)
        last = text
        count = len(split_lines(text))
        assert (len(origins.lines), len(origins.gaps)) == (count, count + 1)


@given(TEXTS, TEXTS)
def test_each_hunk_of_one_change_has_its_origin(base: str, proposed: str) -> None:
    """Additions, replacements and pure deletions all have the origin of the change, wherever they are."""
    origin = Origin(1, "7", "call")
    origins = Origins.empty(base).after(base, proposed, origin)
    assert {origins.of(hunk) for hunk in hunks(base, proposed)} <= {origin}


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=5))
def test_no_hunk_is_without_an_origin(base: str, texts: list[str]) -> None:
    """Every difference from the base was made by one of the changes."""
    found = after(base, *texts)
    assert None not in found
    assert set(found) <= {str(number) for number in range(1, len(texts) + 1)}


@pytest.mark.parametrize(
    ("by_hand", "items"),
    [
        ("a\nby hand\nc\nd\nE\nf\n", ["1", "2"]),
        ("a\nB\nmore\nc\nd\nE\nf\n", ["1", "2"]),
        ("a\nB\nc\nd\nf\n", ["1", "2"]),
        ("a\nb\nc\nd\nE\nf\n", ["2"]),
        ("a\nall\nby\nhand\nf\n", ["2"]),
    ],
)
def test_a_hunk_that_the_user_amends_stays_with_its_item(by_hand: str, items: list[str]) -> None:
    """An amended hunk still belongs to its item. Hunks that become one hunk belong to the latest of their items."""
    steps = ["a\nB\nc\nd\ne\nf\n", "a\nB\nc\nd\nE\nf\n"]
    origins, last = Origins.empty(BASE), BASE
    for number, text in enumerate(steps, 1):
        origins, last = origins.after(last, text, Origin(number, str(number), "c")), text
    origins = origins.amended(last, by_hand)
    found = [origins.of(hunk) for hunk in hunks(BASE, by_hand)]
    assert [origin and origin.item_id for origin in found] == items
    assert (len(origins.lines), len(origins.gaps)) == (len(split_lines(by_hand)), len(split_lines(by_hand)) + 1)


BASE = "a\nb\nc\nd\ne\nf\n"
SCENARIOS = {
    "each item changes its own line": (["a\nB\nc\nd\ne\nf\n", "a\nB\nc\nd\nE\nf\n"], ["1", "2"]),
    "additions": (["a\nx\nb\nc\nd\ne\nf\n", "a\nx\nb\nc\nd\ne\nf\ny\n"], ["1", "2"]),
    "deletions": (["a\nc\nd\ne\nf\n", "a\nc\nd\nf\n"], ["1", "2"]),
    "a deletion at the start and one at the end": (["b\nc\nd\ne\nf\n", "b\nc\nd\ne\n"], ["1", "2"]),
    "a hunk of two items belongs to the later one": (["a\nB\nc\nd\ne\nf\n", "a\nB\nC\nd\ne\nf\n"], ["2"]),
    "an addition above moves no origin": (["a\nb\nc\nd\nE\nf\n", "x\ny\na\nb\nc\nd\nE\nf\n"], ["2", "1"]),
    "a deletion above moves no origin": (["a\nb\nc\nd\nE\nf\n", "b\nc\nd\nE\nf\n"], ["2", "1"]),
    "a line changed twice belongs to the later item": (["a\nB\nc\nd\ne\nf\n", "a\nBB\nc\nd\ne\nf\n"], ["2"]),
    "a reverted change has no hunk": (["a\nB\nc\nd\ne\nf\n", "a\nB\nc\nd\nE\nf\n", "a\nb\nc\nd\nE\nf\n"], ["2"]),
    "all removed": ([""], ["1"]),
    "all removed in two steps": (["a\nb\nc\n", ""], ["2"]),
    "replaced as a whole": (["x\n", "y\n"], ["2"]),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_hunk_belongs_to_the_latest_item_that_worked_on_it(name: str) -> None:
    """A scenario has the texts that are proposed one after the other, and the item of each final hunk, in order."""
    texts, items = SCENARIOS[name]
    assert after(BASE, *texts) == items


@pytest.mark.parametrize(
    ("texts", "calls"),
    [
        (["a\nB\nc\nd\ne\nf\n", "a\nB\nc\nd\nE\nf\n"], [["call 1"], ["call 2"]]),
        (["a\nB\nc\nd\ne\nf\n", "a\nB\nC\nd\ne\nf\n"], [["call 1", "call 2"]]),
        (["a\nB\nC\nd\ne\nf\n", "a\nBB\nC\nd\ne\nf\n"], [["call 1", "call 2"]]),
        (["a\nB\nc\nd\ne\nf\n", "a\nBB\nc\nd\ne\nf\n"], [["call 2"]]),
    ],
)
def test_a_hunk_has_the_calls_that_its_lines_are_from(texts: list[str], calls: list[list[str]]) -> None:
    """The latest call is the last one. A call whose lines were all changed again is none of them."""
    changes = Changeset()
    for number, text in enumerate(texts, 1):
        changes = cs.propose(changes, "a", BASE, text, Author("1", f"call {number}"))
    (proposal,) = changes
    assert [proposal.call_ids(hunk) for hunk in proposal.hunks] == calls


LETTERS = "".join(f"{name}\n" for name in "abcdefghi")


@pytest.mark.parametrize(
    ("texts", "overtaken"),
    [
        ([("1", "b", "B"), ("2", "f", "F")], {}),
        ([("1", "b", "B"), ("2", "B", "BB")], {"1": "2"}),
        ([("1", "b", "B"), ("2", "c", "C")], {"1": "2"}),
        ([("1", "b", "B"), ("2", "f", "F"), ("2", "B", "b")], {"1": "2"}),
        ([("1", "b\n", ""), ("2", "a\n", "a\nnew\n")], {"1": "2"}),
        ([("1", "b", "B"), ("1", "B", "BB")], {}),
        ([("1", "b", "B"), ("2", "B", "BB"), ("3", "BB", "BBB")], {"1": "3", "2": "3"}),
        ([("1", "b", "B"), ("2", "B", "BB"), ("1", "BB", "BBB")], {"2": "1"}),
        ([("1", "b", "B"), (None, "B", "BB")], {"1": None}),
        ([("1", "b", "B"), ("2", "f", "F"), ("3", "F", "FF")], {"2": "3"}),
    ],
)
def test_a_step_whose_changes_were_changed_again_names_the_later_step(
    texts: list[tuple[str | None, str, str]], overtaken: dict[str, str | None]
) -> None:
    """P15: the later change may replace, revert, adjoin or include the earlier one."""
    changes, text = Changeset(), LETTERS
    for item, old, new in texts:
        text = text.replace(old, new, 1)
        changes = cs.propose(changes, "/a", LETTERS, text, Author(item, "call"))
    proposal = changes.get("/a")
    assert proposal is not None
    assert proposal.overtaken == overtaken


def test_a_deletion_overtakes_all_that_was_changed_in_the_file() -> None:
    """The step whose changes are lost names the one that deleted the file."""
    changes = cs.propose(Changeset(), "/a", LETTERS, LETTERS.replace("b", "B"), Author("1", "call"))
    proposal = cs.delete(changes, "/a", LETTERS, Author("2", "call")).get("/a")
    assert proposal is not None
    assert proposal.overtaken == {"1": "2"}
