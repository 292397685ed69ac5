"""Undo and redo of decisions: the log, and what may change between a decision and its undo."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from edits.bench import PATH, Bench
from fairlead.edits.proposal import Proposal
from fairlead.edits.text import split_lines
from fairlead.edits.undo import CannotUndo, Decision, DecisionLog, FileDecision

BASE = "x\na\ny\na\nz\n"


def hunk_ids(bench: Bench) -> list[str]:
    return [hunk.id for hunk in bench.proposal.hunks]


# few different lines, so that they repeat and cross, and sometimes no line ending at the end
TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "\n", "}\n", "d\r\n", "z"]), max_size=8).map("".join)
WRITES = st.tuples(st.sampled_from(["propose", "type", "amend"]), TEXTS)
DECISIONS = st.tuples(st.sampled_from(["accept", "over mine", "reject", "delete"]), st.integers(0, 9) | st.none())
UNDO_OR_REDO = st.tuples(st.sampled_from(["undo", "redo"]), st.none())


@settings(max_examples=300)
@given(st.none() | TEXTS, st.lists(WRITES | DECISIONS | UNDO_OR_REDO, min_size=4, max_size=20))
def test_an_undo_restores_the_earlier_text_or_is_refused(start: str | None, steps: list[tuple[str, object]]) -> None:
    """Undoing or redoing an accept restores the file's exact text; other decisions do not change the file."""
    bench = Bench(start)
    for what, given_value in steps:
        disk, known = bench.disk, lines(bench)
        decided = len(bench.decisions.done)
        ids = [bench.proposal.hunks[given_value % len(bench.proposal.hunks)].id] if (
            isinstance(given_value, int) and bench.proposal.hunks
        ) else None  # fmt: skip
        match what:
            case "propose" | "type":
                getattr(bench, what)(given_value)
                known |= lines(bench)
            case "amend" if not bench.proposal.is_settled and bench.proposal.proposed is not None:
                bench.amend(str(given_value))
                known |= lines(bench)
            case "delete" if bench.proposal.proposed is not None:
                bench.delete()
            case "accept" | "over mine" if not bench.proposal.is_settled:
                bench.accept(ids, overwrite_user_lines=what == "over mine")
            case "reject" if not bench.proposal.is_settled:
                bench.reject(ids)
            case "undo" | "redo" if bench.decisions.done if what == "undo" else bench.decisions.undone:
                [file] = (bench.decisions.done if what == "undo" else bench.decisions.undone)[-1].files
                file = file if what == "undo" else file.inverse
                try:
                    getattr(bench, what)()
                except CannotUndo:
                    assert (bench.disk, len(bench.decisions.done)) == (disk, decided)
                else:
                    assert bench.disk == (file.before.current if file.in_file else disk)
                    known |= proposal_lines(file.before)
        if what in ("propose", "reject", "amend", "delete"):
            assert bench.disk == disk
        assert lines(bench) <= known
        proposal = bench.proposal
        assert proposal.current == bench.disk
        if proposal.proposed is not None:
            count = len(split_lines(proposal.proposed))
            assert (len(proposal.origins.lines), len(proposal.origins.gaps)) == (count, count + 1)
        if not proposal.decided_as_whole:
            assert proposal.in_conflict == (proposal.base != bench.disk)


def lines(bench: Bench) -> set[str]:
    """All lines of all texts, to check that no line is ever combined from two."""
    return proposal_lines(bench.proposal) | set(split_lines(bench.disk or ""))


def proposal_lines(proposal: Proposal) -> set[str]:
    texts = (proposal.base, proposal.current, proposal.proposed)
    return {line for text in texts for line in split_lines(text or "")}


def test_an_undo_restores_the_ids_of_equal_hunks() -> None:
    """The second of two hunks with the same lines keeps its id, and an undo gives the first one its own id back."""
    for decide in (Bench.accept, Bench.reject):
        bench = Bench(BASE)
        bench.propose("x\nb\ny\nb\nz\n")
        first, second = hunk_ids(bench)
        decide(bench, [first])
        assert hunk_ids(bench) == [second]
        bench.undo()
        assert hunk_ids(bench) == [first, second]
        bench.redo()
        assert hunk_ids(bench) == [second]
        bench.propose(bench.proposal.proposed or "" if decide is Bench.accept else "x\nb\ny\nb\nz\n")
        assert second in hunk_ids(bench)
        assert first not in hunk_ids(bench)


