"""The guards against a model that repeats itself (docs/plan.md L10) or gets nowhere (L14)."""

from collections.abc import Callable, Hashable, Sequence
from typing import Literal

from fairlead.agent.messages import ToolCall, ToolResult, call_key

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
        key = call_key(call.name, call.input)
        self._count = self._count + 1 if self._last == (key, self._stamp()) else 1
        self._last = (key, self._stamp())
        if self._count >= self._max_repeats:
            return "stop"
        return "run" if self._count == 1 or read_only else "refuse"

    def ran(self) -> None:
        """The call has run: what it changed itself is not a change in between."""
        if self._last is not None:
            self._last = (self._last[0], self._stamp())

    def forget(self) -> None:
        """The call told something new, and may do so again."""
        self._last = None


class IdleGuard:
    """Notices rounds that lead nowhere (docs/plan.md L14).

    A round is idle if the files, the plan and the person's input are as they were (`stamp`), and each of its calls
    failed or is one that had been made since the last change of these.
    """

    def __init__(self, stamp: Callable[[], Hashable], max_errors: int, max_idle: int) -> None:
        self._stamp = stamp
        self._max_errors = max_errors
        self._max_idle = max_idle
        self._last = stamp()
        self._made: set[str] = set()
        self._error = ""
        self._errors = self._idle = 0

    def round(self, calls: Sequence[ToolCall], results: Sequence[ToolResult], fresh: bool) -> str | None:
        """Takes a round's calls and results; says why the run should stop, None as long as it may go on.

        `fresh`: a call of the round waited for what goes on by itself, and so told something new.
        """
        stamp = self._stamp()
        if stamp != self._last:
            self._last, self._made = stamp, set()
            fresh = True
        worked = {
            call_key(call.name, call.input) for call, result in zip(calls, results, strict=True) if not result.is_error
        }
        self._idle = 0 if fresh or worked - self._made else self._idle + 1
        self._made |= worked
        errors = {result.text for result in results}
        error = errors.pop() if not worked and len(errors) == 1 else ""
        self._errors = self._errors + 1 if error and error == self._error else 1
        self._error = error
        if error and self._errors >= self._max_errors:
            return f"the same error came {self._errors} rounds in a row: {error[:300]}"
        if self._idle >= self._max_idle:
            return f"for {self._idle} rounds nothing was proposed or found out, and the plan did not change"
        return None
