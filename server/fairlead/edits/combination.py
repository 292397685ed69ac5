"""Why a test fails with the changes of several authors together (docs/plan.md P24)."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from itertools import chain
from typing import Generic, Literal, TypeVar

from fairlead.edits.smallest import NoMoreRuns, SmallestSetSearch

T = TypeVar("T")

Outcome = Literal["passes", "alone", "without", "minimal", "limit", "flaky"]


class CombinationSearch(Generic[T]):
    """Tests the changes of several authors together. If that fails, searches for the smallest set that fails.

    A set counts only if the test passes with each owner's own part of it, or without changes if it has none of an
    owner. Otherwise, a change that is incomplete without others of its author would be the smallest set.
    """

    def __init__(
        self,
        parts: Sequence[Sequence[T]],
        owners: Collection[int],
        passes: Callable[[Sequence[T]], Awaitable[bool]],
        max_runs: int | None = None,
    ) -> None:
        """
        Args:
            parts: the changes of each author, without duplicates.
            owners: the numbers of the authors whose changes alone should pass.
            passes: tests some of the changes, in the order of `parts`.
            max_runs: the maximum number of calls of `passes`; None: no limit.
        """
        self.found: Sequence[T] | None = None
        """The smallest set that failed, although each owner's part of it passed; None: there is none yet."""
        self.passes_without_any_one = False
        """Whether the test passed with each set that has one change less than the result.

        If not, one of these sets fails for another reason: an owner's part of it fails too.
        """
        self.failing: tuple[int, ...] = ()
        """The owners with whose changes alone the test fails."""
        self.runs = 0
        self._parts = [tuple(part) for part in parts]
        self._all = tuple(chain.from_iterable(self._parts))
        self._owners = tuple(owners)
        self._passes, self._max_runs = passes, max_runs
        self._results: dict[tuple[T, ...], bool] = {}
        self._asked: set[tuple[T, ...]] = set()

    @property
    def most_runs(self) -> int:
        """The most runs that the search can need. It usually needs far fewer."""
        count = len(self._all)
        needed = (3 + 2 * count + count * (count - 1) // 2) * (1 + len(self._owners))
        return needed if self._max_runs is None else min(needed, self._max_runs)

    async def search(self) -> Outcome:
        """Runs the search.

        Returns:
            `passes`: the test passes with all changes.
            `alone`: it passes without changes, and fails with those of the owners in `failing` alone.
            `without`: it fails without changes, and with those of each owner alone.
            `minimal`: it failed twice with `found`, which is the smallest set: without any single change, the test
                passes, or fails with an owner's part of the rest alone.
            `limit`: `max_runs` was reached, so `found` may not be minimal.
            `flaky`: it failed with `found`, and the second time it did not, or an owner's part did not pass.
        """
        try:
            if await self._try(self._all):
                return "passes"
            self.failing = tuple([owner for owner in self._owners if not await self._try(self._parts[owner])])
            if self.failing:
                if await self._try(()):
                    return "alone"
                if len(self.failing) == len(self._owners):
                    return "without"
                # the others' changes alone lack what makes it pass, such as the feature that it tests
                self._owners = tuple(owner for owner in self._owners if owner not in self.failing)
            return await self._search_set()
        except NoMoreRuns:
            return "limit"

    async def _search_set(self) -> Outcome:
        search = SmallestSetSearch(self._all, self._breaks)
        try:
            verdict = await search.search()
        finally:
            self.found = search.found
        if verdict == "minimal":
            found = tuple(search.found or ())
            smaller = [tuple(other for other in found if other != change) for change in found]
            self.passes_without_any_one = all(self._results.get(each, False) for each in smaller)
        return "flaky" if verdict == "none" else verdict  # it has failed with all changes before

    async def _breaks(self, chosen: Sequence[T]) -> bool:
        """Whether the test fails with these changes, and passes with each owner's part of them.

        The second time for the same changes, runs all again.
        """
        changes = tuple(chosen)
        of_owners = (tuple(change for change in changes if change in self._parts[owner]) for owner in self._owners)
        parts = [part for part in of_owners if part] or [()]
        if changes in parts:
            return False
        if changes in self._asked:
            for each in (changes, *parts):
                self._results.pop(each, None)
        self._asked.add(changes)
        if await self._try(changes):
            return False
        for part in parts:
            if not await self._try(part):
                return False
        return True

    async def _try(self, chosen: tuple[T, ...]) -> bool:
        if chosen not in self._results:
            if self.runs == self._max_runs:
                raise NoMoreRuns
            self.runs += 1
            self._results[chosen] = await self._passes(chosen)
        return self._results[chosen]
