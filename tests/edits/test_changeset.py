"""Proposals, the decisions on them, and conflicts. Some tests compare them with simple models."""

from collections.abc import Collection, Sequence
from random import Random

import hypothesis.strategies as st
from hypothesis import example, given

from edits.patching import patched
from fairlead.edits import changeset as cs
from fairlead.edits.changeset import Changeset
from fairlead.edits.origins import Author
from fairlead.edits.proposal import Proposal, Raw, empty_proposal
from fairlead.edits.text import split_lines

PATH = "/ws/a.py"
OTHER = "/ws/ä/日本 b.py"
TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "}\n", "\n", "d\r\n", "日\n", "z"]), max_size=10).map("".join)


def proposed(base: str | None, *texts: str, path: str = PATH, items: Sequence[str | None] = ()) -> Changeset:
    """A changeset in which each text is proposed on the one before it, under the item at the same index in `items`."""
    changes = Changeset()
    for number, text in enumerate(texts):
        item = items[number] if number < len(items) else None
        changes = cs.propose(changes, path, base, text, Author(item, f"call {number}"))
    return changes


def the(changes: Changeset, path: str = PATH) -> Proposal:
    proposal = changes.get(path)
    assert proposal is not None
    return proposal


def accepted(
    changes: Changeset, hunk_ids: Collection[str] | None, path: str = PATH, overwrite_user_lines: bool = False
) -> tuple[Changeset, str]:
    """The changeset after an accept that the editor applied, and the text of the user's file."""
    before = the(changes, path)
    done = cs.accepted(before, cs.regions_to_accept(before, hunk_ids, overwrite_user_lines))
    assert done.current is not None
    return cs.accept(changes, before, done), done.current


def rejected(changes: Changeset, hunk_ids: Collection[str] | None, path: str = PATH) -> Changeset:
    return changes.with_proposal(cs.rejected(the(changes, path), hunk_ids))


@given(TEXTS, TEXTS, st.data())
def test_accepting_all_hunks_in_any_order_gives_the_proposed_text(base: str, text: str, data: st.DataObject) -> None:
    """The hunks are accepted one at a time, each chosen from those that are left. The last accept ends the proposal."""
    changes = proposed(base, text)
    now = base
    while changes.get(PATH) is not None:
        hunk = data.draw(st.sampled_from(the(changes).hunks))
        changes, now = accepted(changes, [hunk.id])
    assert now == text


@given(TEXTS, TEXTS, st.data())
def test_rejecting_all_hunks_in_any_order_gives_the_base(base: str, text: str, data: st.DataObject) -> None:
    """The user's text never changes, and the last rejection ends the proposal."""
    changes = proposed(base, text)
    while changes.get(PATH) is not None:
        hunk = data.draw(st.sampled_from(the(changes).hunks))
        changes = rejected(changes, [hunk.id])
        assert changes.get(PATH) is None or (the(changes).base, the(changes).current) == (base, base)
    assert len(changes) == 0


@given(TEXTS, TEXTS, st.data())
def test_mixed_decisions_give_what_was_accepted_and_nothing_else(base: str, text: str, data: st.DataObject) -> None:
    """docs/faults.md 13: after each accept, the user's text is the base with exactly the chosen hunks applied."""
    changes = proposed(base, text)
    now = base
    while changes.get(PATH) is not None:
        chosen = data.draw(st.lists(st.sampled_from(the(changes).hunks), min_size=1, unique_by=lambda hunk: hunk.id))
        ids = [hunk.id for hunk in chosen]
        goal = the(changes).proposed
        if data.draw(st.booleans()):
            expected = patched(now, chosen)
            changes, now = accepted(changes, ids)
            assert now == expected
            assert the(changes).proposed == goal if changes.get(PATH) else now == goal
        else:
            changes = rejected(changes, ids)
        if changes.get(PATH) is not None:
            assert the(changes).base == now


