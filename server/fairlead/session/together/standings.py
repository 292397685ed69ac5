"""How the runs of a race compare (docs/plan.md P25). Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

from fairlead.display import count_of

Proof = Literal["proved", "verified", "unverified", "failed"]
PROOFS: Sequence[Proof] = ("proved", "verified", "unverified", "failed")
"""The best one first."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What one run of a race is worth."""

    session_id: str
    title: str
    proof: Proof
    reason: str
    """Why, for the user."""
    new_errors: int
    """The new errors of its proposals (P20)."""
    needed: int | None
    """The size of the smallest set of its changes with which the checks pass (P19); None: unknown."""
    changes: int
    """How many changes are undecided."""
    lines: int
    """How many lines these add and remove."""
    cost_usd: float | None
    """US dollars; None: unknown."""
    tokens: int


@dataclass(frozen=True, slots=True)
class _Criterion:
    value: Callable[[Standing], float]
    """The smaller, the better."""
    describe: Callable[[Standing], str]


_CRITERIA = (
    _Criterion(
        lambda each: PROOFS.index(each.proof), lambda each: "failed" if each.proof == "failed" else f"is {each.proof}"
    ),
    _Criterion(lambda each: each.new_errors, lambda each: f"has {count_of(each.new_errors, 'new error')}"),
    _Criterion(
        lambda each: each.changes if each.needed is None else each.needed,
        lambda each: (
            f"has {count_of(each.changes, 'change')}"
            if each.needed is None
            else f"needs {count_of(each.needed, 'change')} to pass"
        ),
    ),
    _Criterion(lambda each: each.lines, lambda each: f"changes {count_of(each.lines, 'line')}"),
    _Criterion(
        lambda each: inf if each.cost_usd is None else each.cost_usd,
        lambda each: "has an unknown cost" if each.cost_usd is None else f"cost ${each.cost_usd:.4f}",
    ),
)


def rank(standings: Sequence[Standing]) -> list[Standing]:
    """The runs, the best one first. Equal ones stay in their order."""
    return sorted(standings, key=lambda each: [criterion.value(each) for criterion in _CRITERIA])


def why_first(ranked: Sequence[Standing]) -> str:
    """Why the first run is first: the first criterion in which it differs from the second one."""
    first, second = (*ranked, None, None)[:2]
    if first is None or second is None:
        return ""
    if first.proof == "failed":
        return "No run succeeded."
    for criterion in _CRITERIA:
        if criterion.value(first) != criterion.value(second):
            return f"The first run {criterion.describe(first)}; the second one {criterion.describe(second)}."
    return "The first two runs are equal in all of these, so their order is that in which they began."
