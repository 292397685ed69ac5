"""The ranking of a race (docs/plan.md P25)."""

from dataclasses import replace
from itertools import permutations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.session.together.standings import PROOFS, Standing, rank, why_first

BASE = Standing("0", "Run", "proved", "", 0, 2, 4, 10, 0.5, 1000)
WORSE = {
    "proof": (replace(BASE, proof="verified"), "The first run is proved; the second one is verified."),
    "errors": (replace(BASE, new_errors=2), "The first run has 0 new errors; the second one has 2 new errors."),
    "needed": (
        replace(BASE, needed=3),
        "The first run needs 2 changes to pass; the second one needs 3 changes to pass.",
    ),
    "unknown set": (
        replace(BASE, needed=None),
        "The first run needs 2 changes to pass; the second one has 4 changes.",
    ),
    "lines": (replace(BASE, lines=11), "The first run changes 10 lines; the second one changes 11 lines."),
    "cost": (replace(BASE, cost_usd=0.75), "The first run cost $0.5000; the second one cost $0.7500."),
    "unknown cost": (
        replace(BASE, cost_usd=None),
        "The first run cost $0.5000; the second one has an unknown cost.",
    ),
}

STANDINGS = st.builds(
    Standing,
    session_id=st.uuids().map(str),
    title=st.just("Run"),
    proof=st.sampled_from(PROOFS),
    reason=st.just(""),
    new_errors=st.integers(0, 1),
    needed=st.none() | st.integers(0, 1),
    changes=st.integers(1, 2),
    lines=st.integers(0, 1),
    cost_usd=st.none() | st.sampled_from([0.0, 0.5]),
    tokens=st.just(0),
)


def is_better(one: Standing, other: Standing) -> bool:
    """Whether one run is ahead of another one, criterion by criterion, as the rule says it."""
    if one.proof != other.proof:
        return ["proved", "verified", "unverified", "failed"].index(one.proof) < PROOFS.index(other.proof)
    if one.new_errors != other.new_errors:
        return one.new_errors < other.new_errors
    sizes = [each.changes if each.needed is None else each.needed for each in (one, other)]
    if sizes[0] != sizes[1]:
        return sizes[0] < sizes[1]
    if one.lines != other.lines:
        return one.lines < other.lines
    if None in (one.cost_usd, other.cost_usd):
        return one.cost_usd is not None and other.cost_usd is None
    return (one.cost_usd or 0) < (other.cost_usd or 0)


@given(st.lists(STANDINGS, max_size=6))
def test_p25_no_run_is_behind_a_worse_one(standings: list[Standing]) -> None:
    ranked = rank(standings)
    assert sorted(each.session_id for each in ranked) == sorted(each.session_id for each in standings)
    for index, later in enumerate(ranked):
        assert not any(is_better(later, earlier) for earlier in ranked[:index])


@pytest.mark.parametrize("name", WORSE)
def test_p25_each_criterion_decides_and_is_named(name: str) -> None:
    worse, why = WORSE[name]
    for order in permutations([BASE, worse]):
        assert rank(order) == [BASE, worse]
    assert why_first([BASE, worse]) == why


def test_p25_equal_runs_and_failed_ones() -> None:
    """Equal runs stay in their order, and a failed run is not called the winner."""
    assert "equal" in why_first(rank([BASE, replace(BASE, session_id="1")]))
    assert why_first([replace(BASE, proof="failed")] * 2) == "No run succeeded."
