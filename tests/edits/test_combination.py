"""Why a test fails with the changes of several authors together (docs/plan.md P24), compared with trying every set."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import combinations
from random import Random

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.edits.combination import CombinationSearch, Outcome

Test = Callable[[frozenset[int]], bool]

PARTS = st.lists(st.integers(1, 3), min_size=2, max_size=3).map(
    lambda sizes: [list(range(sum(sizes[:number]), sum(sizes[: number + 1]))) for number in range(len(sizes))]
)
"""The changes of two or three authors, numbered from 0."""


def search(
    parts: list[list[int]], owners: Sequence[int], test: Test, max_runs: int | None = None
) -> tuple[Outcome, CombinationSearch[int]]:
    async def passes(chosen: Sequence[int]) -> bool:
        assert list(chosen) == sorted(set(chosen)), "the changes are in order, each of them once"
        return test(frozenset(chosen))

    found = CombinationSearch(parts, owners, passes, max_runs)
    return asyncio.run(found.search()), found


class Oracle:
    """What the rule says, from the results of all sets. Knows nothing of the search."""

    def __init__(self, parts: list[list[int]], owners: Sequence[int], test: Test) -> None:
        self.every = frozenset(number for part in parts for number in part)
        self.parts = [frozenset(part) for part in parts]
        self.sets = [frozenset(each) for size in range(len(self.every) + 1) for each in combinations(self.every, size)]
        self.passing = {each for each in self.sets if test(each)}
        self.failing = [owner for owner in owners if self.parts[owner] not in self.passing]
        self.owners = [owner for owner in owners if owner not in self.failing]

    @property
    def outcome(self) -> str:
        if self.every in self.passing:
            return "passes"
        if self.failing and frozenset[int]() in self.passing:
            return "alone"
        return "minimal" if self.owners else "without"

    def counts(self, chosen: frozenset[int]) -> bool:
        """Whether a set fails although the part of each owner passes."""
        own = [chosen & self.parts[owner] for owner in self.owners]
        references = [part for part in own if part] or [frozenset[int]()]
        return chosen not in self.passing and all(part in self.passing for part in references)


@given(PARTS, st.randoms(), st.data())
def test_p24_the_result_is_one_that_trying_every_set_allows(
    parts: list[list[int]], random_results: Random, data: st.DataObject
) -> None:
    """This holds for any test: with random results, changes may break, repair or need each other."""
    owners = sorted(data.draw(st.sets(st.integers(0, len(parts) - 1), min_size=1)))
    share = data.draw(st.sampled_from([0.3, 0.6, 0.9]))
    results: dict[frozenset[int], bool] = {}

    def test(chosen: frozenset[int]) -> bool:
        return results.setdefault(chosen, random_results.random() < share)

    outcome, found = search(parts, owners, test)
    oracle = Oracle(parts, owners, test)
    assert outcome == oracle.outcome
    assert found.runs <= found.most_runs
    if outcome in ("alone", "without"):
        assert list(found.failing) == oracle.failing
    if outcome == "minimal":
        chosen = frozenset(found.found or ())
        smaller = [chosen - {change} for change in chosen]
        assert oracle.counts(chosen)
        assert not any(oracle.counts(each) for each in smaller)
        assert found.passes_without_any_one == all(each in oracle.passing for each in smaller)
    else:
        assert found.found is None


@given(PARTS, st.data())
def test_p24_changes_that_fail_only_together_are_found_exactly(parts: list[list[int]], data: st.DataObject) -> None:
    """If a test fails exactly with certain changes of several authors, the result is these changes."""
    broken = frozenset(data.draw(st.sampled_from(part)) for part in parts[:2])
    outcome, found = search(parts, range(len(parts)), lambda chosen: not broken <= chosen)
    assert (outcome, frozenset(found.found or ())) == ("minimal", broken)
    assert found.passes_without_any_one


@given(PARTS, st.data())
def test_p24_of_several_pairs_one_is_found(parts: list[list[int]], data: st.DataObject) -> None:
    """A monotone test: what fails, fails with more changes too. Each result is a pair, never more."""
    pairs = st.tuples(st.sampled_from(parts[0]), st.sampled_from(parts[1])).map(frozenset)
    broken = data.draw(st.lists(pairs, min_size=1, max_size=3))
    outcome, found = search(parts, range(len(parts)), lambda chosen: not any(pair <= chosen for pair in broken))
    assert outcome == "minimal" and frozenset(found.found or ()) in broken


def test_p24_a_change_that_needs_another_of_its_author_is_not_the_result() -> None:
    """Change 0 fails without change 1. With change 2 of another author, both fail. 0 alone would be misleading."""

    def test(chosen: frozenset[int]) -> bool:
        return not (0 in chosen and 1 not in chosen) and not chosen >= {0, 1, 2}

    outcome, found = search([[0, 1], [2, 3]], [0, 1], test)
    assert (outcome, list(found.found or ())) == ("minimal", [0, 1, 2])
    assert not found.passes_without_any_one, "without change 1, it fails because of change 0"


def test_p24_what_breaks_a_check_that_needs_its_own_changes_is_found() -> None:
    """Only the first author's changes make the check pass, as a step's check does. The other author breaks it."""
    outcome, found = search([[0, 1], [2, 3, 4]], [0], lambda chosen: chosen >= {0, 1} and 3 not in chosen)
    assert (outcome, list(found.found or ())) == ("minimal", [0, 1, 3])


def test_p24_another_author_alone_may_break_it() -> None:
    outcome, found = search([[0, 1], [2, 3]], [0], lambda chosen: 3 not in chosen)
    assert (outcome, list(found.found or ()), found.passes_without_any_one) == ("minimal", [3], True)


@pytest.mark.parametrize("most", range(1, 12))
def test_p24_at_the_limit_the_set_so_far_is_not_called_minimal(most: int) -> None:
    outcome, found = search([[0, 1, 2], [3, 4, 5]], [0, 1], lambda chosen: not chosen >= {1, 4}, most)
    assert (outcome, found.runs, found.most_runs) == ("limit", most, most)
    assert found.found is None or {1, 4} <= set(found.found)


def test_p24_a_test_that_passes_the_second_time_is_flaky() -> None:
    seen: list[frozenset[int]] = []

    def test(chosen: frozenset[int]) -> bool:
        seen.append(chosen)
        return not chosen >= {0, 1} or seen.count(chosen) > 1

    assert search([[0], [1]], [0, 1], test)[0] == "flaky"
