"""Retries failed requests. Text that was shown is shown again only if the new answer differs from it."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from io import StringIO
from itertools import count

from fairlead.agent.errors import ModelError
from fairlead.agent.model import ModelEvent, Reply, Retrying, TextDelta, ThinkingDelta
from fairlead.sentences import Sentence, Text

MAX_ATTEMPTS = 10
# seconds
FIRST_DELAY = 0.5
MAX_BACKOFF = 30.0
"""The longest pause that the model's server did not ask for. With MAX_ATTEMPTS, the pauses take about two minutes."""
MAX_DELAY = 60.0
"""The longest pause, even if the model's server asks for a longer one."""
LOADING_DELAY = 3.0
"""The pause while the model's server is loading its model, unless it asks for another one."""
LOADING_LIMIT = 1800.0
"""The limit for the sum of the pauses while the model's server is loading its model."""
SAVED = Sentence("Your task and proposals are saved. Try again later.")
RESTARTED = "\n\n[The connection broke; the answer starts again.]\n\n"


async def with_retries(
    attempt: Callable[[], AsyncGenerator[ModelEvent, None]],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncGenerator[ModelEvent, None]:
    """Runs attempts until one ends with a reply, at most MAX_ATTEMPTS. Yields a `Retrying` before each pause.

    The pauses double from FIRST_DELAY to MAX_BACKOFF seconds, with jitter; a server's `retry-after` takes precedence.
    No pause is longer than MAX_DELAY. Only errors with the same limit count towards an error's own `max_attempts`.

    Attempts that fail because the model's server is still loading its model do not count. Instead, the pauses after
    them are added up, and once the sum has reached LOADING_LIMIT, the next such failure is final.

    Raises:
        ModelError: an error that a retry cannot fix, or the error of the last attempt.
    """
    shown = _ShownAnswer()
    failed, waited = 0, 0.0
    failed_by_limit = Counter[int]()
    for number in count(1):
        try:
            async with aclosing(attempt()) as events:
                async for event in events:
                    for unseen in shown.unseen(event):
                        yield unseen
            return
        except ModelError as error:
            if not error.retryable:
                raise
            is_loading = error.loading and waited < LOADING_LIMIT
            failed += not is_loading
            limit = error.max_attempts or MAX_ATTEMPTS
            failed_by_limit[limit] += not is_loading
            is_last = failed == MAX_ATTEMPTS or failed_by_limit[limit] == limit
            if is_last or (error.loading and not is_loading):
                tried = (
                    Sentence("Fairlead waited {0} minutes.", f"{LOADING_LIMIT / 60:g}")
                    if error.loading
                    else Sentence("Fairlead tried {0} times.", failed)
                )
                message = Text(error.message, " ", tried, " ", SAVED)
                raise ModelError(error.kind, message, retryable=True) from error
            if is_loading:
                # at least FIRST_DELAY: tiny pauses would reach LOADING_LIMIT only after very many requests, and pauses
                # of 0 never
                delay = min(MAX_DELAY, max(FIRST_DELAY, error.retry_after or LOADING_DELAY))
                waited += delay
            else:
                backoff = min(MAX_BACKOFF, FIRST_DELAY * 2 ** (failed - 1)) * random.uniform(0.75, 1.0)
                delay = min(MAX_DELAY, backoff if error.retry_after is None else error.retry_after)
            yield Retrying(number, delay, error)
            await sleep(delay)
            shown.restart()


class _ShownAnswer:
    """The text and the thinking of an answer that the user has seen."""

    def __init__(self) -> None:
        self._text, self._thinking = _ShownText(TextDelta), _ShownText(ThinkingDelta)

    def restart(self) -> None:
        self._text.restart()
        self._thinking.restart()

    def unseen(self, event: ModelEvent) -> Iterator[ModelEvent]:
        """What to show of the next event (`_ShownText`). A reply ends the answer."""
        match event:
            case TextDelta(text):
                yield from self._text.unseen(text)
            case ThinkingDelta(text):
                yield from self._thinking.unseen(text)
            case Reply():
                yield from self._thinking.unrepeated()
                yield from self._text.unrepeated()
                yield event
            case _:
                yield event


class _ShownText:
    """The text of an answer that the user has seen.

    After a restart, the beginning of the new answer is skipped as long as it repeats this text.
    """

    def __init__(self, delta: type[TextDelta | ThinkingDelta]) -> None:
        self._delta = delta
        self._shown = StringIO()
        self._repeated = 0
        """How much of the text before the restart the new answer has repeated."""
        self._before: str = ""
        """The text that was shown before the restart; empty if the new answer has repeated all of it."""

    def restart(self) -> None:
        self._before, self._repeated = self._shown.getvalue(), 0

    def unseen(self, part: str) -> list[TextDelta | ThinkingDelta]:
        """What to show of the next part.

        If the new answer differs from the shown text, this is a note, and then the new answer from its beginning.
        """
        if not self._before:
            self._shown.write(part)
            return [self._delta(part)]
        if not self._before.startswith(part[: len(self._before) - self._repeated], self._repeated):
            return self._restarted(part)
        expected = len(self._before) - self._repeated
        if len(part) < expected:
            self._repeated += len(part)
            return []
        self._before, rest = "", part[expected:]
        self._shown.write(rest)
        return [self._delta(rest)] if rest else []

    def unrepeated(self) -> list[TextDelta | ThinkingDelta]:
        """What to show at the end: a note and the answer if it is shorter than the shown text, otherwise nothing."""
        return self._restarted("") if self._before else []

    def _restarted(self, part: str) -> list[TextDelta | ThinkingDelta]:
        shown = self._before[: self._repeated] + part
        self._before, self._shown = "", StringIO()
        self._shown.write(shown)
        return [self._delta(RESTARTED, restarts=True), self._delta(shown)]