DECISIONS = st.lists(st.tuples(st.sampled_from(["keep", "change", "add", "drop"]), st.booleans()), max_size=12)


@given(DECISIONS, st.randoms())
def test_each_decision_affects_only_its_hunk(lines: list[tuple[str, bool]], random: Random) -> None:
    """docs/faults.md 13: the final text is that of a model that knows the change and the decision for each line."""
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
            changes = rejected(changes, [hunk.id])
    assert (now, len(changes)) == (expected, 0)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("propose"), TEXTS),
        st.tuples(st.just("type"), TEXTS),
        st.tuples(st.sampled_from(["accept", "over mine", "reject", "accept all", "reject all"]), st.integers(0, 20)),
    ),
    max_size=12,
)


@example("c\n}\na\nb\n", [("propose", "b\na\n"), ("type", "a\nc\na\n}\n")])  # seen twice, at other lines
@example("a\nb\na\n", [("propose", "z"), ("type", "a\na\nb\n")])  # the last line loses its line ending
@given(st.none() | TEXTS, STEPS)
def test_no_sequence_of_steps_breaks_the_invariants(start: str | None, steps: list[tuple[str, str | int]]) -> None:
    """The proposal has the user's text, which equals the base or is in conflict. No step joins two lines into one."""
    changes = Changeset()
    on_disk, goal = start, None
    for kind, given_value in steps:
        order, lines = changes.order, _lines(on_disk, changes)
        if kind == "propose":
            goal = str(given_value)
            changes = cs.propose(changes, PATH, on_disk, goal, Author("1", "c"))
            assert changes.order == order + 1
        elif kind == "type":
            on_disk = str(given_value)
            lines |= set(split_lines(on_disk))
            changes = cs.observe(changes, PATH, on_disk)
        elif changes.get(PATH) is not None:
            proposal = the(changes)
            whole = kind.endswith("all") or not proposal.hunks
            ids = None if whole else [proposal.hunks[int(given_value) % len(proposal.hunks)].id]
            if kind.startswith("reject"):
                changes = rejected(changes, ids)
                assert changes.get(PATH) is None or ids is not None
            elif not (proposal.decided_as_whole and proposal.in_conflict):
                places = _with_hunk(proposal, on_disk, ids)
                changes, on_disk = accepted(changes, ids, overwrite_user_lines=kind == "over mine")
                assert places is None or on_disk in places
        assert kind == "propose" or _lines(on_disk, changes) <= lines
        check_invariants(changes.get(PATH), on_disk)


def _with_hunk(proposal: Proposal, on_disk: str | None, ids: Collection[str] | None) -> list[str] | None:
    """The user's text with the hunk in `ids` applied, once for each place that has the hunk's old lines.

    None if no hunk is given, or if it is in conflict or in a file that is decided as a whole.
    """
    hunk = next((hunk for hunk in proposal.hunks if ids is not None and hunk.id in ids), None)
    if hunk is None or proposal.decided_as_whole or hunk.id in proposal.conflicts:
        return None
    lines, count = split_lines(on_disk or ""), len(hunk.old)
    at = [index for index in range(len(lines) + 1) if lines[index : index + count] == list(hunk.old)]
    return ["".join([*lines[:index], *hunk.new, *lines[index + count :]]) for index in at]


def _lines(on_disk: str | None, changes: Changeset) -> set[str]:
    """All lines of all texts, to check that no line is ever combined from two."""
    proposal = changes.get(PATH)
    texts = [on_disk] if proposal is None else [on_disk, proposal.base, proposal.proposed]
    return {line for text in texts for line in split_lines(text or "")}


