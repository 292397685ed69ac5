"""Counts function calls, to compare the work for small and large inputs without measuring time."""

import sys
from collections.abc import Callable


def function_calls(work: Callable[[], object]) -> int:
    """How many functions `work` calls, directly and indirectly."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls
