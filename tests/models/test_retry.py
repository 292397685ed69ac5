"""Limited retries: no text is shown twice, and the last error says what to do."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.agent.errors import ModelError
from fairlead.agent.model import ModelEvent, Reply, Retrying, TextDelta, ThinkingDelta, Usage
from fairlead.models.common.retry import FIRST_DELAY, MAX_ATTEMPTS, MAX_BACKOFF, MAX_DELAY, RESTARTED, with_retries

REPLY = Reply([], "done", "end_turn", Usage(1))
BROKEN = ModelError("network", "It broke.", retryable=True)
End = ModelError | None


class Attempts:
    """Plays one list of events for each attempt; each ends with its error or with the reply."""

    def __init__(self, *attempts: tuple[Sequence[ModelEvent], End]) -> None:
        self._left = list(attempts)
        self.made = 0
        self.closed = 0
        self.slept: list[float] = []

    async def __call__(self) -> AsyncGenerator[ModelEvent, None]:
        self.made += 1
        events, error = self._left.pop(0)
        try:
            for event in events:
                yield event
            if error is not None:
                raise error
            yield REPLY
        finally:
            self.closed += 1

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


async def played(attempts: Attempts) -> list[ModelEvent]:
    return [event async for event in with_retries(attempts, attempts.sleep)]


def shown(events: Sequence[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def texts(*pieces: str) -> list[ModelEvent]:
    return [TextDelta(piece) for piece in pieces]


async def test_a_successful_attempt_is_passed_through() -> None:
    """The events of a successful attempt are passed through one by one, the reply last, without a pause."""
    attempts = Attempts(([TextDelta("a"), ThinkingDelta("b")], None))
    assert await played(attempts) == [TextDelta("a"), ThinkingDelta("b"), REPLY]
    assert (attempts.made, attempts.slept) == (1, [])


@given(st.text("ab ", max_size=12), st.data())
def test_the_same_answer_after_interruptions_is_shown_once(answer: str, data: st.DataObject) -> None:
    """docs/faults.md 17: no text is shown twice, wherever and however often the answer was interrupted, and however its
    pieces are cut each time."""

    def pieces(text: str) -> list[ModelEvent]:
        cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
        return texts(*(text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)))

    breaks = data.draw(st.lists(st.integers(0, len(answer)), max_size=MAX_ATTEMPTS - 1))
    attempts = Attempts(*((pieces(answer[:at]), BROKEN) for at in breaks), (pieces(answer), None))
    events = asyncio.run(played(attempts))
    assert shown(events) == answer
    assert events[-1] == REPLY
    assert attempts.closed == attempts.made == len(breaks) + 1


@given(st.lists(st.text("ab", max_size=6), min_size=1, max_size=MAX_ATTEMPTS))
def test_a_different_answer_is_announced_and_shown_completely(answers: list[str]) -> None:
    """docs/faults.md 17: where the new answer differs, a note says so and the whole answer follows."""
    *broken, last = [(texts(*answer), BROKEN) for answer in answers]
    events = asyncio.run(played(Attempts(*broken, (last[0], None))))
    seen = shown(events).split(RESTARTED)
    assert seen[-1] == answers[-1]
    assert all(piece in {answer[:end] for answer in answers for end in range(len(answer) + 1)} for piece in seen)


async def test_thinking_and_text_are_tracked_separately() -> None:
    """A retry may have the same thinking and a different text."""
    first = ([ThinkingDelta("Hm. "), TextDelta("One")], BROKEN)
    second = ([ThinkingDelta("Hm. "), ThinkingDelta("So."), TextDelta("Two")], None)
    events = await played(Attempts(first, second))
    assert [event.text for event in events if isinstance(event, ThinkingDelta)] == ["Hm. ", "So."]
    assert shown(events) == f"One{RESTARTED}Two"


async def test_each_retry_is_reported_with_its_pause() -> None:
    """The pauses double, minus up to a quarter at random. A pause that the model's server asks for takes precedence."""
    asked = ModelError("rate_limit", "Slow down.", retryable=True, retry_after=7)
    attempts = Attempts(*[([], error) for error in (BROKEN, BROKEN, asked, BROKEN)], ([], None))
    retries = [event for event in await played(attempts) if isinstance(event, Retrying)]
    assert [event.attempt for event in retries] == [1, 2, 3, 4]
    assert [event.delay for event in retries] == attempts.slept
    assert [event.error.message for event in retries] == ["It broke.", "It broke.", "Slow down.", "It broke."]
    assert attempts.slept[2] == 7
    for number in (0, 1, 3):
        assert 0.75 <= attempts.slept[number] / (FIRST_DELAY * 2**number) <= 1