def check_invariants(proposal: Proposal | None, on_disk: str | None) -> None:
    if proposal is None:
        return
    assert not proposal.is_settled
    assert proposal.current == on_disk
    assert proposal.in_conflict == (proposal.base != on_disk)
    assert proposal.conflicts.keys() <= {hunk.id for hunk in proposal.hunks}
    assert proposal.kind == ("create" if proposal.base is None else "modify")
    assert len(proposal.origins.lines) == len(split_lines(proposal.proposed or "")) == len(proposal.origins.gaps) - 1
    if proposal.kind == "modify":
        assert all(region.side in ("theirs", "conflict") for region in proposal.regions)
        for hunk in proposal.hunks:
            region = proposal.region_of[hunk.id]
            assert region.base[0] <= hunk.old_start <= hunk.old_start + len(hunk.old) <= region.base[1]
            assert region.theirs[0] <= hunk.new_start <= hunk.new_start + len(hunk.new) <= region.theirs[1]


def test_a_text_that_changes_nothing_is_no_proposal() -> None:
    """There is no proposal, whether the agent wrote the same text or changed its text back."""
    assert len(proposed("a\n", "a\n")) == 0
    assert len(proposed("a\n", "b\n", "a\n")) == 0


def test_a_new_file_is_decided_as_a_whole() -> None:
    """A decision applies to the whole file, whichever hunks it names. An empty file can be decided too."""
    changes = proposed(None, "a\nb\n")
    assert (the(changes).kind, the(changes).decided_as_whole, len(the(changes).hunks)) == ("create", True, 1)
    assert accepted(changes, []) == (Changeset({}, 1), "a\nb\n")
    assert len(rejected(changes, ["no such hunk"])) == 0
    assert accepted(changes, [the(changes).hunks[0].id])[0].get(PATH) is None
    empty = proposed(None, "")
    assert (the(empty).kind, the(empty).hunks, the(empty).is_settled) == ("create", (), False)
    assert accepted(empty, None) == (Changeset({}, 1), "")


def test_a_new_file_that_the_user_created_meanwhile_is_a_conflict() -> None:
    """docs/faults.md 6: the text that the user wrote there does not become the base."""
    changes = cs.observe(proposed(None, "agent\n"), PATH, "user\n")
    assert the(changes).in_conflict
    assert [(c.base, c.current, c.proposed) for c in the(changes).conflicts.values()] == [("", "user\n", "agent\n")]
    assert not the(cs.observe(changes, PATH, None)).in_conflict
    assert len(cs.observe(changes, PATH, "agent\n")) == 0


def test_a_user_change_beside_the_hunks_is_merged() -> None:
    """docs/faults.md 6: the change appears in the base and the proposed text without a conflict. Hunk ids stay."""
    changes = proposed("a\nb\nc\nd\n", "a\nB\nc\nd\n")
    [hunk] = the(changes).hunks
    for text, goal in (
        ("a\nb\nc\nmine\nd\n", "a\nB\nc\nmine\nd\n"),
        ("top\na\nb\nc\n", "top\na\nB\nc\n"),
        ("b\n", "B\n"),
        ("b", None),
        ("a\nb\nc\nd\n", "a\nB\nc\nd\n"),
    ):
        changes = cs.observe(changes, PATH, text)
        if goal is None:  # the file's last line, which is the hunk's own, has lost its line ending
            assert the(changes).in_conflict
            continue
        assert (the(changes).base, the(changes).current, the(changes).proposed) == (text, text, goal)
        assert [hunk.id for hunk in the(changes).hunks] == [hunk.id]
        assert not the(changes).in_conflict


