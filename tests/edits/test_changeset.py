"""Proposals and what becomes of them: accept, reject, conflict, against simple models of each."""

from collections.abc import Sequence
from random import Random

import hypothesis.strategies as st
from hypothesis import given

from fairlead.edits import changeset as cs
from fairlead.edits.changeset import Changeset, Proposal
from fairlead.edits.diff import apply_hunks
from fairlead.edits.text import split_lines

PATH = "/ws/a.py"
OTHER = "/ws/ä/日本 b.py"
TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "}\n", "\n", "d\r\n", "日\n", "z"]), max_size=10).map("".join)


def proposed(base: str | None, *texts: str, path: str = PATH, items: Sequence[str | None] = ()) -> Changeset:
    """A changeset with proposals on top of each other, text n under the n-th of `items`."""
    changes = Changeset()
    for number, text in enumerate(texts):
        item = items[number] if number < len(items) else None
        changes = cs.propose(changes, path, base, text, item, f"call {number}")
    return changes


def the(changes: Changeset, path: str = PATH) -> Proposal:
    proposal = changes.get(path)
    assert proposal is not None
    return proposal


def accepted(changes: Changeset, hunk_ids: Sequence[str] | None, path: str = PATH) -> tuple[Changeset, str]:
    """After an accept that the editor carried out, and what it was asked to put there."""
    text = cs.accepted_text(the(changes, path), hunk_ids)
    return cs.accept(changes, path, text), text


@given(TEXTS, TEXTS, st.data())
def test_accepting_all_hunks_in_any_order_gives_the_proposed_text(base: str, text: str, data: st.DataObject) -> None:
    """One at a time, each from the list that is shown then; the file leaves with the last one."""
    changes = proposed(base, text)
    now = base
    while changes.get(PATH) is not None:
        hunk = data.draw(st.sampled_from(the(changes).hunks))
        changes, now = accepted(changes, [hunk.id])
    assert now == text


@given(TEXTS, TEXTS, st.data())
def test_rejecting_all_hunks_in_any_order_gives_the_base(base: str, text: str, data: st.DataObject) -> None:
    """The person's text stays what it was at each step, and the file leaves with the last one."""
    changes = proposed(base, text)
    while changes.get(PATH) is not None:
        hunk = data.draw(st.sampled_from(the(changes).hunks))
        changes = cs.reject(changes, PATH, [hunk.id])
        assert changes.get(PATH) is None or (the(changes).base, the(changes).current) == (base, base)
    assert len(changes) == 0


@given(TEXTS, TEXTS, st.data())
def test_a_mixture_gives_what_was_accepted_and_nothing_else(base: str, text: str, data: st.DataObject) -> None:
    """docs/faults.md 13: at each step the person's text is the base with the chosen hunk, nothing mixed in."""
    changes = proposed(base, text)
    now = base
    while changes.get(PATH) is not None:
        chosen = data.draw(st.lists(st.sampled_from(the(changes).hunks), min_size=1, unique_by=lambda hunk: hunk.id))
        ids = [hunk.id for hunk in chosen]
        goal = the(changes).proposed
        if data.draw(st.booleans()):
            expected = apply_hunks(now, chosen)
            changes, now = accepted(changes, ids)
            assert now == expected
            assert the(changes).proposed == goal if changes.get(PATH) else now == goal
        else:
            changes = cs.reject(changes, PATH, ids)
        if changes.get(PATH) is not None:
            assert the(changes).base == now


DECISIONS = st.lists(st.tuples(st.sampled_from(["keep", "change", "add", "drop"]), st.booleans()), max_size=12)


@given(DECISIONS, st.randoms())
def test_each_decision_counts_for_its_hunk_alone(lines: list[tuple[str, bool]], random: Random) -> None:
    """docs/faults.md 13: a model that knows, line by line, what was meant and what was decided."""
    base, text, expected = "", "", ""
    decisions: list[bool] = []
    for number, (change, take) in enumerate(lines):
        frame = f"frame {number}\n"
        old = "" if change == "add" else f"line {number}\n"
        new = {"keep": old, "change": f"changed {number}\n", "add": f"added {number}\n", "drop": ""}[change]
        base, text, expected = base + frame + old, text + frame + new, expected + frame + (new if take else old)
        decisions += [take] if old != new else []
    changes = proposed(base, text)
    now = base
    found = the(changes).hunks if changes.get(PATH) else ()
    decided = list(zip(found, decisions, strict=True))
    random.shuffle(decided)
    for hunk, take in decided:
        if take:
            changes, now = accepted(changes, [hunk.id])
        else:
            changes = cs.reject(changes, PATH, [hunk.id])
    assert (now, len(changes)) == (expected, 0)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("propose"), TEXTS),
        st.tuples(st.just("observe"), TEXTS),
        st.tuples(st.sampled_from(["accept", "reject", "accept all", "reject all"]), st.integers(0, 20)),
    ),
    max_size=12,
)


