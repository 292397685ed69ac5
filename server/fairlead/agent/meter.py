"""The meter of a run: the tokens and the cost of its requests."""

from collections.abc import Callable

from fairlead.agent.events import Event, UsageReported
from fairlead.agent.model import Usage
from fairlead.agent.window import Window

CostOf = Callable[[Usage], float | None]
"""Returns the price in US dollars; None if the price of the model is unknown."""


class Account:
    """What the requests to one model have used."""

    def __init__(self, cost_of: CostOf) -> None:
        self._cost_of = cost_of
        self.usage = Usage()
        """Includes what answers used that broke off or were stopped."""

    def add(self, usage: Usage) -> None:
        """Adds what a part of a request used."""
        self.usage += usage

    @property
    def cost(self) -> float | None:
        """US dollars, None if the model's price is unknown."""
        return self._cost_of(self.usage)


class Meter:
    """Adds up what a run uses, and reports it."""

    def __init__(
        self, cost_of: CostOf, window: Window, emit: Callable[[Event], None], parent: "Meter | None" = None
    ) -> None:
        """
        Args:
            cost_of: for the requests to the run's model.
            parent: the meter of the run whose subagent the run is, which counts what the run uses too.
        """
        self._window, self._emit, self._parent = window, emit, parent
        self.main = parent.open_account(cost_of) if parent is not None else Account(cost_of)
        """The requests to the run's model."""
        self._others: list[Account] = []
        self._reported = Usage()

    def open_account(self, cost_of: CostOf) -> Account:
        """An account for requests to another model, which count for the run too."""
        self._others.append(self._parent.open_account(cost_of) if self._parent is not None else Account(cost_of))
        return self._others[-1]

    @property
    def usage(self) -> Usage:
        """What the run has used so far."""
        return sum((account.usage for account in self._others), self.main.usage)

    @property
    def cost(self) -> float | None:
        """US dollars, None if the price of a model that was asked is unknown."""
        costs = self._costs()
        return None if None in costs else self.known_cost

    @property
    def known_cost(self) -> float | None:
        """US dollars for the requests whose price is known; None if it is unknown for all."""
        known = [cost for cost in self._costs() if cost is not None]
        return sum(known) if known else None

    def report(self) -> None:
        """Emits what the run has used, and what the run has used whose subagent it is."""
        self._reported = self.usage
        self._emit(UsageReported(self.usage, self.cost, self._window.used, self._window.limit))
        if self._parent is not None:
            self._parent.report()

    def report_rest(self) -> None:
        """Emits what the run has used, if that is more than was reported: an answer broke off or was stopped."""
        if self.usage != self._reported:
            self.report()

    def _costs(self) -> list[float | None]:
        return [self.main.cost, *(account.cost for account in self._others if account.usage.tokens)]
