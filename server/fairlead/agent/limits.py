"""The limits of a run: what it may use before it pauses (docs/plan.md L14)."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from fairlead.agent.interceptors import Interceptor, RunEnded
from fairlead.agent.meter import Meter
from fairlead.agent.model import Usage
from fairlead.agent.outcome import NEW_BUDGET, Ending


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one run; 0 means unlimited."""

    tokens: int = 0
    """All tokens of the requests and the answers, cached ones included."""
    cost_usd: float = 0
    minutes: float = 0
    """Time spent waiting for the user does not count."""

    def reached_limit(self, usage: Usage, cost: float | None, seconds: float) -> str | None:
        """Describes the limit that a run has reached, for the user; None if it has reached none.

        Args:
            usage: the tokens of the run so far.
            cost: in US dollars; None if the model's price is unknown, so that the cost limit is never reached.
            seconds: since the run began, without the time spent waiting for the user.
        """
        if 0 < self.tokens <= usage.tokens:
            return f"{usage.tokens:,} tokens were used, and the budget is {self.tokens:,} (setting budget.tokens)"
        if cost is not None and 0 < self.cost_usd <= cost:
            return f"the run cost ${cost:.2f}, and the budget is ${self.cost_usd:.2f} (setting budget.costUsd)"
        if 0 < self.minutes * 60 <= seconds:
            return (
                f"the run took {seconds / 60:.1f} minutes, and the budget is {self.minutes:g} (setting budget.minutes)"
            )
        return None


@dataclass
class Limits(Interceptor):
    """Ends a run that has used up its budget, or had too many rounds. Create it when the run begins."""

    meter: Meter
    budget: Budget
    max_rounds: int
    clock: Callable[[], float] = time.monotonic
    """Returns seconds since an arbitrary start, without the time spent waiting for the user."""
    _rounds: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()

    def of_subagent(self) -> "Limits":
        """The limits of a subagent of the run: the run's budget, and rounds of its own."""
        limits = replace(self)
        limits._began = self._began
        return limits

    @property
    def reached(self) -> str | None:
        """Describes the limit of the budget that the run has reached, for the user; None if it has reached none."""
        return self.budget.reached_limit(self.meter.usage, self.meter.known_cost, self.clock() - self._began)

    async def before_request(self) -> tuple[()]:
        self._rounds += 1
        if self._rounds > 1:  # a run sends at least one request, however small its budget
            await self.before_retry()
        if self._rounds > self.max_rounds:
            limit = f"the run reached its limit of {self.max_rounds} rounds (setting loop.maxRounds)"
            raise RunEnded(Ending("max_turn_requests", f"Paused: {limit}. {NEW_BUDGET}"))
        return ()

    async def before_retry(self) -> None:
        reached = self.reached
        if reached is not None:
            raise RunEnded(Ending("budget", f"Paused: {reached}. {NEW_BUDGET}"))
