"""The outcome of each change, and how many were accepted, also after a plan item was undone."""

from fairlead.edits import changeset as cs
from fairlead.edits.changeset import Changeset
from fairlead.edits.origins import Author
from fairlead.edits.proposal import Proposal, Raw, empty_proposal
from fairlead.edits.review_outcomes import ReviewCount, count_review, hunk_outcomes
from fairlead.edits.undo import Decision, DecisionLog, FileDecision
from support.function_calls import function_calls

PATH = "a.txt"
FIRST, SECOND = Author("1", "call-1"), Author("2", "call-2")


def propose(changes: Changeset, text: str, author: Author, current: str | None = None) -> Changeset:
    return cs.propose(changes, PATH, current, text, author)


def accept(changes: Changeset, log: DecisionLog, before: Proposal) -> tuple[Changeset, DecisionLog]:
    """Accepts all that was proposed in `before`, which `changes` may have extended since."""
    done = cs.accepted(before, cs.regions_to_accept(before, None, False))
    decision = Decision("accept", "Accept a.txt", (FileDecision(before, done, True),))
    return cs.accept(changes, before, done), log.with_decision(decision)


def proposal(changes: Changeset) -> Proposal:
    found = changes.get(PATH)
    assert found is not None
    return found


def undo(log: DecisionLog, item_id: str, text: str | None, without: str | None) -> DecisionLog:
    """Undoes the item's accepted changes: the file's text changes from `text` to `without`."""
    file = FileDecision(empty_proposal(PATH, text), empty_proposal(PATH, without), True)
    return log.with_decision(Decision("undo", f"Undo step {item_id}", (file,), item_id=item_id))


def outcomes(changes: Changeset, log: DecisionLog) -> list[tuple[str, str | None, bool]]:
    """The outcome and the item of each change, and whether it is a hunk."""
    return [(each.outcome, each.item_id, each.hunk is not None) for each in hunk_outcomes(changes, log)]


def test_a_new_file_is_undone_with_the_changes_of_other_items() -> None:
    """A new file is accepted as a whole, so after one of its items was undone, no change of it counts as accepted."""
    changes = propose(propose(Changeset(), "one\n", FIRST), "one\ntwo\n", SECOND)
    changes, log = accept(changes, DecisionLog(), proposal(changes))
    assert count_review(changes, log) == ReviewCount(1, 1)
    log = undo(log, "2", "one\ntwo\n", None)
    assert {outcome for outcome, _, _ in outcomes(changes, log)} == {"undone"}
    assert count_review(changes, log) == ReviewCount(0, 0)


def test_a_later_change_is_undone_without_the_new_file() -> None:
    """The new file and the change were accepted separately, so the file stays accepted."""
    changes = propose(Changeset(), "one\n", FIRST)
    changes, log = accept(changes, DecisionLog(), proposal(changes))
    changes = propose(changes, "one\ntwo\n", FIRST, current="one\n")
    changes, log = accept(changes, log, proposal(changes))
    assert count_review(changes, log) == ReviewCount(2, 2)
    log = undo(log, "1", "one\ntwo\n", "one\n")
    assert outcomes(changes, log) == [("accepted", "1", False), ("accepted", "1", True), ("undone", "1", True)]
    assert count_review(changes, log) == ReviewCount(1, 1)


def test_a_new_file_stays_accepted_when_its_permissions_are_undone() -> None:
    """Both were accepted as a whole, for the same item; only the later accept is undone, and then the earlier one."""
    changes = propose(Changeset(), "one\n", FIRST)
    changes, log = accept(changes, DecisionLog(), proposal(changes))
    changes = cs.capture(changes, PATH, "one\n", "one\n", FIRST, Raw(mode=0o755))
    changes, log = accept(changes, log, proposal(changes))
    log = undo(log, "1", "one\n", "one\n")
    assert outcomes(changes, log) == [("accepted", "1", False), ("accepted", "1", True), ("undone", "1", False)]
    log = undo(log, "1", "one\n", None)
    assert {outcome for outcome, _, _ in outcomes(changes, log)} == {"undone"}


def test_an_undone_rename_is_about_the_same_file_as_before() -> None:
    """The outcomes name the path that the file has again."""
    changes = propose(Changeset(), "one\n", FIRST, current="zero\n")
    changes, log = accept(changes, DecisionLog(), proposal(changes))
    changes = cs.rename(changes, PATH, "b.txt", "one\n", FIRST)
    changes, log = accept(changes, log, proposal(changes))
    log = undo(log, "1", None, "one\n")
    log = undo(log, "1", "one\n", "zero\n")
    assert {each.file for each in hunk_outcomes(changes, log)} == {PATH}
    assert count_review(changes, log) == ReviewCount(0, 0)


def test_a_new_file_is_not_left_to_review_after_it_was_accepted() -> None:
    """If the agent changes the file during the accept, only its new lines are left."""
    before = propose(Changeset(), "one\n", FIRST)
    later = propose(before, "one\ntwo\n", SECOND)
    changes, log = accept(later, DecisionLog(), proposal(before))
    assert outcomes(changes, log) == [("accepted", "1", False), ("accepted", "1", True), ("review", "2", True)]
    assert count_review(changes, log) == ReviewCount(1, 2)


def undone_renames(count: int) -> DecisionLog:
    """An accept of that many renamed files, in each of which a line changed too. Then their item was undone."""
    accepted: list[FileDecision] = []
    restored: list[FileDecision] = []
    for path in (f"{number}.txt" for number in range(count)):
        changes = cs.propose(Changeset(), path, "zero\n", "one\n", FIRST)
        [before] = cs.rename(changes, path, f"new/{path}", "one\n", FIRST)
        accepted.append(FileDecision(before, cs.accepted(before, before.regions), True))
        restored.append(FileDecision(empty_proposal(path, None), empty_proposal(path, "zero\n"), True))
    log = DecisionLog().with_decision(Decision("accept", "Accept all", tuple(accepted)))
    return log.with_decision(Decision("undo", "Undo step 1", tuple(restored), item_id="1"))


def test_twice_as_many_files_take_about_twice_as_many_steps() -> None:
    """A step may rename thousands of files, and be undone."""
    few, many = undone_renames(100), undone_renames(200)
    steps = function_calls(lambda: hunk_outcomes(Changeset(), few))
    assert function_calls(lambda: hunk_outcomes(Changeset(), many)) < 2.2 * steps
    found = {(each.file, each.outcome) for each in hunk_outcomes(Changeset(), few)}
    assert found == {(f"{number}.txt", "undone") for number in range(100)}
