"""Proposals, the decisions on them, and conflicts. Some tests compare them with simple models."""

from collections.abc import Collection, Sequence

import hypothesis.strategies as st
from hypothesis import given

from edits.patching import patched
from fairlead.edits import changeset as cs
from fairlead.edits.changeset import Changeset
from fairlead.edits.origins import Author
from fairlead.edits.proposal import Proposal, Raw, empty_proposal

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
