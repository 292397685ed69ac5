"""Guards against a model that repeats itself (docs/plan.md L10) or makes no progress (L14).

A change token is a value that differs after each change to a proposal, an open document or the plan, after each message
from the user, and after a warning that the user rejected the same change before.
"""

import re
from collections.abc import Callable, Hashable, Sequence

from fairlead.agent.interceptors import Interceptor, Refusal, RunEnded
from fairlead.agent.outcome import REDIRECT, Ending
from fairlead.agent.prompts import LOOPING_CALL, REPEATED_CALL
from fairlead.agent.tool import Repeat, RunningCall, Tool
from fairlead.display import end_sentence
from fairlead.messages.history import call_key
from fairlead.messages.parts import Call, Result
from fairlead.sentences import Sentence

# durations and times of day: the same result has others each time
_TIMES = re.compile(r"\d+(?:\.\d+)? ?(?:[mµn]?s|sec(?:ond)?s?|min(?:ute)?s?)\b|\d+:\d\d(?::\d\d)?(?:[.,]\d+)?")


class RepeatGuard(Interceptor):
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
        self._in_a_row = 0  # identical calls in a row, the last one included
        self._is_looping = False

    async def before_call(self, call: Call, tool: Tool | None, has_read_result: bool) -> Refusal | None:
        """Counts the call and decides whether it runs. A call of a tool that only reads always may.

        If the call is the last one before the limit, it does not run, and the run ends after the results.
        """
        current = (call_key(call.name, call.input), self._change_token())
        if self._last != current:
            self._last, self._repeat, self._unchanged, self._in_a_row = current, "refused", 0, 0
        self._unchanged += 1
        self._in_a_row += 1
        if self._unchanged >= self._max_repeats or self._in_a_row >= self._max_in_a_row:
            self._is_looping = True
            return Refusal(LOOPING_CALL.format(count=self._in_a_row), ends_answer=True)
        if self._in_a_row == 1 or self._repeat == "allowed" or (tool is not None and tool.read_only):
            return None
        may_differ = self._repeat == "until_unchanged" and self._unchanged <= 2 and has_read_result
        if may_differ:
            return None
        return Refusal(REPEATED_CALL, Sentence("Not run: the agent made the same call just before."))

    async def after_call(self, call: Call, running: RunningCall, result: str) -> str:
        """Notes the result. The changes that a call made do not allow an identical call.

        A call that polled counts as if it had not been made. So does one that another call followed while it ran.
        """
        key = call_key(call.name, call.input)
        if self._last is None or self._last[0] != key:
            return ""
        if running.polls:
            self._last = None
            return ""
        result = _TIMES.sub("", result)
        if running.repeat == "allowed":
            self._unchanged = 0
        elif result != self._result:
            self._unchanged = 1
        self._repeat, self._result = running.repeat, result
        self._last = key, self._change_token()
        return ""

    async def after_results(self, calls: Sequence[Call], results: Sequence[Result]) -> None:
        if self._is_looping:
            reason = f"the model made the same call {self._in_a_row} times in a row"
            raise RunEnded(Ending("loop", f"Paused: {reason}. {REDIRECT}"))


class IdleGuard(Interceptor):
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
        self._has_polled = False

    async def after_call(self, call: Call, running: RunningCall, result: str) -> str:
        self._has_polled = self._has_polled or running.polls
        return ""

    async def after_results(self, calls: Sequence[Call], results: Sequence[Result]) -> None:
        reason = self._count(calls, results)
        if reason is not None:
            raise RunEnded(Ending("loop", f"Paused: {end_sentence(reason)} {REDIRECT}"))

    def _count(self, calls: Sequence[Call], results: Sequence[Result]) -> str | None:
        """Counts a round. Returns why the run should pause, as text for the user; None if it may continue."""
        token = self._change_token()
        has_progress, self._has_polled = self._has_polled, False
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
