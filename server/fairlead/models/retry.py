"""Retries failed requests. Text that was shown is shown again only if the new answer differs from it."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from itertools import count

from fairlead.agent.errors import ModelError
from fairlead.agent.model import ModelEvent, Retrying, TextDelta, ThinkingDelta

MAX_ATTEMPTS = 5
# seconds
FIRST_DELAY = 0.5
MAX_DELAY = 60.0
LOADING_DELAY = 3.0
LOADING_LIMIT = 1800.0
"""The limit for the sum of the pauses while the server is loading its model."""
RESTARTED = "\n\n[The connection broke; the answer starts again.]\n\n"


async def with_retries(
    attempt: Callable[[], AsyncGenerator[ModelEvent, None]],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncGenerator[ModelEvent, None]:
    """Runs attempts until one ends with a reply, at most MAX_ATTEMPTS. Yields a `Retrying` before each pause.

    The pauses double from FIRST_DELAY seconds, with jitter; a server's `retry-after` takes precedence. No pause is
    longer than MAX_DELAY. Attempts that fail because the server is still loading its model do not count, but they end
    when the pauses after them reach LOADING_LIMIT. The second error with `retry_once` ends the attempts.

    Raises:
        ModelError: an error that a retry cannot fix, or the error of the last attempt.
    """
    text, thinking = _ShownText(), _ShownText()
    failed, repeated, waited = 0, 0, 0.0
    for number in count(1):
        try:
            async with aclosing(attempt()) as events:
                async for event in events:
                    match event:
                        case TextDelta():
                            for part in text.unseen(event.text):
                                yield TextDelta(part)
                        case ThinkingDelta():
                            for part in thinking.unseen(event.text):
                                yield ThinkingDelta(part)
                        case _:
                            yield event
            return
        except ModelError as error:
            if not error.retryable:
                raise
            is_loading = error.loading and waited < LOADING_LIMIT
            failed += not is_loading
            repeated += error.retry_once
            if failed == MAX_ATTEMPTS or repeated == 2 or (error.loading and not is_loading):
                saved = "Your task and proposals are saved. Try again later."
                tried = f"waited {LOADING_LIMIT / 60:g} minutes" if error.loading else f"tried {failed} times"
                raise ModelError(error.kind, f"{error.message} Fairlead {tried}. {saved}", retryable=True) from error
            if is_loading:
                # never 0, which would repeat the request for half an hour without a pause
                delay = min(MAX_DELAY, error.retry_after or LOADING_DELAY)
                waited += delay
            else:
                backoff = FIRST_DELAY * 2 ** (failed - 1) * random.uniform(0.75, 1.0)
                delay = min(MAX_DELAY, backoff if error.retry_after is None else error.retry_after)
            yield Retrying(number, delay, error.message)
            await sleep(delay)
            text.restart()
            thinking.restart()


class _ShownText:
    """The text of an answer that the user has seen. After a restart, what repeats it is skipped."""

    def __init__(self) -> None:
        self._shown = ""
        self._expected: str = ""
        """The part of the shown text that the new answer has yet to repeat; empty if there is none."""

    def restart(self) -> None:
        self._expected = self._shown

    def unseen(self, part: str) -> list[str]:
        """What to show of the next part.

        If the new answer differs from the shown text, this is a note, and then the new answer from its beginning.
        """
        if not self._expected:
            self._shown += part
            return [part]
        if self._expected.startswith(part):
            self._expected = self._expected[len(part) :]
            return []
        if part.startswith(self._expected):
            rest = part[len(self._expected) :]
            self._expected = ""
            self._shown += rest
            return [rest]
        repeated = self._shown[: len(self._shown) - len(self._expected)]
        self._expected = ""
        self._shown = repeated + part
        return [RESTARTED, repeated + part]
