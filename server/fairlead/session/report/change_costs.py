"""What the changes of a session cost, by the user's decision."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

from fairlead.edits.review_outcomes import ReviewStatus, last_outcomes
from fairlead.plan.evidence import BEFORE, UNPLANNED, Evidence
from fairlead.session.state import SessionState


@dataclass(frozen=True, slots=True)
class Cost:
    """What some work took of the model."""

    tokens: float
    usd: float | None
    """None: unknown, or no tokens were used."""


@dataclass(frozen=True, slots=True)
class ChangesCost:
    """What the changes with one decision cost together."""

    changes: int
    cost: Cost


def cost_of(evidence: Iterable[Evidence]) -> Cost:
    """What work cost together."""
    return _sum(Cost(each.tokens, each.cost) for each in evidence)


def cost_by_decision(state: SessionState) -> Mapping[ReviewStatus, ChangesCost]:
    """What the changes cost, by the last decision on each, without decisions that were not made.

    All changes together cost what the session cost: the cost of a step is divided equally among its changes, and that
    of steps without changes equally among all. A change of no step shares the work outside of the steps.
    """
    outcomes = last_outcomes(state.changes, state.decisions)
    count_by_step = Counter(outcome.item_id for outcome in outcomes)
    work = defaultdict[str | None, list[Evidence]](list)
    rest: list[Evidence] = []
    for name, evidence in state.record.by_step.items():
        step = None if name in (BEFORE, UNPLANNED) else name
        (work[step] if step in count_by_step else rest).append(evidence)
    share_of_rest = _divided(cost_of(rest), len(outcomes))
    costs = {step: _sum([_divided(cost_of(work[step]), count), share_of_rest]) for step, count in count_by_step.items()}
    found: dict[ReviewStatus, ChangesCost] = {}
    for status in get_args(ReviewStatus):
        if each := [costs[outcome.item_id] for outcome in outcomes if outcome.outcome == status]:
            found[status] = ChangesCost(len(each), _sum(each))
    return found


def _divided(cost: Cost, count: int) -> Cost:
    return Cost(cost.tokens / count, None if cost.usd is None else cost.usd / count) if count else Cost(0, None)


def _sum(costs: Iterable[Cost]) -> Cost:
    paid = [cost for cost in costs if cost.tokens]
    known = [cost.usd for cost in paid if cost.usd is not None]
    return Cost(sum(cost.tokens for cost in paid), sum(known) if paid and len(known) == len(paid) else None)
