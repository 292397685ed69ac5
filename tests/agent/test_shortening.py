"""Compaction (docs/plan.md L15): whatever is cleared or summarized, the API accepts the rest."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.agent.errors import Overflow
from fairlead.agent.model import Usage
from fairlead.agent.prompts import CLEARED_RESULT
from fairlead.agent.shortening import (
    clear_oldest,
    clear_results,
    results_to_keep,
    shorten_results,
    summary_gain,
    summary_request,
    with_summary,
)
from fairlead.agent.window import Window, size
from fairlead.messages.history import History
from fairlead.messages.parts import Call, Message, Note, Part, Prompt, Result, Text
from fairlead.models.anthropic.encode import encode_message
from support.fake_api.ask import Ask, Handed
from support.fake_api.rules import refusal, rules
from support.fake_api.wire import HEADERS, talk
from support.messages import user

NAMES = ("read_file", "bash", "todo", "ask_user")
TASK = "Read all of it."


def keeps_results(tool: str) -> bool:
    return tool in ("todo", "ask_user")


@st.composite
def conversations(draw: st.DrawFn) -> History:
    """Prompts and rounds with several calls, results of all lengths, errors and feedback, up to the next prompt."""
    history, number = History(), 0
    for prompt in range(draw(st.integers(1, 3))):
        history.add_user_message([Prompt(f"{TASK} ({prompt})")])
        for _ in range(draw(st.integers(0, 5))):
            calls: list[Call] = []
            for _ in range(draw(st.integers(1, 3))):
                calls.append(Call(f"call{number}", draw(st.sampled_from(NAMES)), {"path": f"{number}.txt"}))
                number += 1
            said: list[Part] = [Text("Next.")] if draw(st.booleans()) else []
            history.add_reply([*said, *calls])
            results = [
                Result(c.id, f"{c.id} " * draw(st.sampled_from((1, 100, 2000))), draw(st.booleans())) for c in calls
            ]
            history.add_results(results)
            history.add_to_user_message(draw(st.sampled_from(([], [Note("reminder", "Do.")], [Note("review", "No.")]))))
        history.close("(The run ended here.)")
    history.add_user_message([Prompt("And now?")])
    return history


def is_accepted(messages: list[Message]) -> bool:
    return (
        refusal(Ask(HEADERS, talk(*map(encode_message, messages)), Handed()), rules(plain=False, alternate=True))
        is None
    )


@given(conversations(), st.integers(0, 60_000), st.sampled_from((0, 2)))
def test_fault_24_whatever_is_cleared_the_history_stays_valid(history: History, free: int, kept: int) -> None:
    """docs/faults.md 24: pairs stay whole, kept results and the last round stay, and enough is freed if possible."""
    before = history.messages
    after = clear_results(before, free, keeps_results, kept)
    assert is_accepted(after)
    assert size(after) <= size(before)
    old_part = len(before) - kept
    assert after[old_part:] == list(before[old_part:])
    names = {part.id: part.name for m in before for part in m.parts if isinstance(part, Call)}
    clearable = 0
    for old, new in zip(before, after, strict=True):
        for part, now in zip(old.parts, new.parts, strict=True):
            if now != part:
                assert isinstance(part, Result) and isinstance(now, Result)
                assert not keeps_results(names[part.call_id])
                assert now.text.startswith(CLEARED_RESULT[:20])
                assert now.is_error == part.is_error
            elif isinstance(part, Result) and not keeps_results(names[part.call_id]):
                clearable += old in before[:old_part] and len(part.text) > 400
    assert size(before) - size(after) >= free or clearable == 0


@given(conversations(), st.integers(0, 60_000))
def test_fault_24_the_provider_clears_the_same_results_as_we_would(history: History, free: int) -> None:
    """docs/faults.md 24, docs/plan.md L15: if the provider clears results, the request names the number to keep,
    and the same conversation is left.
    """
    messages = history.messages
    names = [part.name for m in messages for part in m.parts if isinstance(part, Call)]
    uses = sum(not keeps_results(name) for name in names)
    after = clear_oldest(messages, uses - results_to_keep(messages, free, keeps_results), keeps_results)
    assert after == clear_results(messages, free, keeps_results)


@given(conversations(), st.booleans())
def test_fault_24_a_summary_leaves_a_valid_history_with_the_users_words(history: History, twice: bool) -> None:
    """docs/faults.md 24: all prompts verbatim, plan, proposals and one summary remain, even after a second summary."""
    messages = list(history.messages)
    assert is_accepted(summary_request(messages))
    if not summary_gain(messages, keeps_results):
        return
    after = with_summary(messages, "It went well.", "[ ] #1: Go", "- a.py: modify", keeps_results)
    if twice:
        after = with_summary([*after[:1], *messages[-3:]], "Again.", "[ ] #1: Go", "- a.py: modify", keeps_results)
    assert is_accepted(after)
    assert after[-2:] == messages[-2:]
    prompts = {part for m in messages for part in m.parts if isinstance(part, Prompt)}
    left = [part for message in after for part in message.parts]
    assert prompts == {part for part in left if isinstance(part, Prompt)}
    (summary,) = [part.text for part in left if isinstance(part, Note) and part.kind == "summary"]
    assert "[ ] #1: Go" in summary and "- a.py: modify" in summary


@given(st.lists(st.text("ab\n", max_size=400), max_size=5), st.integers(0, 1500))
def test_fault_80_long_results_lose_their_middle_and_short_ones_nothing(texts: list[str], total: int) -> None:
    """docs/faults.md 80: only the longest are cut, to the allowed total plus the notes that mark the omissions."""
    after = shorten_results(texts, total)
    cut = [(old, new) for old, new in zip(texts, after, strict=True) if new != old]
    assert sum(map(len, after)) <= total + 120 * len(cut)
    assert bool(cut) == (sum(map(len, texts)) > total)
    whole = [len(new) for old, new in zip(texts, after, strict=True) if new == old]
    assert not cut or max(whole, default=0) <= min(len(old) for old, _ in cut)
    assert all("of this result are left out here" in new for _, new in cut)


SIZES = st.none() | st.sampled_from((0, 1, 10**9)) | st.integers(0, 10**6)


@given(
    conversations(), st.integers(0, 50_000), SIZES, st.lists(st.tuples(SIZES, SIZES, st.integers(0, 10**6)), max_size=4)
)
def test_fault_80_whatever_numbers_a_server_sends_the_estimates_are_sane(
    history: History, prefix: int, configured: int | None, numbers: list[tuple[int | None, int | None, int]]
) -> None:
    """docs/faults.md 80: nonsense in refusals and counts causes no error, no negative size and no endless retry."""
    window = Window(prefix_chars=prefix)
    window.begin_run(configured)
    for named, request, counted in numbers:
        overflow = Overflow(named, request)
        fits = window.record_refusal(history.messages, overflow, window.answer_limit(history.messages))
        assert window.limit is not None or named is None
        again = window.answer_limit(history.messages)
        assert not (fits and window.record_refusal(history.messages, overflow, again))
        assert window.tokens_per_char > 0
        window.record_answer(history.messages, Usage(1, counted))
        assert window.tokens_at(0) <= window.tokens_at(0.5) <= window.tokens_at(0.8)
        assert (window.answer_limit(history.messages) or 256) >= 256 and (window.results_limit_chars() or 1000) >= 1000


@pytest.mark.parametrize("counted", [10**12, 100_000, 0])
def test_fault_90_an_impossible_count_does_not_change_the_estimate(counted: int) -> None:
    """docs/faults.md 90: an impossible count is ignored. Otherwise, it would clear the whole conversation."""
    messages = [user("x" * 4000)]
    window = Window()
    window.begin_run(200_000)
    window.record_answer(messages, Usage(1, input_tokens=counted))
    window.record_refusal(messages, Overflow(window=200_000, request=counted), None)
    assert (window.estimate(messages), window.needs_compaction(messages)) == (1000, False)


def test_fault_80_the_omitted_lines_are_named() -> None:
    """docs/faults.md 80: the note names exactly the lines that are missing."""
    (text,) = shorten_results(["".join(f"line {number}\n" for number in range(1, 101))], 300)
    head, _, tail = text.partition("[Lines 27 to 88 of this result are left out here")
    assert (head.endswith("line 26\n"), "Ask for a part if you need it.]\nline 89\n" in tail) == (True, True), text


def test_a_result_counts_as_shown_while_the_model_can_read_it() -> None:
    """It no longer counts after it is cleared. It never counts for a call with a different input."""
    history, given_input, text = History(), {"path": "a"}, "x" * 1000
    for number in (1, 2):
        history.add_user_message([Prompt("Go on.")])
        history.add_reply([Call(f"t{number}", "read_file", given_input)])
        history.add_results([Result(f"t{number}", text)])
        assert history.already_shown("read_file", given_input, text)
        assert not history.already_shown("read_file", {"path": "b"}, text)
    history.replace(clear_results(history.messages, 10_000, keeps_results, untouched=0))
    assert not history.already_shown("read_file", given_input, text)
