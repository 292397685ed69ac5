"""Room in the model's window (docs/plan.md L15): whatever gives way, the API accepts what stays."""

import hypothesis.strategies as st
from hypothesis import given

from fairlead.agent.context import (
    CLEARED,
    cleared,
    cleared_first,
    gained,
    shortened,
    summarised,
    summary_request,
    to_keep,
)
from fairlead.agent.errors import Overflow
from fairlead.agent.messages import History, Message, ToolCall, ToolResult, text_block
from fairlead.agent.model import Usage
from fairlead.agent.window import Window, size
from support.fake_api_ask import Ask, Handed
from support.fake_api_rules import refusal, rules
from support.fake_api_wire import HEADERS, talk

NAMES = ("read_file", "bash", "todo", "ask_user")
TASK = "Read all of it."


def lasting(tool: str) -> bool:
    return tool in ("todo", "ask_user")


@st.composite
def conversations(draw: st.DrawFn) -> History:
    """Prompts, and rounds with several calls, results of all lengths, errors and notes; ready for the next request."""
    history, number = History(), 0
    for prompt in range(draw(st.integers(1, 3))):
        history.add_prompt([text_block(f"{TASK} ({prompt})")])
        for _ in range(draw(st.integers(0, 5))):
            calls: list[ToolCall] = []
            for _ in range(draw(st.integers(1, 3))):
                calls.append(ToolCall(f"call{number}", draw(st.sampled_from(NAMES)), {"path": f"{number}.txt"}))
                number += 1
            said = [text_block("Next.")] if draw(st.booleans()) else []
            asked = [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.input} for c in calls]
            history.add_reply([*said, *asked], calls)
            results = [
                ToolResult(c.id, f"{c.id} " * draw(st.sampled_from((1, 100, 2000))), draw(st.booleans())) for c in calls
            ]
            history.add_results(
                results, draw(st.sampled_from(([], ["<reminder>Do.</reminder>"], ["<review>No.</review>"])))
            )
        history.close("(The run ended here.)")
    history.add_prompt([text_block("And now?")])
    return history


def accepted(messages: list[Message]) -> bool:
    return refusal(Ask(HEADERS, talk(*messages), Handed()), rules(plain=False, alternate=True)) is None


@given(conversations(), st.integers(0, 60_000), st.sampled_from((0, 2)))
def test_fault_24_whatever_is_cleared_the_history_stays_valid(history: History, free: int, last_round: int) -> None:
    """docs/faults.md 24: pairs stay whole, what lasts and the last round stay, and as much is free as could be."""
    before = history.messages
    after = cleared(before, free, lasting, last_round)
    assert accepted(after)
    assert size(after) <= size(before)
    kept = len(before) - last_round
    assert after[kept:] == list(before[kept:])
    names = {b["id"]: b["name"] for m in before for b in m["content"] if b["type"] == "tool_use"}
    left = 0
    for old, new in zip(before, after, strict=True):
        for block, now in zip(old["content"], new["content"], strict=True):
            if now != block:
                assert not lasting(names[block["tool_use_id"]])
                assert now["content"].startswith(CLEARED[:20])
                assert now.get("is_error") == block.get("is_error")
            elif block["type"] == "tool_result" and not lasting(names[block["tool_use_id"]]) and old in before[:kept]:
                left += len(block["content"]) > 400
    assert size(before) - size(after) >= free or left == 0


@given(conversations(), st.integers(0, 60_000))
def test_fault_24_what_the_provider_may_clear_is_what_would_be_cleared_here(history: History, free: int) -> None:
    """docs/faults.md 24, docs/plan.md L15: the number of uses that it may keep leads to the same conversation."""
    messages = history.messages
    names = [b["name"] for m in messages for b in m["content"] if b["type"] == "tool_use"]
    uses = sum(not lasting(name) for name in names)
    after = cleared_first(messages, uses - to_keep(messages, free, lasting), lasting)
    assert after == cleared(messages, free, lasting)


@given(conversations(), st.booleans())
def test_fault_24_a_summary_leaves_a_valid_history_with_the_persons_words(history: History, twice: bool) -> None:
    """docs/faults.md 24: task, decisions and answers verbatim, plan and proposals beside them; also the second time."""
    messages = list(history.messages)
    assert accepted(summary_request(messages))
    if not gained(messages, lasting):
        return
    after = summarised(messages, "It went well.", "[ ] #1: Go", "- a.py: modify", lasting)
    if twice:
        after = summarised([*after[:1], *messages[-3:]], "Again.", "[ ] #1: Go", "- a.py: modify", lasting)
    assert accepted(after)
    assert after[-2:] == messages[-2:]
    texts = [block["text"] for message in after for block in message["content"] if block["type"] == "text"]
    prompts = [b["text"] for m in messages for b in m["content"] if b["type"] == "text" and TASK in b["text"]]
    assert set(prompts) <= set(texts)
    assert sum(text.startswith("<summary>") for text in texts) == 1
    assert any("[ ] #1: Go" in text and "- a.py: modify" in text for text in texts)


@given(st.lists(st.text("ab\n", max_size=400), max_size=5), st.integers(0, 1500))
def test_fault_80_long_results_lose_their_middle_and_short_ones_nothing(texts: list[str], total: int) -> None:
    """docs/faults.md 80: together they are as long as they may be, and each omission is told."""
    after = shortened(texts, total)
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
def test_fault_80_whatever_numbers_a_server_tells_the_estimates_are_sane(
    history: History, fixed: int, known: int | None, told: list[tuple[int | None, int | None, int]]
) -> None:
    """docs/faults.md 80: nonsense in refusals and counts gives no error, no negative size and no endless try."""
    window = Window(fixed=fixed)
    window.begin_run(known)
    for named, request, counted in told:
        left = window.left(history.messages)
        fits = window.was_refused(history.messages, Overflow(named, request), left)
        assert window.limit is not None or named is None
        assert not (
            fits and window.was_refused(history.messages, Overflow(named, request), window.left(history.messages))
        )
        assert window.per_char > 0
        window.answered(history.messages, Usage(1, counted))
        assert window.mark(0) <= window.mark(0.5) <= window.mark(0.8)
        assert (window.left(history.messages) or 256) >= 256 and (window.results() or 1000) >= 1000


def test_fault_80_the_lines_that_are_left_out_are_named() -> None:
    """docs/faults.md 80: those are the ones that are not there."""
    (text,) = shortened(["".join(f"line {number}\n" for number in range(1, 101))], 300)
    head, _, tail = text.partition("[Lines 27 to 88 of this result are left out here")
    assert (head.endswith("line 26\n"), "Ask for a part if you need it.]\nline 89\n" in tail) == (True, True), text


def test_a_result_is_told_as_long_as_it_can_be_read() -> None:
    """What was cleared, or told otherwise since, is not."""
    history, given_input, text = History(), {"path": "a"}, "x" * 1000
    for number in (1, 2):
        history.add_prompt([text_block("Go on.")])
        call = ToolCall(f"t{number}", "read_file", given_input)
        history.add_reply([{"type": "tool_use", "id": call.id, "name": call.name, "input": given_input}], [call])
        history.add_results([ToolResult(call.id, text)])
        assert history.tells("read_file", given_input, text)
        assert not history.tells("read_file", {"path": "b"}, text)
    history.restore(cleared(history.messages, 10_000, lasting, last_round=0))
    assert not history.tells("read_file", given_input, text)