@given(st.none() | TEXTS, STEPS)
def test_no_sequence_of_steps_breaks_what_always_holds(start: str | None, steps: list[tuple[str, str | int]]) -> None:
    """The three texts against a model of three variables; origins fit the text; versions of order only grow."""
    changes = Changeset()
    on_disk, base, goal = start, start, None
    for kind, given_value in steps:
        order = changes.order
        if kind == "propose":
            base = on_disk if goal is None else base
            goal = str(given_value)
            changes = cs.propose(changes, PATH, on_disk, goal, "1", "c")
            assert changes.order == order + 1
        elif kind == "observe":
            on_disk = str(given_value)
            changes = cs.observe(changes, PATH, on_disk)
        elif goal is not None:
            proposal = the(changes)
            whole = kind.endswith("all") or not proposal.hunks
            ids = None if whole else [proposal.hunks[int(given_value) % len(proposal.hunks)].id]
            if kind.startswith("accept") and not proposal.in_conflict:
                changes, on_disk = accepted(changes, ids)
                base = on_disk
            elif kind.startswith("reject"):
                changes = cs.reject(changes, PATH, ids)
                left = changes.get(PATH)
                goal = None if left is None else left.proposed
        if goal == base:
            goal = None
        left = changes.get(PATH)
        assert (left is None) == (goal is None)
        if left is not None:
            assert (left.base, left.current, left.proposed) == (base, on_disk, goal)
            assert left.in_conflict == (base != on_disk)
            assert left.kind == ("create" if base is None else "modify")
            assert len(left.origins.lines) == len(split_lines(left.proposed)) == len(left.origins.gaps) - 1


def test_a_proposal_that_changes_nothing_is_none() -> None:
    """Neither at once nor after it was taken back."""
    assert len(proposed("a\n", "a\n")) == 0
    assert len(proposed("a\n", "b\n", "a\n")) == 0


def test_a_new_file_is_one_thing() -> None:
    """It is accepted and rejected as a whole, an empty one too, though hunks are shown."""
    changes = proposed(None, "a\nb\n")
    assert (the(changes).kind, len(the(changes).hunks)) == ("create", 1)
    assert cs.accepted_text(the(changes), []) == "a\nb\n"
    assert len(cs.reject(changes, PATH, ["no such hunk"])) == 0
    assert accepted(changes, [the(changes).hunks[0].id])[0].get(PATH) is None
    empty = proposed(None, "")
    assert (the(empty).kind, the(empty).hunks, the(empty).settled) == ("create", (), False)
    assert accepted(empty, None) == (Changeset({}, 1), "")


def test_a_new_file_that_came_into_being_meanwhile_is_a_conflict() -> None:
    """docs/faults.md 6: what the person wrote there is not taken for the base."""
    changes = cs.observe(proposed(None, "agent\n"), PATH, "person\n")
    assert the(changes).in_conflict
    assert not the(cs.observe(changes, PATH, None)).in_conflict


def test_a_file_that_changed_underneath_is_in_conflict_until_it_is_the_base_again() -> None:
    """docs/faults.md 6: no half is lost; a deleted file is a change like any other."""
    changes = proposed("a\nb\n", "a\nB\n")
    for text in ("a\nb\nc\n", "", None, "a\r\nb\r\n"):
        changes = cs.observe(changes, PATH, text)
        assert the(changes).in_conflict
        assert (the(changes).base, the(changes).current, the(changes).proposed) == ("a\nb\n", text, "a\nB\n")
    assert not the(cs.observe(changes, PATH, "a\nb\n")).in_conflict


def test_observing_the_same_again_changes_nothing() -> None:
    """Not even the object: whoever watches the changeset is not woken."""
    changes = proposed("a\n", "b\n")
    assert cs.observe(changes, PATH, "a\n") is changes
    assert cs.observe(changes, OTHER, "x\n") is changes


