"""The meter of a run: the tokens and the cost of its requests."""

from collections.abc import Callable

from fairlead.agent.events import Event, UsageReported
from fairlead.agent.model import Usage
from fairlead.agent.window import Window


class Meter:
    """Adds up what a run uses, and reports it."""

    def __init__(self, cost_of: Callable[[Usage], float | None], window: Window, emit: Callable[[Event], None]) -> None:
        """
        Args:
            cost_of: returns the price in US dollars, None if the model's price is unknown.
        """
        self._cost_of, self._window, self._emit = cost_of, window, emit
        self.usage = self._reported = Usage()
        """What the run has used so far, with what answers used that broke off or were stopped."""

    @property
    def cost(self) -> float | None:
        """US dollars, None if the model's price is unknown."""
        return self._cost_of(self.usage)

    def add(self, usage: Usage) -> None:
        """Adds what a part of a request used."""
        self.usage += usage

    def report(self) -> None:
        """Emits what the run has used."""
        self._reported = self.usage
        self._emit(UsageReported(self.usage, self.cost, self._window.used, self._window.limit))

    def report_rest(self) -> None:
        """Emits what the run has used, if that is more than was reported: an answer broke off or was stopped."""
        if self.usage != self._reported:
            self.report()