def test_a_user_change_in_a_hunk_is_a_conflict_of_only_that_hunk() -> None:
    """docs/faults.md 6: the other hunk can be accepted. If the user types the old line again, the conflict ends."""
    base = "a\nb\nc\nd\ne\n"
    changes = cs.observe(proposed(base, "a\nB\nc\nD\ne\n"), PATH, "a\nmine\nc\nd\ne\n")
    first, second = the(changes).hunks
    [(hunk_id, conflict)] = the(changes).conflicts.items()
    assert hunk_id == first.id
    assert (conflict.base, conflict.current, conflict.proposed) == ("b\n", "mine\n", "B\n")
    back = the(cs.observe(changes, PATH, base))
    assert (back.base, back.proposed, back.conflicts) == (base, "a\nB\nc\nD\ne\n", {})
    assert accepted(changes, [first.id])[1] == "a\nmine\nc\nd\ne\n"
    changes, now = accepted(changes, None)
    assert now == "a\nmine\nc\nD\ne\n"
    assert [hunk.id for hunk in the(changes).hunks] == [first.id]
    assert len(rejected(changes, [first.id])) == 0
    assert accepted(changes, [first.id], overwrite_user_lines=True)[1] == "a\nB\nc\nD\ne\n"
    assert second.id not in the(changes).conflicts


def test_a_hunk_beside_a_conflict_is_not_in_conflict() -> None:
    """The user's change ends where the hunk begins, or the reverse: their order is clear, so both are applied."""
    base, mine = "a\nb\nc\nd\ne\nf\n", "1\n2\n3\n4\n5\nf\n"
    for text, hunk, expected in (
        ("a\nB\nc\nd\ne\n", 1, "1\n2\n3\n4\n5\n"),
        ("a\nB\nc\nd\ne\nx\nf\n", 1, "1\n2\n3\n4\n5\nx\nf\n"),
        ("x\na\nb\nc\nD\ne\nf\n", 0, "x\n1\n2\n3\n4\n5\nf\n"),
    ):
        changes = cs.observe(proposed(base, text), PATH, mine)
        ids = [one.id for one in the(changes).hunks]
        assert list(the(changes).conflicts) == [ids[1 - hunk]]
        assert accepted(changes, [ids[hunk]])[1] == expected


def test_a_change_that_the_user_makes_too_is_no_longer_proposed() -> None:
    """If the user makes the proposed change, nothing is left to decide."""
    changes = proposed("a\nb\nc\nd\n", "A\nb\nc\nD\n")
    changes = cs.observe(changes, PATH, "A\nb\nc\nd\n")
    assert [(hunk.old, hunk.new) for hunk in the(changes).hunks] == [(("d\n",), ("D\n",))]
    assert len(cs.observe(changes, PATH, "A\nb\nc\nD\n")) == 0


def test_the_agent_can_end_a_conflict() -> None:
    """A conflict ends if the agent removes its change or writes the user's text, which becomes the base."""
    base, mine = "a\nb\nc\nd\n", "a\nmine\nc\nd\n"
    conflict = cs.observe(proposed(base, "a\nB\nc\nD\n"), PATH, mine)
    for text in ("a\nb\nc\nD\n", "a\nmine\nc\nD\n"):
        changes = cs.propose(conflict, PATH, mine, text, Author("2", "c"))
        assert (the(changes).base, the(changes).current, the(changes).proposed) == (mine, mine, "a\nmine\nc\nD\n")
        assert [(hunk.old, hunk.new) for hunk in the(changes).hunks] == [(("d\n",), ("D\n",))]


def test_a_file_that_the_user_deleted_is_a_conflict_of_all_its_hunks() -> None:
    """docs/faults.md 6: no part of it is restored automatically, but the user can accept the whole proposed text."""
    for base, text in (("a\nb\n", "a\nb\nc\n"), ("a\nb\nc\n", "A\nb\nC\n"), ("", "a\n"), ("a\n", "")):
        changes = cs.observe(proposed(base, text), PATH, None)
        assert the(changes).conflicts.keys() == {hunk.id for hunk in the(changes).hunks}
        assert cs.regions_to_accept(the(changes), None, overwrite_user_lines=False) == []
        assert accepted(changes, None, overwrite_user_lines=True) == (Changeset({}, 1), text)
        assert len(rejected(changes, None)) == 0
        assert the(cs.observe(changes, PATH, base)).conflicts == {}


