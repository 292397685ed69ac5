"""Which single changes conditions need: the results agree with trying everything, and take as few runs as possible."""

import asyncio
from collections.abc import Sequence
from random import Random

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.edits.leave_out import Condition, LeaveOneOut, NoMoreRuns, Verdict


class Table:
    """A condition with random results, which depends on some of the changes only."""

    def __init__(self, depends_on: set[int], random_results: Random, count: int) -> None:
        self.depends_on = depends_on
        self._random, self._results = random_results, {tuple(sorted(depends_on & set(range(count)))): True}

    def holds(self, chosen: Sequence[int]) -> bool:
        seen = tuple(sorted(self.depends_on & set(chosen)))
        return self._results.setdefault(seen, self._random.random() < 0.5)

    def condition(self) -> Condition[int]:
        async def holds(chosen: Sequence[int]) -> bool:
            assert list(chosen) == sorted(set(chosen)), "the changes are in order, each of them once"
            return self.holds(chosen)

        return Condition(holds, lambda change: change in self.depends_on)


def search(count: int, tables: Sequence[Table], max_runs: int | None = None) -> tuple[Verdict | None, LeaveOneOut[int]]:
    """Searches among the changes 0 to `count` - 1. The verdict is None if the runs were used up."""
    found = LeaveOneOut(range(count), [table.condition() for table in tables], max_runs)
    try:
        return asyncio.run(found.search()), found
    except NoMoreRuns:
        return None, found


@given(st.integers(1, 8), st.lists(st.sets(st.integers(0, 7)), min_size=1, max_size=3), st.randoms())
def test_p23_the_result_is_that_of_trying_everything(
    count: int, depends_on: list[set[int]], random_results: Random
) -> None:
    """A change on which no condition depends takes no run, and trying it would not make a difference."""
    tables = [Table(each, random_results, count) for each in depends_on]
    verdict, found = search(count, tables)

    def hold_without(change: int) -> bool:
        return all(table.holds([other for other in range(count) if other != change]) for table in tables)

    assert verdict == "complete"
    assert found.needed == [change for change in range(count) if not hold_without(change)]
    assert sorted(found.not_needed + found.unread) == [change for change in range(count) if hold_without(change)]
    assert found.unread == [change for change in range(count) if not any(change in each for each in depends_on)]
    assert found.untried == []
    assert found.runs == 1 + count - len(found.unread) + (1 if found.needed else 0)


@given(st.integers(1, 8), st.integers(1, 9), st.randoms())
def test_p23_after_the_last_run_the_rest_is_untried(count: int, max_runs: int, random_results: Random) -> None:
    verdict, found = search(count, [Table(set(range(count)), random_results, count)], max_runs)
    assert found.runs <= max_runs
    assert found.untried == list(range(count))[max_runs - 1 :]
    assert (verdict is None) == (max_runs < count + 1 + (1 if found.needed else 0))


def test_p23_nothing_is_left_out_if_a_condition_fails_with_all_changes() -> None:
    async def fails(_: Sequence[int]) -> bool:
        return False

    found = LeaveOneOut(range(3), [Condition(fails, lambda _: True)])
    assert asyncio.run(found.search()) == "fails"
    assert (found.runs, found.untried) == (1, [0, 1, 2])


@pytest.mark.parametrize("needed", [0, 2])
def test_p23_a_condition_that_holds_only_at_first_is_flaky(needed: int) -> None:
    """It is tested with all changes again if any change seems to be needed."""
    runs: list[Sequence[int]] = []

    async def holds(chosen: Sequence[int]) -> bool:
        runs.append(chosen)
        return len(runs) == 1 or (needed in chosen and len(chosen) < 3)

    assert asyncio.run(LeaveOneOut(range(3), [Condition(holds, lambda _: True)]).search()) == "flaky"
    assert runs == [(0, 1, 2), (1, 2), (0, 2), (0, 1), (0, 1, 2)]