def test_an_undo_restores_the_id_even_if_the_agent_continued() -> None:
    """The lines that the agent proposed elsewhere stay, and the hunk has its earlier id."""
    bench = Bench("a\nb\nc\nd\ne\n")
    bench.propose("A\nb\nc\nd\nE\n")
    first, last = hunk_ids(bench)
    bench.reject([first])
    bench.propose("a\nb\nC\nd\nE\n")
    bench.undo()
    assert bench.proposal.proposed == "A\nb\nC\nd\nE\n"
    assert (hunk_ids(bench)[0], hunk_ids(bench)[2]) == (first, last)


def test_text_typed_since_prevents_the_undo_of_an_accept() -> None:
    """docs/faults.md 6: the typed text must not be lost. Once the user has removed it, the accept can be undone."""
    bench = Bench("a\nb\n")
    bench.propose("A\nb\n")
    bench.accept(None)
    bench.type("A\nb\nmine\n")
    with pytest.raises(CannotUndo, match="has changed since"):
        bench.undo()
    bench.type("A\nb\n")
    bench.undo()
    assert (bench.disk, bench.proposal.proposed) == ("a\nb\n", "A\nb\n")


def test_text_typed_since_stays_when_a_rejection_is_undone() -> None:
    """Text beside the hunk is merged; if the hunk's own lines have changed, the undo is refused."""
    bench = Bench("a\nb\nc\n")
    bench.propose("A\nb\nc\n")
    bench.reject(None)
    bench.type("a\nb\nmine\n")
    bench.undo()
    assert (bench.disk, bench.proposal.proposed) == ("a\nb\nmine\n", "A\nb\nmine\n")
    bench.reject(None)
    bench.type("b\nmine\n")
    with pytest.raises(CannotUndo, match="the same lines have changed since, in the file or in its proposal"):
        bench.undo()
    assert bench.disk == "b\nmine\n"


def test_an_accept_can_be_undone_after_the_agent_withdrew_the_rest() -> None:
    """The user's file is as the accept left it, so the accept can be undone."""
    bench = Bench("a\nb\nc\n")
    bench.propose("A\nb\nC\n")
    bench.accept([hunk_ids(bench)[0]])
    bench.propose("A\nb\nc\n")
    assert bench.proposal.is_settled
    bench.undo()
    assert (bench.disk, bench.proposal.proposed) == ("a\nb\nc\n", "A\nb\nc\n")


def test_a_conflict_that_the_agent_withdrew_does_not_prevent_an_undo() -> None:
    """The lines that were in conflict are then only the user's, and the file did not change when the agent withdrew."""
    bench = Bench("a\nb\nc\n")
    bench.propose("A\nb\nC\n")
    bench.type("a\nb\nmine\n")
    bench.accept([hunk_ids(bench)[0]])
    bench.propose("A\nb\nc\n")
    assert (bench.disk, bench.proposal.is_settled) == ("A\nb\nmine\n", True)
    bench.undo()
    assert (bench.disk, bench.proposal.proposed, bench.proposal.conflicts) == ("a\nb\nmine\n", "A\nb\nmine\n", {})


def test_a_new_file_is_created_and_removed_as_a_whole() -> None:
    """An accept and a redo create the file, an undo removes it. If the user has edited it, the undo is refused."""
    bench = Bench(None)
    bench.propose("new\n")
    bench.accept(None)
    assert (bench.disk, bench.proposal.is_settled) == ("new\n", True)
    bench.undo()
    assert (bench.disk, bench.proposal.kind, bench.proposal.proposed) == (None, "create", "new\n")
    bench.redo()
    assert bench.disk == "new\n"
    bench.type("new\nmine\n")
    with pytest.raises(CannotUndo):
        bench.undo()
    assert bench.disk == "new\nmine\n"