def test_observing_the_same_text_again_changes_nothing() -> None:
    """The result is the same object, so that nothing is published."""
    changes = proposed("a\n", "b\n")
    assert cs.observe(changes, PATH, "a\n") is changes
    assert cs.observe(changes, OTHER, "x\n") is changes


def test_a_file_without_a_proposal_cannot_be_accepted() -> None:
    """The agent may have withdrawn the proposal meanwhile; then nothing happens."""
    changes = proposed("a\n", "b\n")
    gone = the(proposed("x\n", "y\n", path=OTHER), OTHER)
    assert cs.accept(changes, gone, cs.accepted(gone, gone.regions)) is changes


def test_a_proposal_made_during_an_accept_stays_proposed() -> None:
    """docs/faults.md 8: the editor applied the older text; the newer one is a proposal on top of it."""
    changes = proposed("a\nb\nc\n", "A\nb\nc\n")
    before = the(changes)
    done = cs.accepted(before, cs.regions_to_accept(before, None, overwrite_user_lines=False))
    changes = cs.propose(changes, PATH, "a\nb\nc\n", "A\nb\nC\n", Author("2", "later"))
    changes = cs.accept(changes, before, done)
    applied = "A\nb\nc\n"
    assert (the(changes).base, the(changes).current, the(changes).proposed) == (applied, applied, "A\nb\nC\n")
    assert [(hunk.old, hunk.new) for hunk in the(changes).hunks] == [(("c\n",), ("C\n",))]


def test_a_second_rename_during_an_accept_stays_proposed() -> None:
    """The file is now at the first new path. The rename from there to the second stays proposed, with the edits."""
    changes = cs.rename(Changeset(), PATH, "/ws/b", "a\n", Author())
    before = the(changes)
    done = cs.accepted(before, [])
    further = cs.rename(changes, "/ws/b", "/ws/c", None, Author())
    further = cs.propose(further, "/ws/c", None, "b\n", Author())
    moved = the(cs.accept(further, before, done), "/ws/b")
    assert (moved.kind, moved.new_path, moved.base, moved.proposed) == ("rename", "/ws/c", "a\n", "b\n")
    assert len(cs.accept(changes, before, done)) == 0


def test_a_reverted_rename_belongs_to_no_item() -> None:
    """Only the file's other changes remain, under their own items."""
    changes = cs.rename(proposed("a\n", "b\n", items=["1"]), PATH, OTHER, None, Author("2", "c"))
    assert the(changes).item_ids == ("2", "1")
    back = the(cs.rename(changes, OTHER, PATH, None, Author("3", "c")))
    assert (back.kind, back.proposed, back.file_origin, back.item_ids) == ("modify", "b\n", None, ("1",))


def test_a_new_file_that_is_renamed_leaves_its_conflict_behind() -> None:
    """The user created another file at its earlier path. There is none at the new path."""
    changes = cs.observe(proposed(None, "agent\n"), PATH, "user\n")
    assert the(changes).in_conflict
    changes = cs.rename(changes, PATH, OTHER, None, Author())
    assert [(each.path, each.proposed, each.in_conflict) for each in changes] == [(OTHER, "agent\n", False)]


def test_a_created_file_that_was_accepted_is_modified_from_then_on() -> None:
    """The next proposal for it has the accepted text as its base."""
    changes = proposed(None, "a\n")
    changes, text = accepted(changes, None)
    changes = cs.propose(changes, PATH, text, "a\nb\n", Author())
    assert (the(changes).kind, the(changes).base) == ("modify", "a\n")


def test_proposals_build_on_each_other_and_the_base_stays() -> None:
    """The second proposal is made on top of the first, and the file's later text does not become the base."""
    changes = proposed("a\nb\n", "A\nb\n")
    changes = cs.propose(changes, PATH, "ignored\n", "A\nB\n", Author())
    assert (the(changes).base, the(changes).proposed) == ("a\nb\n", "A\nB\n")
    assert len(the(changes).hunks) == 1