def test_a_file_without_a_proposal_can_be_neither_accepted_nor_rejected() -> None:
    """It may have been decided in between; then nothing happens."""
    changes = proposed("a\n", "b\n")
    assert cs.accept(changes, OTHER, "x\n") is changes
    assert cs.reject(changes, OTHER, None) is changes


def test_what_was_proposed_while_an_accept_was_under_way_stays_proposed() -> None:
    """docs/faults.md 8: the editor applied the older text; the newer one is a proposal on top of it."""
    changes = proposed("a\nb\nc\n", "A\nb\nc\n")
    applied = cs.accepted_text(the(changes), None)
    changes = cs.propose(changes, PATH, "a\nb\nc\n", "A\nb\nC\n", "2", "later")
    changes = cs.accept(changes, PATH, applied)
    assert (the(changes).base, the(changes).current, the(changes).proposed) == (applied, applied, "A\nb\nC\n")
    assert [(hunk.old, hunk.new) for hunk in the(changes).hunks] == [(("c\n",), ("C\n",))]


def test_a_created_file_that_was_accepted_is_modified_from_then_on() -> None:
    """The next proposal for it has the accepted text as its base."""
    changes = proposed(None, "a\n")
    changes, text = accepted(changes, None)
    changes = cs.propose(changes, PATH, text, "a\nb\n", None, None)
    assert (the(changes).kind, the(changes).base) == ("modify", "a\n")


def test_proposals_build_on_each_other_and_the_base_stays() -> None:
    """The second one is made on the first, and what the file says meanwhile is no new base."""
    changes = proposed("a\nb\n", "A\nb\n")
    changes = cs.propose(changes, PATH, "ignored\n", "A\nB\n", None, None)
    assert (the(changes).base, the(changes).proposed) == ("a\nb\n", "A\nB\n")
    assert len(the(changes).hunks) == 1


def test_files_are_decided_on_by_themselves() -> None:
    """In the order in which they were first proposed; deciding one leaves the others as they are."""
    changes = cs.propose(proposed("a\n", "b\n"), OTHER, None, "new\n", None, None)
    changes = cs.propose(changes, PATH, "a\n", "c\n", None, None)
    assert [proposal.path for proposal in changes] == [PATH, OTHER]
    other = the(changes, OTHER)
    assert the(cs.reject(changes, PATH, None), OTHER) is other
    assert the(accepted(changes, None)[0], OTHER) is other


def test_an_unknown_hunk_is_passed_over() -> None:
    """Accepting or rejecting an id that is no longer there changes no text."""
    changes = proposed("a\n", "b\n")
    assert cs.accepted_text(the(changes), ["0123"]) == "a\n"
    assert the(cs.reject(changes, PATH, ["0123"])).proposed == "b\n"


def test_hunks_are_found_by_the_item_they_were_made_under() -> None:
    """The latest change of a hunk counts; what was made without an item belongs to none."""
    base = "a\nb\nc\nd\ne\nf\ng\n"
    steps = ["A\nb\nc\nd\ne\nf\ng\n", "A\nb\nC\nd\ne\nf\ng\n", "A\nb\nC\nd\nf\ng\n", "A\nb\nC\nd\nf\nG\n"]
    changes = proposed(base, *steps, items=["1", "2", "1", None])
    first, second, third, _ = [hunk.id for hunk in the(changes).hunks]
    assert cs.hunks_of_item(the(changes), "1") == [first, third]
    assert cs.hunks_of_item(the(changes), "2") == [second]
    assert cs.item_ids(the(changes)) == ("1", "2")
    changes, _ = accepted(changes, cs.hunks_of_item(the(changes), "1"))
    assert (the(changes).base, cs.item_ids(the(changes))) == ("A\nb\nc\nd\nf\ng\n", ("2",))
    changes = cs.reject(changes, PATH, cs.hunks_of_item(the(changes), "2"))
    assert (the(changes).proposed, cs.item_ids(the(changes))) == ("A\nb\nc\nd\nf\nG\n", ())


def test_a_rejected_change_leaves_its_item_nothing() -> None:
    """A later change at the same place is the later item's alone."""
    changes = proposed("a\nb\nc\n", "a\nc\n", items=["1"])
    hunk = the(changes).hunks[0].id
    changes = cs.propose(changes, PATH, None, "a\nc\nx\n", "2", "c")
    changes = cs.reject(changes, PATH, [hunk]) if hunk in [h.id for h in the(changes).hunks] else changes
    changes = cs.propose(changes, PATH, None, "a\nB\nc\nx\n", "3", "c")
    assert "1" not in cs.item_ids(the(changes))
