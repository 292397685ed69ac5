"""Guards against a model that repeats itself (docs/plan.md L10) or makes no progress (L14).

A change token is a value that differs after each change to a proposal, an open document or the plan, after each message
from the user, and after a warning that the user rejected the same change before.
"""

import re
from collections.abc import Callable, Hashable, Sequence
from typing import Literal

from fairlead.agent.tool import Repeat
from fairlead.messages.history import call_key
from fairlead.messages.parts import Call, Result

Verdict = Literal["run", "refuse", "stop"]

# durations and times of day: the same result has others each time
_TIMES = re.compile(r"\d+(?:\.\d+)? ?(?:[mµn]?s|sec(?:ond)?s?|min(?:ute)?s?)\b|\d+:\d\d(?::\d\d)?(?:[.,]\d+)?")


class RepeatGuard:
    """Refuses a call that directly follows an identical one and cannot have another result.

    Calls are not identical if the change token has changed in between, apart from the changes that the call made.
    """

    def __init__(self, change_token: Callable[[], Hashable], max_repeats: int, max_in_a_row: int) -> None:
        """
        Args:
            max_repeats: how many identical calls in a row with the same result end the run.
            max_in_a_row: how many identical calls in a row end the run, whatever their results.
        """
        self._change_token = change_token
        self._max_repeats, self._max_in_a_row = max_repeats, max_in_a_row
        self._last: tuple[str, Hashable] | None = None
        self._repeat: Repeat = "refused"
        self._result = ""
        self._unchanged = 0  # identical calls in a row since the result changed
        self.in_a_row = 0
        """The number of identical calls in a row, the last one included."""

    def check(self, call: Call, is_exempt: bool, has_read_result: bool = True) -> Verdict:
        """Counts the next call and decides whether it runs. An exempt call (`Tool.read_only`) is never refused.

        The verdict is `stop` for a call that ends the run, even if the call is exempt.

        Args:
            has_read_result: whether the model made the call after it had read the result of the call before.
        """
        current = (call_key(call.name, call.input), self._change_token())
        if self._last != current:
            self._last, self._repeat, self._unchanged, self.in_a_row = current, "refused", 0, 0
        self._unchanged += 1
        self.in_a_row += 1
        if self._unchanged >= self._max_repeats or self.in_a_row >= self._max_in_a_row:
            return "stop"
        if self.in_a_row == 1 or is_exempt or self._repeat == "allowed":
            return "run"
        may_differ = self._repeat == "until_unchanged" and self._unchanged <= 2 and has_read_result
        return "run" if may_differ else "refuse"

    def note_result(self, result: str, repeat: Repeat) -> None:
        """Call this after a call has run. The changes that it made do not allow an identical call.

        Args:
            repeat: whether an identical call may run again (`RunningCall.repeat`).
        """
        result = _TIMES.sub("", result)
        if repeat == "allowed":
            self._unchanged = 0
        elif result != self._result:
            self._unchanged = 1
        self._repeat, self._result = repeat, result
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

    def check_round(self, calls: Sequence[Call], results: Sequence[Result], has_polled: bool) -> str | None:
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
