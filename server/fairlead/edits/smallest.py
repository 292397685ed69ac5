"""Delta debugging: the smallest set of changes for which a condition holds, such as that a test passes or fails.

"Smallest" means that the condition does not hold without any single one of them. Another set may have fewer changes.
The search removes chunks that are not needed, and halves those that are (Zeller and Hildebrandt, "Simplifying and
Isolating Failure-Inducing Input", 2002). The condition has held for the set that is found, even if changes depend on
each other.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, Literal, TypeVar

T = TypeVar("T")

Verdict = Literal["minimal", "limit", "none", "flaky"]


class NoMoreRuns(Exception):
    """The search has used all of its runs. A condition may raise it too."""


class SmallestSetSearch(Generic[T]):
    """A search for the smallest set of changes for which `holds` returns true. Can be cancelled at any time."""

    def __init__(
        self, changes: Sequence[T], holds: Callable[[Sequence[T]], Awaitable[bool]], max_runs: int | None = None
    ) -> None:
        """
        Args:
            changes: without duplicates. If they depend on each other, in the order in which they were made.
            holds: tests some of the changes, in the given order. Called once per set, and once more for the result.
            max_runs: the maximum number of calls of `holds`; None: no limit.
        """
        self.found: Sequence[T] | None = None
        """The smallest set so far for which the condition held; None: there is none yet."""
        self.runs = 0
        self._changes, self._holds, self._max_runs = tuple(changes), holds, max_runs
        self._results: dict[tuple[T, ...], bool] = {}

    @property
    def most_runs(self) -> int:
        """The most runs that the search can need. It usually needs far fewer."""
        count = len(self._changes)
        needed = 3 + 2 * count + count * (count - 1) // 2
        return needed if self._max_runs is None else min(needed, self._max_runs)

    async def search(self) -> Verdict:
        """Runs the search. The verdict is about the set in `found`.

        Returns:
            `minimal`: the condition held twice, and does not hold if any one of the changes is left out.
            `limit`: `max_runs` was reached before the search ended, so it may not be minimal.
            `none`: there is none, because the condition does not hold for all changes.
            `flaky`: the condition held the first time, and not the second time.
        """
        try:
            if not await self._try(self._changes):
                return "none"
            if not await self._try(()):
                await self._remove_chunks(self._changes)
                while await self._remove_one():
                    pass
            return "minimal" if await self._run(tuple(self.found or ())) else "flaky"
        except NoMoreRuns:
            return "limit"

    async def _remove_chunks(self, chunk: Sequence[T]) -> None:
        """Removes the unneeded parts of a chunk that cannot be removed as a whole."""
        middle = (len(chunk) + 1) // 2
        # the later half first, because later changes use earlier ones
        for half in (chunk[middle:], chunk[:middle]):
            if half and len(half) < len(chunk) and not await self._try_without(half):
                await self._remove_chunks(half)

    async def _remove_one(self) -> bool:
        """Removes one change that is not needed; false if there is none.

        A change that was needed when it was tried may be unnecessary after later removals.
        """
        for change in reversed(self.found or ()):
            if await self._try_without([change]):
                return True
        return False

    async def _try_without(self, chunk: Sequence[T]) -> bool:
        return await self._try(tuple(change for change in self.found or () if change not in chunk))

    async def _try(self, chosen: tuple[T, ...]) -> bool:
        """Whether the condition holds for these changes. If so, stores them in `found` as the smallest set so far."""
        if chosen not in self._results:
            self._results[chosen] = await self._run(chosen)
        if self._results[chosen]:
            self.found = chosen
        return self._results[chosen]

    async def _run(self, chosen: tuple[T, ...]) -> bool:
        if self.runs == self._max_runs:
            raise NoMoreRuns
        self.runs += 1
        return await self._holds(chosen)
