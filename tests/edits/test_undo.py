"""Undo and redo of decisions: the log, and what may change between a decision and its undo."""

from collections.abc import Collection

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings

from edits.bench import PATH, Bench
from fairlead.edits.proposal import Proposal
from fairlead.edits.undo import CannotUndo, Decision, DecisionLog, FileDecision
from fairlead.text_lines import split_lines

BASE = "x\na\ny\na\nz\n"


def hunk_ids(bench: Bench) -> list[str]:
    return [hunk.id for hunk in bench.proposal.hunks]


# few different lines, so that they repeat and cross, and sometimes no line ending at the end
TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "\n", "}\n", "d\r\n", "z"]), max_size=8).map("".join)
WRITES = st.tuples(st.sampled_from(["propose", "type", "amend"]), TEXTS)
DECISIONS = st.tuples(st.sampled_from(["accept", "over mine", "reject", "delete"]), st.integers(0, 9) | st.none())
UNDO_OR_REDO = st.tuples(st.sampled_from(["undo", "redo"]), st.none())


@example("c\n}\na\nb\n", [("propose", "b\na\n"), ("type", "a\nc\na\n}\n")])  # seen twice, at other lines
@example("a\nb\na\n", [("propose", "z"), ("type", "a\na\nb\n")])  # the last line loses its line ending
@settings(max_examples=300)
@given(st.none() | TEXTS, st.lists(WRITES | DECISIONS | UNDO_OR_REDO, min_size=4, max_size=20))
def test_an_undo_restores_the_earlier_text_or_is_refused(start: str | None, steps: list[tuple[str, object]]) -> None:
    """Undoing or redoing an accept restores the file's exact text; other decisions do not change the file. The proposal
    has the user's text, which equals the base or is in conflict. No step joins two lines into one."""
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
                places = with_hunk(bench.proposal, disk, ids)
                bench.accept(ids, overwrite_user_lines=what == "over mine")
                assert places is None or bench.disk in places
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
        check_invariants(bench.proposal, bench.disk)


def with_hunk(proposal: Proposal, disk: str | None, ids: Collection[str] | None) -> list[str] | None:
    """The user's text with the hunk in `ids` applied, once for each place that has the hunk's old lines.

    None if no hunk is given, or if it is in conflict or in a file that is decided as a whole.
    """
    hunk = next((hunk for hunk in proposal.hunks if ids is not None and hunk.id in ids), None)
    if hunk is None or proposal.decided_as_whole or hunk.id in proposal.conflicts:
        return None
    lines, count = split_lines(disk or ""), len(hunk.old)
    at = [index for index in range(len(lines) + 1) if lines[index : index + count] == list(hunk.old)]
    return ["".join([*lines[:index], *hunk.new, *lines[index + count :]]) for index in at]


def check_invariants(proposal: Proposal, disk: str | None) -> None:
    assert proposal.current == disk
    if proposal.proposed is not None:
        count = len(split_lines(proposal.proposed))
        assert (len(proposal.origins.lines), len(proposal.origins.gaps)) == (count, count + 1)
    assert proposal.conflicts.keys() <= {hunk.id for hunk in proposal.hunks}
    if not proposal.decided_as_whole:
        assert proposal.in_conflict == (proposal.base != disk)
        assert all(region.side in ("theirs", "conflict") for region in proposal.regions)
        for hunk in proposal.hunks:
            region = proposal.region_of[hunk.id]
            assert region.base[0] <= hunk.old_start <= hunk.old_start + len(hunk.old) <= region.base[1]
            assert region.theirs[0] <= hunk.new_start <= hunk.new_start + len(hunk.new) <= region.theirs[1]


def lines(bench: Bench) -> set[str]:
    """All lines of all texts, to check that no line is ever combined from two."""
    return proposal_lines(bench.proposal) | set(split_lines(bench.disk or ""))


def proposal_lines(proposal: Proposal) -> set[str]:
    texts = (proposal.base, proposal.current, proposal.proposed)
    return {line for text in texts for line in split_lines(text or "")}


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


def test_a_rejection_is_not_undone_where_the_user_has_changed_the_lines() -> None:
    bench = Bench("a\nb\n")
    bench.propose("A\nb\n")
    bench.reject(None)
    bench.type("mine\nb\n")
    with pytest.raises(CannotUndo, match="the same lines have changed since, in the file or in its proposal"):
        bench.undo()


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
