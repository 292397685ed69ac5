"""The guard against a model that repeats itself (docs/plan.md L10)."""

import json
from collections.abc import Callable, Hashable
from typing import Literal

from fairlead.agent.messages import ToolCall

Verdict = Literal["run", "refuse", "stop"]


class RepeatGuard:
    """Remembers the last call and what the world looked like after it.

    `stamp` changes whenever a file, the plan or the person's input changes; a change clears the memory.
    """

    def __init__(self, stamp: Callable[[], Hashable], max_repeats: int) -> None:
        self._stamp = stamp
        self._max_repeats = max_repeats
        self._last: tuple[str, Hashable] | None = None
        self._count = 0

    def check(self, call: ToolCall, read_only: bool) -> Verdict:
        """What to do with the next call."""
        key = call.name + json.dumps(call.input, sort_keys=True)
        self._count = self._count + 1 if self._last == (key, self._stamp()) else 1
        self._last = (key, self._stamp())
        if self._count >= self._max_repeats:
            return "stop"
        return "run" if self._count == 1 or read_only else "refuse"

    def ran(self) -> None:
        """The call has run: what it changed itself is not a change in between."""
        if self._last is not None:
            self._last = (self._last[0], self._stamp())
