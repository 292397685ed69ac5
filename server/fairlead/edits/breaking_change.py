"""Finds the change that broke a test, among changes in the order in which they were made (docs/plan.md P26)."""

from collections.abc import Awaitable, Callable


async def find_breaking_change(count: int, passes: Callable[[int], Awaitable[bool]]) -> int | None:
    """The index of a change with which the test fails and before which it passes; None if it fails without any.

    The test is known to fail with all changes. Needs at most 1 + log2(`count`) runs, rounded up.

    Args:
        count: the number of changes, at least 1.
        passes: runs the test with the first changes; their number is less than `count`.
    """
    if not await passes(0):
        return None
    good, bad = 0, count
    while bad - good > 1:
        middle = (good + bad) // 2
        if await passes(middle):
            good = middle
        else:
            bad = middle
    return good
