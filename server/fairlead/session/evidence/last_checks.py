"""The results of the checks of what the user accepted, until a file or a proposal changes (docs/plan.md P18)."""

from collections.abc import Callable

from fairlead.agent.events import CheckFinished


class LastChecks:
    """The last result of each check of what was accepted. All are forgotten when a file or a proposal changes.

    Args:
        state: returns a value that differs when a file or a proposal has changed.
    """

    def __init__(self, state: Callable[[], object]) -> None:
        self._state = state
        self._last_state = state()
        self._results: dict[str, CheckFinished] = {}

    def add(self, result: CheckFinished) -> None:
        """Adds the result of a check that ran on what was accepted.

        Ignores a check that saw undecided changes, that ran while nothing was accepted, that has no result, or that is
        outdated.
        """
        self._forget_old()
        is_usable = result.passed is not None and not result.outdated
        if result.changes == "none" and result.accepted and is_usable:
            self._results.pop(result.command, None)
            self._results[result.command] = result

    @property
    def shown(self) -> CheckFinished | None:
        """The earliest failure, else the latest result; None if there is none."""
        self._forget_old()
        failed = (result for result in self._results.values() if not result.passed)
        return next(failed, next(reversed(self._results.values()), None))

    def _forget_old(self) -> None:
        now = self._state()
        if now != self._last_state:
            self._last_state, self._results = now, {}
