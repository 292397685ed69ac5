"""Guards against a model that repeats itself (docs/plan.md L10) or makes no progress (L14).

A change token is a value that differs after each change to a proposal, an open document or the plan, after each message
from the user, and after a warning that the user rejected the same change before.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Literal

from fairlead.agent.messages import ToolCall, ToolResult, call_key

Verdict = Literal["run", "refuse", "stop"]


class RepeatGuard:
    """Refuses a call that directly follows an identical one, unless the change token has changed in between."""

    def __init__(self, change_token: Callable[[], Hashable], max_repeats: int) -> None:
        self._change_token = change_token
        self._max_repeats = max_repeats
        self._last: tuple[str, Hashable] | None = None
        self._count = 0

    def check(self, call: ToolCall, is_exempt: bool) -> Verdict:
        """Counts the next call and decides whether it runs. An exempt call (`Tool.read_only`) is never refused.

        The verdict is `stop` for the last of `max_repeats` identical calls in a row, even if the call is exempt.
        """
        current = (call_key(call.name, call.input), self._change_token())
        self._count = self._count + 1 if self._last == current else 1
        self._last = current
        if self._count >= self._max_repeats:
            return "stop"
        return "run" if self._count == 1 or is_exempt else "refuse"

    def ignore_changes_so_far(self) -> None:
        """Call this after a call has run, so that the changes it made do not allow an identical call."""
        if self._last is not None:
            self._last = (self._last[0], self._change_token())

    def forget(self) -> None:
        """Allows the same call again, as if the last call had not been made."""
        self._last = None


class IdleGuard:
    """Counts rounds without progress, and rounds in which all calls fail with the same error.

    A round is idle if the change token is the same as after the round before, no call polled (`RunningCall.polls`), and
    each call failed or had already succeeded since the last change.
    """

    def __init__(self, change_token: Callable[[], Hashable], max_errors: int, max_idle: int) -> None:
        self._change_token = change_token
        self._max_errors = max_errors
        self._max_idle = max_idle
        self._last_token = change_token()
        self._calls_since_change: set[str] = set()
        self._error = ""
        self._error_rounds = self._idle_rounds = 0

    def check_round(self, calls: Sequence[ToolCall], results: Sequence[ToolResult], has_polled: bool) -> str | None:
        """Counts a round.

        Args:
            calls: the calls of the round.
            results: their results, in the same order.
            has_polled: whether a call waited for background work or read new output of it, which counts as progress.

        Returns:
            Why the run should pause, as text for the user; None if it may continue.
        """
        token = self._change_token()
        has_progress = has_polled
        if token != self._last_token:
            self._last_token, self._calls_since_change = token, set()
            has_progress = True
        succeeded = {
            call_key(call.name, call.input) for call, result in zip(calls, results, strict=True) if not result.is_error
        }
        self._idle_rounds = 0 if has_progress or succeeded - self._calls_since_change else self._idle_rounds + 1
        self._calls_since_change |= succeeded
        texts = {result.text for result in results}
        error = texts.pop() if not succeeded and len(texts) == 1 else ""
        self._error_rounds = self._error_rounds + 1 if error and error == self._error else 1
        self._error = error
        if error and self._error_rounds >= self._max_errors:
            return f"the same error occurred in {self._error_rounds} rounds in a row: {error[:300]}"
        if self._idle_rounds >= self._max_idle:
            return f"in {self._idle_rounds} rounds, nothing was proposed or learned and the plan did not change"
        return None