def test_files_are_decided_separately() -> None:
    """A decision on one file leaves the others as they are. Files are in the order of their first proposals."""
    changes = cs.propose(proposed("a\n", "b\n"), OTHER, None, "new\n", Author())
    changes = cs.propose(changes, PATH, "a\n", "c\n", Author())
    assert [proposal.path for proposal in changes] == [PATH, OTHER]
    other = the(changes, OTHER)
    assert the(rejected(changes, None), OTHER) is other
    assert the(accepted(changes, None)[0], OTHER) is other


def test_an_unknown_hunk_is_ignored() -> None:
    """Accepting or rejecting an id that no longer exists changes no text."""
    changes = proposed("a\n", "b\n")
    assert accepted(changes, ["0123"])[1] == "a\n"
    assert the(rejected(changes, ["0123"])).proposed == "b\n"


def test_hunks_are_found_by_the_item_they_were_made_under() -> None:
    """The latest change of a hunk counts; a change that was made without an item belongs to none."""
    base = "a\nb\nc\nd\ne\nf\ng\n"
    steps = ["A\nb\nc\nd\ne\nf\ng\n", "A\nb\nC\nd\ne\nf\ng\n", "A\nb\nC\nd\nf\ng\n", "A\nb\nC\nd\nf\nG\n"]
    changes = proposed(base, *steps, items=["1", "2", "1", None])
    first, second, third, _ = [hunk.id for hunk in the(changes).hunks]
    assert the(changes).hunks_of("1") == {first, third}
    assert the(changes).hunks_of("2") == {second}
    assert the(changes).item_ids == ("1", "2")
    changes, _ = accepted(changes, the(changes).hunks_of("1"))
    assert (the(changes).base, the(changes).item_ids) == ("A\nb\nc\nd\nf\ng\n", ("2",))
    changes = rejected(changes, the(changes).hunks_of("2"))
    assert (the(changes).proposed, the(changes).item_ids) == ("A\nb\nc\nd\nf\nG\n", ())


def test_a_rejected_change_no_longer_belongs_to_its_item() -> None:
    """A later change at the same place belongs only to the later item."""
    changes = proposed("a\nb\nc\n", "a\nc\n", items=["1"])
    hunk = the(changes).hunks[0].id
    changes = cs.propose(changes, PATH, None, "a\nc\nx\n", Author("2", "c"))
    changes = rejected(changes, [hunk])
    changes = cs.propose(changes, PATH, None, "a\nB\nc\nx\n", Author("3", "c"))
    assert "1" not in the(changes).item_ids


def test_a_derived_value_is_computed_once_for_the_same_inputs() -> None:
    """It is computed again for other inputs, and for the proposal that replaces this one."""
    computed: list[tuple[str | None, str]] = []

    def shown(proposal: Proposal, lead: str) -> str:
        computed.append((proposal.proposed, lead))
        return f"{lead}{proposal.proposed}"

    first = empty_proposal("/a", "one\n")
    assert [first.derive(shown, lead) for lead in ("+", "+", "-")] == ["+one\n", "+one\n", "-one\n"]
    assert first.with_text("two\n", None).derive(shown, "-") == "-two\n"
    assert computed == [("one\n", "+"), ("one\n", "-"), ("two\n", "-")]


def test_proposed_permissions_stay_when_the_user_writes_the_same_text() -> None:
    """Only the text is settled: the user's file is not executable yet."""
    changes = cs.capture(Changeset(), "/ws/run.sh", None, "x\n", Author("1", "call"), Raw(None, 0o755))
    proposal = the(cs.observe(changes, "/ws/run.sh", "x\n"), "/ws/run.sh")
    assert (proposal.kind, proposal.base, proposal.raw) == ("modify", "x\n", Raw(None, 0o755))