async def test_fault_18_retries_go_on_for_about_two_minutes() -> None:
    """docs/faults.md 18 and 25: retries take two minutes. An overloaded API or a lost network is often back by then."""
    attempts = Attempts(*[([], BROKEN)] * (MAX_ATTEMPTS - 1), ([], None))
    assert (await played(attempts))[-1] == REPLY
    assert 90 <= sum(attempts.slept) <= 150
    assert max(attempts.slept) <= MAX_BACKOFF


@pytest.mark.parametrize(("asked", "waited"), [(0, 0), (3600, MAX_DELAY)])
async def test_no_pause_is_longer_than_the_limit(asked: float, waited: float) -> None:
    """A server may ask for no pause, or for an hour, which is cut to MAX_DELAY."""
    attempts = Attempts(([], ModelError("overloaded", "x", retryable=True, retry_after=asked)), ([], None))
    await played(attempts)
    assert attempts.slept == [waited]


async def test_the_last_error_names_the_number_of_attempts() -> None:
    """docs/faults.md 18: the last error keeps its kind, names the number of attempts, and says that the task and the
    proposals are saved."""
    attempts = Attempts(*[(texts("Hello"), BROKEN) for _ in range(MAX_ATTEMPTS + 1)])
    with pytest.raises(ModelError) as error:
        await played(attempts)
    assert (error.value.kind, error.value.retryable, attempts.made) == ("network", True, MAX_ATTEMPTS)
    assert (
        error.value.message == "It broke. Fairlead tried 10 times. Your task and proposals are saved. Try again later."
    )


async def test_fault_88_an_invalid_reply_is_requested_only_once_more() -> None:
    """docs/faults.md 88: an invalid reply is requested only once more, because the server would probably send the same
    again. Other errors in between have another limit."""
    nonsense = ModelError("network", "Odd.", retryable=True, max_attempts=2)
    assert (await played(Attempts(([], nonsense), ([], BROKEN), ([], BROKEN), ([], None))))[-1] == REPLY
    attempts = Attempts(([], BROKEN), ([], nonsense), ([], nonsense), ([], None))
    with pytest.raises(ModelError) as error:
        await played(attempts)
    assert (error.value.kind, error.value.retryable, attempts.made) == ("network", True, 3)
    assert error.value.message == "Odd. Fairlead tried 3 times. Your task and proposals are saved. Try again later."


async def test_an_errors_own_limit_counts_only_such_errors() -> None:
    """A broken stream does not use up the attempts to connect to a server that the user must start."""
    stopped = ModelError("network", "No server.", retryable=True, max_attempts=3)
    attempts = Attempts(([], BROKEN), ([], BROKEN), ([], BROKEN), *[([], stopped)] * 3)
    with pytest.raises(ModelError) as error:
        await played(attempts)
    assert (attempts.made, "Fairlead tried 6 times." in error.value.message) == (6, True)


async def test_an_error_that_a_retry_cannot_fix_is_raised_at_once() -> None:
    """docs/faults.md 25: an error that a retry cannot fix, such as a wrong key, is raised unchanged and at once."""
    refused = ModelError("auth", "No.", retryable=False)
    attempts = Attempts(([], refused))
    with pytest.raises(ModelError) as error:
        await played(attempts)
    assert error.value is refused
    assert (attempts.made, attempts.slept) == (1, [])


@pytest.mark.parametrize("where", ["text", "pause"])
async def test_a_stream_can_be_closed_at_any_moment(where: str) -> None:
    """Closing the stream between two pieces of text or before a pause closes the attempt, and no other one begins."""
    attempts = Attempts((texts("a", "b"), BROKEN), ([], None))
    stream = with_retries(attempts, attempts.sleep)
    async for event in stream:
        if isinstance(event, TextDelta if where == "text" else Retrying):
            break
    await stream.aclose()
    assert (attempts.made, attempts.closed, attempts.slept) == (1, 1, [])


async def test_an_exception_that_is_no_model_error_is_not_caught() -> None:
    """A retry cannot fix a programming error."""

    async def attempt() -> AsyncGenerator[ModelEvent, None]:
        yield TextDelta("a")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        async for _ in with_retries(attempt):
            pass
