"""The budget of a run: what it may use before it pauses (docs/plan.md L14)."""

from dataclasses import dataclass

from fairlead.agent.model import Usage


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
