"""Finds out which single changes conditions need, such as that tests pass: leaves out each change in turn."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

T = TypeVar("T")

Verdict = Literal["complete", "fails", "flaky"]


class NoMoreRuns(Exception):
    """The search has used all of its runs."""


@dataclass(frozen=True)
class Condition(Generic[T]):
    """What must hold."""

    holds: Callable[[Sequence[T]], Awaitable[bool]]
    """Tests some of the changes, in their order."""
    depends_on: Callable[[T], bool]
    """Whether leaving out a change may change the result. Called after `holds` was called with all changes."""


class LeaveOneOut(Generic[T]):
    """Tests the conditions without each change. Can be cancelled at any time."""

    def __init__(self, changes: Sequence[T], conditions: Sequence[Condition[T]], max_runs: int | None = None) -> None:
        """
        Args:
            changes: without duplicates.
            max_runs: the maximum number of runs. A run tests each condition once, until one does not hold. None: no
                limit.
        """
        self.needed: list[T] = []
        """The changes without each of which a condition does not hold."""
        self.not_needed: list[T] = []
        """The changes without each of which all conditions hold. They may not hold without several of these."""
        self.unread: list[T] = []
        """The changes on which no condition depends."""
        self.untried: list[T] = list(changes)
        """The other changes."""
        self.runs = 0
        self._changes, self._conditions, self._max_runs = tuple(changes), conditions, max_runs

    @property
    def most_runs(self) -> int:
        """The most runs that the search can need, as far as is known."""
        left = self.runs + len(self.untried) + 1
        return left if self._max_runs is None else min(left, self._max_runs)

    async def search(self) -> Verdict:
        """Runs the search.

        Returns:
            `complete`: all changes were tried, or no condition depends on them.
            `fails`: a condition does not hold with all changes.
            `flaky`: all conditions held with all changes, and later one of them did not.

        Raises:
            NoMoreRuns: `max_runs` was reached before the search ended.
        """
        if not await self._hold(self._changes, self._conditions):
            return "fails"
        for change in self._changes:
            if not self._dependent(change):
                self._move(change, self.unread)
        for change in list(self.untried):
            others = tuple(other for other in self._changes if other != change)
            holds = await self._hold(others, self._dependent(change))
            self._move(change, self.not_needed if holds else self.needed)
        if self.needed and not await self._hold(self._changes, self._conditions):
            return "flaky"
        return "complete"

    def _dependent(self, change: T) -> list[Condition[T]]:
        return [condition for condition in self._conditions if condition.depends_on(change)]

    def _move(self, change: T, to: list[T]) -> None:
        self.untried.remove(change)
        to.append(change)

    async def _hold(self, chosen: Sequence[T], conditions: Sequence[Condition[T]]) -> bool:
        if self.runs == self._max_runs:
            raise NoMoreRuns
        self.runs += 1
        for condition in conditions:
            if not await condition.holds(chosen):
                return False
        return True
