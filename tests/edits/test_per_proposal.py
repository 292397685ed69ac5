"""Cached values of items and proposals equal newly computed ones, and only changed ones are computed."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead.edits.changeset import Changeset, changed_paths, propose, rename
from fairlead.edits.origins import Author
from fairlead.edits.per_proposal import PerProposal
from fairlead.edits.proposal import Proposal
from fairlead.per_item import PerItem, common_prefix_length

paths = st.sampled_from(["a", "b", "c", "d"])
steps = st.lists(st.tuples(st.sampled_from(["propose", "remove"]), paths, st.sampled_from(["x\n", "y\n"])), max_size=12)
AUTHOR = Author("1", "call-1")


@given(steps, st.lists(st.integers(0, 1)))
def test_values_of_proposals_are_those_of_a_new_computation(
    made: list[tuple[str, str, str]], inputs: list[int]
) -> None:
    """After any changes, the values are in the order of the proposals. If an input changes, all are computed again."""
    kept, changes = PerProposal[tuple[str | None, int]](), Changeset()
    for index, (kind, path, text) in enumerate(made):
        changes = propose(changes, path, "old\n", text, AUTHOR) if kind == "propose" else changes.without(path)
        given_input = inputs[index] if index < len(inputs) else 0

        def value(proposal: Proposal, chosen: int = given_input) -> tuple[str | None, int]:
            return proposal.proposed, chosen

        if index % 3 == 1:  # not every change is followed by a query
            continue
        found = kept.of(changes, value, given_input)
        assert list(found.items()) == [(path, value(proposal)) for path, proposal in changes.files.items()]


def test_only_changed_proposals_are_computed() -> None:
    changes = Changeset()
    for path in ("a", "b", "c"):
        changes = propose(changes, path, "old\n", "x\n", AUTHOR)
    seen: list[str] = []
    kept = PerProposal[None]()
    kept.of(changes, lambda proposal: seen.append(proposal.path))
    kept.of(propose(changes, "b", "old\n", "y\n", AUTHOR), lambda proposal: seen.append(proposal.path))
    assert seen == ["a", "b", "c", "b"]


@given(st.lists(st.lists(st.integers(0, 3), max_size=8), max_size=5))
def test_values_of_items_are_those_of_a_new_computation(sequences: list[list[int]]) -> None:
    """The values for the common beginning of two successive sequences are not computed again."""
    items = [[str(number)] for number in range(4)]
    computed: list[list[str]] = []

    def length(item: list[str]) -> int:
        computed.append(item)
        return int(item[0])

    kept, last = PerItem[list[str], int](length), list[list[str]]()
    for sequence in sequences:
        given_items = [items[number] for number in sequence]
        computed.clear()
        assert list(kept.of(given_items)) == sequence
        assert computed == given_items[common_prefix_length(last, given_items) :]
        last = given_items


@given(st.lists(st.integers(0, 1), max_size=20))
def test_sequences_that_grow(turns: list[int]) -> None:
    """Two growing sequences have their own values, whichever was asked about before. While it is the same one, only new
    items are computed.
    """
    computed: list[int] = []
    kept, growing = PerItem[list[int], int](lambda item: computed.append(item[0]) or -item[0]), ([], [])
    before: int | None = None
    for number, turn in enumerate(turns):
        growing[turn].append([number])
        computed.clear()
        assert list(kept.of(growing[turn])) == [-item[0] for item in growing[turn]]
        assert computed == ([number] if turn == before else [item[0] for item in growing[turn]])
        before = turn


@given(st.lists(st.tuples(st.sampled_from(["propose", "rename", "remove"]), paths, paths), max_size=12))
def test_the_renames_are_those_of_all_proposals(made: list[tuple[str, str, str]]) -> None:
    """They are kept if a change concerns no rename, and derived again if it does."""
    changes = Changeset()
    for kind, path, target in made:
        if kind == "propose":
            changes = propose(changes, path, "old\n", f"{target}\n", AUTHOR)
        elif kind == "rename":
            changes = rename(changes, path, target, "old\n", AUTHOR)
        else:
            changes = changes.without(path)
        by_target = {proposal.new_path: proposal for proposal in changes if proposal.new_path is not None}
        assert changes.renamed == by_target


@given(steps, st.data())
def test_changed_paths_are_those_whose_proposals_differ(made: list[tuple[str, str, str]], data: st.DataObject) -> None:
    """They are found for any two changesets, even if neither was made from the other."""
    every = [Changeset()]
    for kind, path, text in made:
        before = data.draw(st.sampled_from(every))
        every.append(propose(before, path, "old\n", text, AUTHOR) if kind == "propose" else before.without(path))
    old, new = data.draw(st.sampled_from(every)), data.draw(st.sampled_from(every))
    differing = {path for path in {*old.files, *new.files} if old.files.get(path) is not new.files.get(path)}
    found = changed_paths(old, new)
    assert (set(found), len(found)) == (differing, len(differing))


def test_changed_paths_are_found_after_any_number_of_changes() -> None:
    changes = first = propose(Changeset(), "a", "old\n", "x\n", AUTHOR)
    for number in range(200):
        changes = propose(changes, f"f{number}", "old\n", "x\n", AUTHOR)
    assert changed_paths(first, changes) == [f"f{number}" for number in range(200)]
    assert changed_paths(changes, first) == [f"f{number}" for number in range(200)]
