"""The search for the change that broke a test (docs/plan.md P26): its result and its number of runs."""

import asyncio
from collections.abc import Sequence
from math import ceil, log2

import hypothesis.strategies as st
from hypothesis import given

from fairlead.edits.breaking_change import find_breaking_change


def search(verdicts: Sequence[bool]) -> tuple[int | None, int]:
    """The result and the number of runs. `verdicts` are those with the first 0, 1, ... changes; with all, it fails."""
    tried: list[int] = []

    async def passes(count: int) -> bool:
        tried.append(count)
        return verdicts[count]

    found = asyncio.run(find_breaking_change(len(verdicts), passes))
    assert len(tried) == len(set(tried)), "no run is repeated"
    return found, len(tried)


@given(st.integers(1, 200), st.data())
def test_p26_the_only_breaking_change_is_found(count: int, data: st.DataObject) -> None:
    """In at most 1 + log2(n) runs, if all earlier states pass and all later ones fail."""
    breaking = data.draw(st.integers(0, count - 1))
    found, runs = search([number <= breaking for number in range(count)])
    assert found == breaking
    assert runs <= 1 + ceil(log2(count))


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_p26_the_named_change_turns_a_pass_into_a_failure(verdicts: list[bool]) -> None:
    """Whatever the states in between say. None is named only if the test fails without any of the changes."""
    found, _ = search(verdicts)
    breaking = [n for n, passes in enumerate(verdicts) if passes and not [*verdicts, False][n + 1]]
    assert found in breaking if verdicts[0] else found is None
