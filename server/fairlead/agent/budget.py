"""What one run may use before it pauses and asks to go on (docs/plan.md L14)."""

from dataclasses import dataclass

from fairlead.agent.model import Usage


@dataclass(frozen=True, slots=True)
class Budget:
    """The most of each kind that a run may use; 0 sets no bound. Tokens count the cached ones too."""

    tokens: int = 0
    cost_usd: float = 0
    minutes: float = 0

    def reached(self, usage: Usage, cost: float | None, seconds: float) -> str | None:
        """Which bound a run has reached and by how much, for people; None as long as it may go on.

        Args:
            cost: in US dollars, None where the model's price is not known: then no cost is ever reached.
            seconds: since the run began.
        """
        if 0 < self.tokens <= usage.tokens:
            return f"{usage.tokens:,} tokens were used, and the budget is {self.tokens:,} (setting budget.tokens)"
        if cost is not None and 0 < self.cost_usd <= cost:
            return f"it has cost ${cost:.2f}, and the budget is ${self.cost_usd:.2f} (setting budget.costUsd)"
        if 0 < self.minutes * 60 <= seconds:
            return f"it took {seconds / 60:.1f} minutes, and the budget is {self.minutes:g} (setting budget.minutes)"
        return None
