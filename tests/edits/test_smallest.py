"""The search for the smallest set of changes that passes: its results, its number of runs, and its verdicts."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import combinations
from random import Random

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.edits.smallest import SmallestSetSearch, Verdict

Test = Callable[[Sequence[int]], bool]


def search(count: int, test: Test, max_runs: int | None = None) -> tuple[Verdict, SmallestSetSearch[int]]:
    """Searches among the changes 0 to `count` - 1."""

    async def passes(chosen: Sequence[int]) -> bool:
        assert list(chosen) == sorted(set(chosen)), "the changes are in order, each of them once"
        return test(chosen)

    search = SmallestSetSearch(range(count), passes, max_runs)
    return asyncio.run(search.search()), search


def needs(*needed: int) -> Test:
    return lambda chosen: set(needed) <= set(chosen)


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_up_to_three_of_twelve_are_found_in_at_most_two_runs_per_change(count: int) -> None:
    """They are found wherever they are. The limit includes runs with all changes, with none, and the result again."""
    for needed in combinations(range(12), count):
        verdict, found = search(12, needs(*needed))
        assert (verdict, found.found) == ("minimal", needed)
        assert found.runs <= 2 * 12


@given(st.integers(1, 30), st.data())
def test_exactly_the_needed_changes_are_found(count: int, data: st.DataObject) -> None:
    needed = tuple(sorted(data.draw(st.sets(st.integers(0, count - 1)))))
    verdict, found = search(count, needs(*needed))
    assert (verdict, found.found) == ("minimal", needed)
    assert found.runs <= min(found.most_runs, 3 + 2 * count + len(needed))


@given(st.integers(1, 10), st.randoms())
def test_a_minimal_set_passes_and_every_change_in_it_is_needed(count: int, random_results: Random) -> None:
    """This holds for any test: with random results, changes may exclude or need each other, or need one of several."""
    results: dict[tuple[int, ...], bool] = {tuple(range(count)): True}

    def test(chosen: Sequence[int]) -> bool:
        return results.setdefault(tuple(chosen), random_results.random() < 0.4)

    verdict, found = search(count, test)
    assert verdict == "minimal" and found.found is not None and results[tuple(found.found)]
    for change in found.found:
        assert not results[tuple(other for other in found.found if other != change)]
    assert found.runs <= found.most_runs


@given(st.integers(2, 12), st.data())
def test_changes_that_build_on_others_stay_together(count: int, data: st.DataObject) -> None:
    """The test fails with each set that contains a change without the one that it builds on, as if compiling failed."""
    changes = st.integers(0, count - 1)
    builds_on = data.draw(st.dictionaries(changes, changes))
    needed = data.draw(st.sets(changes, min_size=1))

    def test(chosen: Sequence[int]) -> bool:
        return needed <= set(chosen) and all(builds_on.get(change, change) in chosen for change in chosen)

    verdict, found = search(count, test)
    assert verdict == "minimal" and found.found is not None and test(found.found)


def test_a_test_that_fails_with_all_changes_has_no_set() -> None:
    """One run is enough to know."""
    verdict, found = search(12, lambda chosen: False)
    assert (verdict, found.found, found.runs) == ("none", None, 1)


def test_a_test_that_passes_without_changes_needs_none() -> None:
    verdict, found = search(12, lambda chosen: True)
    assert (verdict, found.found, found.runs) == ("minimal", (), 3)


@given(st.integers(1, 16))
def test_at_the_limit_the_smallest_set_that_passed_so_far_is_found(most: int) -> None:
    """The verdict is `limit` and not `minimal`, and there are exactly as many runs as allowed."""
    passed: list[Sequence[int]] = []

    def test(chosen: Sequence[int]) -> bool:
        if {2, 6, 10} <= set(chosen):
            passed.append(chosen)
            return True
        return False

    verdict, found = search(12, test, most)
    assert (verdict, found.runs, found.most_runs) == ("limit", most, most)
    assert found.found == min(passed, key=len)


def test_a_search_that_is_cancelled_keeps_what_it_found() -> None:
    async def passes(chosen: Sequence[int]) -> bool:
        if search.runs == 6:
            raise asyncio.CancelledError
        return {2, 6, 10} <= set(chosen)

    search = SmallestSetSearch(range(12), passes)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(search.search())
    assert search.found is not None and {2, 6, 10} <= set(search.found) and search.runs == 6


def test_a_result_that_fails_the_second_time_is_flaky() -> None:
    """The test passed with this set first, and then failed with the same set."""
    seen: list[Sequence[int]] = []

    def test(chosen: Sequence[int]) -> bool:
        seen.append(chosen)
        return 4 in chosen and seen.count(chosen) == 1

    assert search(12, test)[0] == "flaky"