def test_the_accept_of_a_new_file_that_the_agent_edited_again_is_not_undone() -> None:
    """The undo would remove the file on which the newer proposal builds."""
    bench = Bench(None)
    bench.propose("new\n")
    bench.accept(None)
    bench.propose("new\nmore\n")
    with pytest.raises(CannotUndo, match="the agent has proposed something else"):
        bench.undo()
    bench.reject(None)
    bench.undo()
    bench.redo()
    bench.undo()
    assert bench.proposal.proposed == "new\nmore\n"


def test_a_deletion_is_applied_and_undone_as_a_whole() -> None:
    """If the file has changed since, it is in conflict, and is deleted only with `overwrite_user_lines`."""
    bench = Bench("a\n")
    bench.delete()
    assert (bench.proposal.kind, len(bench.proposal.hunks)) == ("delete", 1)
    bench.accept([hunk_ids(bench)[0]])
    assert (bench.disk, len(bench.changes)) == (None, 0)
    bench.undo()
    assert (bench.disk, bench.proposal.kind) == ("a\n", "delete")
    bench.reject(None)
    assert (bench.disk, len(bench.changes)) == ("a\n", 0)
    bench.undo()
    bench.type("a\nmine\n")
    assert bench.proposal.in_conflict
    bench.accept(None)
    assert bench.disk == "a\nmine\n"
    bench.accept(None, overwrite_user_lines=True)
    assert bench.disk is None
    bench.undo()
    assert bench.disk == "a\nmine\n"


def test_the_amendment_of_a_withdrawn_new_file_is_not_undone() -> None:
    """An undo would propose a file again that the agent has withdrawn since."""
    bench = Bench(None)
    bench.propose("agent\n")
    bench.amend("user\n")
    bench.changes = bench.changes.without(PATH)
    with pytest.raises(CannotUndo):
        bench.undo()
    assert len(bench.changes) == 0


def test_the_amendment_of_a_file_that_the_user_changed_since_is_not_undone() -> None:
    """The error blames the user's change, not a proposal of the agent. After the change is gone, the undo succeeds."""
    bench = Bench(None)
    bench.propose("agent\n")
    bench.amend("amended\n")
    bench.type("mine\n")
    with pytest.raises(CannotUndo, match=r"has changed since\. First undo your own changes to it"):
        bench.undo()
    bench.type(None)
    bench.undo()
    assert bench.proposal.proposed == "agent\n"


def test_undoing_a_rejection_proposes_the_file_again_on_its_current_text() -> None:
    """For a new file and a deletion: the user's edits in the meantime cause a conflict and are not lost."""
    bench = Bench(None)
    bench.propose("agent\n")
    bench.reject(None)
    bench.type("user\n")
    bench.undo()
    assert (bench.disk, bench.proposal.kind, bench.proposal.in_conflict) == ("user\n", "create", True)
    bench = Bench("a\n")
    bench.delete()
    bench.reject(None)
    bench.type("b\n")
    bench.undo()
    assert (bench.disk, bench.proposal.kind, bench.proposal.in_conflict) == ("b\n", "delete", True)


def decision(label: str, *paths: str) -> Decision:
    files = tuple(FileDecision(Bench(None).proposal, Bench(path).proposal, False) for path in paths)
    return Decision("reject", label, files)


def test_a_new_decision_discards_undone_ones() -> None:
    """The log is linear: after a new decision, undone ones cannot be redone."""
    log = DecisionLog().with_decision(decision("one", "a")).with_decision(decision("two", "a"))
    log = log.undo([0])
    assert ([each.label for each in log.done], [each.label for each in log.undone]) == (["one"], ["two"])
    assert log.redo([0]).undo([0]) == log
    log = log.with_decision(decision("three", "a"))
    assert ([each.label for each in log.done], log.undone) == (["one", "three"], ())


def test_undo_of_some_files_moves_only_these() -> None:
    """The others can still be undone. The same holds for redo."""
    whole = decision("all", "a", "b", "c")
    log = DecisionLog().with_decision(whole).undo([0, 2])
    assert [each.files for each in log.done] == [(whole.files[1],)]
    assert [each.files for each in log.undone] == [(whole.files[0], whole.files[2])]
    assert log.undo([0]).done == ()
    log = log.redo([1])
    assert [each.files for each in log.done] == [(whole.files[1],), (whole.files[2],)]
    assert [each.files for each in log.undone] == [(whole.files[0],)]
